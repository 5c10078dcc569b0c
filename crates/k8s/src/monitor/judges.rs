//! All policies that decide about recorded traffic, ours and the cluster's own, each asked in the order of its tier.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_api::{Direction, IstioPolicySpec};
use netenf_learn as learn;
use netenf_learn::proposal::SeenEdge;
use netenf_policy::domain::{Answer, Asker, Data, Record, Settings};
use netenf_policy::{
    Connection, Decider, DomainCache, End, Finding, Labels, Object, Policies, Selector, Side,
};

use super::end::{Ends, named_ports};
use super::{Body, Denied, Guard};
use crate::index::Index;
use crate::merge::istio_allows;
use crate::render;

/// All policies that decide, ours and others.
pub(super) struct Judges<'a> {
    guards: &'a [Guard],
    ends: Ends<'a>,
    policies: Policies<'a>,
    /// Those of them that select pods alike: asked about such a pod, they decide as all do.
    selecting: HashMap<(Arc<str>, Labels), Policies<'a>>,
    /// Places among `guards` of those that are in `policies`.
    places: HashMap<Object, Vec<usize>>,
    /// Those for Istio by their namespaces.
    meshed: HashMap<&'a str, Vec<Meshed<'a>>>,
}

/// A policy of ours for Istio, with what it says.
type Meshed<'a> = (&'a Guard, &'a Selector, &'a IstioPolicySpec);

// === impl Judges ===

impl<'a> Judges<'a> {
    /// `guards` beside the cluster's own policies, save for those that a guard became.
    pub(super) fn new(index: &'a Index, guards: &'a [Guard], domains: &'a DomainCache) -> Self {
        let mut places: HashMap<Object, Vec<usize>> = HashMap::new();
        let mut meshed: HashMap<&str, Vec<Meshed<'_>>> = HashMap::new();
        let mut ours = Vec::new();
        for (place, guard) in guards.iter().enumerate() {
            match &guard.body {
                Body::Kubernetes(policy) => {
                    places.entry(Object::of_network(policy)).or_default().push(place);
                    ours.push(policy);
                }
                Body::Istio(spec, selector) => {
                    let here = meshed.entry(&guard.namespace).or_default();
                    here.push((guard, selector, spec));
                }
            }
        }
        let natives = index.natives_beside(guards.iter().filter_map(Guard::native));
        let cluster = index.cluster_policies().iter().map(|policy| &**policy);
        let policies = Policies::new(natives.chain(ours.iter().copied()), cluster)
            .with_domains(domains, Duration::ZERO);
        let ends = Ends::new(index, &policies);
        Self { guards, ends, policies, selecting: HashMap::new(), places, meshed }
    }

    /// The policies of ours that `edge` violates: those that isolate an end while nothing allows it, and, where
    /// a policy of another tier denies it, those that select the end.
    pub(super) fn denied(&mut self, edge: &SeenEdge) -> Vec<Denied> {
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
        found.extend(self.denied_by_istio(edge));
        found
    }

    /// What decides on one side, and about which pod. The other end may have been any of several: the side
    /// allows the edge if it allows one.
    pub(super) fn finding(&mut self, edge: &SeenEdge, side: Side) -> Option<(End, Finding)> {
        let ports = named_ports(edge);
        let (subject, peers) = match side {
            Side::Egress => {
                (self.ends.pod(&edge.source, Vec::new())?, self.ends.all(&edge.destination, ports))
            }
            Side::Ingress => {
                (self.ends.pod(&edge.destination, ports)?, self.ends.all(&edge.source, Vec::new()))
            }
        };
        let subject = End::Pod(subject);
        let policies = self.selecting(&subject);
        let mut findings = peers.into_iter().map(|peer| {
            let (source, destination) = match side {
                Side::Egress => (subject.clone(), peer),
                Side::Ingress => (peer, subject.clone()),
            };
            let (protocol, port) = (edge.protocol, edge.port);
            policies.finding(side, &Connection { source, destination, protocol, port })
        });
        let first = findings.next()?;
        let best = if first.allowed { None } else { findings.find(|finding| finding.allowed) };
        Some((subject.clone(), best.unwrap_or(first)))
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

    /// The policies for Istio that select the destination, if none of them allows the edge.
    fn denied_by_istio(&self, edge: &SeenEdge) -> Vec<Denied> {
        let destination = &*edge.destination;
        let (Some(namespace), Some(labels)) = (&destination.peer.namespace, &destination.labels)
        else {
            return Vec::new();
        };
        let here = self.meshed.get(&**namespace).into_iter().flatten();
        let selecting = here.filter(|(_, selector, _)| selector.matches(labels));
        let identity = edge.source.peer.identity.as_deref().unwrap_or_default();
        if selecting.clone().any(|(_, _, spec)| istio_allows(spec, identity, edge.port)) {
            return Vec::new();
        }
        selecting.map(|(guard, ..)| guard.denied(Direction::Ingress, edge)).collect()
    }

    /// The policies of ours that are to blame for a denial: the one that the source names, or, where it
    /// names none, those that do not allow the connection on the side that reported it. A policy that
    /// only monitors is among them: it would have denied the connection too.
    pub(super) fn reported(
        &mut self,
        (direction, by): (Option<learn::Direction>, Option<&learn::PolicyRef>),
        edge: &SeenEdge,
    ) -> Vec<Denied> {
        let reported = direction.map(render::direction);
        let Some(by) = by else {
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
pub(super) fn names<'e>(index: &Index, edges: impl Iterator<Item = &'e SeenEdge>) -> DomainCache {
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
