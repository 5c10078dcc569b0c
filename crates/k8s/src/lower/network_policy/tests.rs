use netenf_policy::{Connection, End, Labels, Operator, Pod, Requirement, evaluate};
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

#[rstest]
#[case::empty_peer(json!({"to": [{}]}), "to[0]", "is empty: the peer matches nothing")]
#[case::no_cidr(json!({"to": [{"ipBlock": {"cidr": "10.0.0.300/8"}}]}), "to[0].ipBlock.cidr", r#""10.0.0.300/8" is no CIDR: the peer matches nothing"#)]
#[case::an_address(json!({"to": [{"ipBlock": {"cidr": "203.0.113.7"}}]}), "to[0].ipBlock.cidr", r#""203.0.113.7" is no CIDR: the peer matches nothing"#)]
#[case::leading_zeros(json!({"to": [{"ipBlock": {"cidr": "0203.0.113.7/8"}}]}), "to[0].ipBlock.cidr", r#""0203.0.113.7/8" is no CIDR: the peer matches nothing"#)]
#[case::leading_zero_of_the_prefix(json!({"to": [{"ipBlock": {"cidr": "203.0.113.7/08"}}]}), "to[0].ipBlock.cidr", r#""203.0.113.7/08" is no CIDR: the peer matches nothing"#)]
#[case::signed_prefix(json!({"to": [{"ipBlock": {"cidr": "203.0.113.7/+8"}}]}), "to[0].ipBlock.cidr", r#""203.0.113.7/+8" is no CIDR: the peer matches nothing"#)]
#[case::mapped(json!({"to": [{"ipBlock": {"cidr": "::ffff:203.0.113.7/128"}}]}), "to[0].ipBlock.cidr", r#""::ffff:203.0.113.7/128" is no CIDR: the peer matches nothing"#)]
#[case::except_is_none(json!({"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["x"]}}]}), "to[0].ipBlock.except[0]", r#""x" is no CIDR: the peer matches nothing"#)]
#[case::except_outside(json!({"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["10.0.0.0/8"]}}]}), "to[0].ipBlock.except[0]", r#""10.0.0.0/8" is no part of 203.0.113.0/24: the peer matches nothing"#)]
#[case::except_is_all(json!({"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.0/24"]}}]}), "to[0].ipBlock.except[0]", r#""203.0.113.0/24" is no part of 203.0.113.0/24: the peer matches nothing"#)]
#[case::block_and_selector(json!({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}, "podSelector": {}}]}), "to[0]", "has an ipBlock beside a selector: the peer matches nothing")]
#[case::protocol(json!({"ports": [{"protocol": "ICMP"}]}), "ports[0].protocol", r#""ICMP" is not known: the port matches nothing"#)]
#[case::port_zero(json!({"ports": [{"port": 0}]}), "ports[0]", "port and endPort make no range: the port matches nothing")]
#[case::port_too_high(json!({"ports": [{"port": 70_000}]}), "ports[0]", "port and endPort make no range: the port matches nothing")]
#[case::range_backwards(json!({"ports": [{"port": 6000, "endPort": 5000}]}), "ports[0]", "port and endPort make no range: the port matches nothing")]
#[case::range_without_start(json!({"ports": [{"endPort": 5000}]}), "ports[0]", "port and endPort make no range: the port matches nothing")]
#[case::range_of_a_name(json!({"ports": [{"port": "http", "endPort": 9000}]}), "ports[0]", "port and endPort make no range: the port matches nothing")]
#[case::number_as_name(json!({"ports": [{"port": "80"}]}), "ports[0].port", r#""80" is no name of a port: the port matches nothing"#)]
#[case::no_name(json!({"ports": [{"port": ""}]}), "ports[0].port", r#""" is no name of a port: the port matches nothing"#)]
#[case::long_name(json!({"ports": [{"port": "sixteen-letters-"}]}), "ports[0].port", r#""sixteen-letters-" is no name of a port: the port matches nothing"#)]
#[case::two_dashes(json!({"ports": [{"port": "a--b"}]}), "ports[0].port", r#""a--b" is no name of a port: the port matches nothing"#)]
#[case::upper_case(json!({"ports": [{"port": "Http"}]}), "ports[0].port", r#""Http" is no name of a port: the port matches nothing"#)]
#[case::operator(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]}}]}), "to[0].podSelector.matchExpressions[0]", r#"operator "Is" is not known, which the API refuses: the peer matches nothing"#)]
#[case::in_nothing(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]}), "to[0].podSelector.matchExpressions[0]", "operator In is without values, which the API refuses: the peer matches nothing")]
#[case::not_in_nothing(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}}]}), "to[0].podSelector.matchExpressions[0]", "operator NotIn is without values, which the API refuses: the peer matches nothing")]
#[case::exists_with_values(json!({"to": [{"namespaceSelector": {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["x"]}]}}]}), "to[0].namespaceSelector.matchExpressions[0]", "operator Exists is with values, which the API refuses: the peer matches nothing")]
#[case::absent_with_values(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist", "values": ["x"]}]}}]}), "to[0].podSelector.matchExpressions[0]", "operator DoesNotExist is with values, which the API refuses: the peer matches nothing")]
#[case::no_key(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a b", "operator": "DoesNotExist"}]}}]}), "to[0].podSelector.matchExpressions[0]", r#""a b" is no key of a label, which the API refuses: the peer matches nothing"#)]
#[case::no_value(json!({"to": [{"podSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["-"]}]}}]}), "to[0].podSelector.matchExpressions[0]", r#""a" with "-" is no label, which the API refuses: the peer matches nothing"#)]
#[case::no_label(json!({"to": [{"podSelector": {"matchLabels": {"a": "b c"}}}]}), "to[0].podSelector.matchLabels", r#""a": "b c" is no label: the peer matches nothing"#)]
fn what_the_api_refuses_is_told_and_matches_nothing(
    #[case] rule: Value,
    #[case] path: &str,
    #[case] message: &str,
) {
    let (policy, diagnostics) = lowered(&with_rule(&rule));
    let place = format!("NetworkPolicy shop/p: spec.egress[0].{path}");
    assert_eq!(diagnostics, [Diagnostic { place, message: message.to_owned() }]);
    let ends = [pod("shop", &[("app", "db")]), End::Address("203.0.113.7".parse().unwrap())];
    for end in ends {
        for (protocol, port) in [(Protocol::Tcp, 5500), (Protocol::Tcp, 8080), (Protocol::Udp, 53)]
        {
            assert!(!reaches(&policy, end.clone(), protocol, port), "fails closed");
        }
    }
}

