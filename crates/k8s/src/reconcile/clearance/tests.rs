use netenf_api::{Backend, Mode};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::object::{self, Object};
use crate::reconcile::sample::{policy, told};

/// shop/front and shop/batch in the cluster, each with labels of its pods.
fn index() -> Index {
    let deployment = |name: &str| -> Object {
        let labels = json!({"app": name, "team": "web"});
        let document = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
            },
        });
        let (mut objects, problems) = object::read("test", &document.to_string());
        assert!(problems.is_empty(), "{problems:?}");
        objects.remove(0)
    };
    Index::of([deployment("front"), deployment("batch")])
}

/// A policy of ingress that lists violations: of a workload, one that is gone, an address and the like.
fn violated(backend: Backend) -> WorkloadNetworkPolicy {
    let mut policy = policy(backend, Mode::Monitor);
    let record = |id: &str, source: Value, port: u16, reason: &str| {
        json!({
            "id": id, "direction": "Ingress", "source": source, "protocol": "TCP", "dstPort": port, "count": 2,
            "dest": {"kind": "Deployment", "namespace": "shop", "name": "web"}, "action": "monitor",
            "reason": reason, "firstSeen": "2026-09-02T09:00:00Z", "lastSeen": "2026-09-02T09:10:00Z",
        })
    };
    let workload = |name: &str| json!({"kind": "Deployment", "namespace": "shop", "name": name});
    let mesh = json!({"kind": "ServiceAccount", "namespace": "shop", "name": "batch",
        "identity": "cluster.local/ns/shop/sa/batch"});
    let outside = json!({"kind": "External", "address": "203.0.113.7", "addresses": ["203.0.113.7", "203.0.113.9"]});
    policy.status = serde_json::from_value(json!({
        "violationCount": 20, "activeViolationCount": 7,
        "violations": [
            record("batch", workload("batch"), 8080, "NoRule"),
            record("batch-9", workload("batch"), 9090, "NoRule"),
            record("gone", workload("gone"), 8080, "NoRule"),
            record("outside", outside, 8080, "NoRule"),
            record("admin", workload("batch"), 8080, "DeniedByPolicy"),
            record("mesh", mesh, 8080, "NoRule"),
            record("nobody", json!({}), 8080, "NoRule"),
        ],
        "acknowledgedViolations": [{
            "violation": record("known", workload("batch"), 8080, "NoRule"), "reason": "known",
            "acknowledgedAt": "2026-09-02T09:20:00Z",
        }],
    }))
    .unwrap();
    policy
}

/// W18: what is allowed is decided by the engine, and what cannot be decided stays.
#[rstest]
#[case::as_it_was(json!([{"from": [{"podSelector": {"matchLabels": {"app": "front"}}}]}]), &[])]
#[case::as_learned(json!([{"from": [{"podSelector": {"matchLabels": {"app": "batch"}},
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}], "ports": [{"port": 8080}]}]),
    &["batch", "known"])]
#[case::wider_labels(json!([{"from": [{"podSelector": {"matchLabels": {"team": "web"}}}], "ports": [{"port": 8000, "endPort": 9000}]}]),
    &["batch", "known"])]
#[case::namespace(json!([{"from": [{"namespaceSelector": {}}], "ports": [{"port": 9090}]}]), &["batch-9"])]
#[case::one_of_two_addresses(json!([{"from": [{"ipBlock": {"cidr": "203.0.113.7/32"}}]}]), &[])]
#[case::both_addresses(json!([{"from": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]), &["outside"])]
#[case::another_protocol(json!([{"from": [{"namespaceSelector": {}}], "ports": [{"port": 9090, "protocol": "UDP"}]}]), &[])]
#[case::everyone(json!([{}]), &["batch", "batch-9", "outside", "known"])]
fn what_is_allowed_by_now_is_not_listed(#[case] ingress: Value, #[case] expected: &[&str]) {
    let mut policy = violated(Backend::Kubernetes);
    let body = policy.spec.kubernetes.as_mut().unwrap();
    body.ingress = Some(serde_json::from_value(ingress).unwrap());
    check(&policy, expected);
}

#[rstest]
#[case::as_it_was("cluster.local/ns/shop/sa/front", &[])]
#[case::named("cluster.local/ns/shop/sa/batch", &["mesh"])]
#[case::all("*", &["mesh"])]
fn identities_are_matched_as_istio_does(#[case] principal: &str, #[case] expected: &[&str]) {
    let mut policy = violated(Backend::Istio);
    let rules = json!([{"from": [{"source": {"principals": [principal]}}]}]);
    policy.spec.istio.as_mut().unwrap().rules = serde_json::from_value(rules).unwrap();
    check(&policy, expected);
}

#[test]
fn nothing_is_done_about_a_policy_that_goes_or_lists_nothing() {
    let mut policy = violated(Backend::Kubernetes);
    policy.spec.kubernetes.as_mut().unwrap().ingress = serde_json::from_value(json!([{}])).unwrap();
    policy.metadata.deletion_timestamp = Some(crate::reconcile::sample::now());
    assert_eq!(clear(&policy, &index()), []);
    policy.metadata.deletion_timestamp = None;
    policy.status = None;
    assert_eq!(clear(&policy, &index()), []);
}

#[track_caller]
fn check(policy: &WorkloadNetworkPolicy, expected: &[&str]) {
    let steps = clear(policy, &index());
    if expected.is_empty() {
        assert_eq!(steps, []);
        return;
    }
    let Some(Step::ReplaceStatus(Resource::Policy(cleared))) = steps.first() else {
        unreachable!()
    };
    let ids = |policy: &WorkloadNetworkPolicy| -> Vec<String> {
        let status = policy.status.as_ref().unwrap();
        assert_eq!(
            status.violations.len(),
            usize::try_from(status.active_violation_count).unwrap()
        );
        let known = status.acknowledged_violations.iter().map(|one| &one.violation);
        status.violations.iter().chain(known).map(|one| one.id.clone()).collect()
    };
    let left = ids(cleared);
    let mut gone = ids(policy);
    gone.retain(|id| !left.contains(id));
    assert_eq!(gone, expected);
    assert_eq!(told(&steps[1..]), ["Normal ViolationsCleared"]);
    assert_eq!(clear(cleared, &index()), [], "once is enough");
}
