//! Our model in the words of `netenf.v1`.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_api::Mode;
use netenf_k8s::told::{Fate, Told};
use netenf_learn::proposal::Peer;
use netenf_learn::{
    Direction, End, Icmp, LostEvents, NodeState, Observation, PodName, Timestamp, Transport,
    Verdict,
};
use netenf_policy::{Decider, Finding, Object, RuleId, Tier};
use netenf_proto::netenf::v1;

use super::Guards;

pub(super) fn time(time: Timestamp) -> prost_types::Timestamp {
    const SECOND: i64 = 1_000_000_000;
    prost_types::Timestamp {
        seconds: time.0.div_euclid(SECOND),
        nanos: i32::try_from(time.0.rem_euclid(SECOND)).unwrap_or_default(),
    }
}

pub(super) fn direction(direction: Direction) -> v1::Direction {
    match direction {
        Direction::Ingress => v1::Direction::Ingress,
        Direction::Egress => v1::Direction::Egress,
    }
}

pub(super) fn protocol(transport: &Transport) -> v1::Protocol {
    match transport {
        Transport::Tcp(_) => v1::Protocol::Tcp,
        Transport::Udp => v1::Protocol::Udp,
        Transport::Sctp => v1::Protocol::Sctp,
        Transport::Icmp(Icmp::V4(_)) => v1::Protocol::Icmp,
        Transport::Icmp(Icmp::V6(_)) => v1::Protocol::Icmpv6,
        Transport::Other(_) => v1::Protocol::Other,
        Transport::Missing => v1::Protocol::Unspecified,
    }
}

/// What the source says was done: traffic that only an audit objects to was let pass.
pub(super) fn done(verdict: Verdict) -> v1::Verdict {
    match verdict {
        Verdict::Forwarded | Verdict::Redirected | Verdict::Audit => v1::Verdict::Allow,
        Verdict::Dropped => v1::Verdict::Deny,
        Verdict::Failed | Verdict::Socket | Verdict::Unknown => v1::Verdict::Unspecified,
    }
}

pub(super) fn verdict(allowed: bool) -> v1::Verdict {
    if allowed { v1::Verdict::Allow } else { v1::Verdict::Deny }
}

pub(super) fn provider(provider: netenf_learn::Provider) -> v1::Provider {
    match provider {
        netenf_learn::Provider::Hubble => v1::Provider::Cilium,
        netenf_learn::Provider::Goldmane => v1::Provider::Calico,
        netenf_learn::Provider::Ztunnel => v1::Provider::Istio,
        netenf_learn::Provider::Node => v1::Provider::Node,
    }
}

pub(super) fn outcome(fate: &Fate) -> v1::Outcome {
    match fate {
        Fate::Learned => v1::Outcome::Learned,
        Fate::Skipped(_) => v1::Outcome::Skipped,
        Fate::Uncovered(_) => v1::Outcome::Uncovered,
        Fate::Violation { .. } => v1::Outcome::Violation,
        Fate::Undecided => v1::Outcome::Unspecified,
    }
}

pub(super) fn node_state(state: NodeState) -> v1::SourceState {
    match state {
        NodeState::Connected => v1::SourceState::Streaming,
        NodeState::Unavailable | NodeState::Error => v1::SourceState::Connecting,
        NodeState::Gone => v1::SourceState::Failed,
        NodeState::Unknown => v1::SourceState::Unspecified,
    }
}

pub(super) fn loss(lost: &LostEvents, provider: v1::Provider) -> v1::Loss {
    v1::Loss {
        provider: provider.into(),
        node: lost.node.as_deref().unwrap_or_default().to_owned(),
        reason: lost.origin.to_string(),
        count: lost.count,
        first: lost.time.map(time),
        last: lost.time.map(time),
    }
}

/// An observation as it is told.
pub(super) fn observation(seen: &Observation, told: &Told, guards: &Guards) -> v1::Observation {
    let (from, to) = if told.is_turned {
        (&seen.destination, &seen.source)
    } else {
        (&seen.source, &seen.destination)
    };
    let violation = match &told.fate {
        Fate::Violation { id, .. } => id.clone(),
        Fate::Learned | Fate::Skipped(_) | Fate::Uncovered(_) | Fate::Undecided => String::new(),
    };
    v1::Observation {
        time: seen.time.map(time),
        provider: provider(seen.provider).into(),
        node: seen.node.as_deref().unwrap_or_default().to_owned(),
        edge: Some(v1::Edge {
            source: Some(peer(&told.source, from)),
            destination: Some(peer(&told.destination, to)),
            direction: direction(told.direction).into(),
            protocol: protocol(&seen.transport).into(),
            port: told.port.unwrap_or_default().into(),
        }),
        source_port: told.source_port.unwrap_or_default().into(),
        count: seen.connections,
        verdict: done(seen.verdict).into(),
        outcome: outcome(&told.fate).into(),
        reason: told.fate.reason().to_owned(),
        decision: told.finding.as_ref().map(|finding| decision(finding, guards)),
        violation,
        json: String::new(),
    }
}