#[rstest]
#[case::canonical("10.0.0.0/8", "10.0.0.0/8", 0)]
#[case::host_bits("10.1.2.3/8", "10.0.0.0/8", 1)]
#[case::six("2001:DB8::1/32", "2001:db8::/32", 1)]
fn bits_beyond_the_prefix_are_told_and_cut(
    #[case] written: &str,
    #[case] read: &str,
    #[case] told: usize,
) {
    let (policy, diagnostics) =
        lowered(&with_rule(&json!({"to": [{"ipBlock": {"cidr": written}}]})));
    let block = Peer::Block { cidr: read.parse().unwrap(), except: Vec::new() };
    assert_eq!(policy.egress, Some(vec![Rule { peers: Some(vec![block]), ports: None }]));
    assert_eq!(diagnostics.len(), told);
}

#[test]
fn a_policy_for_a_selector_that_the_api_refuses_isolates_every_pod() {
    let selector = json!({"matchExpressions": [{"key": "a", "operator": "In"}]});
    let (policy, diagnostics) =
        lowered(&json!({"podSelector": selector, "ingress": [{}], "egress": [{}]}));
    let expected = NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "shop".into(),
        name: "p".into(),
        pods: Selector::default(),
        ingress: Some(Vec::new()),
        egress: Some(Vec::new()),
    };
    assert_eq!((policy, diagnostics.len()), (expected, 1));
    assert_eq!(diagnostics[0].place, "NetworkPolicy shop/p: spec.podSelector.matchExpressions[0]");
}

/// Those who only compare selectors get one that nothing meets.
#[test]
fn a_selector_that_the_api_refuses_matches_nothing() {
    let written =
        json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Is"}]});
    let (lowered, told) = selector::selector(&serde_json::from_value(written).unwrap());
    let never = Requirement { key: "a".into(), operator: Operator::In(Vec::new()) };
    let labels: Labels = [("a", "b")].into_iter().collect();
    assert_eq!(lowered, Selector { labels, requirements: vec![never] });
    assert_eq!(told.len(), 1);
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
