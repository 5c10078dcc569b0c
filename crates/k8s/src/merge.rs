//! What was learned before and what is learned now, and what a person changed in between.
//!
//! A person's edits stay: a rule that they removed is not added again but marked refused, a rule that
//! they widened already allows what was learned, so nothing is added beside it, and a selector that they
//! changed is theirs (DESIGN §5). What learning wrote stands in the status; where the spec says something
//! else by now, a person said it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use netenf_api::{
    Provenance, RuleEvidence, UncoveredPeer, Violation, WorkloadNetworkPolicy,
    WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalSpec,
    WorkloadNetworkPolicyProposalStatus, WorkloadNetworkPolicyStatus,
};
use netenf_learn as learn;
use netenf_learn::proposal::Proposal;
use netenf_learn::{Caps, SelectorOrigin};

use crate::condition::{self, SELECTOR_INFERRED};
use crate::lifecycle::Resource;
use crate::lifecycle::peer::{other_end, stands_for};
use crate::time::earlier;
use crate::{lower, render};

mod cover;
pub(crate) mod gap;
mod late;
mod limit;
mod meaning;
mod rule;
mod status;

use cover::Cover;
pub use cover::{istio_allows, network_policy_allows};
pub(crate) use cover::{principal_matches, selects_all};
pub(crate) use late::take_over;
use limit::Room;
pub(crate) use meaning::protocol;

