//! What an object says of itself as a whole, as far as learning has to say it.

use jiff::Timestamp as Time;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time as ApiTime};
use netenf_api::{Backend, WorkloadNetworkPolicyProposalStatus};
use netenf_learn as learn;
use netenf_learn::label::is_volatile;
use netenf_learn::proposal::{Denial, Proposal};
use netenf_learn::wording::count;

use crate::lower;
use crate::render::time;

/// Selectors come from labels in flows, not from the workload's object.
pub(crate) const SELECTOR_INFERRED: &str = "SelectorInferred";

const BLOCKED: &str = "Blocked";
const DENIED: &str = "DeniedWhileLearning";
const SELECTOR_SHARED: &str = "SelectorShared";
const SELECTOR_VOLATILE: &str = "SelectorVolatile";
const STABLE: &str = "Stable";
const TRUNCATED: &str = "Truncated";

/// How long nothing new must have come for a proposal to be called stable.
const QUIET: i128 = 3_600_000_000_000;

/// What learning says of a proposal with that status and that selector, which may come from labels in
/// flows; `cut` tells what is over a limit, in words.
pub(crate) fn learned(
    status: &WorkloadNetworkPolicyProposalStatus,
    fresh: &Proposal,
    (selector, is_inferred): (Option<&LabelSelector>, bool),
    cut: &[String],
    last: Option<learn::Timestamp>,
) -> Vec<Condition> {
    let counts = (status.rules.len(), status.uncovered.len());
    let (newest, new) = (last.and_then(time), status.last_new_rule.as_ref());
    // What is known of the workload's selector is not true of another.
    let is_own = selector.is_some_and(|own| lower::selector(own).0 == fresh.selector.selector);
    let also: &[learn::Workload] = if is_own { &fresh.selector.also } else { &[] };
    let all = [
        blocked(&fresh.denials, last),
        is_inferred.then(|| selector_inferred(last)),
        selector_shared(also, last),
        selector_volatile(selector, last),
        stable(newest.as_ref(), new, counts),
        truncated(cut, last),
    ];
    all.into_iter().flatten().collect()
}

/// Denials by policies of others while learning (case B82).
fn blocked(denials: &[Denial], last: Option<learn::Timestamp>) -> Option<Condition> {
    let all = denials.iter().map(|denial| {
        let unnamed = || "a policy that the source does not name".to_owned();
        let by = denial.by.as_ref().map_or_else(unnamed, ToString::to_string);
        let flows = if denial.count == 1 { "flow was" } else { "flows were" };
        format!("{} {flows} denied by {by} while learning", denial.count)
    });
    let message = all.collect::<Vec<_>>().join("; ");
    (!denials.is_empty()).then(|| holds(BLOCKED, DENIED, message, last))
}

/// Objects of another backend are left alone (DESIGN §5).
pub(crate) fn other_backend(own: Backend, last: Option<learn::Timestamp>) -> Condition {
    let message = format!(
        "the flows are for another backend than this object's ({own}), which never changes: nothing was added"
    );
    holds(BLOCKED, "OtherBackend", message, last)
}

/// The selector is what pods in flows had in common.
pub(crate) fn selector_inferred(last: Option<learn::Timestamp>) -> Condition {
    let message = "the selector comes from labels in flows, not from the workload's object: give --cluster-state, or check it".to_owned();
    holds(SELECTOR_INFERRED, "NoWorkloadObject", message, last)
}

/// The selector selects pods of other workloads too.
fn selector_shared(also: &[learn::Workload], last: Option<learn::Timestamp>) -> Option<Condition> {
    let message = format!(
        "the workload's selector selects {} too: the policy acts on their pods as well",
        learn::proposal::listed(also)
    );
    (!also.is_empty()).then(|| holds(SELECTOR_SHARED, "SelectsOthers", message, last))
}

/// The selector holds labels that change from rollout to rollout.
fn selector_volatile(
    selector: Option<&LabelSelector>,
    last: Option<learn::Timestamp>,
) -> Option<Condition> {
    let labels = selector?.match_labels.iter().flatten();
    let volatile: Vec<&str> =
        labels.map(|(key, _)| key.as_str()).filter(|key| is_volatile(key)).collect();
    let message = format!("selector changes on chart upgrade: it holds {}", volatile.join(", "));
    (!volatile.is_empty()).then(|| holds(SELECTOR_VOLATILE, "VolatileLabels", message, last))
}

