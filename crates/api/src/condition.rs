//! What controllers say of an object: the types of its conditions, and why they stand.

use crate::word::words;

words! {
    /// A condition that a controller sets.
    "condition"
    pub enum ConditionType {
        /// On a policy: it is valid, and acts as its mode says.
        Ready = "Ready",
        /// On a policy: the cluster blocks what the policy does not allow.
        Enforced = "Enforced",
        /// On a policy: the name of its native object is taken.
        Conflict = "Conflict",
        /// On a proposal with the label `promote`: it became a policy.
        Promoted = "Promoted",
    }
}

words! {
    /// Why a condition stands, or what an Event is about.
    "reason"
    pub enum StateReason {
        /// The spec is valid.
        Valid = "Valid",
        /// The spec is not valid; what was enforced before it stays.
        InvalidSpec = "InvalidSpec",
        /// The policy is of another backend than the provider's, and left alone.
        OtherBackend = "OtherBackend",
        /// An object that is not ours has the name of the native object.
        ForeignObject = "ForeignObject",
        /// The API server refused a write, such as by an admission policy or a quota.
        Refused = "Refused",
        /// No other object has the name of the native object.
        NameFree = "NameFree",
        /// The policy reports and blocks nothing.
        Monitoring = "Monitoring",
        /// The policy blocks.
        Protecting = "Protecting",
        /// Nothing in the cluster enforces policies.
        NoEnforcer = "NoEnforcer",
        /// It is not known whether anything in the cluster enforces policies.
        EnforcerUnknown = "EnforcerUnknown",
        /// Somebody changed the native object, and it was put back.
        DriftReverted = "DriftReverted",
        /// The label `promote` names no mode.
        InvalidMode = "InvalidMode",
        /// A policy of the proposal's name exists and was not promoted from it.
        AlreadyExists = "AlreadyExists",
        /// A policy without rules would deny everything.
        NoRules = "NoRules",
        /// The proposal became a policy.
        Promoted = "Promoted",
        /// Something was learned while the proposal became a policy.
        LearnedLate = "LearnedLate",
        /// An annotation acknowledged no violation.
        AcknowledgementRejected = "AcknowledgementRejected",
        /// The object has another shape than this version knows, and is left alone.
        Unreadable = "Unreadable",
        /// The policy allows by now what was a violation.
        ViolationsCleared = "ViolationsCleared",
    }
}
