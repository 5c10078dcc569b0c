//! A policy that a person promoted or wrote: watched in monitor, enforced in protect.

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, MicroTime, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Mode};
use crate::evidence::{Gap, RuleEvidence, UncoveredPeer};
use crate::istio::IstioPolicySpec;
use crate::proposal::WorkloadNetworkPolicyProposalSpec;
use crate::reference::{Direction, TargetRef};
use crate::schema::{atomic_selectors, without_null};
use crate::violation::{AcknowledgedViolation, Violation};

/// The policy of a workload, and how it acts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[expect(clippy::duplicated_attributes, reason = "several print columns have one type")]
#[kube(
    group = "networkenforcer.kubewarden.io",
    version = "v1alpha1",
    kind = "WorkloadNetworkPolicy",
    plural = "workloadnetworkpolicies",
    shortname = "wnp",
    category = "netenf",
    namespaced,
    status = "WorkloadNetworkPolicyStatus",
    derive = "PartialEq",
    doc = "The allowed traffic of one workload in one direction: reported against in monitor, enforced in protect.",
    annotation("helm.sh/resource-policy", "keep"),
    selectable = ".spec.backend",
    selectable = ".spec.mode",
    printcolumn(
        name = "Mode",
        type_ = "string",
        json_path = ".spec.mode",
        description = "How the policy acts"
    ),
    printcolumn(
        name = "Active Violations",
        type_ = "integer",
        json_path = ".status.activeViolationCount",
        description = "Number of violations that nobody acknowledged"
    ),
    printcolumn(
        name = "Workload",
        type_ = "string",
        json_path = ".spec.targetRef.name",
        description = "Name of the workload"
    ),
    printcolumn(
        name = "Direction",
        type_ = "string",
        json_path = ".spec.direction",
        description = "Direction of the traffic"
    ),
    printcolumn(
        name = "Enforced",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Enforced\")].status",
        description = "Whether the cluster blocks what the policy does not allow"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(
    transform = without_null,
    transform = atomic_selectors,
    extend("x-kubernetes-validations" = backend::body_rules())
)]
pub struct WorkloadNetworkPolicySpec {
    /// How the policy acts: monitor reports what it does not allow, protect blocks it too.
    #[serde(default)]
    pub mode: Mode,
    /// Selects which backend policy model this object carries; never changes.
    #[schemars(extend("x-kubernetes-validations" = [backend::immutable()]))]
    pub backend: Backend,
    /// The workload in this namespace that the policy is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    /// The direction of the traffic that the policy is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The policy as an Istio model by identity and port, for the istio backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub istio: Option<IstioPolicySpec>,
    /// The policy as the spec of a `NetworkPolicy`, for the kubernetes backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<NetworkPolicySpec>,
}

/// What was seen against the policy, and whether it is in force.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null, transform = atomic_selectors)]
pub struct WorkloadNetworkPolicyStatus {
    /// The generation of the object that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// State of the policy: Ready, Enforced, Conflict, and what learning has to say of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Vec<Condition>,
    /// Number of violating connections ever seen; never goes down.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub violation_count: i64,
    /// Number of distinct violations that are neither acknowledged nor allowed by now.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub active_violation_count: i64,
    /// The active violations, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub violations: Vec<Violation>,
    /// Number of active violations that the list has no room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub violations_truncated: Option<i64>,
    /// The acknowledged violations, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub acknowledged_violations: Vec<AcknowledgedViolation>,
    /// Number of acknowledged violations that the list has no room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub acknowledged_violations_truncated: Option<i64>,
    /// Number of times that the allowed traffic was changed since the promotion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,
    /// The workload's pods as learning last wrote them, while this was a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Evidence for the rules, as the proposal had it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleEvidence>,
    /// What was seen or declared and is no rule, before the promotion or since, and is no violation either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<UncoveredPeer>,
    /// When learning about this workload and direction began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_since: Option<Time>,
    /// The newest observation that an agent counted in here: after a restart it counts no older one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_until: Option<MicroTime>,
    /// When a rule was last added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_new_rule: Option<Time>,
    /// Times and places of which nothing was seen, before the promotion or since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

// === impl WorkloadNetworkPolicySpec ===

impl WorkloadNetworkPolicySpec {
    /// The proposal that this policy becomes when it is demoted.
    pub fn to_proposal_spec(&self) -> WorkloadNetworkPolicyProposalSpec {
        WorkloadNetworkPolicyProposalSpec {
            backend: self.backend,
            target_ref: self.target_ref.clone(),
            direction: self.direction,
            istio: self.istio.clone(),
            kubernetes: self.kubernetes.clone(),
        }
    }
}
