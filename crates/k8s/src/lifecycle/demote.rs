//! The way back: protect to monitor, and a policy to a proposal that learns again.

use netenf_api::{
    AcknowledgedViolation, Mode, PeerRef, Provenance, RuleEvidence, UncoveredPeer, UncoveredReason,
    Violation, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal,
    WorkloadNetworkPolicyProposalStatus, WorkloadNetworkPolicyStatus,
};

use super::peer::{is_same, other_end};
use super::promote::{WithoutRules, carried, set_mode};
use super::refusal::{Reason, Refusal};
use super::resource::{Key, Resource};
use crate::condition;

/// How far back a policy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To a policy that reports and blocks nothing.
    Monitor,
    /// To a proposal that learns again.
    Proposal,
}

/// What a policy became.
#[derive(Debug, Clone, PartialEq)]
pub enum Demoted {
    /// A policy in monitor.
    Policy(WorkloadNetworkPolicy),
    /// A proposal; the policy is to be deleted once the proposal is there.
    Proposal(WorkloadNetworkPolicyProposal),
}

/// Takes `policy` one step back; `existing` is the proposal of that name, if there is one.
pub fn demote(
    policy: &WorkloadNetworkPolicy,
    existing: Option<&WorkloadNetworkPolicyProposal>,
) -> Result<Demoted, Refusal> {
    let step = match policy.spec.mode {
        Mode::Protect => Step::Monitor,
        Mode::Monitor => Step::Proposal,
    };
    demote_to(policy, step, existing)
}

/// Takes `policy` back to `step`; `existing` is the proposal of that name, if there is one.
///
/// Evidence stays. Where the policy becomes a proposal, its active violations become uncovered peers,
/// and its acknowledged ones refused rules, so that learning does not allow what stays denied.
pub fn demote_to(
    policy: &WorkloadNetworkPolicy,
    step: Step,
    existing: Option<&WorkloadNetworkPolicyProposal>,
) -> Result<Demoted, Refusal> {
    let key = || Resource::from(policy.clone()).key();
    match (step, policy.spec.mode) {
        (Step::Monitor, Mode::Monitor) => {
            let reason = Reason::NotAStepBack { mode: Mode::Monitor };
            Err(Refusal::new("demote", key(), reason))
        }
        (Step::Monitor, Mode::Protect) => {
            set_mode(policy, Mode::Monitor, WithoutRules::Accept).map(Demoted::Policy)
        }
        (Step::Proposal, Mode::Monitor | Mode::Protect) => {
            to_proposal(policy, existing, key).map(Demoted::Proposal)
        }
    }
}

fn to_proposal(
    policy: &WorkloadNetworkPolicy,
    existing: Option<&WorkloadNetworkPolicyProposal>,
    key: impl Fn() -> Key,
) -> Result<WorkloadNetworkPolicyProposal, Refusal> {
    let spec = policy.spec.to_proposal_spec();
    if existing.is_some_and(|proposal| proposal.spec != spec) {
        return Err(Refusal::new("demote", key(), Reason::ProposalExists));
    }
    Ok(WorkloadNetworkPolicyProposal {
        metadata: carried(&policy.metadata),
        spec,
        status: policy.status.as_ref().map(status),
    })
}

fn status(status: &WorkloadNetworkPolicyStatus) -> WorkloadNetworkPolicyProposalStatus {
    let mut proposal = WorkloadNetworkPolicyProposalStatus {
        conditions: condition::lasting(&status.conditions),
        selector: status.selector.clone(),
        rules: status.rules.clone(),
        uncovered: status.uncovered.clone(),
        learned_since: status.learned_since.clone(),
        learned_until: status.learned_until.clone(),
        last_new_rule: status.last_new_rule.clone(),
        gaps: status.gaps.clone(),
        ..WorkloadNetworkPolicyProposalStatus::default()
    };
    for violation in &status.violations {
        keep_seen(&mut proposal.uncovered, violation);
    }
    for acknowledged in &status.acknowledged_violations {
        keep_denied(&mut proposal.rules, acknowledged);
    }
    proposal.recount();
    proposal
}

/// A violation was seen, and no rule allows it.
fn keep_seen(uncovered: &mut Vec<UncoveredPeer>, violation: &Violation) {
    let peer = other_end(violation);
    let known = uncovered.iter().any(|entry| {
        is_same(&entry.peer, peer)
            && entry.port == violation.dst_port
            && entry.protocol == violation.protocol
    });
    if known {
        return;
    }
    uncovered.push(UncoveredPeer {
        id: violation.id.clone(),
        peer: peer.clone(),
        port: violation.dst_port,
        selector: None,
        protocol: violation.protocol,
        reason: reason(peer),
        count: violation.count,
        first_seen: Some(violation.first_seen.clone()),
        last_seen: Some(violation.last_seen.clone()),
        notes: vec!["a violation of the policy until it was demoted".to_owned()],
        accepted: false,
    });
}

/// What a person acknowledged stays denied.
fn keep_denied(rules: &mut Vec<RuleEvidence>, acknowledged: &AcknowledgedViolation) {
    let violation = &acknowledged.violation;
    let peer = other_end(violation);
    let known = rules.iter().any(|rule| {
        is_same(&rule.peer, peer)
            && rule.port == violation.dst_port
            && rule.end_port.is_none()
            && rule.protocol == violation.protocol
    });
    if known {
        return;
    }
    let note = match acknowledged.reason.as_str() {
        "" => "acknowledged as a violation".to_owned(),
        reason => format!("acknowledged as a violation: {reason}"),
    };
    rules.push(RuleEvidence {
        count: violation.count,
        first_seen: Some(violation.first_seen.clone()),
        last_seen: Some(violation.last_seen.clone()),
        refused: true,
        notes: vec![note],
        ..RuleEvidence::new(
            peer.clone(),
            violation.dst_port,
            violation.protocol,
            Provenance::Observed,
        )
    });
}

fn reason(peer: &PeerRef) -> UncoveredReason {
    match peer.kind.as_deref() {
        Some("Node") => UncoveredReason::Node,
        Some("ApiServer") => UncoveredReason::ApiServer,
        Some("Dns") => UncoveredReason::Dns,
        _ if peer.namespace.is_some() || peer.identity.is_some() => UncoveredReason::NoSelector,
        _ if peer.address.is_some() => UncoveredReason::External,
        _ => UncoveredReason::NoAddress,
    }
}

#[cfg(test)]
mod tests;
