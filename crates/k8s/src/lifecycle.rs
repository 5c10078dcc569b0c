//! What a person may do with proposals and policies: pure, and the same on a laptop as in a cluster.
//!
//! ```text
//! proposal --promote--> policy (monitor) --set_mode--> policy (protect)
//!     ^                     |  ^                           |
//!     +------- demote ------+  +--------- demote ----------+
//! ```
//!
//! [`allow()`], [`refuse()`] and [`accept_uncovered`] decide single rules of either; [`acknowledge()`] says
//! that a violation is known. Each takes objects and returns new ones, or a [`Refusal`] that names
//! the object, the cause and the next step. Time and author are arguments; nothing here does I/O.

mod accept;
mod acknowledge;
mod allow;
mod body;
mod choice;
mod clear;
mod demote;
mod history;
mod identifier;
mod locate;
mod order;
pub(crate) mod peer;
mod permit;
mod promote;
mod range;
mod refusal;
mod refuse;
mod resource;
pub(crate) mod rule;
#[cfg(test)]
pub(crate) mod sample;
mod wanted;

pub use accept::{Selection, accept_uncovered};
pub use acknowledge::{
    Acknowledgement, Consumed, Rejected, acknowledge, consume_acknowledgements, unacknowledge,
};
pub use allow::{Allowed, Warning, allow};
pub(crate) use body::check as check_body;
pub use choice::Choice;
pub use demote::{Demoted, Step, demote, demote_to};
pub use history::{Record, Revision, Verb, rollback};
pub use identifier::{MIN_PREFIX, is_named};
pub use order::sort_rules;
pub use permit::{Basis, Permit, Permitted, permits};
pub use promote::{WithoutRules, is_leftover, promote, set_mode};
pub use refusal::{Reason, Refusal};
pub use refuse::{RuleKey, refuse};
pub use resource::{Key, Kind, Resource};
