//! The verdict on a connection, straight from the API's text.
//!
//! "There are two sorts of isolation for a pod … For a connection from a source pod to a destination
//! pod to be allowed, both the egress policy on the source pod and the ingress policy on the
//! destination pod need to allow the connection" (Kubernetes, concepts, Network Policies).

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::domain::Name;
use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule};
use crate::packet::Transport;

/// A connection, from the end that opens it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The opener.
    pub source: End,
    /// The other end.
    pub destination: End,
    /// Protocol.
    pub protocol: Protocol,
    /// Port at the destination, after translation.
    pub port: u16,
}

/// An end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A pod.
    Pod(Pod),
    /// Something that is no pod: policies see its address only.
    Address(IpAddr),
    /// A node: policies see its addresses, and cluster-wide ones its labels.
    Node {
        /// Name of the node.
        name: Arc<str>,
        /// Labels of the node.
        labels: Labels,
        /// Addresses of the node, of one family.
        addresses: Vec<IpAddr>,
    },
    /// Something outside the cluster that is known by its name, and may have any address.
    Name(Name),
    /// Something of which not even the address is known: only a rule for everyone admits it.
    Unknown,
}

/// What policies can see of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name; `None` where any pod of a workload is meant.
    pub name: Option<Arc<str>>,
    /// The node that it runs on, if that is known.
    pub node: Option<Arc<str>>,
    /// Labels of the namespace; `kubernetes.io/metadata.name` is among them.
    pub namespace_labels: Labels,
    /// Labels of the pod.
    pub labels: Labels,
    /// Addresses of the pod, of one family, as a packet has them; where none is known it may have any.
    pub addresses: Vec<IpAddr>,
    /// Named container ports.
    pub ports: Vec<(Arc<str>, Protocol, u16)>,
}

/// The verdict on a connection: both sides must allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What the source's egress policies say.
    pub egress: Decision,
    /// What the destination's ingress policies say.
    pub ingress: Decision,
}

/// What one side says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether this side lets the connection pass.
    pub allowed: bool,
    /// Why.
    pub reason: Reason,
}

/// Why one side decides as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// No policy isolates this end in this direction.
    NotIsolated,
    /// A rule allows it.
    Rule {
        /// Namespace of the policy.
        namespace: Arc<str>,
        /// Name of the policy.
        policy: Arc<str>,
        /// Index of the rule.
        rule: usize,
    },
    /// Policies isolate this end and no rule of theirs allows it.
    NoRule {
        /// The policies that isolate it, as `namespace/name`, sorted.
        policies: Vec<Arc<str>>,
    },
}

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Out of the source.
    Egress,
    /// Into the destination.
    Ingress,
}

/// What policies are asked on one side: the end that they may select, the other, and what passes.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) side: Side,
    pub(crate) subject: &'a End,
    pub(crate) peer: &'a End,
    pub(crate) transport: Transport,
}

/// What NetworkPolicies say on one side.
pub(crate) enum Judgement<'a> {
    /// None of them isolates the subject.
    NotIsolated,
    /// The rule at this index allows it.
    Rule(&'a NetworkPolicy, usize),
    /// These isolate the subject and no rule of theirs allows it.
    NoRule(Vec<&'a NetworkPolicy>),
}

/// Evaluates `connection` against all NetworkPolicies of a cluster.
pub fn evaluate(policies: &[NetworkPolicy], connection: &Connection) -> Verdict {
    Verdict {
        egress: decide(policies, &connection.question(Side::Egress)),
        ingress: decide(policies, &connection.question(Side::Ingress)),
    }
}

// === impl Connection ===

impl Connection {
    pub(crate) fn question(&self, side: Side) -> Question<'_> {
        let transport = Transport::Port(self.protocol, self.port);
        Question::new(side, &self.source, &self.destination, transport)
    }
}

// === impl Question ===

impl<'a> Question<'a> {
    pub(crate) fn new(
        side: Side,
        source: &'a End,
        destination: &'a End,
        transport: Transport,
    ) -> Self {
        let (subject, peer) = match side {
            Side::Egress => (source, destination),
            Side::Ingress => (destination, source),
        };
        Self { side, subject, peer, transport }
    }

    /// The end whose ports are meant.
    pub(crate) fn destination(&self) -> &'a End {
        match self.side {
            Side::Egress => self.peer,
            Side::Ingress => self.subject,
        }
    }
}

