//! Violations that a person knows about: they stay denied and are not reported again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::violation::{MAX_REASON, MAX_VIOLATIONS};
use netenf_api::{AcknowledgedViolation, WorkloadNetworkPolicy, WorkloadNetworkPolicyStatus, key};

use super::identifier;
use super::refusal::{Reason, Refusal};
use super::resource::Resource;

/// What a person says about a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// Why it is acknowledged; may be empty.
    pub reason: &'a str,
    /// Who says so, where that is known.
    pub author: Option<&'a str>,
    /// When.
    pub time: &'a Time,
}

/// A policy whose acknowledging annotations were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Consumed {
    /// The policy without the annotations.
    pub policy: WorkloadNetworkPolicy,
    /// What was acknowledged, in the order of the ids.
    pub acknowledged: Vec<AcknowledgedViolation>,
    /// Annotations that named no violation.
    pub rejected: Vec<Rejected>,
}

/// An annotation that named no violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The id that it named.
    pub id: String,
    /// Why it was rejected.
    pub refusal: Refusal,
}

/// Acknowledges the violation `id` of `policy`; an id may be cut short as long as it names one.
pub fn acknowledge(
    policy: &WorkloadNetworkPolicy,
    id: &str,
    acknowledgement: &Acknowledgement<'_>,
) -> Result<WorkloadNetworkPolicy, Refusal> {
    let mut policy = policy.clone();
    match take(&mut policy, id, acknowledgement) {
        Ok(_) => Ok(policy),
        Err(reason) => Err(refusal("acknowledge a violation of", policy, reason)),
    }
}

/// Makes the acknowledged violation `id` of `policy` active again.
pub fn unacknowledge(
    policy: &WorkloadNetworkPolicy,
    id: &str,
) -> Result<WorkloadNetworkPolicy, Refusal> {
    let mut policy = policy.clone();
    let status = policy.status.get_or_insert_default();
    let ids = status.acknowledged_violations.iter().map(|entry| entry.violation.id.as_str());
    match identifier::find(ids, id) {
        Ok(position) => {
            give_back(status, position);
            Ok(policy)
        }
        Err(reason) => Err(refusal("undo an acknowledgement of", policy, reason)),
    }
}

/// Acknowledges what the annotations of `policy` name, and removes every one of them.
pub fn consume_acknowledgements(
    policy: &WorkloadNetworkPolicy,
    author: Option<&str>,
    time: &Time,
) -> Consumed {
    let mut policy = policy.clone();
    let (mut acknowledged, mut rejected) = (Vec::new(), Vec::new());
    for (id, reason) in take_annotations(&mut policy) {
        let acknowledgement = Acknowledgement { reason: &reason, author, time };
        match take(&mut policy, &id, &acknowledgement) {
            Ok(entry) => acknowledged.push(entry),
            Err(reason) => {
                let refusal = refusal("acknowledge a violation of", policy.clone(), reason);
                rejected.push(Rejected { id, refusal });
            }
        }
    }
    Consumed { policy, acknowledged, rejected }
}

/// Moves an active violation to the acknowledged ones.
fn take(
    policy: &mut WorkloadNetworkPolicy,
    id: &str,
    acknowledgement: &Acknowledgement<'_>,
) -> Result<AcknowledgedViolation, Reason> {
    let length = acknowledgement.reason.chars().count();
    if length > MAX_REASON {
        return Err(Reason::LongReason { length });
    }
    let empty = WorkloadNetworkPolicyStatus::default();
    let status = policy.status.as_ref().unwrap_or(&empty);
    let ids = status.violations.iter().map(|violation| violation.id.as_str());
    let position = identifier::find(ids, id).map_err(|reason| explain(status, id, reason))?;
    let status = policy.status.get_or_insert_default();
    let entry = AcknowledgedViolation {
        violation: status.violations.remove(position),
        reason: acknowledgement.reason.to_owned(),
        acknowledged_at: acknowledgement.time.clone(),
        acknowledged_by: acknowledgement.author.map(str::to_owned),
        previous_mode: None,
    };
    status.active_violation_count = (status.active_violation_count - 1).max(0);
    status.acknowledged_violations.insert(0, entry.clone());
    let cut = cut(&mut status.acknowledged_violations);
    add(&mut status.acknowledged_violations_truncated, cut);
    Ok(entry)
}

fn explain(status: &WorkloadNetworkPolicyStatus, id: &str, reason: Reason) -> Reason {
    let mut acknowledged = status.acknowledged_violations.iter().map(|entry| &entry.violation.id);
    match (&reason, acknowledged.find(|known| identifier::is_named(known, id))) {
        (Reason::UnknownId { .. }, Some(known)) => {
            Reason::AlreadyAcknowledged { id: known.clone() }
        }
        _ => reason,
    }
}

fn give_back(status: &mut WorkloadNetworkPolicyStatus, position: usize) {
    let violation = status.acknowledged_violations.remove(position).violation;
    let older = |other: &netenf_api::Violation| other.last_seen < violation.last_seen;
    let place = status.violations.iter().position(older).unwrap_or(status.violations.len());
    status.violations.insert(place, violation);
    status.active_violation_count = status.active_violation_count.saturating_add(1);
    let cut = cut(&mut status.violations);
    add(&mut status.violations_truncated, cut);
}

/// Cuts the oldest entries of a full list.
fn cut<T>(list: &mut Vec<T>) -> usize {
    let over = list.len().saturating_sub(MAX_VIOLATIONS);
    list.truncate(MAX_VIOLATIONS);
    over
}

fn add(truncated: &mut Option<i64>, cut: usize) {
    if cut > 0 {
        let cut = i64::try_from(cut).unwrap_or(i64::MAX);
        *truncated = Some(truncated.unwrap_or_default().saturating_add(cut));
    }
}

fn take_annotations(policy: &mut WorkloadNetworkPolicy) -> Vec<(String, String)> {
    let Some(annotations) = &mut policy.metadata.annotations else { return Vec::new() };
    let mut taken = Vec::new();
    annotations.retain(|annotation, reason| {
        let Some(id) = key::acknowledged_id(annotation) else { return true };
        taken.push((id.to_owned(), std::mem::take(reason)));
        false
    });
    if annotations.is_empty() {
        policy.metadata.annotations = None;
    }
    taken
}

fn refusal(step: &'static str, policy: WorkloadNetworkPolicy, reason: Reason) -> Refusal {
    Refusal::new(step, Resource::from(policy).key(), reason)
}

#[cfg(test)]
mod tests;
