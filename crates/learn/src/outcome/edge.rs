//! Edges between unified ends, and how their attempts ended.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::classify::FIRST_CLIENT_PORT;
use crate::directory::Directory;
use crate::learner::Learner;
use crate::observation::ServiceRef;
use crate::outcome::Sorted;
use crate::outcome::cast::Cast;
use crate::sum::{
    CandidateKey, CandidateSum, EdgeKey, EdgeSum, Endings, KEPT, Map, Tally, keep_smallest,
};

/// Everything that was seen between ends, unified. What is wanted of one edge at a time (nodes, services,
/// an example) is not copied: it is looked up in the learner's sums.
pub(super) struct Merged {
    /// Sorted by key.
    pub(super) edges: Vec<(EdgeKey, Edge)>,
    /// Packets whose direction nothing told, sorted by key.
    pub(super) ambiguous: Vec<(CandidateKey, CandidateSum)>,
    /// The learner's edges: those that are one stand side by side.
    members: Vec<u32>,
}

/// An edge between two ends.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) observations: u64,
    /// Connections seen.
    pub(super) connections: u64,
    endings: Endings,
    /// Its place among the members.
    members: Range<u32>,
    /// How the direction was inferred, if it was.
    pub(super) inferred: Option<Box<str>>,
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

/// Edges by their keys: those that were learned, and those that are inferred besides.
struct Edges {
    learned: Vec<(EdgeKey, Edge)>,
    inferred: Sorted<EdgeKey, Edge>,
}

/// Merges what was learned under unified ends.
pub(super) fn merge<D: Directory>(learner: &Learner<D>, cast: &Cast, tally: &Tally) -> Merged {
    let unified = |key: EdgeKey| EdgeKey {
        source: cast.of(key.source),
        destination: cast.of(key.destination),
        ..key
    };
    let mut ids: Vec<(EdgeKey, u32)> =
        learner.edges.iter().zip(0u32..).map(|(sum, id)| (unified(sum.key), id)).collect();
    ids.sort_unstable();
    let members: Vec<u32> = ids.iter().map(|(_, id)| *id).collect();
    let mut edges = Edges { learned: Vec::new(), inferred: Sorted::new() };
    edges.learned.reserve_exact(ids.chunk_by(|(one, _), (other, _)| one == other).count());
    for (place, (key, id)) in (0u32..).zip(ids) {
        let endings = tally.endings.get(id as usize).copied().unwrap_or_default();
        edges.last_or_new(key, place).add(&learner.edges[id as usize], endings);
    }
    // One connection that was reported under several names of its ends is one.
    for (together, count) in &tally.overlaps {
        let mut known = BTreeSet::new();
        for key in together.edges().iter().map(|id| unified(learner.edges[*id as usize].key)) {
            if let (false, Some(edge)) = (known.insert(key), edges.get_mut(&key)) {
                edge.connections = edge.connections.saturating_sub(*count);
            }
        }
    }
    let mut groups: Groups = Sorted::new();
    for (key, sum) in &tally.candidates {
        let unified =
            CandidateKey { client: cast.of(key.client), server: cast.of(key.server), ..*key };
        groups.entry(unified).or_default().add(sum);
    }
    for infer in [by_declaration::<D>, by_repetition::<D>] {
        groups = join_known(groups, &mut edges);
        groups = infer(learner, groups, &mut edges);
    }
    let ambiguous = join_known(groups, &mut edges).into_iter().collect();
    Merged { ambiguous, edges: edges.into_sorted(), members }
}

type Groups = Sorted<CandidateKey, CandidateSum>;

/// Adds packets of unknown direction to edges that are known.
fn join_known(groups: Groups, edges: &mut Edges) -> Groups {
    let mut rest = Sorted::new();
    for (key, sum) in groups {
        let mut ways = [Some(key.edge()), key.reversed(&sum)].into_iter().flatten();
        let known = ways.find(|edge| edges.get(edge).is_some_and(Edge::may_work));
        match known.and_then(|edge| edges.get_mut(&edge)) {
            Some(edge) => edge.join(&sum),
            None => drop(rest.insert(key, sum)),
        }
    }
    rest
}

