//! Proposals of the model as objects. Output is sorted: the same proposal is the same object.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp as Time;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta, Time as ApiTime,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::istio::{IstioFrom, IstioOperation, IstioRule, IstioSource, IstioTo};
use netenf_api::{
    Backend, Direction, Example, Gap, IstioPolicySpec, PeerRef, Protocol, Provenance, RuleEvidence,
    Suggestion, TargetKind, TargetRef, UncoveredPeer, UncoveredReason,
    WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalSpec,
    WorkloadNetworkPolicyProposalStatus,
};
use netenf_learn as learn;
use netenf_learn::proposal::{self as model, RulePeer};
use netenf_policy::{Operator, Selector};

use crate::condition;
use crate::merge::gap;

mod native;

pub use native::{Native, NativeKind, native};

/// The label that Kubernetes puts on every namespace: its name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// The most ports in one rule: Cilium refuses more (case B16).
pub const PORTS_IN_RULE: usize = 40;

/// How many services or notes an entry of evidence lists: a recording may hold any number, and an object
/// of many entries must stay below what the API server and the folder store hold.
pub(crate) const REMARKS: usize = 16;

/// Renders a proposal; `last` is the time of the newest observation.
pub fn proposal(
    proposal: &model::Proposal,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicyProposal {
    WorkloadNetworkPolicyProposal {
        metadata: ObjectMeta {
            name: Some(learn::name::policy_name(&proposal.subject, proposal.direction)),
            namespace: Some(proposal.subject.namespace.to_string()),
            ..ObjectMeta::default()
        },
        spec: spec(proposal),
        status: Some(status(proposal, last)),
    }
}

/// The API's word for a direction.
pub fn direction(direction: learn::Direction) -> Direction {
    match direction {
        learn::Direction::Ingress => Direction::Ingress,
        learn::Direction::Egress => Direction::Egress,
    }
}

/// The API's word for a backend.
pub const fn backend(backend: learn::Backend) -> Backend {
    match backend {
        learn::Backend::Kubernetes => Backend::Kubernetes,
        learn::Backend::Istio => Backend::Istio,
    }
}

/// The API's form of a selector.
pub fn selector(selector: &Selector) -> LabelSelector {
    let labels: BTreeMap<String, String> =
        selector.labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let requirements: Vec<LabelSelectorRequirement> = selector
        .requirements
        .iter()
        .map(|requirement| {
            let (operator, values) = match &requirement.operator {
                Operator::In(values) => ("In", Some(values)),
                Operator::NotIn(values) => ("NotIn", Some(values)),
                Operator::Exists => ("Exists", None),
                Operator::DoesNotExist => ("DoesNotExist", None),
            };
            LabelSelectorRequirement {
                key: requirement.key.to_string(),
                operator: operator.to_owned(),
                values: values.map(|values| values.iter().map(ToString::to_string).collect()),
            }
        })
        .collect();
    LabelSelector {
        match_labels: (!labels.is_empty()).then_some(labels),
        match_expressions: (!requirements.is_empty()).then_some(requirements),
    }
}

/// A time of the model as an API time.
pub fn time(time: learn::Timestamp) -> Option<ApiTime> {
    Time::from_nanosecond(i128::from(time.0)).ok().map(ApiTime)
}

/// An end for people, as the API has it.
pub fn peer(peer: &model::Peer) -> PeerRef {
    let text = |value: &Option<Arc<str>>| value.as_deref().map(str::to_owned);
    PeerRef {
        kind: text(&peer.kind),
        namespace: text(&peer.namespace),
        name: text(&peer.name),
        identity: text(&peer.identity),
        address: peer.address.map(|address| address.to_string()),
        addresses: peer.addresses.iter().map(ToString::to_string).collect(),
        names: peer.names.iter().map(ToString::to_string).collect(),
        service: text(&peer.service),
    }
}

/// The API's word for a protocol that rules can name.
pub fn protocol(protocol: netenf_policy::Protocol) -> Protocol {
    match protocol {
        netenf_policy::Protocol::Tcp => Protocol::Tcp,
        netenf_policy::Protocol::Udp => Protocol::Udp,
        netenf_policy::Protocol::Sctp => Protocol::Sctp,
    }
}

fn spec(proposal: &model::Proposal) -> WorkloadNetworkPolicyProposalSpec {
    let mut spec = match proposal.backend {
        learn::Backend::Kubernetes => {
            WorkloadNetworkPolicyProposalSpec::kubernetes(network_policy(proposal))
        }
        learn::Backend::Istio => WorkloadNetworkPolicyProposalSpec::istio(istio(proposal)),
    };
    spec.target_ref = target_ref(&proposal.subject);
    spec.direction = Some(direction(proposal.direction));
    spec
}

/// What names the workload in a spec, where it is of a kind that one can name.
pub(crate) fn target_ref(subject: &learn::Workload) -> Option<TargetRef> {
    let kind = subject.kind.parse::<TargetKind>().ok()?;
    Some(TargetRef { kind, name: subject.name.to_string() })
}

fn network_policy(proposal: &model::Proposal) -> NetworkPolicySpec {
    let rules: Vec<(NetworkPolicyPeer, Vec<NetworkPolicyPort>)> = proposal
        .rules
        .iter()
        .filter_map(|(rule, ports)| Some((network_policy_peer(rule)?, ports)))
        .flat_map(|(peer, ports)| {
            let chunks = ports.chunks(PORTS_IN_RULE);
            chunks.map(move |ports| (peer.clone(), ports.iter().map(port).collect()))
        })
        .collect();
    let mut spec = NetworkPolicySpec {
        pod_selector: Some(selector(&proposal.selector.selector)),
        policy_types: Some(vec![direction(proposal.direction).to_string()]),
        ..NetworkPolicySpec::default()
    };
    let any = !rules.is_empty();
    match proposal.direction {
        learn::Direction::Egress => {
            let rules = rules.into_iter().map(|(peer, ports)| NetworkPolicyEgressRule {
                to: Some(vec![peer]),
                ports: Some(ports),
            });
            spec.egress = any.then(|| rules.collect());
        }
        learn::Direction::Ingress => {
            let rules = rules.into_iter().map(|(peer, ports)| NetworkPolicyIngressRule {
                from: Some(vec![peer]),
                ports: Some(ports),
            });
            spec.ingress = any.then(|| rules.collect());
        }
    }
    spec
}

/// Pods of one namespace. One peer with both selectors: two list items would be two peers (case B83).
pub(crate) fn pods_of(namespace: &str, pods: LabelSelector) -> NetworkPolicyPeer {
    let name = BTreeMap::from([(NAMESPACE_NAME.to_owned(), namespace.to_owned())]);
    NetworkPolicyPeer {
        namespace_selector: Some(LabelSelector {
            match_labels: Some(name),
            match_expressions: None,
        }),
        pod_selector: Some(pods),
        ip_block: None,
    }
}

/// The peer of a rule, where a `NetworkPolicy` can name it.
pub fn network_policy_peer(rule: &RulePeer) -> Option<NetworkPolicyPeer> {
    match rule {
        RulePeer::Pods { namespace, selector: pods } => Some(pods_of(namespace, selector(pods))),
        RulePeer::Block(cidr) => Some(NetworkPolicyPeer {
            ip_block: Some(IPBlock { cidr: cidr.to_string(), except: None }),
            ..NetworkPolicyPeer::default()
        }),
        // A NetworkPolicy knows no identities.
        RulePeer::Account(_) => None,
    }
}

fn port(&(proto, number): &(netenf_policy::Protocol, u16)) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol(proto).to_string()),
        port: Some(IntOrString::Int(i32::from(number))),
        end_port: None,
    }
}

