//! What was learned of a workload, into the object that holds it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use netenf_api::{
    Gap, RuleEvidence, UncoveredPeer, Violation, WorkloadNetworkPolicy,
    WorkloadNetworkPolicyProposal,
};
use netenf_learn as learn;
use netenf_learn::Caps;
use netenf_learn::proposal::Proposal as Fresh;

use super::{Document, Step};
use crate::lifecycle::{Resource, is_leftover};
use crate::merge::{merge, merge_uncovered};
use crate::{monitor, render};

/// What is known of a workload and direction, and what was learned.
#[derive(Debug, Clone)]
pub struct Learned<'a> {
    /// The stored proposal.
    pub proposal: Option<&'a WorkloadNetworkPolicyProposal>,
    /// The stored policy of that name.
    pub policy: Option<&'a WorkloadNetworkPolicy>,
    /// What was learned since the last write; `None` where only violations are told.
    pub fresh: Option<&'a Fresh>,
    /// What the policy was found to deny since then.
    pub denied: Vec<Violation>,
    /// Limits.
    pub caps: Caps,
    /// The time of the newest observation.
    pub last: Option<learn::Timestamp>,
}

/// How much what was learned matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// It changes nothing.
    Nothing,
    /// What is known was seen again: counts and times, which can wait for the next write.
    Counts,
    /// Something else changed.
    Rules,
}

/// What to write, and how much it matters. A policy that was promoted or stands alone takes what was learned
/// into its status; its rules are a person's. Beside a policy that a person wrote a proposal learns on.
pub fn learned(facts: &Learned<'_>) -> (News, Vec<Step>) {
    let is_left = |proposal, policy| is_leftover(proposal, policy);
    let proposal = facts.proposal.filter(|one| !facts.policy.is_some_and(|own| is_left(one, own)));
    let (mut news, mut steps) = (News::Nothing, Vec::new());
    match (proposal, facts.policy, facts.fresh) {
        (None, None, fresh) => return creation(fresh, facts.last),
        (Some(stored), _, Some(fresh)) if stored.metadata.deletion_timestamp.is_none() => {
            let mut merged = merge(stored, fresh, &facts.caps, facts.last);
            news = news.max(of_proposal(stored, &merged));
            if merged != *stored {
                note_until(&mut merged.status.get_or_insert_default().learned_until, facts.last);
            }
            steps.extend(proposal_steps(stored, merged));
        }
        _ => {}
    }
    if let Some(stored) = facts.policy.filter(|one| one.metadata.deletion_timestamp.is_none()) {
        let mut merged = seen(facts, stored);
        news = news.max(of_policy(stored, &merged));
        if merged != *stored {
            note_until(&mut merged.status.get_or_insert_default().learned_until, facts.last);
            steps.push(Step::ReplaceStatus(Resource::from(merged)));
        }
    }
    (news, steps)
}

/// What nothing was seen of since the object was deleted does not come back with the next flow.
fn creation(fresh: Option<&Fresh>, last: Option<learn::Timestamp>) -> (News, Vec<Step>) {
    let Some(fresh) = fresh.cloned().and_then(Fresh::seen) else {
        return (News::Nothing, Vec::new());
    };
    let mut created = render::proposal(&fresh, last);
    note_until(&mut created.status.get_or_insert_default().learned_until, last);
    let created = Resource::from(created);
    let steps = vec![Step::Create(Document::Ours(created.clone())), Step::ReplaceStatus(created)];
    (News::Rules, steps)
}

/// Everything up to `last` is counted. The API holds microseconds; a part of one counts as seen.
fn note_until(until: &mut Option<MicroTime>, last: Option<learn::Timestamp>) {
    let time = last.and_then(|time| jiff::Timestamp::from_nanosecond(time.0.into()).ok());
    *until = until.take().max(time.map(MicroTime));
}

/// The rules first: evidence of a rule that is not there says that a person took it out.
fn proposal_steps(
    stored: &WorkloadNetworkPolicyProposal,
    merged: WorkloadNetworkPolicyProposal,
) -> Vec<Step> {
    let (has_spec, has_status) = (stored.spec == merged.spec, stored.status == merged.status);
    let mut status = merged.clone();
    if !has_spec {
        status.metadata.resource_version = None;
    }
    let spec = (!has_spec).then(|| Step::Replace(Document::Ours(Resource::from(merged))));
    let status = (!has_status).then(|| Step::ReplaceStatus(Resource::from(status)));
    spec.into_iter().chain(status).collect()
}

fn seen(facts: &Learned<'_>, stored: &WorkloadNetworkPolicy) -> WorkloadNetworkPolicy {
    let denied = &facts.denied;
    let mut merged = match facts.fresh {
        Some(fresh) => merge_uncovered(stored, fresh, denied, &facts.caps, facts.last),
        None => stored.clone(),
    };
    if !denied.is_empty() {
        monitor::record(&mut merged, denied.clone());
    }
    merged
}

fn of_proposal(
    stored: &WorkloadNetworkPolicyProposal,
    merged: &WorkloadNetworkPolicyProposal,
) -> News {
    let without_counts = |proposal: &WorkloadNetworkPolicyProposal| {
        let mut proposal = proposal.clone();
        if let Some(status) = &mut proposal.status {
            forget_counts(&mut status.rules, &mut status.uncovered);
            forget_numbers(&mut status.conditions, &mut status.gaps);
        }
        proposal
    };
    news(stored, merged, without_counts)
}

fn of_policy(stored: &WorkloadNetworkPolicy, merged: &WorkloadNetworkPolicy) -> News {
    let without_counts = |policy: &WorkloadNetworkPolicy| {
        let mut policy = policy.clone();
        if let Some(status) = &mut policy.status {
            forget_counts(&mut status.rules, &mut status.uncovered);
            forget_numbers(&mut status.conditions, &mut status.gaps);
            status.violation_count = 0;
            let known = status.acknowledged_violations.iter_mut().map(|one| &mut one.violation);
            for violation in status.violations.iter_mut().chain(known) {
                violation.count = 0;
                violation.last_seen = violation.first_seen.clone();
            }
            // They are sorted by the time that they were last seen.
            status.violations.sort_by(|a, b| a.id.cmp(&b.id));
        }
        policy
    };
    news(stored, merged, without_counts)
}

fn news<T: PartialEq>(stored: &T, merged: &T, without_counts: impl Fn(&T) -> T) -> News {
    if stored == merged {
        News::Nothing
    } else if without_counts(stored) == without_counts(merged) {
        News::Counts
    } else {
        News::Rules
    }
}

/// What conditions and gaps count is no news either; that a node reports again is.
fn forget_numbers(conditions: &mut [Condition], gaps: &mut [Gap]) {
    for condition in conditions {
        condition.message.retain(|letter| !letter.is_ascii_digit());
    }
    for gap in gaps.iter_mut().filter(|gap| gap.lost.is_some()) {
        (gap.lost, gap.until) = (None, None);
    }
}

fn forget_counts(rules: &mut [RuleEvidence], uncovered: &mut [UncoveredPeer]) {
    for rule in rules {
        (rule.count, rule.last_seen) = (0, None);
    }
    for item in uncovered {
        (item.count, item.last_seen) = (0, None);
    }
}

#[cfg(test)]
mod tests;
