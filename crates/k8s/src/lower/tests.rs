use netenf_policy::{Connection, End, Labels, Pod, evaluate};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn lowered(spec: &Value) -> (NetworkPolicy, Vec<Diagnostic>) {
    let spec = serde_json::from_value(spec.clone()).unwrap();
    network_policy("NetworkPolicy", "shop", "p", &spec)
}

fn pod(namespace: &str, labels: &[(&str, &str)]) -> End {
    End::Pod(Pod {
        namespace: namespace.into(),
        namespace_labels: [("kubernetes.io/metadata.name", namespace)].into_iter().collect(),
        labels: labels.iter().copied().collect::<Labels>(),
        ports: vec![("http".into(), Protocol::Tcp, 8080)],
        ..Pod::default()
    })
}

/// Whether shop{app=web} reaches the destination.
fn reaches(policy: &NetworkPolicy, destination: End, protocol: Protocol, port: u16) -> bool {
    let source = pod("shop", &[("app", "web")]);
    let connection = Connection { source, destination, protocol, port };
    evaluate(std::slice::from_ref(policy), &connection).egress.allowed
}

fn with_rule(rule: &Value) -> Value {
    json!({"podSelector": {}, "policyTypes": ["Egress"], "egress": [rule]})
}

/// What the API would refuse is told, and matches nothing.
#[rstest]
#[case::empty_peer(json!({"to": [{}]}), "empty peer")]
#[case::no_cidr(json!({"to": [{"ipBlock": {"cidr": "10.0.0.300/8"}}]}), "no CIDR")]
#[case::an_address(json!({"to": [{"ipBlock": {"cidr": "203.0.113.7"}}]}), "no CIDR")]
#[case::except_is_none(json!({"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["x"]}}]}), "except")]
#[case::except_outside(json!({"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["10.0.0.0/8"]}}]}), "except")]
#[case::block_and_selector(json!({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}, "podSelector": {}}]}), "beside a selector")]
#[case::protocol(json!({"ports": [{"protocol": "ICMP"}]}), "ICMP")]
#[case::port_zero(json!({"ports": [{"port": 0}]}), "no range")]
#[case::port_too_high(json!({"ports": [{"port": 70_000}]}), "no range")]
#[case::range_backwards(json!({"ports": [{"port": 6000, "endPort": 5000}]}), "no range")]
#[case::range_without_start(json!({"ports": [{"endPort": 5000}]}), "no range")]
#[case::range_of_a_name(json!({"ports": [{"port": "http", "endPort": 9000}]}), "no range")]
#[case::operator(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}}]}), "\"Is\"")]
#[case::in_nothing(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}), "without values")]
#[case::not_in_nothing(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}}]}), "without values")]
#[case::exists_with_values(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["x"]}]}}]}), "with values")]
#[case::absent_with_values(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist", "values": ["x"]}]}}]}), "with values")]
fn what_the_api_refuses_is_told_and_matches_nothing(#[case] rule: Value, #[case] told: &str) {
    let (policy, diagnostics) = lowered(&with_rule(&rule));
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    assert!(diagnostics[0].message.contains(told), "{diagnostics:?}");
    assert!(diagnostics[0].place.starts_with("NetworkPolicy shop/p: spec.egress[0]"));
    let ends = [pod("shop", &[("app", "db")]), End::Address("203.0.113.7".parse().unwrap())];
    for end in ends {
        for (protocol, port) in [(Protocol::Tcp, 5500), (Protocol::Tcp, 8080), (Protocol::Udp, 53)]
        {
            assert!(!reaches(&policy, end.clone(), protocol, port), "fails closed");
        }
    }
}

#[rstest]
#[case::peers(json!({"to": [{}, {"podSelector": {"matchLabels": {"app": "db"}}}]}))]
#[case::ports(json!({"ports": [{"protocol": "ICMP"}, {"port": 5432}]}))]
fn a_bad_item_costs_no_other(#[case] rule: Value) {
    let (policy, diagnostics) = lowered(&with_rule(&rule));
    assert_eq!(diagnostics.len(), 1);
    assert!(reaches(&policy, pod("shop", &[("app", "db")]), Protocol::Tcp, 5432));
}

#[rstest]
#[case::nothing(json!({}), "shop", 1, true)]
#[case::empty_lists(json!({"to": [], "ports": []}), "other", 1, true)]
#[case::own_namespace(json!({"to": [{"podSelector": {}}]}), "shop", 1, true)]
#[case::not_another(json!({"to": [{"podSelector": {}}]}), "other", 1, false)]
#[case::every_namespace(json!({"to": [{"namespaceSelector": {}}]}), "other", 1, true)]
#[case::both_must_hold(json!({"to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "x"}}}]}), "other", 1, false)]
#[case::default_protocol(json!({"ports": [{"port": 5432}]}), "shop", 5432, true)]
#[case::range(json!({"ports": [{"port": 30000, "endPort": 31500}]}), "shop", 30074, true)]
#[case::range_of_one(json!({"ports": [{"port": 30000, "endPort": 30000}]}), "shop", 30000, true)]
#[case::protocol_alone(json!({"ports": [{"protocol": "TCP"}]}), "shop", 9, true)]
#[case::other_protocol_alone(json!({"ports": [{"protocol": "UDP"}]}), "shop", 9, false)]
#[case::name(json!({"ports": [{"port": "http"}]}), "shop", 8080, true)]
#[case::other_name(json!({"ports": [{"port": "metrics"}]}), "shop", 8080, false)]
fn rules_mean_what_the_api_says(
    #[case] rule: Value,
    #[case] namespace: &str,
    #[case] port: u16,
    #[case] allowed: bool,
) {
    let (policy, diagnostics) = lowered(&with_rule(&rule));
    assert_eq!(diagnostics, []);
    assert_eq!(reaches(&policy, pod(namespace, &[("app", "db")]), Protocol::Tcp, port), allowed);
}

#[rstest]
#[case::none(json!({"podSelector": {}}), (true, false), 0)]
#[case::none_with_egress(json!({"podSelector": {}, "egress": [{}]}), (true, true), 0)]
#[case::none_with_empty_egress(json!({"podSelector": {}, "egress": []}), (true, false), 0)]
#[case::egress_only(json!({"podSelector": {}, "policyTypes": ["Egress"], "ingress": [{}]}), (false, true), 0)]
#[case::both(json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}), (true, true), 0)]
#[case::misspelled(json!({"podSelector": {}, "policyTypes": ["ingress"]}), (true, true), 1)]
fn policy_types_say_what_is_isolated(
    #[case] spec: Value,
    #[case] isolated: (bool, bool),
    #[case] told: usize,
) {
    let (policy, diagnostics) = lowered(&spec);
    assert_eq!((policy.ingress.is_some(), policy.egress.is_some()), isolated);
    assert_eq!(diagnostics.len(), told);
}
