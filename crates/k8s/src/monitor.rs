//! What policies would do to traffic that was seen.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_api::{Direction, Mode, WorkloadNetworkPolicySpec};
use netenf_learn as learn;
use netenf_learn::Directory as _;
use netenf_learn::proposal::{Denial, Funnel, Outcome, SeenEdge, SeenEnd};
use netenf_policy::domain::{Answer, Asker, Data, Record, Settings};
use netenf_policy::{
    Connection, Decider, DomainCache, End, Finding, Labels, NetworkPolicy, Object, Pod, Policies,
    Protocol, RuleId, Side,
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
    /// The rule of another tier that denies it; `None` where the policy itself has no rule for it.
    pub rule: Option<RuleId>,
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

    fn network_policy(&self) -> Option<&NetworkPolicy> {
        match &self.body {
            Body::Kubernetes(policy) => Some(policy),
            Body::Istio(..) => None,
        }
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
        Denied { policy, direction, edge: edge.clone(), rule: None }
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
pub fn judge(index: &Index, guards: &[Guard], outcome: &mut Outcome) -> Vec<Denied> {
    let domains = names(index, outcome.edges.iter());
    let mut judges = Judges::new(index, guards, &domains);
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

/// The traffic that `guards` do not allow, and no policy of the index does either. All policies that select an
/// end decide together, in the order of their tiers.
pub fn denied(index: &Index, guards: &[Guard], edges: &[SeenEdge]) -> Vec<Denied> {
    let domains = names(index, edges.iter());
    let mut judges = Judges::new(index, guards, &domains);
    edges.iter().flat_map(|edge| judges.denied(edge)).collect()
}

/// All policies that decide, ours and others.
struct Judges<'a> {
    index: &'a Index,
    guards: &'a [Guard],
    policies: Policies<'a>,
    /// Those of them that select pods alike: asked about such a pod, they decide as all do.
    selecting: HashMap<(Arc<str>, Labels), Policies<'a>>,
    /// Places among `guards` of those that are in `policies`.
    places: HashMap<Object, Vec<usize>>,
}

// === impl Judges ===

impl<'a> Judges<'a> {
    fn new(index: &'a Index, guards: &'a [Guard], domains: &'a DomainCache) -> Self {
        let mut places: HashMap<Object, Vec<usize>> = HashMap::new();
        for (place, guard) in guards.iter().enumerate() {
            if let Some(policy) = guard.network_policy() {
                places.entry(Object::of_network(policy)).or_default().push(place);
            }
        }
        let ours = guards.iter().filter_map(Guard::network_policy);
        let cluster = index.cluster_policies().iter().map(|policy| &**policy);
        let policies = Policies::new(index.policies().iter().chain(ours), cluster)
            .with_domains(domains, Duration::ZERO);
        Self { index, guards, policies, selecting: HashMap::new(), places }
    }

    /// The policies of ours that `edge` violates: those that isolate an end while nothing allows it, and, where
    /// a policy of another tier denies it, those that select the end.
    fn denied(&mut self, edge: &SeenEdge) -> Vec<Denied> {
        let mut found = Vec::new();
        for (direction, side) in
            [(Direction::Egress, Side::Egress), (Direction::Ingress, Side::Ingress)]
        {
            let Some((subject, finding)) = self.finding(edge, side) else { continue };
            let (objects, rule) = match finding.by {
                Decider::Isolated(objects) if !finding.allowed => (objects, None),
                Decider::Rule(rule) if !finding.allowed => {
                    (self.isolating(&subject, side), Some(rule))
                }
                _ => continue,
            };
            let ours = objects.iter().filter_map(|object| self.places.get(object)).flatten();
            let ours: BTreeSet<usize> = ours.copied().collect();
            found.extend(ours.into_iter().map(|place| {
                let denied = self.guards[place].denied(direction, edge);
                Denied { rule: rule.clone(), ..denied }
            }));
        }
        found.extend(denied_by_istio(self.guards, edge));
        found
    }

    /// What decides on one side, and about which end. An end with several addresses (the API server, a node)
    /// may have used any of them: the side allows the edge if it allows one.
    fn finding(&mut self, edge: &SeenEdge, side: Side) -> Option<(End, Finding)> {
        let sources = ends(self.index, &edge.source, Vec::new());
        let destinations = ends(self.index, &edge.destination, named_ports(edge));
        let (protocol, port) = (edge.protocol, edge.port);
        let mut best: Option<(End, Finding)> = None;
        for source in &sources {
            for destination in &destinations {
                let subject = match side {
                    Side::Egress => source,
                    Side::Ingress => destination,
                };
                let (source, destination) = (source.clone(), destination.clone());
                let connection = Connection { source, destination, protocol, port };
                let finding = self.selecting(subject).finding(side, &connection);
                if best.as_ref().is_none_or(|(_, best)| !best.allowed && finding.allowed) {
                    best = Some((subject.clone(), finding));
                }
            }
        }
        best
    }

    /// The policies that select the end, looked up once for pods that are alike.
    fn selecting(&mut self, end: &End) -> &Policies<'a> {
        let key = match end {
            End::Pod(pod) => (pod.namespace.clone(), pod.labels.clone()),
            End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => Default::default(),
        };
        self.selecting.entry(key).or_insert_with(|| self.policies.selecting(end))
    }

    /// The NetworkPolicies that isolate the end.
    fn isolating(&mut self, end: &End, side: Side) -> Vec<Object> {
        let network = self.selecting(end).network().iter();
        let isolating = network.filter(|policy| policy.rules(side).is_some());
        isolating.map(|policy| Object::of_network(policy)).collect()
    }

    /// The policies of ours that are to blame for a denial: the one that the source names, or, where it
    /// names none, those that do not allow the connection on the side that reported it. A policy that
    /// only monitors is among them: it would have denied the connection too.
    fn reported(&mut self, denial: &Denial, edge: &SeenEdge) -> Vec<Denied> {
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

/// The names that recorded ends had, by their addresses: what rules for names allow is known by them.
fn names<'e>(index: &Index, edges: impl Iterator<Item = &'e SeenEdge>) -> DomainCache {
    let resolver = IpAddr::from([127, 0, 0, 1]);
    let resolvers = [resolver].into();
    let mut cache = DomainCache::new(Settings { resolvers, ..Settings::default() });
    if index.cluster_policies().is_empty() {
        return cache;
    }
    for peer in edges.flat_map(|edge| [&edge.source.peer, &edge.destination.peer]) {
        let addresses = peer.address.iter().chain(&peer.addresses);
        for (name, address) in
            peer.names.iter().flat_map(|n| addresses.clone().map(move |a| (n, a)))
        {
            let (ttl, data) = (Duration::ZERO, Data::Address(*address));
            let records = vec![Record { owner: name, ttl, data }];
            let answer = Answer { resolver, asker: Asker::Node, question: name, records };
            // What is no name is no name of a rule.
            let _ = cache.observe(&answer, Duration::ZERO);
        }
    }
    cache
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
        (Some("Node"), Some(name)) => {
            if let Some(End::Node { name, labels, addresses: known }) = index.end_of_node(name) {
                addresses.extend(known);
                return vec![End::Node { name, labels, addresses }];
            }
        }
        _ => {}
    }
    if addresses.is_empty() {
        return vec![End::Unknown];
    }
    addresses.into_iter().map(End::Address).collect()
}

#[cfg(test)]
mod tests;
