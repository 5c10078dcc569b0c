//! Where traffic goes on either side: into a rule, among the uncovered, or nowhere.

use std::sync::Arc;

use netenf_policy::Protocol;

use crate::classify::Skip;
use crate::config::Subjects;
use crate::directory::{ApiServerTarget, Directory, DnsTarget};
use crate::identity::Workload;
use crate::learner::Learner;
use crate::observation::Direction;
use crate::outcome::cast::Cast;
use crate::outcome::draft::Sum;
use crate::outcome::edge::{Edge, Fate, Merged};
use crate::outcome::{Sorted, dns, enforces};
use crate::proposal::{Provenance, Reason};
use crate::sum::{CandidateKey, CandidateSum, EdgeKey, NoteSum};

mod compose;
mod fit;
pub(super) mod settle;

use fit::Fit;

/// Protocol and port of a rule.
type At = (Protocol, u16);

/// Traffic in a protocol that no rule can name, and its protocol.
type Inexpressible = (u32, u32, Arc<str>);

/// Everything that has a place, and what decides where that is.
pub(super) struct Placer<'a, D> {
    learner: &'a Learner<D>,
    cast: Cast,
    merged: Merged,
    inexpressible: Vec<(Inexpressible, NoteSum)>,
    probes: compose::Probes,
    dns: Option<DnsTarget>,
    api_server: Option<ApiServerTarget>,
}

/// One thing that is placed.
enum Thing<'a> {
    Edge(&'a EdgeKey, &'a Edge),
    Ambiguous(&'a CandidateKey, &'a CandidateSum),
    Inexpressible(&'a Inexpressible, &'a NoteSum),
}

/// Who talks to whom, and how.
#[derive(Clone, Copy)]
pub(super) struct Traffic {
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) at: Option<At>,
    observations: u64,
    /// Nothing where not even the direction is known, or no rule could tell.
    pub(super) fate: Option<Fate>,
    /// Why there is no rule, whoever the peer is.
    pub(super) reason: Option<Reason>,
}

/// One side of the traffic.
#[derive(Clone, Copy)]
struct Side {
    subject: u32,
    peer: u32,
    direction: Direction,
}

/// Where one side of traffic goes.
enum Way {
    /// Into the proposal of its subject.
    Draft(Fit),
    /// Among what belongs to no proposal.
    Unplaced(Reason, Option<String>),
    /// Nowhere.
    Nowhere(Skip),
}

// === impl Placer ===

impl<'a, D: Directory> Placer<'a, D> {
    pub(super) fn new(learner: &'a Learner<D>, cast: Cast, merged: Merged) -> Self {
        Self {
            learner,
            dns: dns::target(learner, &cast, &merged),
            api_server: learner.directory.api_server(),
            inexpressible: inexpressible(learner, &cast),
            probes: compose::probes(learner, &cast),
            cast,
            merged,
        }
    }

    pub(super) fn cast(&self) -> &Cast {
        &self.cast
    }

    /// How many things there are to place: edges first, then packets of unknown direction, then the rest.
    pub(super) fn things(&self) -> usize {
        self.merged.edges.len() + self.merged.ambiguous.len() + self.inexpressible.len()
    }

