//! Conditions that controllers set, and the Events that tell of their changes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use netenf_api::{ConditionType, StateReason};

use super::Step;
use super::event::{Event, EventKind};
use crate::condition;
use crate::lifecycle::Key;

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    True,
    False,
    Unknown,
}

/// A condition as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) type_: ConditionType,
    pub(super) holds: Holds,
    pub(super) reason: StateReason,
    pub(super) message: String,
}

/// The conditions with what was found in place of those of the same types.
pub(super) fn set(
    known: &[Condition],
    found: &[Finding],
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let new = found.iter().map(|finding| finding.to_condition(generation, now)).collect();
    let is_found = |one: &Condition| found.iter().any(|new| new.type_.as_str() == one.type_);
    condition::set(known, new, is_found)
}

/// Events about what is not as it was; a reason that several conditions share is told once. That all is well
/// from the first is nothing new.
pub(super) fn events(known: &[Condition], found: &[Finding], about: &Key) -> Vec<Step> {
    let mut told: Vec<StateReason> = Vec::new();
    let mut events = Vec::new();
    for finding in found {
        let before = known.iter().find(|one| one.type_ == finding.type_.as_str());
        let is_news = match before {
            Some(before) => before.reason != finding.reason.as_str(),
            None => EventKind::of(finding.reason) == EventKind::Warning,
        };
        if is_news && !told.contains(&finding.reason) {
            told.push(finding.reason);
            let event = Event::new(about.clone(), finding.reason, &finding.message);
            events.push(Step::Event(event));
        }
    }
    events
}

// === impl Holds ===

impl Holds {
    const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

// === impl Finding ===

impl Finding {
    fn to_condition(&self, generation: Option<i64>, now: &Time) -> Condition {
        Condition {
            type_: self.type_.to_string(),
            status: self.holds.as_str().to_owned(),
            reason: self.reason.to_string(),
            message: self.message.clone(),
            last_transition_time: now.clone(),
            observed_generation: generation,
        }
    }
}
