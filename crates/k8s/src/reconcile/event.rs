//! Events: what a person finds with `kubectl describe`.

use netenf_api::StateReason;

use crate::lifecycle::Key;

/// The most bytes of the `note` of a Kubernetes Event.
const MAX_NOTE: usize = 1024;

/// How an Event is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// All is as it should be.
    Normal,
    /// Somebody has to do something.
    Warning,
}

/// Something that happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The object.
    pub about: Key,
    /// How it is marked.
    pub kind: EventKind,
    /// What it is about.
    pub reason: StateReason,
    /// What happened, in words.
    pub message: String,
}

// === impl EventKind ===

impl EventKind {
    pub(super) const fn of(reason: StateReason) -> Self {
        match reason {
            StateReason::Valid
            | StateReason::NameFree
            | StateReason::Monitoring
            | StateReason::Protecting
            | StateReason::ViolationsCleared
            | StateReason::Promoted => Self::Normal,
            StateReason::InvalidSpec
            | StateReason::OtherBackend
            | StateReason::ForeignObject
            | StateReason::Refused
            | StateReason::NoEnforcer
            | StateReason::EnforcerUnknown
            | StateReason::DriftReverted
            | StateReason::InvalidMode
            | StateReason::AlreadyExists
            | StateReason::NoRules
            | StateReason::LearnedLate
            | StateReason::Unreadable
            | StateReason::AcknowledgementRejected => Self::Warning,
        }
    }
}

// === impl Event ===

impl Event {
    /// The API server refused something about the object, which no condition tells.
    pub fn refused(about: Key, message: String) -> Self {
        let reason = StateReason::Refused;
        Self { about, kind: EventKind::of(reason), reason, message }
    }

    pub(super) fn new(about: Key, reason: StateReason, message: &str) -> Self {
        Self { about, kind: EventKind::of(reason), reason, message: cut(message) }
    }
}

fn cut(message: &str) -> String {
    const MARK: &str = "…";
    if message.len() <= MAX_NOTE {
        return message.to_owned();
    }
    message[..message.floor_char_boundary(MAX_NOTE - MARK.len())].to_owned() + MARK
}
