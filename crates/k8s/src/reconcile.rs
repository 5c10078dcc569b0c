//! What the controllers do, decided without doing it.
//!
//! ```text
//! facts (objects as they were read, time) -> policy, proposal, acknowledge, clear, learned -> steps -> API server
//! ```
//!
//! Whoever executes steps does them in order and stops at the first that the API server refuses. Each write
//! is for the UID and the resourceVersion that were read, so that what changed in the meantime is refused
//! and decided on again, and a creation never writes over what is there. Objects of ours have but one
//! writer at a time then, a foreign one has none. Where a plan is interrupted, the next one goes on from
//! whatever was written: no step needs to know of an earlier plan.

use netenf_api::{AcknowledgedViolation, Backend, StateReason};

use crate::lifecycle::{Key, Resource};
use crate::render::Native;

mod acknowledgement;
mod clearance;
mod condition;
mod event;
mod learned;
mod policy;
mod proposal;
#[cfg(test)]
mod sample;

pub use acknowledgement::acknowledge;
pub use clearance::{clear, lists_violations};
pub use event::{Event, EventKind};
pub use learned::{Learned, News, learned};
pub use policy::{Policy, policy};
pub use proposal::{Proposal, proposal};

/// Under this name the API server notes which fields are the agent's.
pub const FIELD_MANAGER: &str = "netenf-agent";

/// An object that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Document {
    /// A proposal or a policy.
    Ours(Resource),
    /// The native object of a policy.
    Native(Box<Native>),
}

/// Violations of one policy that were acknowledged.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    /// The policy.
    pub policy: Key,
    /// What the policy is for.
    pub backend: Backend,
    /// The violations.
    pub acknowledged: Vec<AcknowledgedViolation>,
}

/// One thing to do. Without a resourceVersion a document is what an earlier step of the plan wrote, and has
/// the version that this returned.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Creates the object, without its status; refused where one of that name is there.
    Create(Document),
    /// Replaces all of the object but its status.
    Replace(Document),
    /// Replaces the status of the object.
    ReplaceStatus(Resource),
    /// Deletes exactly this object, as it was read.
    Delete(Document),
    /// Sends the acknowledgements as telemetry, which says what the API server holds by now.
    Export(Export),
    /// Tells a person.
    Event(Event),
}

/// Tells of an object that has another shape than this version knows: nothing is done about it, and nothing of its
/// name.
pub fn unreadable(about: Key, message: &str) -> Step {
    let message = format!(
        "the object is left alone, since this version cannot read it ({message}): upgrade the agent, or mend the object"
    );
    Step::Event(Event::new(about, StateReason::Unreadable, &message))
}

#[cfg(test)]
mod tests;
