//! A proposal that a person promotes by its label.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use netenf_api::{
    ConditionType, Mode, StateReason, UncoveredReason, WorkloadNetworkPolicy,
    WorkloadNetworkPolicyProposal, key,
};

use super::condition::{self, Finding, Holds};
use super::event::Event;
use super::policy::{rendered, told};
use super::{Document, Step};
use crate::lifecycle::{Reason, Resource, WithoutRules, is_leftover, promote};
use crate::merge::take_over;

/// How long a demotion may take between the creation of the proposal and the deletion of the policy.
const DEMOTION: SignedDuration = SignedDuration::from_mins(10);

/// What is known of a proposal.
#[derive(Debug, Clone, Copy)]
pub struct Proposal<'a> {
    /// The proposal, as it was read.
    pub proposal: &'a WorkloadNetworkPolicyProposal,
    /// The policy of its namespace and name.
    pub policy: Option<&'a WorkloadNetworkPolicy>,
    /// What the API server said when it refused to create the policy for good, and not only because it was
    /// there.
    pub refused: Option<&'a str>,
    /// The time.
    pub now: &'a Time,
}

/// What to do about a proposal. The policy is created and gets what is known of its rules, then the proposal
/// goes, if it still is what was promoted: else what it learned since is taken over first, so that nothing is
/// lost (W29). A promotion that cannot be is told by a condition, and learning goes on (W24).
pub fn proposal(facts: &Proposal<'_>) -> Vec<Step> {
    let own = &facts.proposal.metadata;
    let is_going = facts.policy.is_some_and(|one| one.metadata.deletion_timestamp.is_some());
    // Of what is being deleted it is decided when it is gone.
    if own.deletion_timestamp.is_some() || is_going {
        return Vec::new();
    }
    if let Some(policy) = facts.policy.filter(|policy| facts.is_left_by(policy)) {
        return finish(facts.proposal, policy);
    }
    let Some(word) = own.labels.as_ref().and_then(|labels| labels.get(key::PROMOTE)) else {
        return facts.status_steps(&[]);
    };
    match word.parse::<Mode>() {
        Ok(mode) => facts.promote(mode),
        Err(unknown) => {
            let message = format!("the label {} cannot be followed: {unknown}", key::PROMOTE);
            facts.refuse(StateReason::InvalidMode, message)
        }
    }
}

/// Deletes what a promotion left, once the policy knows all that it knows.
fn finish(left: &WorkloadNetworkPolicyProposal, policy: &WorkloadNetworkPolicy) -> Vec<Step> {
    let taken = take_over(policy, left);
    let late = late(&taken) > late(policy);
    let mut steps = Vec::new();
    if taken != *policy {
        steps.push(Step::ReplaceStatus(Resource::from(taken)));
    }
    steps.push(Step::Delete(Document::Ours(Resource::from(left.clone()))));
    if late {
        let message = "rules were learned while the proposal was promoted: they are not in the policy but listed \
                       in status.uncovered as Late; allow those that should be";
        let event = Event::new(super::policy::key(policy), StateReason::LearnedLate, message);
        steps.push(Step::Event(event));
    }
    steps
}

fn late(policy: &WorkloadNetworkPolicy) -> usize {
    let items = policy.status.iter().flat_map(|status| &status.uncovered);
    items.filter(|item| item.reason == UncoveredReason::Late).count()
}

/// The policy as it is created, and what follows.
fn promotion(
    proposal: &WorkloadNetworkPolicyProposal,
    policy: WorkloadNetworkPolicy,
    mode: Mode,
) -> Vec<Step> {
    let key = super::policy::key(&policy);
    let has_status = policy.status.is_some();
    let policy = Resource::from(policy);
    let mut steps = vec![Step::Create(Document::Ours(policy.clone()))];
    steps.extend(has_status.then_some(Step::ReplaceStatus(policy)));
    steps.push(Step::Delete(Document::Ours(Resource::from(proposal.clone()))));
    let message = format!("the proposal of this name became this policy, in {mode}");
    steps.push(Step::Event(Event::new(key, StateReason::Promoted, &message)));
    steps
}

// === impl Proposal ===

impl Proposal<'_> {
    /// Whether the proposal is what a promotion to `policy` left. A younger one is not, for a while: it may be
    /// what the policy becomes by a demotion, whose next step deletes the policy.
    fn is_left_by(&self, policy: &WorkloadNetworkPolicy) -> bool {
        let created = |time: &Option<Time>| time.as_ref().map(|time| time.0);
        let own = created(&self.proposal.metadata.creation_timestamp);
        let is_young = own
            .zip(created(&policy.metadata.creation_timestamp))
            .is_some_and(|(own, other)| own > other && self.now.0.duration_since(own) < DEMOTION);
        is_leftover(self.proposal, policy) && !is_young
    }

    fn promote(&self, mode: Mode) -> Vec<Step> {
        let promoted = promote(self.proposal, mode, self.policy, WithoutRules::Refuse);
        let policy = match promoted {
            Ok(policy) => policy,
            Err(refusal) => return self.refuse(reason(&refusal.reason), told(&refusal)),
        };
        if let Err(problem) = rendered(&policy) {
            return self.refuse(StateReason::InvalidSpec, problem);
        }
        // It is told before it is tried again: a plan ends where it is refused.
        let told = self.refused.map(|why| {
            let message = format!("the API server refused the policy and is asked again: {why}");
            self.refuse(StateReason::Refused, message)
        });
        told.filter(|steps| !steps.is_empty())
            .unwrap_or_else(|| promotion(self.proposal, policy, mode))
    }

    fn refuse(&self, reason: StateReason, message: String) -> Vec<Step> {
        let (type_, holds) = (ConditionType::Promoted, Holds::False);
        self.status_steps(&[Finding { type_, holds, reason, message }])
    }

    /// Says what was found, or that there is nothing to say any more.
    fn status_steps(&self, found: &[Finding]) -> Vec<Step> {
        let mut proposal = self.proposal.clone();
        let known = proposal.status.as_ref().map_or(Vec::new(), |one| one.conditions.clone());
        let is_other = |one: &&Condition| one.type_ != ConditionType::Promoted.as_str();
        let others: Vec<Condition> = match found {
            [] => known.iter().filter(is_other).cloned().collect(),
            _ => known.clone(),
        };
        let now = condition::set(&others, found, proposal.metadata.generation, self.now);
        if now == known {
            return Vec::new();
        }
        proposal.status.get_or_insert_default().conditions = now;
        let proposal = Resource::from(proposal);
        let events = condition::events(&known, found, &proposal.key());
        [vec![Step::ReplaceStatus(proposal)], events].concat()
    }
}

/// The word for a refusal.
fn reason(refusal: &Reason) -> StateReason {
    match refusal {
        Reason::PolicyExists | Reason::AlreadyPromoted => StateReason::AlreadyExists,
        Reason::NoRules => StateReason::NoRules,
        _ => StateReason::InvalidSpec,
    }
}

#[cfg(test)]
mod tests;
