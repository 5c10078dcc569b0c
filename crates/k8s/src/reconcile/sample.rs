//! Small objects for the tests of the reconcilers, and their plans in words.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use netenf_api::{Backend, Mode, WorkloadNetworkPolicy};
use serde_json::{Value, json};

use super::{Document, Step};
use crate::lifecycle::Resource;
use crate::render::{Native, NativeKind, native};

pub(super) fn now() -> Time {
    Time("2026-09-02T10:00:00Z".parse().unwrap())
}

/// A policy for web as the API server has it.
pub(super) fn policy(backend: Backend, mode: Mode) -> WorkloadNetworkPolicy {
    let selector = json!({"matchLabels": {"app": "web"}});
    let body = match backend {
        Backend::Kubernetes => json!({
            "podSelector": selector, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "front"}}}], "ports": [{"port": 8080}]}],
        }),
        Backend::Istio => json!({
            "selector": selector,
            "rules": [{"from": [{"source": {"principals": ["cluster.local/ns/shop/sa/front"]}}]}],
        }),
    };
    let document = json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
        "metadata": {"name": "deployment-web-ingress", "namespace": "shop", "uid": "p1", "resourceVersion": "7",
            "generation": 2, "labels": {"team": "payments"}},
        "spec": {"mode": mode, "backend": backend, backend.as_str(): body},
    });
    serde_json::from_value(document).unwrap()
}

/// The native object of `policy` as the API server has it; of a `NetworkPolicy` in monitor, the one it had.
pub(super) fn stored(policy: &WorkloadNetworkPolicy) -> Native {
    let mut enforced = policy.clone();
    if policy.spec.backend == Backend::Kubernetes {
        enforced.spec.mode = Mode::Protect;
    }
    let mut native = native(&enforced).unwrap().unwrap().owned_by(policy);
    native.metadata.uid = Some("n1".to_owned());
    native.metadata.resource_version = Some("8".to_owned());
    let fields = json!([{"manager": super::FIELD_MANAGER, "operation": "Update",
        "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}}]);
    native.metadata.managed_fields = serde_json::from_value(fields).unwrap();
    native
}

/// An object of that name that somebody else wrote.
pub(super) fn foreign(backend: Backend) -> Native {
    let metadata = json!({"name": "deployment-web-ingress", "namespace": "shop", "uid": "f1", "resourceVersion": "1"});
    Native {
        kind: NativeKind::of(backend),
        metadata: serde_json::from_value(metadata).unwrap(),
        spec: json!({"podSelector": {}}),
    }
}

/// The steps, one a line.
pub(super) fn told(steps: &[Step]) -> Vec<String> {
    steps.iter().map(step).collect()
}

fn step(step: &Step) -> String {
    match step {
        Step::Create(document) => format!("create {}", kind(document)),
        Step::Replace(document) => format!("replace {}", kind(document)),
        Step::ReplaceStatus(resource) => format!("status of {}", conditions(resource)),
        Step::Delete(document) => format!("delete {}", kind(document)),
        Step::Export(export) => {
            let ids: Vec<&str> =
                export.acknowledged.iter().map(|one| one.violation.id.as_str()).collect();
            format!("export {}", ids.join(","))
        }
        Step::Event(event) => format!("{:?} {}", event.kind, event.reason),
    }
}

fn kind(document: &Document) -> &'static str {
    match document {
        Document::Ours(resource) => resource.kind().word(),
        Document::Native(native) => native.kind.as_str(),
    }
}

fn conditions(resource: &Resource) -> String {
    let value: Value = serde_json::to_value(resource).unwrap();
    let all = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let all = all.into_iter().map(|one| {
        let Condition { type_, status, reason, .. } = serde_json::from_value(one).unwrap();
        format!(" {type_}={status}/{reason}")
    });
    resource.kind().word().to_owned() + &all.collect::<String>()
}
