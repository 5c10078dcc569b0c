//! Proposals of the model as objects. Output is sorted: the same proposal is the same object.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp as Time;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer,
    NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition, LabelSelector, LabelSelectorRequirement, ObjectMeta, Time as ApiTime,
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
use netenf_learn::label::is_volatile;
use netenf_learn::proposal::{self as model, RulePeer};
use netenf_learn::wording::count;
use netenf_policy::{Operator, Selector};

/// The label that Kubernetes puts on every namespace: its name.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// The most ports in one rule: Cilium refuses more (case B16).
pub const PORTS_IN_RULE: usize = 40;

/// How long nothing new must have come for a proposal to be called stable.
const QUIET: i128 = 3_600_000_000_000;

/// The condition of a proposal whose selectors come from labels in flows.
pub(crate) const SELECTOR_INFERRED: &str = "SelectorInferred";

/// Renders a proposal; `last` is the time of the newest observation.
pub fn proposal(
    proposal: &model::Proposal,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicyProposal {
    let mut object = WorkloadNetworkPolicyProposal {
        metadata: ObjectMeta {
            name: Some(learn::name::policy_name(&proposal.subject, proposal.direction)),
            namespace: Some(proposal.subject.namespace.to_string()),
            ..ObjectMeta::default()
        },
        spec: spec(proposal),
        status: None,
    };
    object.status = Some(status(proposal, last));
    object
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
    let kind = proposal.subject.kind.parse::<TargetKind>().ok();
    let name = proposal.subject.name.to_string();
    spec.target_ref = kind.map(|kind| TargetRef { kind, name });
    spec.direction = Some(direction(proposal.direction));
    spec
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
    let some = |empty: bool| !empty;
    let mut spec = NetworkPolicySpec {
        pod_selector: Some(selector(&proposal.selector.selector)),
        policy_types: Some(vec![direction(proposal.direction).to_string()]),
        ..NetworkPolicySpec::default()
    };
    let any = some(rules.is_empty());
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

/// One peer with both selectors: two list items would be two peers (case B83).
pub fn network_policy_peer(rule: &RulePeer) -> Option<NetworkPolicyPeer> {
    match rule {
        RulePeer::Pods { namespace, selector: pods } => {
            let name = [(NAMESPACE_NAME.to_owned(), namespace.to_string())];
            Some(NetworkPolicyPeer {
                namespace_selector: Some(LabelSelector {
                    match_labels: Some(name.into()),
                    match_expressions: None,
                }),
                pod_selector: Some(selector(pods)),
                ip_block: None,
            })
        }
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
        conditions: conditions(proposal, last),
        rules: proposal.evidence.iter().map(evidence).collect(),
        uncovered: proposal.uncovered.iter().map(uncovered).collect(),
        suggestions: proposal.suggestions.iter().map(suggestion).collect(),
        learned_since: proposal.learned_since.and_then(time),
        last_new_rule: proposal.last_new_rule.and_then(time),
        gaps: proposal.gaps.iter().map(gap).collect(),
        ..WorkloadNetworkPolicyProposalStatus::default()
    };
    status.rules.sort_by_cached_key(rule_key);
    status.recount();
    status
}

/// Peer, port and protocol of a rule: what makes its evidence one entry.
pub(crate) type RuleKey = (PeerRef, Option<u16>, Protocol);

/// What makes the evidence one entry.
pub(crate) fn rule_key(evidence: &RuleEvidence) -> RuleKey {
    key_of(&evidence.peer, evidence.port, evidence.protocol)
}

/// Names and services of a peer may become known later; they do not make it another.
pub(crate) fn key_of(peer: &PeerRef, port: Option<u16>, protocol: Protocol) -> RuleKey {
    let peer = PeerRef { names: Vec::new(), addresses: Vec::new(), service: None, ..peer.clone() };
    (peer, port, protocol)
}

/// What a reviewer must know of the proposal as a whole.
fn conditions(proposal: &model::Proposal, last: Option<learn::Timestamp>) -> Vec<Condition> {
    let condition = |type_: &str, holds: bool, reason: &str, message: String| {
        condition(type_, holds, reason, message, last)
    };
    let mut conditions = Vec::new();
    if !proposal.denials.is_empty() {
        let all = proposal.denials.iter().map(|denial| {
            let unnamed = || "a policy that the source does not name".to_owned();
            let by = denial.by.as_ref().map_or_else(unnamed, ToString::to_string);
            let flows = if denial.count == 1 { "flow was" } else { "flows were" };
            format!("{} {flows} denied by {by} while learning", denial.count)
        });
        let message = all.collect::<Vec<_>>().join("; ");
        conditions.push(condition("Blocked", true, "DeniedWhileLearning", message));
    }
    if proposal.selector.origin == learn::SelectorOrigin::Inferred {
        let message = "the selector comes from labels in flows, not from the workload's object: give --cluster-state, or check it".to_owned();
        conditions.push(condition(SELECTOR_INFERRED, true, "NoWorkloadObject", message));
    }
    if !proposal.selector.also.is_empty() {
        let also = learn::proposal::listed(&proposal.selector.also);
        let message = format!(
            "the workload's selector selects {also} too: the policy acts on their pods as well"
        );
        conditions.push(condition("SelectorShared", true, "SelectsOthers", message));
    }
    let volatile: Vec<&str> = proposal
        .selector
        .selector
        .labels
        .iter()
        .map(|(key, _)| key)
        .filter(|key| is_volatile(key))
        .collect();
    if !volatile.is_empty() {
        let message =
            format!("selector changes on chart upgrade: it holds {}", volatile.join(", "));
        conditions.push(condition("SelectorVolatile", true, "VolatileLabels", message));
    }
    let counts = (proposal.evidence.len(), proposal.uncovered.len());
    let new = proposal.last_new_rule.and_then(time);
    conditions.extend(stable(last.and_then(time).as_ref(), new.as_ref(), counts));
    if let Some(cut) = &proposal.truncated {
        conditions.push(condition("Truncated", true, "OverLimit", cut.clone()));
    }
    conditions
}

/// A condition as of the newest observation.
pub(crate) fn condition(
    type_: &str,
    holds: bool,
    reason: &str,
    message: String,
    last: Option<learn::Timestamp>,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: last.and_then(time).unwrap_or(ApiTime(Time::UNIX_EPOCH)),
        observed_generation: None,
    }
}

/// Whether nothing new came for a while; not known where times are not.
pub(crate) fn stable(
    last: Option<&ApiTime>,
    new: Option<&ApiTime>,
    (rules, uncovered): (usize, usize),
) -> Option<Condition> {
    let (last, new) = last.zip(new)?;
    let quiet = last.0.as_nanosecond().saturating_sub(new.0.as_nanosecond()) >= QUIET;
    let reason = if quiet { "NothingNew" } else { "NewRules" };
    let message = format!("{}, {uncovered} uncovered", count(rules, "rule"));
    let mut stable = condition("Stable", quiet, reason, message, None);
    stable.last_transition_time = last.clone();
    Some(stable)
}

fn evidence(evidence: &model::Evidence) -> RuleEvidence {
    let namespace = |pod: &Arc<str>| pod.to_string();
    RuleEvidence {
        peer: peer(&evidence.peer),
        port: Some(evidence.port),
        end_port: None,
        protocol: protocol(evidence.protocol),
        provenance: match evidence.provenance {
            model::Provenance::Observed => Provenance::Observed,
            model::Provenance::Infrastructure => Provenance::Infrastructure,
            model::Provenance::Inferred => Provenance::Inferred,
        },
        count: i64::try_from(evidence.count).unwrap_or(i64::MAX),
        first_seen: evidence.first.and_then(time),
        last_seen: evidence.last.and_then(time),
        refused: false,
        services: evidence.services.iter().map(ToString::to_string).collect(),
        notes: evidence.notes.iter().map(ToString::to_string).collect(),
        example: evidence
            .example
            .as_ref()
            .map(|(source, to)| Example { source: namespace(source), destination: namespace(to) }),
    }
}

fn uncovered(uncovered: &model::Uncovered) -> UncoveredPeer {
    UncoveredPeer {
        id: uncovered.id.clone(),
        peer: peer(&uncovered.peer),
        selector: uncovered.rule.as_ref().and_then(|rule| match rule {
            RulePeer::Pods { selector: pods, .. } => Some(selector(pods)),
            RulePeer::Block(_) | RulePeer::Account(_) => None,
        }),
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
