//! What policies would do to traffic that was seen.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use netenf_api::{Direction, Mode, WorkloadNetworkPolicySpec};
use netenf_learn as learn;
use netenf_learn::Directory as _;
use netenf_learn::proposal::{Denial, Funnel, Outcome, SeenEdge, SeenEnd};
use netenf_policy::{
    Connection, Decision, End, NetworkPolicy, Pod, Protocol, Reason, Verdict, evaluate,
};

use crate::index::Index;
use crate::merge::istio_allows;
use crate::{lower, render};

mod record;

pub use record::{gathered, record, violation};

/// One of our policies, ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Guard {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// How it acts.
    pub mode: Mode,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Kubernetes(NetworkPolicy),
    Istio(Box<netenf_api::IstioPolicySpec>, netenf_policy::Selector),
}

/// Seen traffic that one of our policies does not allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Denied {
    /// Namespace and name of the policy.
    pub policy: (String, String),
    /// On which side.
    pub direction: Direction,
    /// The traffic.
    pub edge: SeenEdge,
}

// === impl Guard ===

impl Guard {
    /// Prepares a policy body. `kind` is the kind of its object.
    pub fn new(
        kind: &str,
        namespace: &str,
        name: &str,
        spec: &WorkloadNetworkPolicySpec,
    ) -> Option<Self> {
        let body = match (&spec.kubernetes, &spec.istio) {
            (Some(body), _) => {
                Body::Kubernetes(lower::network_policy(kind, namespace, name, body).0)
            }
            (None, Some(body)) => {
                Body::Istio(Box::new(body.clone()), lower::selector(&body.selector).0)
            }
            (None, None) => return None,
        };
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned(), mode: spec.mode, body })
    }

    /// The direction that it decides on; Istio's policies know only the ingress.
    fn direction(&self) -> Direction {
        match &self.body {
            Body::Kubernetes(policy) if policy.ingress.is_none() => Direction::Egress,
            Body::Kubernetes(_) | Body::Istio(..) => Direction::Ingress,
        }
    }

    fn denied(&self, direction: Direction, edge: &SeenEdge) -> Denied {
        let policy = (self.namespace.clone(), self.name.clone());
        Denied { policy, direction, edge: edge.clone() }
    }
}

// === impl Denied ===

impl Denied {
    /// The end that the workload of the policy talks to.
    pub(crate) fn other_end(&self) -> &learn::proposal::Peer {
        match self.direction {
            Direction::Egress => &self.edge.destination.peer,
            Direction::Ingress => &self.edge.source.peer,
        }
    }
}

/// Judges what was learned by policies of ours: the traffic that they do not allow (see [`denied`]), and
/// what a source reports as denied by them. The observations of both move in the funnel from where the
/// learner counted them to the violations.
pub fn judge(
    index: &Index,
    guards: &[Guard],
    others: &[NetworkPolicy],
    outcome: &mut Outcome,
) -> Vec<Denied> {
    let judges = Judges::new(index, guards, others);
    let mut all = Vec::new();
    for edge in &outcome.edges {
        let found = judges.denied(edge);
        if !found.is_empty() {
            move_to_violations(&mut outcome.funnel, edge);
        }
        all.extend(found);
    }
    for denial in &outcome.denials {
        let Some(edge) = attempted(denial) else { continue };
        let found = judges.reported(denial, &edge);
        if !found.is_empty() {
            move_to_violations(&mut outcome.funnel, &edge);
        }
        all.extend(found);
    }
    outcome.funnel.skipped.retain(|_, count| *count > 0);
    all
}

fn move_to_violations(funnel: &mut Funnel, edge: &SeenEdge) {
    let from = match edge.skipped {
        Some(skip) => funnel.skipped.entry(skip.name()).or_default(),
        None if edge.learned => &mut funnel.learned,
        None => &mut funnel.uncovered,
    };
    let moved = edge.observations.min(*from);
    *from -= moved;
    funnel.violations += moved;
}

/// What would have been seen, had it not been denied; `None` where that is not told in full.
fn attempted(denial: &Denial) -> Option<SeenEdge> {
    Some(SeenEdge {
        source: Arc::new(denial.source.clone()),
        destination: Arc::new(denial.destination.clone()),
        protocol: denial.protocol?,
        port: denial.port?,
        count: denial.count,
        observations: denial.observations,
        learned: false,
        skipped: Some(learn::classify::Skip::Denied),
        port_names: Vec::new(),
        first: denial.first,
        last: denial.last,
    })
}

/// The traffic that `guards` would deny, and `others` (native policies) do not already allow. Each
/// policy speaks for itself: the union of all that select an end decides.
pub fn denied(
    index: &Index,
    guards: &[Guard],
    others: &[NetworkPolicy],
    edges: &[SeenEdge],
) -> Vec<Denied> {
    let judges = Judges::new(index, guards, others);
    edges.iter().flat_map(|edge| judges.denied(edge)).collect()
}

/// All policies that decide, ours and others.
struct Judges<'a> {
    index: &'a Index,
    guards: &'a [Guard],
    policies: Vec<NetworkPolicy>,
    /// Places among `guards` of those that are in `policies`, by `namespace/name`.
    places: HashMap<String, Vec<usize>>,
}

// === impl Judges ===