/// Whether nothing new came for a while; not known where times are not.
fn stable(
    last: Option<&ApiTime>,
    new: Option<&ApiTime>,
    (rules, uncovered): (usize, usize),
) -> Option<Condition> {
    let (last, new) = last.zip(new)?;
    let quiet = last.0.as_nanosecond().saturating_sub(new.0.as_nanosecond()) >= QUIET;
    let message = format!("{}, {uncovered} uncovered", count(rules, "rule"));
    Some(Condition {
        type_: STABLE.to_owned(),
        status: if quiet { "True" } else { "False" }.to_owned(),
        reason: if quiet { "NothingNew" } else { "NewRules" }.to_owned(),
        message,
        last_transition_time: last.clone(),
        observed_generation: None,
    })
}

/// Something is over a limit; `cut` says what.
pub(crate) fn truncated(cut: &[String], last: Option<learn::Timestamp>) -> Option<Condition> {
    (!cut.is_empty()).then(|| holds(TRUNCATED, "OverLimit", cut.join("; "), last))
}

/// Whether a condition of that type holds.
pub(crate) fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions.iter().any(|one| one.type_ == type_ && one.status == "True")
}

/// The conditions after learning: what learning says is what it says now, all else stays. That something was denied
/// stays as well: whoever goes on with learning did not see it.
pub(crate) fn renewed(known: &[Condition], now: Vec<Condition>) -> Vec<Condition> {
    let is_told = now.iter().any(|one| one.type_ == BLOCKED);
    let is_past = |one: &Condition| !is_told && one.type_ == BLOCKED && one.reason == DENIED;
    set(known, now, |one| is_learned(one) && !is_past(one))
}

/// The conditions with `now` in place of all that `are_ours`, sorted by type. "lastTransitionTime is the last
/// time the condition transitioned from one status to another": where a status stays, so does its time.
pub(crate) fn set(
    known: &[Condition],
    now: Vec<Condition>,
    are_ours: impl Fn(&Condition) -> bool,
) -> Vec<Condition> {
    let others = known.iter().filter(|one| !are_ours(one)).cloned();
    let ours = now.into_iter().map(|one| {
        let before = known.iter().find(|known| known.type_ == one.type_);
        match before.filter(|before| before.status == one.status) {
            Some(before) => {
                Condition { last_transition_time: before.last_transition_time.clone(), ..one }
            }
            None => one,
        }
    });
    let mut all: Vec<Condition> = others.chain(ours).collect();
    all.sort_by(|a, b| a.type_.cmp(&b.type_));
    all
}

/// The conditions with `condition` in place of the one of its type.
pub(crate) fn put(known: &[Condition], condition: Condition) -> Vec<Condition> {
    let learned = known.iter().filter(|one| is_learned(one)).cloned();
    let mut now: Vec<Condition> = learned.filter(|one| one.type_ != condition.type_).collect();
    now.push(condition);
    renewed(known, now)
}

/// Those that are as true of a policy as of the proposal that it was, and the other way.
pub(crate) fn lasting(conditions: &[Condition]) -> Vec<Condition> {
    let mut lasting = of_selector(conditions);
    lasting.extend(of_types(conditions, &[TRUNCATED]));
    lasting
}

/// Those that are about the selector.
pub(crate) fn of_selector(conditions: &[Condition]) -> Vec<Condition> {
    of_types(conditions, &[SELECTOR_INFERRED, SELECTOR_SHARED, SELECTOR_VOLATILE])
}

fn of_types(conditions: &[Condition], types: &[&str]) -> Vec<Condition> {
    conditions.iter().filter(|one| types.contains(&&*one.type_)).cloned().collect()
}

fn is_learned(condition: &Condition) -> bool {
    [BLOCKED, SELECTOR_INFERRED, SELECTOR_SHARED, SELECTOR_VOLATILE, STABLE, TRUNCATED]
        .contains(&&*condition.type_)
}

/// A condition as of the newest observation.
fn holds(type_: &str, reason: &str, message: String, last: Option<learn::Timestamp>) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: last.and_then(time).unwrap_or(ApiTime(Time::UNIX_EPOCH)),
        observed_generation: None,
    }
}
