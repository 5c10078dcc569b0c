//! The custom resources of `networkenforcer.kubewarden.io/v1alpha1`, and the foreign ones we write.
//!
//! [`WorkloadNetworkPolicyProposal`] is what was learned; [`WorkloadNetworkPolicy`] is what a person
//! promoted. Both carry one policy body for one backend, so a proposal turns into a policy and back
//! without loss. This crate says what the objects look like and which of them are valid. It never
//! decides what stands in them and never talks to a cluster.
//!
//! Every type reads objects written by a newer version: unknown fields are ignored. An absent field
//! and an empty list are the same, and `null` is no value of any field.

pub mod backend;
pub mod condition;
pub mod evidence;
pub mod istio;
pub mod key;
pub mod policy;
pub mod proposal;
pub mod reference;
pub mod violation;

mod schema;
mod word;

pub use backend::{Backend, Mode};
pub use condition::{ConditionType, StateReason};
pub use evidence::{
    Example, Gap, Provenance, RuleEvidence, Suggestion, UncoveredPeer, UncoveredReason,
};
pub use istio::{AuthorizationPolicy, AuthorizationPolicySpec, IstioPolicySpec};
pub use policy::{WorkloadNetworkPolicy, WorkloadNetworkPolicySpec, WorkloadNetworkPolicyStatus};
pub use proposal::{
    WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalSpec,
    WorkloadNetworkPolicyProposalStatus,
};
pub use reference::{Direction, PeerRef, Protocol, TargetKind, TargetRef};
pub use violation::{AcknowledgedViolation, Decision, Tier, Violation, ViolationReason};
pub use word::UnknownWord;

/// The API group of our kinds.
pub const GROUP: &str = "networkenforcer.kubewarden.io";

/// The served and stored version of our kinds.
pub const VERSION: &str = "v1alpha1";
