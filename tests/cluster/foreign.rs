//! Kinds of other projects that the agent reads or writes. What their objects may hold is not judged.

use serde_json::{Value, json};

/// Kind, plural, group, version and scope.
const KINDS: [[&str; 5]; 4] = [
    ["AuthorizationPolicy", "authorizationpolicies", "security.istio.io", "v1", "Namespaced"],
    [
        "AdminNetworkPolicy",
        "adminnetworkpolicies",
        "policy.networking.k8s.io",
        "v1alpha1",
        "Cluster",
    ],
    [
        "BaselineAdminNetworkPolicy",
        "baselineadminnetworkpolicies",
        "policy.networking.k8s.io",
        "v1alpha1",
        "Cluster",
    ],
    [
        "ClusterNetworkPolicy",
        "clusternetworkpolicies",
        "policy.networking.k8s.io",
        "v1alpha2",
        "Cluster",
    ],
];

/// The definition of that kind.
pub(crate) fn definition(kind: &str) -> Value {
    let [kind, plural, group, version, scope] = KINDS.into_iter().find(|it| it[0] == kind).unwrap();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The definitions of all of them.
pub(crate) fn definitions() -> Value {
    let all: Vec<Value> = KINDS.iter().map(|kind| definition(kind[0])).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": all})
}
