//! Acknowledgements by annotation.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{StateReason, WorkloadNetworkPolicy, key};

use super::event::Event;
use super::policy::told;
use super::{Document, Export, Step};
use crate::lifecycle::{Reason, Rejected, Resource, consume_acknowledgements};

/// What to do about the acknowledging annotations of a policy: the status takes the records, telemetry tells
/// of them once it holds them, then every annotation goes, also one that names no violation (W19): it would
/// acknowledge a later one unseen. An annotation that could not be removed after its record was taken is
/// removed and not taken again; telemetry that was not sent by then is not sent, the record stays.
pub fn acknowledge(policy: &WorkloadNetworkPolicy, now: &Time) -> Vec<Step> {
    if policy.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let consumed = consume_acknowledgements(policy, None, now);
    if consumed.policy.metadata.annotations == policy.metadata.annotations {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut cleaned = consumed.policy;
    if !consumed.acknowledged.is_empty() {
        steps.push(Step::ReplaceStatus(Resource::from(cleaned.clone())));
        steps.push(Step::Export(Export {
            policy: super::policy::key(policy),
            backend: policy.spec.backend,
            acknowledged: consumed.acknowledged,
        }));
        // The version is the one that writing the status returned.
        cleaned.metadata.resource_version = None;
    }
    steps.push(Step::Replace(Document::Ours(Resource::from(cleaned))));
    let rejected = consumed.rejected.into_iter().filter(|one| !is_repeated(policy, one));
    steps.extend(rejected.map(|one| {
        let about = super::policy::key(policy);
        let message = told(&one.refusal);
        Step::Event(Event::new(about, StateReason::AcknowledgementRejected, &message))
    }));
    steps
}

/// Whether it is the annotation whose record was taken before.
fn is_repeated(policy: &WorkloadNetworkPolicy, rejected: &Rejected) -> bool {
    let Reason::AlreadyAcknowledged { id } = &*rejected.refusal.reason else { return false };
    let annotations = policy.metadata.annotations.as_ref();
    let reason = annotations.and_then(|all| all.get(&key::acknowledge(&rejected.id)));
    let mut known = policy.status.iter().flat_map(|status| &status.acknowledged_violations);
    known.any(|one| one.violation.id == *id && Some(&one.reason) == reason)
}

#[cfg(test)]
mod tests;