/// What is not known is told as nothing.
fn text(text: Option<&Arc<str>>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Who an end is, with what its source says of it.
fn peer(peer: &Peer, end: &End) -> v1::Peer {
    let endpoint = &*end.endpoint;
    let identity = peer.identity.as_ref().or(endpoint.identity.as_ref());
    let address: Option<IpAddr> = end.address.or(peer.address);
    let mut names: Vec<String> = end.names.iter().map(ToString::to_string).collect();
    names.sort();
    let (kind, workload) = kind(peer);
    let pod = match (&endpoint.pod, &endpoint.namespace) {
        (Some(PodName::Exact(name)), Some(namespace)) => Some(v1::Pod {
            namespace: namespace.to_string(),
            name: name.to_string(),
            uid: String::new(),
        }),
        _ => None,
    };
    v1::Peer {
        kind: kind.into(),
        workload,
        pod,
        identity: identity.map(|identity| format!("spiffe://{identity}")).unwrap_or_default(),
        node: if kind == v1::PeerKind::Node { text(peer.name.as_ref()) } else { String::new() },
        address: address.map(|address| address.to_string()).unwrap_or_default(),
        names,
        // Of a node it names the workload on its network, which is told as that.
        service: if workload_of_node(peer).is_some() {
            String::new()
        } else {
            text(peer.service.as_ref())
        },
    }
}

fn kind(peer: &Peer) -> (v1::PeerKind, Option<v1::Workload>) {
    let kind = peer.kind.as_deref().unwrap_or_default();
    match kind {
        "ServiceAccount" => (v1::PeerKind::ServiceAccount, None),
        "Node" => (v1::PeerKind::Node, workload_of_node(peer)),
        "NodePort" => (v1::PeerKind::Node, None),
        "ApiServer" => (v1::PeerKind::KubeApiserver, None),
        "External" | "Remote" => (v1::PeerKind::External, None),
        "Network" if peer.name.as_deref() == Some("pub") => (v1::PeerKind::External, None),
        "Network" | "NetworkSet" | "Unmanaged" | "Unknown" | "" => (v1::PeerKind::Unknown, None),
        kind => {
            let (namespace, name) = (text(peer.namespace.as_ref()), text(peer.name.as_ref()));
            let workload = v1::Workload { namespace, kind: kind.to_owned(), name };
            (v1::PeerKind::Workload, Some(workload))
        }
    }
}

/// The workload on the network of a node.
fn workload_of_node(peer: &Peer) -> Option<v1::Workload> {
    let service = peer.service.as_deref().filter(|_| peer.kind.as_deref() == Some("Node"))?;
    let (kind, name) = service.split_once('/')?;
    let namespace = peer.namespace.as_deref()?.to_owned();
    Some(v1::Workload { namespace, kind: kind.to_owned(), name: name.to_owned() })
}

/// What decided; the mode is that of our policy, where it is one.
pub(super) fn decision(finding: &Finding, guards: &Guards) -> v1::Decision {
    let (tier, policy, rule) = match &finding.by {
        Decider::NoPod | Decider::Itself | Decider::OwnNode | Decider::Default => {
            (v1::Tier::None, None, None)
        }
        Decider::Rule(rule) => (tier(rule.tier), Some(&rule.object), Some(index(rule))),
        Decider::Isolated(policies) => (v1::Tier::NetworkPolicy, policies.first(), None),
    };
    v1::Decision {
        verdict: verdict(finding.allowed).into(),
        tier: tier.into(),
        mode: policy.map_or(v1::Mode::Unspecified, |policy| mode(policy, guards)).into(),
        policy: policy.map(policy_ref),
        rule,
    }
}

pub(super) fn rule_ref(rule: &RuleId) -> v1::RuleRef {
    v1::RuleRef { policy: Some(policy_ref(&rule.object)), index: index(rule) }
}

pub(super) fn policy_ref(object: &Object) -> v1::PolicyRef {
    v1::PolicyRef {
        kind: object.kind.to_string(),
        namespace: object.namespace.as_deref().unwrap_or_default().to_owned(),
        name: object.name.to_string(),
    }
}

fn index(rule: &RuleId) -> u32 {
    u32::try_from(rule.index).unwrap_or(u32::MAX)
}

fn tier(tier: Tier) -> v1::Tier {
    match tier {
        Tier::Admin => v1::Tier::Admin,
        Tier::NetworkPolicy => v1::Tier::NetworkPolicy,
        Tier::Baseline => v1::Tier::Baseline,
    }
}

fn mode(policy: &Object, guards: &Guards) -> v1::Mode {
    if &*policy.kind != "WorkloadNetworkPolicy" {
        return v1::Mode::Unspecified;
    }
    let own = guards.iter().find(|guard| {
        policy.namespace.as_deref() == Some(guard.namespace.as_str()) && *policy.name == *guard.name
    });
    match own.map(|guard| guard.mode) {
        Some(Mode::Monitor) => v1::Mode::Monitor,
        Some(Mode::Protect) => v1::Mode::Protect,
        None => v1::Mode::Unspecified,
    }
}
