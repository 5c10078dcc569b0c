//! A policy, the native object that enforces it, and what its status says of both.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Backend, StateReason, WorkloadNetworkPolicy};

use super::condition::{self, Finding};
use super::event::Event;
use super::{Document, Step};
use crate::enforcer::Enforcer;
use crate::lifecycle::{Key, Kind, Refusal, Resource};
use crate::lower;
use crate::object::Diagnostic;
use crate::render::{self, Native, NativeKind};

mod finding;
mod object;

/// What is known of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// The policy, as it was read.
    pub policy: &'a WorkloadNetworkPolicy,
    /// The object of the backend's kind that has its namespace and name, whoever wrote it.
    pub native: Option<&'a Native>,
    /// The backend of the provider.
    pub backend: Backend,
    /// What enforces it.
    pub enforcer: Enforcer,
    /// What the API server said when it refused the last write of the native object for good, and not only
    /// because the object had changed.
    pub refused: Option<&'a str>,
    /// The time.
    pub now: &'a Time,
}

/// What there should be.
#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// No native object.
    Nothing,
    /// This native object.
    Object(Box<Native>),
    /// What there is, as it is: the policy is of another backend than the provider's (W25).
    LeftAlone,
    /// What was there before the spec became invalid, which nothing wider takes the place of.
    Last { problem: String },
}

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found<'a> {
    Nothing,
    Own(&'a Native),
    Foreign,
}

/// What to do about a policy: its native object is brought to what its spec and mode say, then its status
/// says what holds. Where both are as they should be there is nothing to do (W27); nor where the policy is
/// being deleted, since the garbage collector takes what it owns. A write that was refused is told before it is
/// tried again, because a plan ends where it is refused (W24).
pub fn policy(facts: &Policy<'_>) -> Vec<Step> {
    if facts.policy.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let (wanted, found) = (facts.wanted(), facts.found());
    let write = object::step(&wanted, found, facts.policy.spec.mode);
    let status = facts.status_steps(&finding::all(facts, &wanted, found));
    if facts.refused.is_some() && !status.is_empty() {
        return status;
    }
    let drift = facts.drift(write.as_ref());
    write.into_iter().chain(status).chain(drift).collect()
}

/// Why a policy cannot be enforced as it is written, or the object that does. What lowering tells of a peer
/// or a port makes the spec invalid: the API server refuses it, or reads it in a way that should be written
/// out.
pub(super) fn rendered(policy: &WorkloadNetworkPolicy) -> Result<Option<Native>, String> {
    let native = render::native(policy).map_err(|refusal| told(&refusal))?;
    let key = key(policy);
    let diagnostics = match (&policy.spec.kubernetes, &policy.spec.istio) {
        (Some(body), _) => {
            lower::network_policy(Kind::Policy.as_str(), &key.namespace, &key.name, body).1
        }
        (None, Some(body)) => lower::selector(&body.selector).1,
        (None, None) => Vec::new(),
    };
    match listed(&diagnostics) {
        Some(problem) => Err(problem),
        None => Ok(native),
    }
}

/// A refusal in one sentence, with the next step.
pub(super) fn told(refusal: &Refusal) -> String {
    format!("{refusal}: {}", refusal.next_step())
}

pub(super) fn key(policy: &WorkloadNetworkPolicy) -> Key {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    Key::policy(part(&policy.metadata.namespace), part(&policy.metadata.name))
}

/// The first few problems, for a status that stays small whatever a person wrote.
fn listed(diagnostics: &[Diagnostic]) -> Option<String> {
    const LISTED: usize = 5;
    let lines: Vec<String> = diagnostics
        .iter()
        .take(LISTED)
        .map(|one| format!("{}: {}", one.place, one.message))
        .collect();
    let more = match diagnostics.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!lines.is_empty()).then(|| lines.join("; ") + &more)
}

// === impl Policy ===

impl Policy<'_> {
    fn wanted(&self) -> Wanted {
        if self.policy.spec.backend != self.backend {
            return Wanted::LeftAlone;
        }
        match rendered(self.policy) {
            Ok(Some(native)) => Wanted::Object(Box::new(native.owned_by(self.policy))),
            Ok(None) => Wanted::Nothing,
            Err(problem) => Wanted::Last { problem },
        }
    }

    /// An object of a policy that was deleted and written again belongs to the deleted one: until the garbage
    /// collector takes it, it is foreign.
    fn found(&self) -> Found<'_> {
        let Some(native) = self.native else { return Found::Nothing };
        let uid = self.policy.metadata.uid.as_ref();
        let mut owners = native.metadata.owner_references.iter().flatten();
        let is_own = owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == uid);
        if is_own { Found::Own(native) } else { Found::Foreign }
    }

    fn kind(&self) -> &'static str {
        NativeKind::of(self.policy.spec.backend).as_str()
    }

    /// What a person changed and finds changed back, where this is the reason for the write and not a change of
    /// the policy.
    fn drift(&self, write: Option<&Step>) -> Option<Step> {
        let Some(Step::Replace(Document::Native(written))) = write else { return None };
        let status = self.policy.status.as_ref()?;
        let is_seen = status.observed_generation == self.policy.metadata.generation;
        if !is_seen || !self.native.is_some_and(|native| object::is_drift(native, written)) {
            return None;
        }
        let message = format!(
            "the {} of this policy was changed and is put back: change the policy instead",
            self.kind()
        );
        let event = Event::new(key(self.policy), StateReason::DriftReverted, &message);
        Some(Step::Event(event))
    }

    fn status_steps(&self, found: &[Finding]) -> Vec<Step> {
        let mut policy = self.policy.clone();
        let generation = policy.metadata.generation;
        let known = policy.status.clone().unwrap_or_default();
        let status = policy.status.get_or_insert_default();
        status.observed_generation = generation;
        status.conditions = condition::set(&known.conditions, found, generation, self.now);
        if *status == known {
            return Vec::new();
        }
        let mut steps = vec![Step::ReplaceStatus(Resource::from(policy))];
        steps.extend(condition::events(&known.conditions, found, &key(self.policy)));
        steps
    }
}

#[cfg(test)]
mod tests;
