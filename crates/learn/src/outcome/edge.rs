//! Edges between unified ends, and how their attempts ended.

use std::collections::BTreeSet;
use std::sync::Arc;

use netenf_policy::Protocol;

use crate::directory::Directory;
use crate::learner::Learner;
use crate::outcome::Sorted;
use crate::outcome::cast::Cast;
use crate::sum::{
    CandidateKey, CandidateSum, EdgeKey, EdgeSum, Endings, KEPT, Map, Tally, keep_smallest,
};

/// Everything that was seen between ends, unified.
pub(super) struct Merged {
    pub(super) edges: Sorted<EdgeKey, Edge>,
    /// Packets whose direction nothing told.
    pub(super) ambiguous: Sorted<CandidateKey, CandidateSum>,
}

/// An edge between two ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Edge {
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) observations: u64,
    /// Connections by how well the report knew the ends: reports of one connection from two nodes
    /// differ in that, so of the lesser three the largest counts.
    connections: [u64; 4],
    endings: Endings,
    nodes: BTreeSet<u32>,
    pub(super) services: BTreeSet<Arc<str>>,
    pub(super) example: Option<(Arc<str>, Arc<str>)>,
    /// How the direction was inferred, if it was.
    pub(super) inferred: Option<String>,
}

/// What became of an edge's attempts (DESIGN D2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It works, or nothing says that it does not.
    Alive,
    /// Answers would have been seen, and there were none.
    Unanswered,
    /// Refused or denied each time.
    Refused,
}

/// Merges what was learned under unified ends.
pub(super) fn merge<D: Directory>(learner: &Learner<D>, cast: &Cast, tally: &Tally) -> Merged {
    let mut edges: Sorted<EdgeKey, Edge> = Sorted::new();
    for (id, sum) in learner.edges.iter().enumerate() {
        let key = sum.key;
        let unified =
            EdgeKey { source: cast.of(key.source), destination: cast.of(key.destination), ..key };
        let view = usize::from(unified.source != key.source)
            + 2 * usize::from(unified.destination != key.destination);
        let endings = tally.endings.get(id).copied().unwrap_or_default();
        edges.entry(unified).or_default().add(sum, view, endings);
    }
    let mut groups: Sorted<CandidateKey, CandidateSum> = Sorted::new();
    for (key, sum) in &tally.candidates {
        let unified =
            CandidateKey { client: cast.of(key.client), server: cast.of(key.server), ..*key };
        groups.entry(unified).or_default().add(sum);
    }
    let groups = join_known(learner, groups, &mut edges);
    let ambiguous = infer_reversed(learner, groups, &mut edges);
    Merged { edges, ambiguous }
}

/// Adds packets of unknown direction to edges that are known, declared or made likely by repetition.
fn join_known<D: Directory>(
    learner: &Learner<D>,
    groups: Sorted<CandidateKey, CandidateSum>,
    edges: &mut Sorted<EdgeKey, Edge>,
) -> Sorted<CandidateKey, CandidateSum> {
    let mut rest = Sorted::new();
    for (key, sum) in groups {
        let (forward, backward) = (key.edge(), key.reversed(&sum));
        let declared = |edge: &EdgeKey| {
            let server = learner.parties[edge.destination as usize].party.workload();
            server
                .is_some_and(|server| learner.directory.declares(server, edge.port, edge.protocol))
        };
        let mut known = [Some(forward), backward].into_iter().flatten();
        let known = known.find(|edge| edges.contains_key(edge));
        if let Some(edge) = known.and_then(|edge| edges.get_mut(&edge)) {
            edge.join(&sum);
        } else if declared(&forward) {
            edges
                .entry(forward)
                .or_default()
                .infer(&sum, "direction from a declared port".to_owned());
        } else if let Some(backward) = backward.filter(declared) {
            edges
                .entry(backward)
                .or_default()
                .infer(&sum, "direction from a declared port".to_owned());
        } else if sum.client_ports.len() >= learner.config.repetition.min(KEPT) {
            let note = format!("direction inferred from {} flows", sum.observations);
            edges.entry(forward).or_default().infer(&sum, note);
        } else {
            rest.insert(key, sum);
        }
    }
    rest
}

