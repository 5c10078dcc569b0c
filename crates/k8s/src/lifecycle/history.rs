//! What was done to an object, and the way back to how it was.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::RuleEvidence;
use serde::{Deserialize, Serialize};

use super::body;
use super::promote::note_mode;
use super::refusal::{Reason, Refusal};
use super::refuse::RuleKey;
use super::resource::Resource;

/// What was done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// Flows were learned from.
    Learn,
    /// Manifests were compiled.
    Derive,
    /// Rules were decided one by one.
    Review,
    /// A proposal became a policy, or a policy protects.
    Promote,
    /// A policy went back.
    Demote,
    /// A rule was added.
    Allow,
    /// A rule was taken away.
    Refuse,
    /// Something uncovered was accepted as it is.
    Accept,
    /// A violation was acknowledged, or that was undone.
    Acknowledge,
    /// An earlier revision was restored.
    Rollback,
    /// A person edited the object by hand.
    Edit,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// An entry of the history before the store has numbered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// When it was done.
    pub time: Time,
    /// What was done.
    pub verb: Verb,
    /// Who did it, where that is known.
    pub author: Option<String>,
    /// What changed, in one line.
    pub summary: String,
    /// The object as it was afterwards.
    pub object: Resource,
}

/// An entry of the history of one name; numbers count up from 1 and are never used twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Number within the history of the name.
    #[serde(rename = "revision")]
    pub number: u64,
    /// When it was done.
    pub time: Time,
    /// What was done.
    pub verb: Verb,
    /// Who did it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// What changed, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The object as it was afterwards.
    pub object: Resource,
}

/// `current` with the spec of `revision`, its mode included: to be written as a new revision.
///
/// Violations stay as they are. A rule that the rollback takes away counts as refused, and one that it
/// brings back does not.
pub fn rollback(current: &Resource, revision: &Revision) -> Result<Resource, Refusal> {
    check(current, revision).map_err(|reason| Refusal::new("roll back", current.key(), reason))?;
    let mut restored = current.clone();
    match (&mut restored, &revision.object) {
        (Resource::Proposal(own), Resource::Proposal(old)) => {
            Arc::make_mut(own).spec = old.spec.clone();
        }
        (Resource::Policy(own), Resource::Policy(old)) => {
            let own = Arc::make_mut(own);
            let mode = own.spec.mode;
            own.spec = old.spec.clone();
            note_mode(own, mode);
        }
        (Resource::Proposal(_), Resource::Policy(_))
        | (Resource::Policy(_), Resource::Proposal(_)) => {}
    }
    if !current.evidence().is_empty() || !revision.object.evidence().is_empty() {
        *restored.evidence_mut() = evidence(current.evidence(), revision.object.evidence());
    }
    bring_back(&mut restored, &revision.object);
    restored.recount();
    if !same_traffic(current, &revision.object) {
        restored.count_revision();
    }
    Ok(restored)
}

// === impl Record ===

impl Record {
    /// The entry under `number`.
    pub fn numbered(self, number: u64) -> Revision {
        let Self { time, verb, author, summary, object } = self;
        Revision { number, time, verb, author, summary, object }
    }
}

fn check(current: &Resource, revision: &Revision) -> Result<(), Reason> {
    let (number, old) = (revision.number, &revision.object);
    if old.kind() != current.kind() {
        return Err(Reason::OtherKind { number, kind: old.kind().word() });
    }
    if old.key() != current.key() {
        return Err(Reason::OtherObject { number, object: old.key() });
    }
    if old.backend() != current.backend() {
        return Err(Reason::OtherBackend { number, backend: old.backend() });
    }
    body::check(old)
}

/// The evidence of then with the counts of now; what came later is refused.
fn evidence(current: &[RuleEvidence], old: &[RuleEvidence]) -> Vec<RuleEvidence> {
    let find =
        |rules: &[RuleEvidence], key: &RuleKey| rules.iter().find(|rule| key.names(rule)).cloned();
    let mut restored: Vec<RuleEvidence> = old
        .iter()
        .map(|rule| match find(current, &RuleKey::of(rule)) {
            Some(now) => RuleEvidence { refused: rule.refused, ..now },
            None => rule.clone(),
        })
        .collect();
    for rule in current {
        if find(old, &RuleKey::of(rule)).is_none() {
            restored.push(RuleEvidence { refused: true, ..rule.clone() });
        }
    }
    restored
}

/// What was uncovered then, and is no rule any more, is uncovered again.
fn bring_back(restored: &mut Resource, old: &Resource) {
    for entry in old.uncovered() {
        if !restored.uncovered().iter().any(|known| known.id == entry.id) {
            restored.uncovered_mut().push(entry.clone());
        }
    }
}

fn same_traffic(one: &Resource, other: &Resource) -> bool {
    one.kubernetes() == other.kubernetes() && one.istio() == other.istio()
}

#[cfg(test)]
mod tests;
