//! The two kinds that go through the lifecycle, as one type, and their names.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::{
    Backend, Direction, Gap, IstioPolicySpec, RuleEvidence, Suggestion, TargetRef, UncoveredPeer,
    WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Which of the two kinds an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A `WorkloadNetworkPolicyProposal`.
    Proposal,
    /// A `WorkloadNetworkPolicy`.
    Policy,
}

/// What names one object. Ordered by namespace, name and kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Kind of the object.
    pub kind: Kind,
}

/// A proposal or a policy. Clones share the object until one of them is changed: a command that learns holds
/// thousands of them several times.
#[derive(Debug, Clone, PartialEq)]
pub enum Resource {
    /// A proposal.
    Proposal(Arc<WorkloadNetworkPolicyProposal>),
    /// A policy.
    Policy(Arc<WorkloadNetworkPolicy>),
}

// === impl Kind ===

impl Kind {
    /// The kind as the API names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposal => "WorkloadNetworkPolicyProposal",
            Self::Policy => "WorkloadNetworkPolicy",
        }
    }

    /// The kind as people say it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Proposal => "proposal",
            Self::Policy => "policy",
        }
    }

    /// The kind that the API names so.
    pub fn of(kind: &str) -> Option<Self> {
        [Self::Proposal, Self::Policy].into_iter().find(|known| known.as_str() == kind)
    }
}

// === impl Key ===

impl Key {
    /// The key of a proposal.
    pub fn proposal(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into(), kind: Kind::Proposal }
    }

    /// The key of a policy.
    pub fn policy(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into(), kind: Kind::Policy }
    }

    /// The same namespace and name in another kind.
    #[must_use]
    pub fn with_kind(&self, kind: Kind) -> Self {
        Self { kind, ..self.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}/{}", self.kind.word(), self.namespace, self.name)
    }
}

// === impl Resource ===

impl From<WorkloadNetworkPolicyProposal> for Resource {
    fn from(proposal: WorkloadNetworkPolicyProposal) -> Self {
        Self::Proposal(Arc::new(proposal))
    }
}

impl From<WorkloadNetworkPolicy> for Resource {
    fn from(policy: WorkloadNetworkPolicy) -> Self {
        Self::Policy(Arc::new(policy))
    }
}

impl Resource {
    /// What names the object.
    pub fn key(&self) -> Key {
        let metadata = self.metadata();
        Key {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            kind: self.kind(),
        }
    }

