//! Cluster-wide policies: which kinds there are, and how one is kept until it is lowered.

use std::fmt;

use serde_json::Value;

/// The API group of the cluster-wide policies.
const GROUP: &str = "policy.networking.k8s.io";

/// A cluster-wide policy as it is written.
///
/// There is no type with its fields: a typed reader passes over members that it does not know, and refuses
/// the whole object where one value is of another type. Here a member that is not known must be seen, since
/// it closes the rule that it stands in ("version skew"), and must cost no other rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPolicy {
    /// Its kind.
    pub kind: ClusterKind,
    /// The whole object.
    pub document: Value,
}

/// The kinds of cluster-wide policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClusterKind {
    /// Of v1alpha1: the Admin tier.
    AdminNetworkPolicy,
    /// Of v1alpha1: the Baseline tier.
    BaselineAdminNetworkPolicy,
    /// Of v1alpha2 and v1beta1, which are the same: either tier.
    ClusterNetworkPolicy,
}

// === impl ClusterPolicy ===

impl ClusterPolicy {
    /// The policy that a document of this kind is; `None` if it is of another group, an error if the group has
    /// no such kind in that version.
    pub(super) fn read(kind: &str, document: &Value) -> Option<Result<Self, String>> {
        let known = ClusterKind::named(kind);
        let known = match document.get("apiVersion").and_then(Value::as_str) {
            Some(version) => {
                let version = version.strip_prefix(GROUP)?.strip_prefix('/')?;
                known.filter(|known| known.is_in(version)).ok_or_else(|| {
                    format!("{GROUP}/{version} has no such kind here, and no verdict asks it")
                })
            }
            None => Ok(known?),
        };
        Some(known.map(|kind| Self { kind, document: document.clone() }))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }
}

// === impl ClusterKind ===

impl ClusterKind {
    fn named(name: &str) -> Option<Self> {
        match name {
            "AdminNetworkPolicy" => Some(Self::AdminNetworkPolicy),
            "BaselineAdminNetworkPolicy" => Some(Self::BaselineAdminNetworkPolicy),
            "ClusterNetworkPolicy" => Some(Self::ClusterNetworkPolicy),
            _ => None,
        }
    }

    /// Its name, as in the Kubernetes API.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AdminNetworkPolicy => "AdminNetworkPolicy",
            Self::BaselineAdminNetworkPolicy => "BaselineAdminNetworkPolicy",
            Self::ClusterNetworkPolicy => "ClusterNetworkPolicy",
        }
    }

    fn is_in(self, version: &str) -> bool {
        match self {
            Self::AdminNetworkPolicy | Self::BaselineAdminNetworkPolicy => version == "v1alpha1",
            Self::ClusterNetworkPolicy => version == "v1alpha2" || version == "v1beta1",
        }
    }
}

impl fmt::Display for ClusterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
