//! The verdict on a connection, straight from the API's text.
//!
//! "There are two sorts of isolation for a pod … For a connection from a source pod to a destination
//! pod to be allowed, both the egress policy on the source pod and the ingress policy on the
//! destination pod need to allow the connection" (Kubernetes, concepts, Network Policies).

use std::net::IpAddr;
use std::sync::Arc;

use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule};

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
#[derive(Debug, Clone)]
pub enum End {
    /// A pod.
    Pod(Pod),
    /// Something that is no pod: policies see its address only.
    Address(IpAddr),
    /// Something of which not even the address is known: only a rule for everyone admits it.
    Unknown,
}

/// What policies can see of a pod.
#[derive(Debug, Clone, Default)]
pub struct Pod {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Labels of the namespace; `kubernetes.io/metadata.name` is among them.
    pub namespace_labels: Labels,
    /// Labels of the pod.
    pub labels: Labels,
    /// Addresses of the pod.
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

/// Evaluates `connection` against all `policies` of a cluster.
pub fn evaluate(policies: &[NetworkPolicy], connection: &Connection) -> Verdict {
    Verdict {
        egress: decide(policies, connection, Side::Egress),
        ingress: decide(policies, connection, Side::Ingress),
    }
}

fn decide(policies: &[NetworkPolicy], connection: &Connection, side: Side) -> Decision {
    let (subject, peer) = match side {
        Side::Egress => (&connection.source, &connection.destination),
        Side::Ingress => (&connection.destination, &connection.source),
    };
    let End::Pod(pod) = subject else {
        return Decision { allowed: true, reason: Reason::NotIsolated };
    };
    let mut isolating = Vec::new();
    for policy in policies {
        let Some(rules) = rules(policy, side).filter(|_| applies(policy, pod)) else { continue };
        let hit = rules.iter().position(|rule| admits(policy, rule, peer, connection));
        if let Some(rule) = hit {
            let (namespace, policy) = (policy.namespace.clone(), policy.name.clone());
            return Decision { allowed: true, reason: Reason::Rule { namespace, policy, rule } };
        }
        isolating.push(format!("{}/{}", policy.namespace, policy.name).into());
    }
    if isolating.is_empty() {
        return Decision { allowed: true, reason: Reason::NotIsolated };
    }
    isolating.sort();
    Decision { allowed: false, reason: Reason::NoRule { policies: isolating } }
}

fn rules(policy: &NetworkPolicy, side: Side) -> Option<&Vec<Rule>> {
    match side {
        Side::Egress => policy.egress.as_ref(),
        Side::Ingress => policy.ingress.as_ref(),
    }
}

fn applies(policy: &NetworkPolicy, pod: &Pod) -> bool {
    policy.namespace == pod.namespace && policy.pods.matches(&pod.labels)
}

fn admits(policy: &NetworkPolicy, rule: &Rule, peer: &End, connection: &Connection) -> bool {
    let peers = rule.peers.as_ref();
    let ports = rule.ports.as_ref();
    peers.is_none_or(|peers| peers.iter().any(|one| peer_matches(policy, one, peer)))
        && ports.is_none_or(|ports| ports.iter().any(|port| port_matches(port, connection)))
}

fn peer_matches(policy: &NetworkPolicy, peer: &Peer, end: &End) -> bool {
    match (peer, end) {
        (Peer::Pods { namespaces, pods }, End::Pod(pod)) => {
            let namespace = match namespaces {
                None => policy.namespace == pod.namespace,
                Some(selector) => selector.matches(&pod.namespace_labels),
            };
            namespace && pods.as_ref().is_none_or(|selector| selector.matches(&pod.labels))
        }
        (Peer::Pods { .. }, End::Address(_) | End::Unknown) => false,
        (Peer::Block { cidr, except }, end) => addresses(end).any(|address| {
            cidr.contains(&address) && !except.iter().any(|out| out.contains(&address))
        }),
    }
}

fn addresses(end: &End) -> impl Iterator<Item = IpAddr> {
    let (pod, single) = match end {
        End::Pod(pod) => (Some(pod.addresses.iter().copied()), None),
        End::Address(address) => (None, Some(*address)),
        End::Unknown => (None, None),
    };
    pod.into_iter().flatten().chain(single)
}

fn port_matches(port: &PortMatch, connection: &Connection) -> bool {
    if port.protocol != connection.protocol {
        return false;
    }
    match &port.range {
        PortRange::Any => true,
        PortRange::Numbers(first, last) => (*first..=*last).contains(&connection.port),
        PortRange::Named(name) => match &connection.destination {
            End::Pod(pod) => pod.ports.iter().any(|(n, protocol, number)| {
                n == name && *protocol == port.protocol && *number == connection.port
            }),
            End::Address(_) | End::Unknown => false,
        },
    }
}

#[cfg(test)]
mod tests;
