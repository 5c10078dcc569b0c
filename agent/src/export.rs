//! What a collector is told about violations: what the API server holds by then.

use std::sync::Arc;

use netenf_api::{Violation, WorkloadNetworkPolicy};
use netenf_k8s::lifecycle::Resource;
use netenf_k8s::monitor::reported;
use netenf_k8s::reconcile::{Export, Step};
use netenf_telemetry::Telemetry;

use crate::stored::Name;

/// The policy whose status the steps write.
pub(crate) fn recorded(steps: &[Step]) -> Option<Arc<WorkloadNetworkPolicy>> {
    steps.iter().find_map(|step| match step {
        Step::ReplaceStatus(Resource::Policy(policy)) => Some(Arc::clone(policy)),
        _ => None,
    })
}

/// The violations were recorded in the policy.
pub(crate) fn observed(
    telemetry: &Telemetry,
    (namespace, name): &Name,
    policy: &WorkloadNetworkPolicy,
    violations: Vec<Violation>,
) {
    for violation in reported(policy, violations) {
        telemetry.observed(&violation, (namespace, name), policy.spec.backend);
    }
}

/// A person acknowledged violations.
pub(crate) fn acknowledged(telemetry: &Telemetry, export: &Export) {
    let Export { policy, backend, acknowledged } = export;
    let (namespace, name) = (policy.namespace.as_str(), policy.name.as_str());
    for one in acknowledged {
        let (id, reason) = (&one.violation.id, &one.reason);
        tracing::info!(namespace, name, id, reason, "acknowledged");
        telemetry.acknowledged(one, (namespace, name), *backend);
    }
}
