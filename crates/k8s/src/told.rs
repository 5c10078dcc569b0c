//! What can be told of one observation by itself, as it comes: who talks to whom, and what became of it.
//!
//! A learner decides from all observations together; a person who watches wants a word on each. So this is a word for
//! the moment: by the objects and policies that are known when it is asked, and by this observation alone. Whether
//! packets in the midst of a connection repeat an edge, or whether an attempt is ever answered, is not known then.

use std::borrow::Cow;
use std::sync::Arc;

use netenf_api::ViolationReason;
use netenf_learn::classify::{Class, Skip, classify};
use netenf_learn::proposal::{Peer, Reason, SeenEdge, SeenEnd};
use netenf_learn::{
    Config, Direction, Directory as _, End, Observation, Reporter, Timestamp, Workload,
};
use netenf_policy::{Finding, Protocol};

use crate::index::Index;
use crate::monitor::{self, Attempt, Guard};
use crate::render;

mod fit;

/// The service of the API server.
const API_SERVICE: &str = "default/kubernetes";

/// An observation as it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// Who opens, as far as this observation tells.
    pub source: Peer,
    /// Who answers: of a Service what is behind it, where that is one workload.
    pub destination: Peer,
    /// The port of the answering end after translation, where one is told.
    pub port: Option<u16>,
    /// The port of the opening end, where it is told.
    pub source_port: Option<u16>,
    /// Whether the observation is of an answer, so that its source and destination stand the other way round here.
    pub is_turned: bool,
    /// Which end is the subject: the side that reported it, else the side that is a workload.
    pub direction: Direction,
    /// What became of it.
    pub fate: Fate,
    /// What the policies say in its direction; nothing where the subject is no pod, or an end is not known.
    pub finding: Option<Finding>,
    /// What is asked of policies.
    asked: Option<SeenEdge>,
    /// Whether the source reports that it was denied.
    is_denied: bool,
    /// Whom the source names for it.
    denied_by: Option<Arc<netenf_learn::PolicyRef>>,
}

/// What became of an observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// A rule is written for it, or there is one.
    Learned,
    /// It teaches nothing.
    Skipped(Skip),
    /// No rule can express it.
    Uncovered(Reason),
    /// A policy of ours denies it, or would.
    Violation {
        /// Why.
        reason: ViolationReason,
        /// The id of the violation in the status of the policy.
        id: String,
    },
    /// A packet in the midst of a connection: what it belongs to is known when more of it is seen.
    Undecided,
}

// === impl Fate ===

impl Fate {
    /// Why, as in `status` and in resources; empty where it was learned.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Learned => "",
            Self::Skipped(skip) => skip.name(),
            Self::Uncovered(reason) => reason.name(),
            Self::Violation { reason, .. } => reason.as_str(),
            Self::Undecided => "Undecided",
        }
    }
}

// === impl Told ===

impl Told {
    /// Tells of `observation` what no policy has a say in; `skipped` is why it taught the learner nothing, where the
    /// learner said so at once.
    pub fn new(
        index: &Index,
        config: &Config,
        observation: &Observation,
        skipped: Option<Skip>,
    ) -> Self {
        let class = classify(observation);
        let flow = opened(observation, class);
        let mut told = Self::of_ends(index, &flow);
        told.is_turned = matches!(flow, Cow::Owned(_));
        told.is_denied = matches!(class, Class::Denied(_));
        told.fate = match (skipped, class) {
            (Some(skip), _) => Fate::Skipped(skip),
            (None, Class::Inexpressible) => Fate::Uncovered(Reason::Protocol),
            (None, Class::Candidate(_)) => Fate::Undecided,
            (
                None,
                Class::Open(_)
                | Class::Answer(_)
                | Class::Reset
                | Class::Refused(..)
                | Class::Denied(_)
                | Class::Unreachable
                | Class::Skip(_),
            ) => fit::fate(index, config, &told),
        };
        if told.fate == Fate::Learned && observation.answered == Some(false) {
            told.fate = Fate::Uncovered(Reason::Unanswered);
        }
        told
    }

    /// The ends, and what is asked of policies.
    fn of_ends(index: &Index, flow: &Observation) -> Self {
        let protocol = netenf_learn::classify::protocol(&flow.transport);
        let source = seen(index, &flow.source, flow.time);
        let mut destination = seen(index, &flow.destination, flow.time);
        let mut port = flow.destination_port;
        let at = protocol.zip(port.filter(|port| *port > 0));
        if let (Some(at), Some(found)) = (at, &destination)
            && let Some((end, own)) = behind(index, flow, found, at)
        {
            (destination, port) = (Some(end), Some(own));
        }
        let direction = direction(flow, source.as_ref());
        let asked = at.zip(source.as_ref().zip(destination.as_ref()));
        let asked = asked.map(|((protocol, _), (source, destination))| {
            edge(index, flow, (source, destination), (protocol, port.unwrap_or_default()))
        });
        let named = |found: Option<SeenEnd>, end: &End| {
            found.map_or_else(|| nameless(end), |found| found.peer)
        };
        let mut told = Self {
            source: named(source, &flow.source),
            destination: named(destination, &flow.destination),
            port,
            source_port: flow.source_port,
            is_turned: false,
            direction,
            fate: Fate::Undecided,
            finding: None,
            asked,
            is_denied: false,
            denied_by: flow.denied_by.clone(),
        };
        if let Some(service) = &flow.service {
            told.destination.service =
                Some(format!("{}/{}", service.namespace, service.name).into());
        }
        told
    }

