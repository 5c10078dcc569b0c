use rstest::rstest;
use serde_json::json;

use super::*;

fn policy(mode: &str, body: Value) -> WorkloadNetworkPolicy {
    let mut spec = body;
    spec["mode"] = mode.into();
    let metadata = json!({
        "name": "deployment-web-ingress", "namespace": "shop", "uid": "u1",
        "labels": {"team": "payments", key::PROMOTED_FROM: "deployment-web-ingress"},
        "annotations": {"note": "ours"},
    });
    let document = json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
        "metadata": metadata, "spec": spec,
    });
    serde_json::from_value(document).unwrap()
}

fn kubernetes(spec: &Value) -> Value {
    json!({"backend": "kubernetes", "kubernetes": spec})
}

fn istio(selector: &Value) -> Value {
    let rules = json!([{"from": [{"source": {"principals": ["cluster.local/ns/shop/sa/front"]}}],
        "to": [{"operation": {"ports": ["8080"]}}]}]);
    json!({"backend": "istio", "istio": {"selector": selector, "rules": rules}})
}

fn web() -> Value {
    json!({"matchLabels": {"app": "web"}})
}

/// The API server's defaults are in it, and nothing is that it would not store.
#[rstest]
#[case::defaults(
    json!({"podSelector": web(), "egress": [{"ports": [{"port": 53}]}]}),
    json!({"podSelector": web(), "policyTypes": ["Ingress", "Egress"],
        "egress": [{"ports": [{"port": 53, "protocol": "TCP"}]}]})
)]
#[case::empty_lists(
    json!({"podSelector": web(), "ingress": [], "egress": [], "policyTypes": []}),
    json!({"podSelector": web(), "policyTypes": ["Ingress"]})
)]
#[case::what_is_empty_and_means_something(
    json!({"podSelector": web(), "policyTypes": ["Ingress"],
        "ingress": [{}, {"from": [{"podSelector": {"matchLabels": {}}}], "ports": []}]}),
    json!({"podSelector": web(), "policyTypes": ["Ingress"], "ingress": [{}, {"from": [{"podSelector": {}}]}]})
)]
fn a_network_policy_stands_as_it_is_stored(#[case] written: Value, #[case] stored: Value) {
    let native = native(&policy("protect", kubernetes(&written))).unwrap().unwrap();
    assert_eq!((native.kind, native.spec), (NativeKind::NetworkPolicy, stored));
}

#[test]
fn an_object_is_its_policys() {
    let policy = policy("monitor", istio(&web()));
    let native = native(&policy).unwrap().unwrap().owned_by(&policy);
    let expected = json!({
        "apiVersion": "security.istio.io/v1", "kind": "AuthorizationPolicy",
        "metadata": {
            "name": "deployment-web-ingress", "namespace": "shop",
            "labels": {"team": "payments"}, "annotations": {"istio.io/dry-run": "true"},
            "ownerReferences": [{
                "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
                "name": "deployment-web-ingress", "uid": "u1", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "selector": {"matchLabels": {"app": "web"}}, "action": "ALLOW",
            "rules": [{"from": [{"source": {"principals": ["cluster.local/ns/shop/sa/front"]}}],
                "to": [{"operation": {"ports": ["8080"]}}]}],
        },
    });
    assert_eq!(serde_json::to_value(native).unwrap(), expected);
}

#[rstest]
#[case::kubernetes_in_monitor("monitor", kubernetes(&json!({"podSelector": web()})), None)]
#[case::kubernetes_in_protect("protect", kubernetes(&json!({"podSelector": web()})), Some(false))]
#[case::istio_in_monitor("monitor", istio(&web()), Some(true))]
#[case::istio_in_protect("protect", istio(&web()), Some(false))]
fn the_mode_decides_what_is_written(
    #[case] mode: &str,
    #[case] body: Value,
    #[case] dry: Option<bool>,
) {
    let native = native(&policy(mode, body)).unwrap();
    assert_eq!(native.map(|native| native.is_dry()), dry);
}

#[rstest]
#[case::expressions_w6(
    istio(&json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]})),
    Reason::MatchExpressions
)]
#[case::every_pod(kubernetes(&json!({"podSelector": {}})), Reason::EmptySelector)]
#[case::no_body(json!({"backend": "istio"}), Reason::NoBody { backend: Backend::Istio })]
fn what_would_be_wider_is_refused(#[case] body: Value, #[case] expected: Reason) {
    for mode in ["monitor", "protect"] {
        let refusal = native(&policy(mode, body.clone())).unwrap_err();
        assert_eq!(*refusal.reason, expected);
    }
}
