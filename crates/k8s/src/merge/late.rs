//! What a proposal holds that the policy it became does not: what it learned in between.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use netenf_api::{
    Direction, RuleEvidence, UncoveredPeer, UncoveredReason, WorkloadNetworkPolicy,
    WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalStatus,
    WorkloadNetworkPolicyStatus,
};
use netenf_learn as learn;
use netenf_learn::name::short_hash;

use super::cover::Cover;
use super::meaning::Meaning;
use super::{gap, status};
use crate::condition;
use crate::lifecycle::Resource;
use crate::render::rule_key;
use crate::time::{earlier, later};

mod written;

/// The policy with all that its left over proposal knows. A person chose the policy's rules, so a rule
/// that came later is not added to them but listed as uncovered, for `allow` to add it. Counts are those of
/// one and the same traffic: taking over twice is taking over once.
pub(crate) fn take_over(
    policy: &WorkloadNetworkPolicy,
    left: &WorkloadNetworkPolicyProposal,
) -> WorkloadNetworkPolicy {
    let mut taken = policy.clone();
    let status = taken.status.get_or_insert_default();
    let before = (status.rules.len(), status.uncovered.len());
    take_rules(policy, left, status);
    // An order that somebody chose is no reason to write.
    if before != (status.rules.len(), status.uncovered.len()) {
        status.rules.sort_by_cached_key(rule_key);
        status::sort_items(&mut status.uncovered);
    }
    if let Some(late) = left.status.clone() {
        take_rest(status, late);
    }
    taken.status = taken.status.filter(|status| {
        policy.status.is_some() || *status != WorkloadNetworkPolicyStatus::default()
    });
    taken
}

fn take_rules(
    policy: &WorkloadNetworkPolicy,
    left: &WorkloadNetworkPolicyProposal,
    own: &mut WorkloadNetworkPolicyStatus,
) {
    let direction = Resource::from(policy.clone()).direction().unwrap_or(Direction::Egress);
    let cover = cover(policy, direction);
    let late = left.status.clone().unwrap_or_default();
    for rule in &late.rules {
        take_rule(own, rule, &cover);
    }
    for rule in written::rules(&left.spec, direction) {
        if is_unknown(&rule, &late.rules) && stands(&rule, &cover) == Some(false) {
            take_item(&mut own.uncovered, item(&rule));
        }
    }
    let mut items = late.uncovered;
    status::take_allowed(&cover, &mut items);
    for item in items {
        take_item(&mut own.uncovered, item);
    }
}

/// Takes what is known beside rules. What the policy says of itself stays.
fn take_rest(own: &mut WorkloadNetworkPolicyStatus, late: WorkloadNetworkPolicyProposalStatus) {
    let known = std::mem::take(&mut own.conditions);
    let is_new = |one: &Condition| !known.iter().any(|own| own.type_ == one.type_);
    let new = condition::lasting(&late.conditions).into_iter().filter(is_new).collect();
    own.conditions = condition::set(&known, new, |_| false);
    own.selector = own.selector.take().or(late.selector);
    own.learned_since = earlier(own.learned_since.take(), late.learned_since);
    own.learned_until = own.learned_until.take().max(late.learned_until);
    own.last_new_rule = own.last_new_rule.take().or(late.last_new_rule);
    own.gaps = gap::merged(std::mem::take(&mut own.gaps), late.gaps);
}

fn cover(policy: &WorkloadNetworkPolicy, direction: Direction) -> Cover {
    let direction = match direction {
        Direction::Ingress => learn::Direction::Ingress,
        Direction::Egress => learn::Direction::Egress,
    };
    let namespace = policy.metadata.namespace.as_deref().unwrap_or_default();
    Cover::new(namespace, direction, policy.spec.kubernetes.as_ref(), policy.spec.istio.as_ref())
}

/// Whether the body has the rule; `None` where that cannot be told.
fn stands(rule: &RuleEvidence, cover: &Cover) -> Option<bool> {
    Meaning::of(rule).and_then(|meaning| meaning.stands(cover))
}

/// Whether no entry is evidence for the rule.
fn is_unknown(rule: &RuleEvidence, entries: &[RuleEvidence]) -> bool {
    let meaning = Meaning::of(rule);
    let Some(peer) = meaning.as_ref().and_then(Meaning::peer) else { return false };
    !entries.iter().any(|entry| {
        (entry.protocol, entry.port, entry.end_port) == (rule.protocol, rule.port, rule.end_port)
            && Meaning::of(entry).is_some_and(|known| known.is_for(peer))
    })
}

fn take_rule(own: &mut WorkloadNetworkPolicyStatus, rule: &RuleEvidence, cover: &Cover) {
    let key = rule_key(rule);
    if let Some(known) = own.rules.iter_mut().find(|known| rule_key(known) == key) {
        raise(
            (&mut known.count, &mut known.first_seen, &mut known.last_seen),
            (rule.count, rule.first_seen.clone(), rule.last_seen.clone()),
        );
        return;
    }
    match stands(rule, cover) {
        Some(false) if !rule.refused => take_item(&mut own.uncovered, item(rule)),
        Some(_) | None => own.rules.push(rule.clone()),
    }
}

fn take_item(items: &mut Vec<UncoveredPeer>, item: UncoveredPeer) {
    match items.iter_mut().find(|known| known.id == item.id) {
        Some(known) => raise(
            (&mut known.count, &mut known.first_seen, &mut known.last_seen),
            (item.count, item.first_seen, item.last_seen),
        ),
        None => items.push(item),
    }
}

/// Number of connections, first and last time.
type Seen = (i64, Option<Time>, Option<Time>);

fn raise(
    (count, first, last): (&mut i64, &mut Option<Time>, &mut Option<Time>),
    (late, late_first, late_last): Seen,
) {
    *count = late.max(*count);
    *first = earlier(first.take(), late_first);
    *last = later(last.take(), late_last);
}

fn item(rule: &RuleEvidence) -> UncoveredPeer {
    let (peer, port, protocol, end_port) = rule_key(rule);
    let selector = &rule.selector;
    let key = format!("{peer:?} {port:?} {protocol} {end_port:?} {selector:?} late");
    let mut notes = rule.notes.clone();
    notes.extend(rule.end_port.map(|last| format!("ports up to {last}")));
    notes.push("learned while the proposal became a policy".to_owned());
    UncoveredPeer {
        id: format!("u{}", short_hash(&key)),
        peer: rule.peer.clone(),
        port: rule.port,
        selector: rule.selector.clone(),
        protocol: rule.protocol,
        reason: UncoveredReason::Late,
        count: rule.count,
        first_seen: rule.first_seen.clone(),
        last_seen: rule.last_seen.clone(),
        notes,
        accepted: false,
    }
}

#[cfg(test)]
mod tests;