    /// The end whose proposal or policy it is about, and the other one.
    fn sides(&self, direction: Direction) -> (&Peer, &Peer) {
        match direction {
            Direction::Egress => (&self.source, &self.destination),
            Direction::Ingress => (&self.destination, &self.source),
        }
    }
}

/// Adds what policies say: `guards` are ours, those of the cluster stand in the index.
pub fn judge(index: &Index, guards: &[Guard], all: &mut [Told]) {
    let is_asked = |told: &&mut Told| {
        let is_ours_to_judge = !matches!(told.fate, Fate::Skipped(skip) if skip != Skip::Denied);
        is_ours_to_judge && told.asked.is_some()
    };
    let mut asked: Vec<&mut Told> = all.iter_mut().filter(is_asked).collect();
    let attempts: Vec<Attempt<'_>> = asked
        .iter()
        .filter_map(|told| {
            Some(Attempt {
                edge: told.asked.as_ref()?,
                direction: told.direction,
                denied: told.is_denied.then(|| told.denied_by.clone()),
            })
        })
        .collect();
    let ruled = monitor::rule_on(index, guards, &attempts);
    for (told, ruling) in asked.iter_mut().zip(ruled) {
        told.finding = ruling.finding;
        // The side that is told of comes first.
        let own = render::direction(told.direction);
        let first = ruling.denied.iter().find(|denied| denied.direction == own);
        let Some(denied) = first.or(ruling.denied.first()) else { continue };
        let mode = guards
            .iter()
            .find(|guard| (&guard.namespace, &guard.name) == (&denied.policy.0, &denied.policy.1))
            .map_or(netenf_api::Mode::Monitor, |guard| guard.mode);
        if let Some(violation) = monitor::violation(denied, mode) {
            told.fate = Fate::Violation { reason: violation.reason, id: violation.id };
        }
    }
}

/// With its opener as the source: an answer is told as what it answers.
fn opened(observation: &Observation, class: Class) -> Cow<'_, Observation> {
    match class {
        Class::Answer(_) | Class::Skip(Skip::Reply) => Cow::Owned(observation.turned()),
        Class::Open(_)
        | Class::Candidate(_)
        | Class::Reset
        | Class::Refused(..)
        | Class::Denied(_)
        | Class::Unreachable
        | Class::Inexpressible
        | Class::Skip(_) => Cow::Borrowed(observation),
    }
}

fn direction(flow: &Observation, source: Option<&SeenEnd>) -> Direction {
    let reported = flow.direction.or(flow.reporter.map(|reporter| match reporter {
        Reporter::Source => Direction::Egress,
        Reporter::Destination => Direction::Ingress,
    }));
    let is_inside = source.is_some_and(|source| source.peer.namespace.is_some());
    reported.unwrap_or(if is_inside { Direction::Egress } else { Direction::Ingress })
}

/// The end by the cluster's objects or by the source; `None` where the report contradicts itself.
fn seen(index: &Index, end: &End, time: Option<Timestamp>) -> Option<SeenEnd> {
    netenf_learn::seen(index, end, time).ok()
}

/// An end that is not known, by its address.
fn nameless(end: &End) -> Peer {
    Peer { kind: Some("Unknown".into()), address: end.address, ..Peer::default() }
}

/// What is behind the destination if it is an address of a Service: one workload and its port. Where several are
/// behind it, which one was meant is not told, and the Service is named alone.
fn behind(
    index: &Index,
    flow: &Observation,
    destination: &SeenEnd,
    (protocol, port): (Protocol, u16),
) -> Option<(SeenEnd, u16)> {
    let kind = destination.peer.kind.as_deref()?;
    let address =
        flow.destination.address.filter(|_| matches!(kind, "External" | "Node" | "ApiServer"))?;
    let target = index.service(address, port, protocol)?;
    let service = Some(target.service.clone());
    if target.node_port {
        let peer = Peer { kind: Some("NodePort".into()), service, ..Peer::default() };
        return Some((SeenEnd { peer, labels: None }, port));
    }
    if &*target.service == API_SERVICE {
        let peer = Peer { kind: Some("ApiServer".into()), service, ..Peer::default() };
        return Some((
            SeenEnd { peer, labels: None },
            index.api_server().map_or(port, |it| it.port),
        ));
    }
    match target.backends.as_slice() {
        [(workload, port)] => {
            let peer = Peer { service, ..of_workload(workload) };
            Some((SeenEnd { peer, labels: index.labels(workload) }, *port))
        }
        _ => {
            let peer = Peer { service, ..destination.peer.clone() };
            Some((SeenEnd { peer, labels: None }, port))
        }
    }
}

fn of_workload(workload: &Workload) -> Peer {
    Peer {
        kind: Some(workload.kind.clone()),
        namespace: Some(workload.namespace.clone()),
        name: Some(workload.name.clone()),
        ..Peer::default()
    }
}

fn edge(
    index: &Index,
    flow: &Observation,
    (source, destination): (&SeenEnd, &SeenEnd),
    (protocol, port): (Protocol, u16),
) -> SeenEdge {
    let Peer { kind, namespace, name, .. } = &destination.peer;
    let workload = kind.clone().zip(namespace.clone()).zip(name.clone());
    let workload = workload.map(|((kind, namespace), name)| Workload::new(namespace, kind, name));
    SeenEdge {
        source: Arc::new(source.clone()),
        destination: Arc::new(destination.clone()),
        protocol,
        port,
        port_names: workload.map(|it| index.port_names(&it, port, protocol)).unwrap_or_default(),
        count: flow.connections,
        observations: 1,
        learned: true,
        skipped: None,
        first: flow.time,
        last: flow.time,
    }
}

#[cfg(test)]
mod tests;
