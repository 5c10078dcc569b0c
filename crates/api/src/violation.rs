//! Traffic that a policy does not allow, and what a person said about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::Mode;
use crate::reference::{Direction, PeerRef, Protocol};
use crate::word::words;

/// The most records that each list of violations holds; the oldest are cut.
pub const MAX_VIOLATIONS: usize = 100;

/// The most characters of the reason of an acknowledgement: as many as the `note` of a Kubernetes Event holds
/// bytes. A hundred of them fit into an object, which annotations of 256 KiB each would not.
pub const MAX_REASON: usize = 1024;

words! {
    /// Why a connection was a violation.
    "reason"
    pub enum ViolationReason {
        /// The policy selects the workload and has no rule for the connection.
        NoRule = "NoRule",
        /// Another policy or tier denies it.
        DeniedByPolicy = "DeniedByPolicy",
        /// The source reported a denial without saying why.
        Unknown = "Unknown",
    }
}

words! {
    /// The tier of policies that decided.
    "tier"
    pub enum Tier {
        /// Cluster-wide policies that stand above all others.
        Admin = "Admin",
        /// The `NetworkPolicy` objects, and the policies of this group.
        NetworkPolicy = "NetworkPolicy",
        /// Cluster-wide policies for what nothing else decided.
        Baseline = "Baseline",
    }
}

/// The policy that denied a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct Decision {
    /// Tier of the policy.
    pub tier: Tier,
    /// Kind of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Namespace of the policy; absent for a cluster-wide one and for the namespace of this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Index of the rule that denied, counted from 0; absent where no rule allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 0))]
    pub rule: Option<u32>,
}

/// Connections of one kind that the policy does not allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct Violation {
    /// Short hash of what makes this violation distinct, so that a recurrence has the same id.
    pub id: String,
    /// Direction, as the workload of the policy sees it.
    pub direction: Direction,
    /// The end that opened the connection.
    pub source: PeerRef,
    /// The end that it was opened to.
    pub dest: PeerRef,
    /// Protocol of the connection.
    pub protocol: Protocol,
    /// Port of the destination; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i32>", range(min = 1, max = 65535))]
    pub dst_port: Option<u16>,
    /// Mode of the policy when the violation was last seen: monitor reports, protect blocks.
    pub action: Mode,
    /// Why this is a violation.
    pub reason: ViolationReason,
    /// The policy that denied, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Decision>,
    /// Number of connections seen.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub count: i64,
    /// When it was first seen.
    pub first_seen: Time,
    /// When it was last seen.
    pub last_seen: Time,
}

/// A violation that a person knows about; it stays denied and is not reported again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = crate::schema::without_null)]
pub struct AcknowledgedViolation {
    /// The violation as it stood when it was acknowledged, with later recurrences counted.
    pub violation: Violation,
    /// What the person said about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 1024))]
    pub reason: String,
    /// When it was acknowledged.
    pub acknowledged_at: Time,
    /// Who acknowledged it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    /// Mode of the policy when it was last seen before the mode changed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_mode: Option<Mode>,
}
