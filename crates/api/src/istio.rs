//! The Istio policy model: the part that our kinds carry, and the foreign object that it becomes.
//!
//! Both share their rules, so what a person reviews is what Istio gets.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{atomic_selectors, without_null};

/// A policy on inbound TCP by identity and port, rendered as an Istio `AuthorizationPolicy`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null, transform = atomic_selectors)]
pub struct IstioPolicySpec {
    /// Selects the destination workloads on which the policy is enforced.
    pub selector: LabelSelector,
    /// What is allowed; with no rule, nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<IstioRule>,
}

/// Allows a connection that matches one of the sources and one of the operations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null)]
pub struct IstioRule {
    /// Source identities; absent for every source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<IstioFrom>,
    /// Destination operations; absent for every port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<IstioTo>,
}

/// One source of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null)]
pub struct IstioFrom {
    /// The source identities; absent for every source.
    #[serde(default, skip_serializing_if = "IstioSource::is_empty")]
    pub source: IstioSource,
}

/// The identities of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null)]
pub struct IstioSource {
    /// SPIFFE identities, without `spiffe://`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<String>,
}

/// One destination of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null)]
pub struct IstioTo {
    /// The destination operations; absent for every port.
    #[serde(default, skip_serializing_if = "IstioOperation::is_empty")]
    pub operation: IstioOperation,
}

/// The ports of a destination.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = without_null)]
pub struct IstioOperation {
    /// Destination ports, each a number in a string.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<String>,
}

/// The part of an Istio `AuthorizationPolicy` that we write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, CustomResource)]
#[kube(
    group = "security.istio.io",
    version = "v1",
    kind = "AuthorizationPolicy",
    plural = "authorizationpolicies",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase")]
pub struct AuthorizationPolicySpec {
    /// Selects the pods on which the policy is enforced; absent for the whole namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<IstioWorkloadSelector>,
    /// What a matching rule does.
    #[serde(default)]
    pub action: IstioAction,
    /// The rules, of which one must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<IstioRule>,
}

/// The selector of an `AuthorizationPolicy`, which knows labels only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IstioWorkloadSelector {
    /// Labels that a pod must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
}

/// What a matching rule does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum IstioAction {
    /// Allows what matches and denies all else; the only action that we write.
    #[default]
    Allow,
    /// Denies what matches.
    Deny,
    /// Marks what matches for the audit log.
    Audit,
    /// Asks an external authorizer about what matches.
    Custom,
}

// === impl IstioSource ===

impl IstioSource {
    fn is_empty(&self) -> bool {
        self.principals.is_empty()
    }
}

// === impl IstioOperation ===

impl IstioOperation {
    fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}
