//! What must hold of the body of an object before it may act.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::{Backend, Direction};

use super::refusal::Reason;
use super::resource::Resource;

/// Whether the object can be a policy at all.
pub(crate) fn check(resource: &Resource) -> Result<(), Reason> {
    let backend = resource.backend();
    if backend == Backend::Istio && resource.direction() == Some(Direction::Egress) {
        return Err(Reason::IstioEgress);
    }
    let selector = match backend {
        Backend::Kubernetes => resource.kubernetes().map(|policy| policy.pod_selector.as_ref()),
        Backend::Istio => resource.istio().map(|policy| Some(&policy.selector)),
    };
    match selector {
        None => Err(Reason::NoBody { backend }),
        Some(selector) if selector.is_none_or(is_empty) => Err(Reason::EmptySelector),
        Some(_) => Ok(()),
    }
}

/// Whether the object allows anything.
pub(super) fn has_rules(resource: &Resource) -> bool {
    match resource.backend() {
        Backend::Kubernetes => resource.kubernetes().is_some_and(|policy| {
            policy.ingress.as_ref().is_some_and(|rules| !rules.is_empty())
                || policy.egress.as_ref().is_some_and(|rules| !rules.is_empty())
        }),
        Backend::Istio => resource.istio().is_some_and(|policy| !policy.rules.is_empty()),
    }
}

/// Whether the selector selects every pod.
pub(super) fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}
