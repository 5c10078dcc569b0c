use netenf_api::WorkloadNetworkPolicyProposal;
use serde_json::json;

use super::Packed;

fn proposal(rules: usize) -> WorkloadNetworkPolicyProposal {
    let rule = |number: usize| {
        json!({
            "to": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
                "podSelector": {"matchLabels": {"app": format!("db-{number}")}},
            }],
            "ports": [{"protocol": "TCP", "port": 5432}],
        })
    };
    serde_json::from_value(json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicyProposal",
        "metadata": {"name": "deployment-web-egress", "namespace": "shop", "resourceVersion": "7"},
        "spec": {"backend": "kubernetes", "kubernetes": {
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"],
            "egress": (0..rules).map(rule).collect::<Vec<_>>(),
        }},
        "status": {"learnedUntil": "2026-01-01T00:00:00.000001Z", "ruleCount": rules},
    }))
    .unwrap()
}

#[test]
fn an_object_comes_back_as_it_was() {
    for rules in [0, 1, 1_000] {
        let object = proposal(rules);
        let packed = Packed::new(&object).unwrap();
        assert_eq!(packed.get().unwrap(), object);
        assert_eq!(packed.metadata, object.metadata);
    }
}

#[test]
fn a_rule_takes_few_bytes() {
    let packed = Packed::new(&proposal(1_000)).unwrap();
    assert!(packed.bytes.len() < 30_000, "{packed:?}");
}