/// Merges what is learned now into the stored proposal; `last` is the time of the newest observation.
pub fn merge(
    stored: &WorkloadNetworkPolicyProposal,
    fresh: &Proposal,
    caps: &Caps,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicyProposal {
    let mut merged = stored.clone();
    let known = stored.status.clone().unwrap_or_default();
    if stored.spec.backend != render::backend(fresh.backend) {
        let status = merged.status.get_or_insert_default();
        let other = condition::other_backend(stored.spec.backend, last);
        status.conditions = condition::put(&known.conditions, other);
        return merged;
    }
    merged.spec.target_ref = merged.spec.target_ref.or(render::target_ref(&fresh.subject));
    merged.spec.direction = merged.spec.direction.or(Some(render::direction(fresh.direction)));

    let before = cover(&merged, fresh.direction);
    let mut rules = known.rules.clone();
    rule::mark(&mut rules, &before);
    let mut fates = rule::fates(&merged.spec, fresh, &rules, &before);
    let mut room = Room::of(&merged.spec, fresh.direction, rules.len(), *caps);
    rule::limit(fresh, &mut fates, &mut room);
    rule::write(&mut merged.spec, fresh, &fates);
    let (selector, is_inferred) = take_selector(&mut merged.spec, &known, fresh);

    let after = cover(&merged, fresh.direction);
    let mut rules = status::evidence(rules, fresh, &fates, &mut room);
    let (mut items, mut new) = (known.uncovered, render::uncovered(fresh));
    let allowed = status::take_allowed(&after, &mut items);
    for item in allowed.into_iter().chain(status::take_allowed(&after, &mut new)) {
        status::note(&mut rules, item);
    }
    rules.sort_by_cached_key(render::rule_key);
    let identity = identity(fresh);
    new.extend(room.uncovered(&identity));
    let (uncovered, unlisted) = status::uncovered(items, new, &identity, caps.uncovered);
    let suggestions = render::suggestions(fresh);
    let mut status = WorkloadNetworkPolicyProposalStatus {
        selector,
        uncovered,
        suggestions: status::suggestions(known.suggestions, suggestions, &rules, &after),
        learned_until: known.learned_until,
        learned_since: earlier(known.learned_since, fresh.learned_since.and_then(render::time)),
        last_new_rule: last_new_rule(&rules).or(known.last_new_rule),
        gaps: gap::renewed(known.gaps, fresh),
        rules,
        ..WorkloadNetworkPolicyProposalStatus::default()
    };
    let cut: Vec<String> =
        fresh.truncated.iter().cloned().chain(room.told()).chain(unlisted).collect();
    let own = (selector_of(&merged.spec), is_inferred);
    let now = condition::learned(&status, fresh, own, &cut, last);
    status.conditions = condition::renewed(&known.conditions, now);
    status.recount();
    merged.status = Some(status);
    merged
}

/// Lists in the policy of a workload what is learned of it and has no rule. Its rules are a person's by
/// now: what it denies are `violations`, which have been judged, and are not listed twice.
pub fn merge_uncovered(
    stored: &WorkloadNetworkPolicy,
    fresh: &Proposal,
    violations: &[Violation],
    caps: &Caps,
    last: Option<learn::Timestamp>,
) -> WorkloadNetworkPolicy {
    let mut merged = stored.clone();
    let known = stored.status.clone().unwrap_or_default();
    let namespace = stored.metadata.namespace.as_deref().unwrap_or_default();
    let spec = &stored.spec;
    let status = merged.status.get_or_insert_default();
    if spec.backend != render::backend(fresh.backend) {
        let other = condition::other_backend(spec.backend, last);
        status.conditions = condition::put(&known.conditions, other);
        return merged;
    }
    let (kubernetes, istio) = (spec.kubernetes.as_ref(), spec.istio.as_ref());
    let cover = Cover::new(namespace, fresh.direction, kubernetes, istio);
    let is_violation = |item: &UncoveredPeer| {
        violations.iter().any(|one| {
            one.dst_port == item.port
                && one.protocol == item.protocol
                && stands_for(&item.peer, other_end(one))
        })
    };
    status.gaps = gap::renewed(known.gaps, fresh);
    let mut new = render::uncovered(fresh);
    new.retain(|item| !is_violation(item));
    status::take_allowed(&cover, &mut new);
    let mut items = known.uncovered;
    for item in status::take_allowed(&cover, &mut items) {
        status::note(&mut status.rules, item);
    }
    let (uncovered, unlisted) = status::uncovered(items, new, &identity(fresh), caps.uncovered);
    status.uncovered = uncovered;
    let cut: Vec<String> = fresh.truncated.iter().cloned().chain(unlisted).collect();
    let now = condition::of_selector(&known.conditions).into_iter();
    let now = now.chain(condition::truncated(&cut, last)).collect();
    status.conditions = condition::renewed(&known.conditions, now);
    // A policy of which there is nothing to say has no status.
    merged.status = merged.status.filter(|status| {
        stored.status.is_some() || *status != WorkloadNetworkPolicyStatus::default()
    });
    merged
}

/// The stored proposal without what earlier learning counted. What a person decided stays, as does what is
/// known of how the rules were written: without that, a rule that they take out later would come back.
pub fn forget(stored: &WorkloadNetworkPolicyProposal) -> WorkloadNetworkPolicyProposal {
    let mut proposal = stored.clone();
    let direction = Resource::from(stored.clone()).direction();
    let Some(status) = &mut proposal.status else { return proposal };
    if let Some(direction) = direction {
        let direction = match direction {
            netenf_api::Direction::Ingress => learn::Direction::Ingress,
            netenf_api::Direction::Egress => learn::Direction::Egress,
        };
        rule::mark(&mut status.rules, &cover(stored, direction));
    }
    for rule in &mut status.rules {
        if !rule.refused && rule.provenance != Provenance::Manual {
            forget_counts(rule);
        }
    }
    status.uncovered.retain(|item| item.accepted);
    status.conditions.retain(|one| one.type_ == SELECTOR_INFERRED);
    status.gaps.clear();
    status.suggestions.clear();
    status.learned_since = None;
    status.learned_until = None;
    status.last_new_rule = None;
    proposal
}

fn forget_counts(rule: &mut RuleEvidence) {
    *rule = RuleEvidence {
        end_port: rule.end_port,
        selector: rule.selector.take(),
        ..RuleEvidence::new(render::meant_by(&rule.peer), rule.port, rule.protocol, rule.provenance)
    };
}

/// Puts the workload's own selector into the spec, where what stands there is learning's and not as good;
/// returns what learning wrote last, and whether what stands there comes from labels in flows.
fn take_selector(
    spec: &mut WorkloadNetworkPolicyProposalSpec,
    known: &WorkloadNetworkPolicyProposalStatus,
    fresh: &Proposal,
) -> (Option<LabelSelector>, bool) {
    let was_inferred = condition::is_true(&known.conditions, SELECTOR_INFERRED);
    let Some(stored) = selector_of(spec) else { return (known.selector.clone(), was_inferred) };
    let own = lower::selector(stored).0;
    let is_inferred = fresh.selector.origin == SelectorOrigin::Inferred;
    if own == fresh.selector.selector {
        // What learning wrote and was stopped before it could say so has no status.
        let is_new = *known == WorkloadNetworkPolicyProposalStatus::default();
        return (Some(stored.clone()), is_inferred && (was_inferred || is_new));
    }
    let Some(written) = &known.selector else { return (None, was_inferred) };
    if own != lower::selector(written).0 {
        return (known.selector.clone(), false);
    }
    let better = match fresh.selector.origin {
        // The workload's own selector is followed where it changes.
        SelectorOrigin::Object => true,
        // What all pods seen since have in common, too.
        SelectorOrigin::Inferred => {
            was_inferred && cover::selects_all(&fresh.selector.selector, &own)
        }
    };
    if !better {
        return (known.selector.clone(), was_inferred);
    }
    let selector = render::selector(&fresh.selector.selector);
    if let Some(stored) = selector_mut(spec) {
        stored.clone_from(&selector);
    }
    (Some(selector), is_inferred)
}

fn selector_of(spec: &WorkloadNetworkPolicyProposalSpec) -> Option<&LabelSelector> {
    let kubernetes = spec.kubernetes.as_ref().and_then(|spec| spec.pod_selector.as_ref());
    kubernetes.or(spec.istio.as_ref().map(|spec| &spec.selector))
}

fn selector_mut(spec: &mut WorkloadNetworkPolicyProposalSpec) -> Option<&mut LabelSelector> {
    let kubernetes = spec.kubernetes.as_mut().and_then(|spec| spec.pod_selector.as_mut());
    kubernetes.or(spec.istio.as_mut().map(|spec| &mut spec.selector))
}

fn cover(object: &WorkloadNetworkPolicyProposal, direction: learn::Direction) -> Cover {
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let (kubernetes, istio) = (object.spec.kubernetes.as_ref(), object.spec.istio.as_ref());
    Cover::new(namespace, direction, kubernetes, istio)
}

/// What makes the ids of items within the object stable.
fn identity(fresh: &Proposal) -> String {
    let subject = &fresh.subject;
    format!("{}/{}/{} {:?}", subject.namespace, subject.kind, subject.name, fresh.direction)
}

/// When the newest of the rules was first seen.
fn last_new_rule(rules: &[RuleEvidence]) -> Option<Time> {
    let learned = rules.iter().filter(|rule| rule.provenance != Provenance::Infrastructure);
    learned.filter_map(|rule| rule.first_seen.clone()).max_by_key(|time| time.0)
}

#[cfg(test)]
pub(crate) mod tests;