fn istio(proposal: &model::Proposal) -> IstioPolicySpec {
    let rules = proposal.rules.iter().filter_map(|(rule, ports)| {
        let RulePeer::Account(account) = rule else { return None };
        let mut ports: Vec<u16> = ports.iter().map(|(_, port)| *port).collect();
        ports.sort_unstable();
        Some(IstioRule {
            from: vec![IstioFrom { source: IstioSource { principals: vec![account.to_string()] } }],
            to: vec![IstioTo {
                operation: IstioOperation {
                    ports: ports.iter().map(ToString::to_string).collect(),
                },
            }],
        })
    });
    IstioPolicySpec { selector: selector(&proposal.selector.selector), rules: rules.collect() }
}

fn status(
    proposal: &model::Proposal,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicyProposalStatus {
    let mut status = WorkloadNetworkPolicyProposalStatus {
        selector: Some(selector(&proposal.selector.selector)),
        rules: proposal.evidence.iter().map(evidence).collect(),
        uncovered: uncovered(proposal),
        suggestions: suggestions(proposal),
        learned_since: proposal.learned_since.and_then(time),
        last_new_rule: proposal.last_new_rule.and_then(time),
        gaps: gap::renewed(Vec::new(), proposal),
        ..WorkloadNetworkPolicyProposalStatus::default()
    };
    status.rules.sort_by_cached_key(rule_key);
    let is_inferred = proposal.selector.origin == learn::SelectorOrigin::Inferred;
    let own = (status.selector.as_ref(), is_inferred);
    status.conditions =
        condition::learned(&status, proposal, own, proposal.truncated.as_slice(), last);
    status.recount();
    status
}

/// Peer, first port, protocol and last port of a rule: what makes its evidence one entry.
pub(crate) type RuleKey = (PeerRef, Option<u16>, Protocol, Option<u16>);

/// What makes the evidence one entry.
pub(crate) fn rule_key(evidence: &RuleEvidence) -> RuleKey {
    (meant_by(&evidence.peer), evidence.port, evidence.protocol, evidence.end_port)
}

/// Names and services of a peer may become known later; they do not make it another.
pub(crate) fn meant_by(peer: &PeerRef) -> PeerRef {
    PeerRef { names: Vec::new(), addresses: Vec::new(), service: None, ..peer.clone() }
}

/// Whether both are one peer to the evidence.
pub(crate) fn is_one_peer(one: &PeerRef, other: &PeerRef) -> bool {
    (&one.kind, &one.namespace, &one.name) == (&other.kind, &other.namespace, &other.name)
        && (&one.identity, &one.address) == (&other.identity, &other.address)
}

/// Evidence as the API has it.
pub(crate) fn evidence(evidence: &model::Evidence) -> RuleEvidence {
    let text = ToString::to_string;
    let provenance = match evidence.provenance {
        model::Provenance::Observed => Provenance::Observed,
        model::Provenance::Infrastructure => Provenance::Infrastructure,
        model::Provenance::Inferred => Provenance::Inferred,
    };
    let example = evidence.example.as_ref();
    RuleEvidence {
        selector: pod_selector(&evidence.rule),
        count: i64::try_from(evidence.count).unwrap_or(i64::MAX),
        first_seen: evidence.first.and_then(time),
        last_seen: evidence.last.and_then(time),
        services: evidence.services.iter().take(REMARKS).map(text).collect(),
        notes: evidence.notes.iter().take(REMARKS).map(text).collect(),
        example: example
            .map(|(source, to)| Example { source: text(source), destination: text(to) }),
        ..RuleEvidence::new(
            peer(&evidence.peer),
            Some(evidence.port),
            protocol(evidence.protocol),
            provenance,
        )
    }
}

/// How the pods of a rule are selected.
fn pod_selector(rule: &RulePeer) -> Option<LabelSelector> {
    match rule {
        RulePeer::Pods { selector: pods, .. } => Some(selector(pods)),
        RulePeer::Block(_) | RulePeer::Account(_) => None,
    }
}

/// What has no rule.
pub(crate) fn uncovered(proposal: &model::Proposal) -> Vec<UncoveredPeer> {
    proposal.uncovered.iter().map(uncovered_peer).collect()
}

/// Ranges that could stand for many ports.
pub(crate) fn suggestions(proposal: &model::Proposal) -> Vec<Suggestion> {
    proposal.suggestions.iter().map(suggestion).collect()
}

/// Times and nodes that learning did not see.
pub(crate) fn gaps(proposal: &model::Proposal) -> Vec<Gap> {
    proposal.gaps.iter().map(gap).collect()
}

fn uncovered_peer(uncovered: &model::Uncovered) -> UncoveredPeer {
    UncoveredPeer {
        id: uncovered.id.clone(),
        peer: peer(&uncovered.peer),
        selector: uncovered.rule.as_ref().and_then(pod_selector),
        port: uncovered.port,
        protocol: uncovered.protocol.parse().unwrap_or(Protocol::Other),
        reason: reason(uncovered.reason),
        count: i64::try_from(uncovered.count).unwrap_or(i64::MAX),
        first_seen: uncovered.first.and_then(time),
        last_seen: uncovered.last.and_then(time),
        notes: uncovered.notes.iter().map(ToString::to_string).collect(),
        accepted: false,
    }
}

fn reason(reason: model::Reason) -> UncoveredReason {
    match reason {
        model::Reason::External => UncoveredReason::External,
        model::Reason::Node => UncoveredReason::Node,
        model::Reason::NodePort => UncoveredReason::NodePort,
        model::Reason::HostNetwork => UncoveredReason::HostNetwork,
        model::Reason::ApiServer => UncoveredReason::ApiServer,
        model::Reason::LinkLocal => UncoveredReason::LinkLocal,
        model::Reason::Unmanaged => UncoveredReason::Unmanaged,
        model::Reason::UnknownOwner => UncoveredReason::UnknownOwner,
        model::Reason::NoAddress => UncoveredReason::NoAddress,
        model::Reason::Ambiguous => UncoveredReason::Ambiguous,
        model::Reason::Unanswered => UncoveredReason::Unanswered,
        model::Reason::NoSelector => UncoveredReason::NoSelector,
        model::Reason::Truncated => UncoveredReason::Truncated,
        model::Reason::Protocol => UncoveredReason::Protocol,
    }
}

fn suggestion(suggestion: &model::Suggestion) -> Suggestion {
    Suggestion {
        id: suggestion.id.clone(),
        peer: peer(&suggestion.peer),
        protocol: protocol(suggestion.protocol),
        port: Some(suggestion.port),
        end_port: Some(suggestion.end_port),
        port_count: i64::try_from(suggestion.ports).unwrap_or(i64::MAX),
        reason: format!("suggested range from {} ports", suggestion.ports),
    }
}

fn gap(gap: &model::Gap) -> Gap {
    Gap {
        node: gap.node.as_deref().map(str::to_owned),
        reason: gap.reason.clone(),
        since: gap.since.and_then(time),
        until: gap.until.and_then(time),
        lost: gap.lost.and_then(|lost| i64::try_from(lost).ok()),
    }
}

#[cfg(test)]
mod tests;
