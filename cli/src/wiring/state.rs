//! What learning keeps in a folder besides proposals: counters, the window, and the edges that were seen.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Direction, PeerRef, Protocol};
use netenf_k8s::render;
use netenf_k8s::time::{earlier, later};
use netenf_learn::Timestamp;
use netenf_learn::proposal::{Funnel, Outcome, Peer, SeenEdge, SeenEnd};
use serde::{Deserialize, Serialize};

/// How much is kept. A folder is read as a whole by every command, and a hostile recording may name anything.
const LIMITS: Limits = Limits { edges: 200_000, unplaced: 10_000, nodes: 10_000 };

/// How many entries of each kind are kept: the first ones in their order, so that it is the same ones
/// whichever way round recordings are learned.
#[derive(Debug, Clone, Copy)]
struct Limits {
    edges: usize,
    unplaced: usize,
    nodes: usize,
}

/// Everything that is kept. Fields of a newer version are ignored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct State {
    received: u64,
    learned: u64,
    skipped: BTreeMap<String, u64>,
    uncovered: u64,
    violations: u64,
    errors: u64,
    lost: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Option<Time>,
    /// What the sources last said of their nodes.
    pub(crate) nodes: BTreeMap<String, String>,
    edges: Vec<Edge>,
    pub(crate) unplaced: Vec<Unplaced>,
    pub(crate) cut: Cut,
}

/// How many entries were not kept; one that is learned again is counted again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Cut {
    pub(crate) edges: u64,
    pub(crate) unplaced: u64,
    pub(crate) nodes: u64,
}

/// An edge that was seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edge {
    /// The ends of many edges are the same few.
    source: Arc<End>,
    destination: Arc<End>,
    protocol: Protocol,
    port: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    port_names: Vec<String>,
    count: u64,
    observations: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Time>,
}

/// An end of an edge with the labels that policies see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct End {
    peer: PeerRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<BTreeMap<String, String>>,
}

/// Something seen that belongs to no proposal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Unplaced {
    pub(crate) subject: PeerRef,
    pub(crate) direction: Direction,
    pub(crate) peer: PeerRef,
    pub(crate) port: Option<u16>,
    pub(crate) protocol: String,
    pub(crate) reason: String,
    pub(crate) count: u64,
}

// === impl State ===

impl State {
    /// Adds what a further recording taught.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.add_within(outcome, LIMITS);
    }

    fn add_within(&mut self, outcome: &Outcome, limits: Limits) {
        let funnel = &outcome.funnel;
        for (sum, more) in [
            (&mut self.received, funnel.received),
            (&mut self.learned, funnel.learned),
            (&mut self.uncovered, funnel.uncovered),
            (&mut self.violations, funnel.violations),
            (&mut self.errors, funnel.errors),
            (&mut self.lost, funnel.lost),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (reason, count) in &funnel.skipped {
            let sum = self.skipped.entry((*reason).to_owned()).or_default();
            *sum = sum.saturating_add(*count);
        }
        if let Some((first, last)) = outcome.window {
            self.first = earlier(self.first.take(), render::time(first));
            self.last = later(self.last.take(), render::time(last));
        }
        let states =
            outcome.nodes.iter().map(|(node, state)| (node.to_string(), format!("{state:?}")));
        self.nodes.extend(states);
        cut(&mut self.nodes, limits.nodes, &mut self.cut.nodes);
        self.add_edges(&outcome.edges, limits.edges);
        self.add_unplaced(outcome, limits.unplaced);
    }

    /// The counters.
    pub(crate) fn funnel(&self) -> Funnel {
        let mut funnel = Funnel {
            received: self.received,
            learned: self.learned,
            uncovered: self.uncovered,
            violations: self.violations,
            errors: self.errors,
            lost: self.lost,
            ..Funnel::default()
        };
        for (reason, count) in &self.skipped {
            // Names of reasons are few and fixed; a state file is read once in a process.
            funnel.skip(String::leak(reason.clone()), *count);
        }
        funnel
    }

    /// Seconds from the first to the last flow.
    pub(crate) fn window(&self) -> Option<i64> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        Some(last.0.as_second() - first.0.as_second())
    }

    /// What was seen but is not kept, so that it cannot be judged.
    pub(crate) fn warning(&self) -> Option<String> {
        let cut = self.cut.edges;
        (cut > 0).then(|| {
            format!("warning: the folder is full: {cut} more edges were seen and are not judged")
        })
    }

    /// The edges that were seen.
    pub(crate) fn edges(&self) -> Vec<SeenEdge> {
        self.edges.iter().filter_map(Edge::seen).collect()
    }

    fn add_edges(&mut self, edges: &[SeenEdge], limit: usize) {
        let mut ends = HashMap::new();
        self.edges.extend(edges.iter().map(|edge| Edge::of(edge, &mut ends)));
        // Stable: what was known stands before what is fresh, which is added to it.
        self.edges.sort_by(|one, other| one.key().cmp(&other.key()));
        self.edges.dedup_by(|edge, one| {
            let is_same = edge.key() == one.key();
            if is_same {
                one.add(edge);
            }
            is_same
        });
        let over = self.edges.len().saturating_sub(limit);
        self.edges.truncate(limit);
        self.cut.edges = self.cut.edges.saturating_add(over as u64);
    }

    fn add_unplaced(&mut self, outcome: &Outcome, limit: usize) {
        let mut known: BTreeMap<Unplaced, u64> = BTreeMap::new();
        let fresh = outcome.unplaced.iter().map(Unplaced::of);
        for mut one in mem::take(&mut self.unplaced).into_iter().chain(fresh) {
            let count = mem::take(&mut one.count);
            let sum = known.entry(one).or_default();
            *sum = sum.saturating_add(count);
        }
        cut(&mut known, limit, &mut self.cut.unplaced);
        self.unplaced = known.into_iter().map(|(one, count)| Unplaced { count, ..one }).collect();
    }
}

