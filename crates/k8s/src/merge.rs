//! What was learned before and what is learned now, and what a person changed in between.
//!
//! A person's edits stay: a rule that they removed is not added again but marked refused, and a rule that
//! they widened already allows what was learned, so nothing is added beside it (DESIGN §5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use netenf_api::{
    Backend, Provenance, RuleEvidence, WorkloadNetworkPolicyProposal,
    WorkloadNetworkPolicyProposalStatus,
};
use netenf_learn as learn;
use netenf_learn::SelectorOrigin;
use netenf_learn::proposal::Proposal;

use crate::render::{self, SELECTOR_INFERRED};

mod cover;
mod rule;
mod status;

pub(crate) use cover::principal_matches;
pub use cover::{allows, istio_allows, network_policy_allows};

/// Merges what is learned now into the stored proposal; `last` is the time of the newest observation.
pub fn merge(
    stored: &WorkloadNetworkPolicyProposal,
    fresh: &Proposal,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicyProposal {
    let mut merged = stored.clone();
    let known = stored.status.clone().unwrap_or_default();
    if stored.spec.backend != backend(fresh.backend) {
        let status = merged.status.get_or_insert_default();
        put(&mut status.conditions, other_backend(stored.spec.backend, last));
        return merged;
    }
    let rendered = render::proposal(fresh, last);
    let mut status = rendered.status.unwrap_or_default();
    merged.spec.target_ref = merged.spec.target_ref.or(rendered.spec.target_ref);
    merged.spec.direction = merged.spec.direction.or(rendered.spec.direction);
    let refused = rule::merge(&mut merged, fresh, &known);
    let conditions = conditions(&known, status.conditions, fresh);
    status.rules = status::evidence(known.rules, status.rules, &refused);
    status.uncovered = status::uncovered(known.uncovered, status.uncovered);
    status::take_allowed(&merged, fresh.direction, &mut status.uncovered, &mut status.rules);
    status.suggestions = status::suggestions(known.suggestions, status.suggestions, &status.rules);
    status.learned_since = status::earlier(known.learned_since, status.learned_since);
    status.last_new_rule = last_new_rule(&status.rules).or(known.last_new_rule);
    status.gaps = status::gaps(known.gaps, status.gaps);
    status.conditions = conditions;
    let counts = (status.rules.len(), status.uncovered.len());
    let new = status.last_new_rule.as_ref();
    if let Some(stable) = render::stable(last.and_then(render::time).as_ref(), new, counts) {
        put(&mut status.conditions, stable);
    }
    status.recount();
    merged.status = Some(status);
    merged
}

/// Whether the stored proposal's selectors come from labels in flows.
fn is_inferred(known: &WorkloadNetworkPolicyProposalStatus) -> bool {
    known.conditions.iter().any(|one| one.type_ == SELECTOR_INFERRED && one.status == "True")
}

/// Conditions of before that nothing new is told of stay. Selectors that were inferred are so until the
/// workload's object is known, and those of a stored proposal that were not stay as they are.
fn conditions(
    known: &WorkloadNetworkPolicyProposalStatus,
    fresh: Vec<Condition>,
    learned: &Proposal,
) -> Vec<Condition> {
    let inferred = is_inferred(known) && learned.selector.origin == SelectorOrigin::Inferred;
    let mut merged = known.conditions.clone();
    for one in fresh {
        put(&mut merged, one);
    }
    merged.retain(|one| one.type_ != SELECTOR_INFERRED || inferred);
    merged
}

/// Puts a condition in place of the one of its type; where its status stays, so does the time.
fn put(conditions: &mut Vec<Condition>, mut condition: Condition) {
    if let Some(at) = conditions.iter().position(|one| one.type_ == condition.type_) {
        let known = conditions.remove(at);
        if known.status == condition.status {
            condition.last_transition_time = known.last_transition_time;
        }
    }
    conditions.push(condition);
    conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
}

/// When the newest of the rules was first seen.
fn last_new_rule(rules: &[RuleEvidence]) -> Option<Time> {
    let learned = rules.iter().filter(|rule| rule.provenance != Provenance::Infrastructure);
    learned.filter_map(|rule| rule.first_seen.clone()).max_by_key(|time| time.0)
}

fn backend(backend: learn::Backend) -> Backend {
    match backend {
        learn::Backend::Kubernetes => Backend::Kubernetes,
        learn::Backend::Istio => Backend::Istio,
    }
}

/// Objects of another backend are left alone (DESIGN §5).
fn other_backend(own: Backend, last: Option<learn::Timestamp>) -> Condition {
    let message = format!(
        "the flows are for another backend than this proposal's ({own}), which never changes: nothing was added"
    );
    render::condition("Blocked", true, "OtherBackend", message, last)
}

#[cfg(test)]
mod tests;