    /// Kind of the object.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Proposal(_) => Kind::Proposal,
            Self::Policy(_) => Kind::Policy,
        }
    }

    /// Metadata of the object.
    pub fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Proposal(proposal) => &proposal.metadata,
            Self::Policy(policy) => &policy.metadata,
        }
    }

    /// The proposal, if it is one.
    pub fn as_proposal(&self) -> Option<&WorkloadNetworkPolicyProposal> {
        match self {
            Self::Proposal(proposal) => Some(proposal),
            Self::Policy(_) => None,
        }
    }

    /// The policy, if it is one.
    pub fn as_policy(&self) -> Option<&WorkloadNetworkPolicy> {
        match self {
            Self::Proposal(_) => None,
            Self::Policy(policy) => Some(policy),
        }
    }

    /// Which policy model the object carries.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Proposal(proposal) => proposal.spec.backend,
            Self::Policy(policy) => policy.spec.backend,
        }
    }

    /// The body for the kubernetes backend.
    pub fn kubernetes(&self) -> Option<&NetworkPolicySpec> {
        match self {
            Self::Proposal(proposal) => proposal.spec.kubernetes.as_ref(),
            Self::Policy(policy) => policy.spec.kubernetes.as_ref(),
        }
    }

    /// The body for the istio backend.
    pub fn istio(&self) -> Option<&IstioPolicySpec> {
        match self {
            Self::Proposal(proposal) => proposal.spec.istio.as_ref(),
            Self::Policy(policy) => policy.spec.istio.as_ref(),
        }
    }

    /// The direction that the object states, or that follows from its body.
    pub fn direction(&self) -> Option<Direction> {
        let stated = match self {
            Self::Proposal(proposal) => proposal.spec.direction,
            Self::Policy(policy) => policy.spec.direction,
        };
        stated.or_else(|| match self.backend() {
            Backend::Istio => Some(Direction::Ingress),
            Backend::Kubernetes => only_type(self.kubernetes()?),
        })
    }

    /// The workload that it is about, where it says so.
    pub fn target_ref(&self) -> Option<&TargetRef> {
        match self {
            Self::Proposal(proposal) => proposal.spec.target_ref.as_ref(),
            Self::Policy(policy) => policy.spec.target_ref.as_ref(),
        }
    }

    /// Evidence for the rules.
    pub fn evidence(&self) -> &[RuleEvidence] {
        match self {
            Self::Proposal(proposal) => {
                proposal.status.as_ref().map_or(&[], |status| &status.rules)
            }
            Self::Policy(policy) => policy.status.as_ref().map_or(&[], |status| &status.rules),
        }
    }

    /// What was seen or declared and is no rule.
    pub fn uncovered(&self) -> &[UncoveredPeer] {
        match self {
            Self::Proposal(proposal) => {
                proposal.status.as_ref().map_or(&[], |status| &status.uncovered)
            }
            Self::Policy(policy) => policy.status.as_ref().map_or(&[], |status| &status.uncovered),
        }
    }

    /// Times and places of which nothing was seen.
    pub fn gaps(&self) -> &[Gap] {
        match self {
            Self::Proposal(proposal) => proposal.status.as_ref().map_or(&[], |status| &status.gaps),
            Self::Policy(policy) => policy.status.as_ref().map_or(&[], |status| &status.gaps),
        }
    }

    /// Wider rules that would stand for several; a policy has none.
    pub fn suggestions(&self) -> &[Suggestion] {
        match self {
            Self::Proposal(proposal) => {
                proposal.status.as_ref().map_or(&[], |status| &status.suggestions)
            }
            Self::Policy(_) => &[],
        }
    }

    pub(super) fn kubernetes_mut(&mut self) -> Option<&mut NetworkPolicySpec> {
        match self {
            Self::Proposal(proposal) => Arc::make_mut(proposal).spec.kubernetes.as_mut(),
            Self::Policy(policy) => Arc::make_mut(policy).spec.kubernetes.as_mut(),
        }
    }

    pub(super) fn istio_mut(&mut self) -> Option<&mut IstioPolicySpec> {
        match self {
            Self::Proposal(proposal) => Arc::make_mut(proposal).spec.istio.as_mut(),
            Self::Policy(policy) => Arc::make_mut(policy).spec.istio.as_mut(),
        }
    }

    pub(super) fn evidence_mut(&mut self) -> &mut Vec<RuleEvidence> {
        match self {
            Self::Proposal(proposal) => {
                &mut Arc::make_mut(proposal).status.get_or_insert_default().rules
            }
            Self::Policy(policy) => &mut Arc::make_mut(policy).status.get_or_insert_default().rules,
        }
    }

    pub(super) fn uncovered_mut(&mut self) -> &mut Vec<UncoveredPeer> {
        match self {
            Self::Proposal(proposal) => {
                &mut Arc::make_mut(proposal).status.get_or_insert_default().uncovered
            }
            Self::Policy(policy) => {
                &mut Arc::make_mut(policy).status.get_or_insert_default().uncovered
            }
        }
    }

    /// Sets what follows from the lists of a proposal.
    pub(super) fn recount(&mut self) {
        if let Self::Proposal(proposal) = self {
            Arc::make_mut(proposal).status.get_or_insert_default().recount();
        }
    }

    /// Notes that the allowed traffic of a policy changed.
    pub(super) fn count_revision(&mut self) {
        if let Self::Policy(policy) = self {
            let revision = &mut Arc::make_mut(policy).status.get_or_insert_default().revision;
            *revision = Some(revision.unwrap_or_default().saturating_add(1));
        }
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Proposal(proposal) => proposal.serialize(serializer),
            Self::Policy(policy) => policy.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let value = Value::deserialize(deserializer)?;
        let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let resource = match Kind::of(kind) {
            Some(Kind::Proposal) => {
                serde_json::from_value(value).map(|proposal| Self::Proposal(Arc::new(proposal)))
            }
            Some(Kind::Policy) => {
                serde_json::from_value(value).map(|policy| Self::Policy(Arc::new(policy)))
            }
            None => return Err(Error::custom(format!("{kind:?} is neither of the kinds"))),
        };
        resource.map_err(Error::custom)
    }
}

/// The direction of a `NetworkPolicy` that has but one.
fn only_type(policy: &NetworkPolicySpec) -> Option<Direction> {
    match policy.policy_types.as_deref().unwrap_or_default() {
        [only] => only.parse().ok(),
        // The API server's default: Ingress, and Egress where there are egress rules.
        [] if policy.egress.is_none() => Some(Direction::Ingress),
        _ => None,
    }
}