/// A port that the workload or a service in front of it declares is the server's.
fn by_declaration<D: Directory>(learner: &Learner<D>, groups: Groups, edges: &mut Edges) -> Groups {
    let declared = |edge: &EdgeKey| {
        let server = learner.parties[edge.destination as usize].party.workload();
        server.is_some_and(|server| learner.directory.declares(server, edge.port, edge.protocol))
    };
    let mut rest = Sorted::new();
    for (key, sum) in groups {
        let mut ways = [Some(key.edge()), key.reversed(&sum)].into_iter().flatten();
        match ways.find(declared) {
            Some(edge) => edges.entry(edge).infer(&sum, DECLARED),
            None => drop(rest.insert(key, sum)),
        }
    }
    rest
}

const DECLARED: &str = "direction from a declared port";

/// One port of one end that is used with many of the other is the server's. Where both ports are high the
/// lower one may be the client's: then many "servers' ports" are used with one port of the other end.
fn by_repetition<D: Directory>(learner: &Learner<D>, groups: Groups, edges: &mut Edges) -> Groups {
    // For an edge: how many client ports speak for it, and how many connections.
    let mut votes: Map<EdgeKey, (usize, u64)> = Map::default();
    for (key, sum) in &groups {
        let ways =
            [Some((key.edge(), sum.client_ports.len())), key.reversed_high(sum).map(|e| (e, 1))];
        for (edge, ports) in ways.into_iter().flatten() {
            let vote = votes.entry(edge).or_default();
            vote.0 += ports;
            vote.1 += sum.connections;
        }
    }
    let enough = learner.config.repetition.clamp(1, KEPT);
    let mut rest = Sorted::new();
    for (key, sum) in groups {
        let ways = [Some(key.edge()), key.reversed_high(&sum)].into_iter().flatten();
        let won = ways.filter_map(|edge| Some((edge, *votes.get(&edge)?)));
        match won.filter(|(_, (ports, _))| *ports >= enough).max_by_key(|(_, vote)| *vote) {
            Some((edge, (_, connections))) => {
                let note = format!("direction inferred from {connections} flows");
                edges.entry(edge).infer(&sum, &note);
            }
            None => drop(rest.insert(key, sum)),
        }
    }
    rest
}

// === impl Merged ===

impl Merged {
    /// What became of an edge's attempts.
    pub(super) fn fate<D: Directory>(&self, edge: &Edge, learner: &Learner<D>) -> Fate {
        let Endings { answered, repeated, silent, .. } = edge.endings;
        // A node that reports answers would have reported one to an attempt that it saw.
        let answers = |node: u32| learner.reporters[node as usize].answers;
        let answers_would_show = || self.sums(edge, learner).any(|sum| sum.watchers.any(answers));
        if answered > 0 || edge.inferred.is_some() || (silent > 0 && !answers_would_show()) {
            Fate::Alive
        } else if silent > 0 || repeated > 0 {
            Fate::Unanswered
        } else {
            Fate::Refused
        }
    }

    /// By which services the clients came, or `direct`.
    pub(super) fn services<D: Directory>(
        &self,
        edge: &Edge,
        learner: &Learner<D>,
    ) -> BTreeSet<Arc<str>> {
        let named = self.sums(edge, learner).flat_map(|sum| &sum.services);
        let direct = edge.endings.direct.then(|| Arc::from("direct"));
        let mut services = BTreeSet::new();
        for service in named.map(|service| service_name(service)).chain(direct) {
            keep_smallest(&mut services, service, KEPT);
        }
        services
    }

    /// Own ports of the services by which the clients came.
    pub(super) fn service_ports<D: Directory>(
        &self,
        edge: &Edge,
        learner: &Learner<D>,
    ) -> BTreeSet<u16> {
        let services = self.sums(edge, learner).flat_map(|sum| &sum.services);
        services.filter_map(|service| service.port).collect()
    }

    /// The smallest pair of pods.
    pub(super) fn example<D: Directory>(
        &self,
        edge: &Edge,
        learner: &Learner<D>,
    ) -> Option<(Arc<str>, Arc<str>)> {
        self.sums(edge, learner).filter_map(|sum| sum.example.as_ref()).min().cloned()
    }

    fn sums<'a, D: Directory>(
        &'a self,
        edge: &Edge,
        learner: &'a Learner<D>,
    ) -> impl Iterator<Item = &'a EdgeSum> {
        let members = &self.members[edge.members.start as usize..edge.members.end as usize];
        members.iter().map(|id| &learner.edges[*id as usize])
    }
}