fn decide(policies: &[NetworkPolicy], question: &Question<'_>) -> Decision {
    let (allowed, reason) = match judge(policies, question) {
        Judgement::NotIsolated => (true, Reason::NotIsolated),
        Judgement::Rule(policy, rule) => {
            let (namespace, policy) = (policy.namespace.clone(), policy.name.clone());
            (true, Reason::Rule { namespace, policy, rule })
        }
        Judgement::NoRule(isolating) => {
            let name = |one: &NetworkPolicy| format!("{}/{}", one.namespace, one.name).into();
            let mut policies: Vec<Arc<str>> = isolating.into_iter().map(name).collect();
            policies.sort();
            (false, Reason::NoRule { policies })
        }
    };
    Decision { allowed, reason }
}

/// Asks the NetworkPolicies on one side.
pub(crate) fn judge<'a>(
    policies: impl IntoIterator<Item = &'a NetworkPolicy>,
    question: &Question<'_>,
) -> Judgement<'a> {
    let End::Pod(pod) = question.subject else { return Judgement::NotIsolated };
    let mut isolating = Vec::new();
    for policy in policies {
        let Some(rules) = policy.rules(question.side).filter(|_| applies(policy, pod)) else {
            continue;
        };
        let hit = rules.iter().position(|rule| admits(policy, rule, question));
        if let Some(rule) = hit {
            return Judgement::Rule(policy, rule);
        }
        isolating.push(policy);
    }
    if isolating.is_empty() { Judgement::NotIsolated } else { Judgement::NoRule(isolating) }
}

pub(crate) fn applies(policy: &NetworkPolicy, pod: &Pod) -> bool {
    policy.namespace == pod.namespace && policy.pods.matches(&pod.labels)
}

fn admits(policy: &NetworkPolicy, rule: &Rule, question: &Question<'_>) -> bool {
    let ports = rule.ports.as_ref();
    peers_match(policy, rule, question.peer)
        && ports.is_none_or(|ports| ports.iter().any(|port| port_matches(port, question)))
}

pub(crate) fn peers_match(policy: &NetworkPolicy, rule: &Rule, end: &End) -> bool {
    rule.peers.as_ref().is_none_or(|peers| peers.iter().any(|peer| peer_matches(policy, peer, end)))
}

pub(crate) fn peer_matches(policy: &NetworkPolicy, peer: &Peer, end: &End) -> bool {
    match (peer, end) {
        (Peer::Pods { namespaces, pods }, End::Pod(pod)) => {
            let namespace = match namespaces {
                None => policy.namespace == pod.namespace,
                Some(selector) => selector.matches(&pod.namespace_labels),
            };
            namespace && pods.as_ref().is_none_or(|selector| selector.matches(&pod.labels))
        }
        (Peer::Pods { .. }, End::Address(_) | End::Node { .. } | End::Name(_) | End::Unknown) => {
            false
        }
        (Peer::Block { cidr, except }, end) => is_in(end, cidr, except),
    }
}

/// Whether an end is known to be in a block. A name is in all addresses of a family: it is outside the cluster, and
/// resolves in the family of the pod that asks. A pod or node that may have any address is in no block for sure: not
/// even a block of all addresses holds pods with every network plugin.
pub(crate) fn is_in(end: &End, block: &IpNet, except: &[IpNet]) -> bool {
    let holds = |address: &IpAddr| {
        block.contains(address) && !except.iter().any(|out| out.contains(address))
    };
    match end {
        End::Pod(pod) => pod.addresses.iter().any(holds),
        End::Node { addresses, .. } => addresses.iter().any(holds),
        End::Address(address) => holds(address),
        End::Name(_) => block.prefix_len() == 0 && except.is_empty(),
        End::Unknown => false,
    }
}

pub(crate) fn port_matches(port: &PortMatch, question: &Question<'_>) -> bool {
    if question.transport.protocol() != Some(port.protocol) {
        return false;
    }
    match &port.range {
        PortRange::Any => true,
        PortRange::Numbers(first, last) => {
            question.transport.port().is_some_and(|port| (*first..=*last).contains(&port))
        }
        PortRange::Named(name) => name_matches(name, question),
    }
}

/// "Named ports resolve on the destination pod": by name, protocol and number.
pub(crate) fn name_matches(name: &str, question: &Question<'_>) -> bool {
    let (Transport::Port(protocol, port), End::Pod(pod)) =
        (question.transport, question.destination())
    else {
        return false;
    };
    pod.ports.iter().any(|(one, of, number)| **one == *name && *of == protocol && *number == port)
}

#[cfg(test)]
mod tests;
