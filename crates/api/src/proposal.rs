//! What was learned about one workload and direction, for a person to review.

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, MicroTime, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{self, Backend, Mode};
use crate::evidence::{Gap, RuleEvidence, Suggestion, UncoveredPeer};
use crate::istio::IstioPolicySpec;
use crate::policy::WorkloadNetworkPolicySpec;
use crate::reference::{Direction, TargetRef};
use crate::schema::{atomic_selectors, without_null};

/// The policy that is proposed for a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, CustomResource, JsonSchema)]
#[expect(clippy::duplicated_attributes, reason = "several print columns have one type")]
#[kube(
    group = "networkenforcer.kubewarden.io",
    version = "v1alpha1",
    kind = "WorkloadNetworkPolicyProposal",
    plural = "workloadnetworkpolicyproposals",
    shortname = "wnpp",
    category = "netenf",
    namespaced,
    status = "WorkloadNetworkPolicyProposalStatus",
    derive = "PartialEq",
    doc = "What was learned about the traffic of one workload in one direction, for a person to review and promote.",
    annotation("helm.sh/resource-policy", "keep"),
    selectable = ".spec.backend",
    printcolumn(
        name = "Kind",
        type_ = "string",
        json_path = ".spec.targetRef.kind",
        description = "Kind of the workload"
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
        name = "Backend",
        type_ = "string",
        json_path = ".spec.backend",
        description = "Policy model of the proposal"
    ),
    printcolumn(
        name = "Rules",
        type_ = "integer",
        json_path = ".status.ruleCount",
        description = "Number of learned rules"
    ),
    printcolumn(
        name = "Uncovered",
        type_ = "integer",
        json_path = ".status.uncoveredCount",
        description = "Number of peers that no rule allows yet"
    ),
    printcolumn(
        name = "Last-New-Rule",
        type_ = "date",
        json_path = ".status.lastNewRule",
        description = "Time since a rule was last added"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[schemars(
    transform = without_null,
    transform = atomic_selectors,
    extend("x-kubernetes-validations" = backend::body_rules())
)]
pub struct WorkloadNetworkPolicyProposalSpec {
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

/// What learning knows about the proposal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null, transform = atomic_selectors)]
pub struct WorkloadNetworkPolicyProposalStatus {
    /// State of the proposal: Stable, Truncated, Blocked and what is to be known of its selector.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"]
    ))]
    pub conditions: Vec<Condition>,
    /// The workload's pods as learning last wrote them to the spec; where the spec selects otherwise by
    /// now, a person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Number of entries in rules that are not refused.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub rule_count: i64,
    /// Evidence, one entry for each peer, port and protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleEvidence>,
    /// Number of entries in uncovered that are not accepted.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub uncovered_count: i64,
    /// What was seen or declared and is no rule yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<UncoveredPeer>,
    /// Wider rules that would stand for several learned ones; never applied by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
    /// When learning about this workload and direction began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_since: Option<Time>,
    /// The newest observation that an agent counted in here: after a restart it counts no older one again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_until: Option<MicroTime>,
    /// When a rule was last added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_new_rule: Option<Time>,
    /// Times and places of which nothing was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
}

// === impl WorkloadNetworkPolicyProposalSpec ===

impl WorkloadNetworkPolicyProposalSpec {
    /// A proposal of a `NetworkPolicy`.
    pub fn kubernetes(policy: NetworkPolicySpec) -> Self {
        Self {
            backend: Backend::Kubernetes,
            target_ref: None,
            direction: None,
            istio: None,
            kubernetes: Some(policy),
        }
    }

    /// A proposal of an Istio policy.
    pub fn istio(policy: IstioPolicySpec) -> Self {
        Self {
            backend: Backend::Istio,
            target_ref: None,
            direction: None,
            istio: Some(policy),
            kubernetes: None,
        }
    }

    /// The policy that this proposal becomes in `mode`.
    pub fn to_policy_spec(&self, mode: Mode) -> WorkloadNetworkPolicySpec {
        WorkloadNetworkPolicySpec {
            mode,
            backend: self.backend,
            target_ref: self.target_ref.clone(),
            direction: self.direction,
            istio: self.istio.clone(),
            kubernetes: self.kubernetes.clone(),
        }
    }
}

// === impl WorkloadNetworkPolicyProposalStatus ===

impl WorkloadNetworkPolicyProposalStatus {
    /// Sets the counts that print columns show from the lists.
    pub fn recount(&mut self) {
        let rules = self.rules.iter().filter(|rule| !rule.refused).count();
        let uncovered = self.uncovered.iter().filter(|peer| !peer.accepted).count();
        self.rule_count = i64::try_from(rules).unwrap_or(i64::MAX);
        self.uncovered_count = i64::try_from(uncovered).unwrap_or(i64::MAX);
    }
}

#[cfg(test)]
mod tests;