// === impl Edges ===

impl Edges {
    /// The edge of `key`, which is the last or, where it is not, begins at `place` of the members.
    fn last_or_new(&mut self, key: EdgeKey, place: u32) -> &mut Edge {
        if self.learned.last().is_none_or(|(last, _)| *last != key) {
            self.learned.push((key, Edge::new(place)));
        }
        let at = self.learned.len() - 1;
        &mut self.learned[at].1
    }

    fn get(&self, key: &EdgeKey) -> Option<&Edge> {
        match self.place(key) {
            Ok(at) => Some(&self.learned[at].1),
            Err(_) => self.inferred.get(key),
        }
    }

    fn get_mut(&mut self, key: &EdgeKey) -> Option<&mut Edge> {
        match self.place(key) {
            Ok(at) => Some(&mut self.learned[at].1),
            Err(_) => self.inferred.get_mut(key),
        }
    }

    /// The edge of `key`, made if it is not there.
    fn entry(&mut self, key: EdgeKey) -> &mut Edge {
        match self.place(&key) {
            Ok(at) => &mut self.learned[at].1,
            Err(_) => self.inferred.entry(key).or_insert_with(|| Edge::new(0)),
        }
    }

    fn place(&self, key: &EdgeKey) -> Result<usize, usize> {
        self.learned.binary_search_by(|(known, _)| known.cmp(key))
    }

    fn into_sorted(mut self) -> Vec<(EdgeKey, Edge)> {
        self.learned.reserve_exact(self.inferred.len());
        self.learned.extend(self.inferred);
        self.learned.sort_unstable_by_key(|(key, _)| *key);
        self.learned
    }
}

// === impl Edge ===

impl Edge {
    /// Nothing yet, with no members from `place` on.
    fn new(place: u32) -> Self {
        Self {
            first: i64::MAX,
            last: i64::MIN,
            observations: 0,
            connections: 0,
            endings: Endings::default(),
            members: place..place,
            inferred: None,
        }
    }

    /// Whether not every attempt was refused.
    fn may_work(&self) -> bool {
        let Endings { answered, repeated, silent, .. } = self.endings;
        answered > 0 || repeated > 0 || silent > 0
    }

    /// Takes in the next of its members.
    fn add(&mut self, sum: &EdgeSum, endings: Endings) {
        self.members.end += 1;
        self.span(Some(sum.first), Some(sum.last));
        self.observations += sum.observations + endings.joined;
        self.connections += sum.connections;
        let own = &mut self.endings;
        own.answered = own.answered.saturating_add(endings.answered);
        own.refused = own.refused.saturating_add(endings.refused);
        own.repeated = own.repeated.saturating_add(endings.repeated);
        own.silent = own.silent.saturating_add(endings.silent);
        own.direct |= endings.direct;
    }

    /// Takes in packets that belong to it; their connections began before learning did.
    fn join(&mut self, sum: &CandidateSum) {
        self.observations += sum.observations;
        self.connections += sum.connections;
        self.endings.answered = self.endings.answered.saturating_add(1);
        self.span(sum.first, sum.last);
    }

    /// Takes in packets that make it likely; of several reasons the first by name is told.
    fn infer(&mut self, sum: &CandidateSum, note: &str) {
        self.join(sum);
        self.inferred = [self.inferred.take(), Some(note.into())].into_iter().flatten().min();
    }

    fn span(&mut self, first: Option<i64>, last: Option<i64>) {
        self.first = first.map_or(self.first, |first| self.first.min(first));
        self.last = last.map_or(self.last, |last| self.last.max(last));
    }
}

fn service_name(service: &ServiceRef) -> Arc<str> {
    match service.port {
        Some(port) => format!("svc/{}:{port}", service.name).into(),
        None => format!("svc/{}", service.name).into(),
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
        let protocol = self.protocol;
        Some(EdgeKey { source: self.server, destination: self.client, port, protocol })
    }

    /// The same where the guess may be wrong: both ports are of the range that clients get theirs from.
    fn reversed_high(&self, sum: &CandidateSum) -> Option<EdgeKey> {
        self.reversed(sum).filter(|_| self.port >= FIRST_CLIENT_PORT)
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
