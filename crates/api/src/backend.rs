//! Which policy model an object carries, how it acts, and what makes a policy body valid.

use kube::core::Rule;

use crate::word::words;

words! {
    /// Selects which backend policy model an object carries.
    "backend"
    pub enum Backend {
        /// A Kubernetes `NetworkPolicy`, enforced by the CNI.
        Kubernetes = "kubernetes",
        /// An Istio `AuthorizationPolicy`, enforced by ztunnel.
        Istio = "istio",
    }
}

words! {
    /// How a policy acts on traffic that it does not allow.
    #[derive(Default)]
    "mode"
    pub enum Mode {
        /// Reports it.
        #[default]
        Monitor = "monitor",
        /// Blocks and reports it.
        Protect = "protect",
    }
}

// === validation rules, shared by both kinds ===

/// The rules on a spec that hold on creation and on update.
pub(crate) fn body_rules() -> [Rule; 5] {
    [one_body(), kubernetes_selector(), istio_selector(), policy_types(), istio_direction()]
}

/// The backend of an object never changes.
pub(crate) fn immutable() -> Rule {
    Rule::new("self == oldSelf").message("backend is immutable")
}

/// Exactly the body that `backend` names is there.
fn one_body() -> Rule {
    Rule::new(
        "self.backend == 'kubernetes' ? has(self.kubernetes) && !has(self.istio) : \
         has(self.istio) && !has(self.kubernetes)",
    )
    .message("backend must match exactly one populated backend spec")
}

/// A `NetworkPolicy` names its pods: an empty selector would select the whole namespace.
fn kubernetes_selector() -> Rule {
    Rule::new(
        "!has(self.kubernetes) || (has(self.kubernetes.podSelector) && \
         ((has(self.kubernetes.podSelector.matchLabels) && \
         size(self.kubernetes.podSelector.matchLabels) > 0) || \
         (has(self.kubernetes.podSelector.matchExpressions) && \
         size(self.kubernetes.podSelector.matchExpressions) > 0)))",
    )
    .message("kubernetes.podSelector must have matchLabels or matchExpressions")
}

/// An `AuthorizationPolicy` names its pods: an empty selector would select the whole namespace.
fn istio_selector() -> Rule {
    Rule::new(
        "!has(self.istio) || ((has(self.istio.selector.matchLabels) && \
         size(self.istio.selector.matchLabels) > 0) || \
         (has(self.istio.selector.matchExpressions) && \
         size(self.istio.selector.matchExpressions) > 0))",
    )
    .message("istio.selector must have matchLabels or matchExpressions")
}

/// A stated direction is the direction of the `NetworkPolicy`.
fn policy_types() -> Rule {
    Rule::new(
        "!has(self.direction) || !has(self.kubernetes) || (has(self.kubernetes.policyTypes) && \
         self.kubernetes.policyTypes == [self.direction])",
    )
    .message("kubernetes.policyTypes must be exactly the direction")
}

/// ztunnel enforces on the way in only.
fn istio_direction() -> Rule {
    Rule::new("self.backend != 'istio' || !has(self.direction) || self.direction != 'Egress'")
        .message("the istio backend has no Egress: ztunnel enforces inbound traffic")
}