// === impl Unplaced ===

impl Unplaced {
    fn of(unplaced: &netenf_learn::proposal::Unplaced) -> Self {
        let uncovered = &unplaced.uncovered;
        Self {
            subject: render::peer(&unplaced.subject),
            direction: render::direction(unplaced.direction),
            peer: render::peer(&uncovered.peer),
            port: uncovered.port,
            protocol: uncovered.protocol.to_string(),
            reason: uncovered.reason.name().to_owned(),
            count: uncovered.count,
        }
    }
}

// === impl Edge ===

impl Edge {
    /// The edge; its ends are shared with those that were made before.
    fn of(edge: &SeenEdge, ends: &mut HashMap<*const SeenEnd, Arc<End>>) -> Self {
        let mut end = |end: &Arc<SeenEnd>| {
            let known = ends.entry(Arc::as_ptr(end)).or_insert_with(|| End::of(end).into());
            Arc::clone(known)
        };
        Self {
            source: end(&edge.source),
            destination: end(&edge.destination),
            protocol: render::protocol(edge.protocol),
            port: edge.port,
            port_names: edge.port_names.iter().map(ToString::to_string).collect(),
            count: edge.count,
            observations: edge.observations,
            first: edge.first.and_then(render::time),
            last: edge.last.and_then(render::time),
        }
    }

    /// What an edge is known by.
    fn key(&self) -> (&End, &End, Protocol, u16) {
        (&self.source, &self.destination, self.protocol, self.port)
    }

    /// Adds what was seen of the same edge elsewhere.
    fn add(&mut self, edge: &Self) {
        self.count = self.count.saturating_add(edge.count);
        self.observations = self.observations.saturating_add(edge.observations);
        self.first = earlier(self.first.take(), edge.first.clone());
        self.last = later(self.last.take(), edge.last.clone());
    }

    fn seen(&self) -> Option<SeenEdge> {
        let protocol = match self.protocol {
            Protocol::Tcp => netenf_policy::Protocol::Tcp,
            Protocol::Udp => netenf_policy::Protocol::Udp,
            Protocol::Sctp => netenf_policy::Protocol::Sctp,
            Protocol::Icmp | Protocol::Other => return None,
        };
        let at = |time: &Option<Time>| {
            let nanos = time.as_ref().map(|time| time.0.as_nanosecond());
            nanos.and_then(|nanos| i64::try_from(nanos).ok()).map(Timestamp)
        };
        Some(SeenEdge {
            source: self.source.seen().into(),
            destination: self.destination.seen().into(),
            protocol,
            port: self.port,
            port_names: self.port_names.iter().map(|name| name.as_str().into()).collect(),
            count: self.count,
            observations: self.observations,
            learned: true,
            skipped: None,
            first: at(&self.first),
            last: at(&self.last),
        })
    }
}

// === impl End ===

impl End {
    fn of(end: &SeenEnd) -> Self {
        let labels = end.labels.as_ref();
        Self {
            peer: render::peer(&end.peer),
            labels: labels
                .map(|labels| labels.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()),
        }
    }

    fn seen(&self) -> SeenEnd {
        let text = |value: &Option<String>| value.as_deref().map(Arc::from);
        let peer = &self.peer;
        SeenEnd {
            peer: Peer {
                kind: text(&peer.kind),
                namespace: text(&peer.namespace),
                name: text(&peer.name),
                identity: text(&peer.identity),
                address: peer.address.as_ref().and_then(|address| address.parse().ok()),
                addresses: peer
                    .addresses
                    .iter()
                    .filter_map(|address| address.parse().ok())
                    .collect(),
                names: peer.names.iter().map(|name| name.as_str().into()).collect(),
                service: text(&peer.service),
            },
            labels: self.labels.as_ref().map(|labels| {
                labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
            }),
        }
    }
}

/// Takes away what is over the limit, and counts it.
fn cut<K: Ord, V>(entries: &mut BTreeMap<K, V>, limit: usize, counter: &mut u64) {
    while entries.len() > limit {
        entries.pop_last();
        *counter = counter.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