/// Where both ports are high the guess may be the wrong way round: many "servers' ports" that are used
/// with one port of the other end are its clients.
fn infer_reversed<D: Directory>(
    learner: &Learner<D>,
    groups: Sorted<CandidateKey, CandidateSum>,
    edges: &mut Sorted<EdgeKey, Edge>,
) -> Sorted<CandidateKey, CandidateSum> {
    let mut by_edge: Map<EdgeKey, usize> = Map::default();
    for (key, sum) in &groups {
        if let Some(edge) = key.reversed(sum) {
            *by_edge.entry(edge).or_default() += 1;
        }
    }
    let mut rest = Sorted::new();
    for (key, sum) in groups {
        let edge = key.reversed(&sum);
        match edge.filter(|edge| by_edge.get(edge).is_some_and(|n| *n >= learner.config.repetition))
        {
            Some(edge) => {
                let note = format!("direction inferred from {} connections", by_edge[&edge]);
                edges.entry(edge).or_default().infer(&sum, note);
            }
            None => drop(rest.insert(key, sum)),
        }
    }
    rest
}

// === impl Edge ===

impl Edge {
    /// Connections seen.
    pub(super) fn connections(&self) -> u64 {
        let [whole, lesser @ ..] = self.connections;
        whole + lesser.into_iter().max().unwrap_or_default()
    }

    /// What became of its attempts.
    pub(super) fn fate<D: Directory>(&self, learner: &Learner<D>) -> Fate {
        let Endings { answered, refused: _, repeated, silent, joined: _ } = self.endings;
        let answers_would_show = !self.nodes.is_empty()
            && self.nodes.iter().all(|node| learner.reporters[*node as usize].answers);
        if answered > 0 || self.inferred.is_some() || (silent > 0 && !answers_would_show) {
            Fate::Alive
        } else if silent > 0 || repeated > 0 {
            Fate::Unanswered
        } else {
            Fate::Refused
        }
    }

    fn add(&mut self, sum: &EdgeSum, view: usize, endings: Endings) {
        self.span(sum.first, sum.last);
        self.observations += sum.observations + endings.joined;
        self.connections[view] += sum.connections;
        let own = &mut self.endings;
        own.answered = own.answered.saturating_add(endings.answered);
        own.refused = own.refused.saturating_add(endings.refused);
        own.repeated = own.repeated.saturating_add(endings.repeated);
        own.silent = own.silent.saturating_add(endings.silent);
        self.nodes.extend(&sum.nodes);
        for service in &sum.services {
            keep_smallest(&mut self.services, service.clone(), KEPT);
        }
        if let Some(pair) = &sum.example
            && self.example.as_ref().is_none_or(|known| pair < known)
        {
            self.example = Some(pair.clone());
        }
    }

    /// Takes in packets that belong to it; their connections began before learning did.
    fn join(&mut self, sum: &CandidateSum) {
        self.observations += sum.observations;
        self.connections[0] += sum.connections;
        self.endings.answered = self.endings.answered.saturating_add(1);
        if let (Some(first), Some(last)) = (sum.first, sum.last) {
            self.span(first, last);
        }
    }

    fn infer(&mut self, sum: &CandidateSum, note: String) {
        self.join(sum);
        self.inferred = Some(note);
    }

    fn span(&mut self, first: i64, last: i64) {
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
        self.last = Some(self.last.map_or(last, |known| known.max(last)));
    }
}

// === impl CandidateKey ===

impl CandidateKey {
    /// The edge that it would be.
    pub(super) fn edge(&self) -> EdgeKey {
        let Self { client, server, port, protocol } = *self;
        EdgeKey { source: client, destination: server, port, protocol }
    }

    /// The edge that it would be the other way round, if all of it used one port of the other end.
    fn reversed(&self, sum: &CandidateSum) -> Option<EdgeKey> {
        let mut ports = sum.client_ports.iter();
        let (port, None) = (*ports.next()?, ports.next()) else { return None };
        let protocol: Protocol = self.protocol;
        Some(EdgeKey { source: self.server, destination: self.client, port, protocol })
    }
}

// === impl CandidateSum ===

impl CandidateSum {
    fn add(&mut self, other: &Self) {
        self.observations += other.observations;
        self.connections += other.connections;
        for port in &other.client_ports {
            keep_smallest(&mut self.client_ports, *port, KEPT);
        }
        self.first = [self.first, other.first].into_iter().flatten().min();
        self.last = [self.last, other.last].into_iter().flatten().max();
    }
}