impl<'a> Judges<'a> {
    fn new(index: &'a Index, guards: &'a [Guard], others: &[NetworkPolicy]) -> Self {
        let mut policies: Vec<NetworkPolicy> = others.to_vec();
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, guard) in guards.iter().enumerate() {
            if let Body::Kubernetes(policy) = &guard.body {
                policies.push(policy.clone());
                places
                    .entry(format!("{}/{}", guard.namespace, guard.name))
                    .or_default()
                    .push(place);
            }
        }
        Self { index, guards, policies, places }
    }

    /// The policies of ours that do not allow `edge`.
    fn denied(&self, edge: &SeenEdge) -> Vec<Denied> {
        let mut found = Vec::new();
        let verdict = verdict(self.index, &self.policies, edge);
        let sides = [(Direction::Egress, &verdict.egress), (Direction::Ingress, &verdict.ingress)];
        for (direction, decision) in sides {
            let Reason::NoRule { policies: blamed } = &decision.reason else { continue };
            let ours = blamed.iter().filter_map(|one| self.places.get(&**one)).flatten();
            let ours: BTreeSet<usize> = ours.copied().collect();
            found.extend(ours.into_iter().map(|place| self.guards[place].denied(direction, edge)));
        }
        found.extend(denied_by_istio(self.guards, edge));
        found
    }

    /// The policies of ours that are to blame for a denial: the one that the source names, or, where it
    /// names none, those that do not allow the connection on the side that reported it. A policy that
    /// only monitors is among them: it would have denied the connection too.
    fn reported(&self, denial: &Denial, edge: &SeenEdge) -> Vec<Denied> {
        let reported = denial.direction.map(render::direction);
        let Some(by) = &denial.by else {
            let mut found = self.denied(edge);
            found.retain(|one| reported.is_none_or(|direction| direction == one.direction));
            return found;
        };
        let named = self.guards.iter().filter(|guard| {
            by.namespace.as_deref() == Some(guard.namespace.as_str()) && *by.name == *guard.name
        });
        named.map(|guard| guard.denied(reported.unwrap_or(guard.direction()), edge)).collect()
    }
}

fn denied_by_istio(guards: &[Guard], edge: &SeenEdge) -> Vec<Denied> {
    let selecting: Vec<(&Guard, &netenf_api::IstioPolicySpec)> = guards
        .iter()
        .filter_map(|guard| match &guard.body {
            Body::Istio(spec, selector) => {
                let labels = edge.destination.labels.as_ref()?;
                let here =
                    edge.destination.peer.namespace.as_deref() == Some(guard.namespace.as_str());
                (here && selector.matches(labels)).then_some((guard, &**spec))
            }
            Body::Kubernetes(_) => None,
        })
        .collect();
    let identity = edge.source.peer.identity.as_deref().unwrap_or_default();
    if selecting.iter().any(|(_, spec)| istio_allows(spec, identity, edge.port)) {
        return Vec::new();
    }
    selecting.into_iter().map(|(guard, _)| guard.denied(Direction::Ingress, edge)).collect()
}

/// The verdict on an edge. An end with several addresses (the API server, a node) may have used any of
/// them: a side allows the edge if it allows one.
fn verdict(index: &Index, policies: &[NetworkPolicy], edge: &SeenEdge) -> Verdict {
    let mut best: Option<Verdict> = None;
    let (protocol, port) = (edge.protocol, edge.port);
    let destinations = ends(index, &edge.destination, named_ports(edge));
    for source in ends(index, &edge.source, Vec::new()) {
        for destination in &destinations {
            let (source, destination) = (source.clone(), destination.clone());
            let verdict = evaluate(policies, &Connection { source, destination, protocol, port });
            best = Some(match best {
                None => verdict,
                Some(best) => Verdict {
                    egress: better(best.egress, verdict.egress),
                    ingress: better(best.ingress, verdict.ingress),
                },
            });
        }
    }
    let open = Decision { allowed: true, reason: Reason::NotIsolated };
    best.unwrap_or(Verdict { egress: open.clone(), ingress: open })
}

fn better(one: Decision, other: Decision) -> Decision {
    if other.allowed && !one.allowed { other } else { one }
}

type NamedPort = (Arc<str>, Protocol, u16);

/// What the destination calls the port.
fn named_ports(edge: &SeenEdge) -> Vec<NamedPort> {
    edge.port_names.iter().map(|name| (name.clone(), edge.protocol, edge.port)).collect()
}

fn ends(index: &Index, end: &SeenEnd, ports: Vec<NamedPort>) -> Vec<End> {
    if let (Some(namespace), Some(labels)) = (&end.peer.namespace, &end.labels) {
        return vec![End::Pod(Pod {
            namespace: namespace.clone(),
            namespace_labels: index.namespace_labels(namespace),
            labels: labels.clone(),
            ports,
            ..Pod::default()
        })];
    }
    let mut addresses: Vec<IpAddr> = end.peer.address.into_iter().collect();
    addresses.extend(&end.peer.addresses);
    match (end.peer.kind.as_deref(), &end.peer.name) {
        (Some("ApiServer"), _) => {
            addresses.extend(index.api_server().into_iter().flat_map(|target| target.addresses));
        }
        (Some("Node"), Some(name)) => addresses.extend(index.addresses_of_node(name)),
        _ => {}
    }
    if addresses.is_empty() {
        return vec![End::Unknown];
    }
    addresses.into_iter().map(End::Address).collect()
}

#[cfg(test)]
mod tests;