    fn thing(&self, id: u32) -> Thing<'_> {
        let Merged { edges, ambiguous, .. } = &self.merged;
        let id = id as usize;
        if let Some((key, edge)) = edges.get(id) {
            return Thing::Edge(key, edge);
        }
        match ambiguous.get(id - edges.len()) {
            Some((key, sum)) => Thing::Ambiguous(key, sum),
            None => {
                let (key, sum) = &self.inexpressible[id - edges.len() - ambiguous.len()];
                Thing::Inexpressible(key, sum)
            }
        }
    }

    pub(super) fn traffic(&self, id: u32) -> Traffic {
        match self.thing(id) {
            Thing::Edge(key, edge) => {
                let fate = self.merged.fate(edge, self.learner);
                Traffic {
                    source: key.source,
                    destination: key.destination,
                    at: Some((key.protocol, key.port)),
                    observations: edge.observations,
                    fate: Some(fate),
                    reason: (fate == Fate::Unanswered).then_some(Reason::Unanswered),
                }
            }
            Thing::Ambiguous(key, sum) => Traffic {
                source: key.client,
                destination: key.server,
                at: Some((key.protocol, key.port)),
                observations: sum.observations,
                fate: None,
                reason: Some(Reason::Ambiguous),
            },
            Thing::Inexpressible((source, destination, _), sum) => Traffic {
                source: *source,
                destination: *destination,
                at: None,
                observations: sum.observations,
                fate: None,
                reason: Some(Reason::Protocol),
            },
        }
    }

    pub(super) fn protocol(&self, id: u32) -> Arc<str> {
        match self.thing(id) {
            Thing::Edge(key, _) => protocol_name(key.protocol).into(),
            Thing::Ambiguous(key, _) => protocol_name(key.protocol).into(),
            Thing::Inexpressible((_, _, protocol), _) => protocol.clone(),
        }
    }

    /// What adds up, before it is known for what.
    pub(super) fn sum(&self, id: u32) -> Sum {
        match self.thing(id) {
            Thing::Edge(_, edge) => self.edge_sum(edge),
            Thing::Ambiguous(_, sum) => Sum {
                count: sum.connections.max(1),
                first: sum.first,
                last: sum.last,
                ..Sum::default()
            },
            Thing::Inexpressible((_, _, protocol), sum) => {
                let note = if &**protocol == "ICMP" {
                    "ping used; NetworkPolicy cannot allow it"
                } else {
                    "no rule can name this protocol"
                };
                let (count, first, last) = (sum.observations, Some(sum.first), Some(sum.last));
                Sum { count, first, last, notes: [note.into()].into(), ..Sum::default() }
            }
        }
    }

    fn edge_sum(&self, edge: &Edge) -> Sum {
        let provenance =
            if edge.inferred.is_some() { Provenance::Inferred } else { Provenance::Observed };
        Sum {
            count: edge.connections.max(1),
            first: Some(edge.first),
            last: Some(edge.last),
            provenance: Some(provenance),
            services: self.merged.services(edge, self.learner),
            notes: edge.inferred.iter().map(|note| Arc::from(&**note)).collect(),
            example: self.merged.example(edge, self.learner),
            ..Sum::default()
        }
    }

    fn way(&self, traffic: &Traffic, side: Side) -> Way {
        if traffic.fate == Some(Fate::Refused) {
            return Way::Nowhere(Skip::Rejected);
        }
        match self.subject(side) {
            Ok(_) => {}
            Err(Refusal::Skip(skip)) => return Way::Nowhere(skip),
            Err(Refusal::Uncovered(reason, note)) => return Way::Unplaced(reason, note),
        }
        if let Err(reason) = self.cast.selector(side.subject) {
            return Way::Unplaced(reason, None);
        }
        match (traffic.reason, self.fit(side.peer, side.direction, traffic.at)) {
            // The rule for DNS is there whether it answered or not.
            (Some(Reason::Unanswered) | None, fit @ Fit::Dns(_)) | (None, fit) => Way::Draft(fit),
            (Some(reason), _) => Way::Draft(Fit::Not(reason, None)),
        }
    }

    /// The workload whose proposal the side belongs into, or why there can be none.
    fn subject(&self, side: Side) -> Result<&'a Workload, Refusal> {
        let config = &self.learner.config;
        let learner: &'a Learner<D> = self.learner;
        let party = &learner.parties[side.subject as usize].party;
        let Some(namespace) = party.namespace() else {
            return Err(Refusal::Skip(Skip::NotSubject));
        };
        let workload = party.workload();
        let nameless = Workload::new(namespace.clone(), "Pod", "");
        if !config.scope.covers(workload.unwrap_or(&nameless)) {
            return Err(Refusal::Skip(Skip::OutOfScope));
        }
        if !enforces(config.backend, side.direction) {
            let inside = learner.parties[side.peer as usize].party.namespace().is_some();
            return Err(if inside {
                Refusal::Skip(Skip::OtherSide)
            } else {
                Refusal::Uncovered(Reason::External, Some(NOT_ENFORCEABLE.into()))
            });
        }
        let Some(workload) = workload else {
            return Err(Refusal::Uncovered(Reason::UnknownOwner, None));
        };
        if config.subjects.cover(&workload.kind) {
            return Ok(workload);
        }
        let also = if Subjects::All.cover(&workload.kind) { " without --subjects all" } else { "" };
        let note = format!("no proposals are written for kind {}{also}", workload.kind);
        Err(Refusal::Uncovered(Reason::UnknownOwner, Some(note)))
    }
}

// === impl Traffic ===

impl Traffic {
    fn side(&self, direction: Direction) -> Side {
        let (source, destination) = (self.source, self.destination);
        match direction {
            Direction::Egress => Side { subject: source, peer: destination, direction },
            Direction::Ingress => Side { subject: destination, peer: source, direction },
        }
    }
}

/// Why a side has no proposal.
enum Refusal {
    Skip(Skip),
    Uncovered(Reason, Option<String>),
}

const NOT_ENFORCEABLE: &str = "egress is seen but not enforceable by this backend";

/// Traffic in protocols that no rule can name, under unified ends, sorted.
fn inexpressible<D>(learner: &Learner<D>, cast: &Cast) -> Vec<(Inexpressible, NoteSum)> {
    let mut sums: Sorted<Inexpressible, NoteSum> = Sorted::new();
    for ((source, destination, protocol), sum) in &learner.inexpressible {
        let key = (cast.of(*source), cast.of(*destination), protocol.clone());
        sums.entry(key).or_insert(NoteSum::EMPTY).merge(sum);
    }
    sums.into_iter().collect()
}

fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}
