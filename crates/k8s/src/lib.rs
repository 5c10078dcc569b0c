//! Kubernetes' objects on one side, the pure model on the other; no client, no clock, no I/O.
//!
//! ```text
//! YAML, JSON, watches -> object -> index ----> learn::Directory
//!                                   |
//!              learn::Proposal -> render -> WorkloadNetworkPolicyProposal -> merge -> lifecycle
//!                                   |
//!                                 lower -> policy::{NetworkPolicy, ClusterPolicy} -> Index::cluster
//! ```

mod condition;
pub mod end;
pub mod enforcer;
pub mod index;
pub mod inquiry;
pub mod lifecycle;
pub mod lower;
pub mod merge;
pub mod monitor;
pub mod near;
pub mod object;
pub mod preflight;
pub mod reach;
pub mod reconcile;
pub mod render;
pub mod time;
pub mod told;
pub mod unclear;

pub use enforcer::Enforcer;
pub use index::Index;
pub use object::{Diagnostic, Object};
