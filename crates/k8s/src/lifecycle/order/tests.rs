use proptest::prelude::*;

use super::*;
use crate::lifecycle::sample::{kubernetes_rules, proposal};

const SPEC: &str = "
podSelector: {matchLabels: {app: web}}
egress:
- to: [{ipBlock: {cidr: '2001:db8::/32'}}]
- to: [{ipBlock: {cidr: 10.0.0.0/8}}]
- to: [{ipBlock: {cidr: 9.0.0.0/8}}]
- to:
  - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    podSelector: {matchLabels: {app: db}}
  ports: [{protocol: SCTP, port: 1}, {protocol: UDP, port: 53}, {port: 8080}, {protocol: TCP, port: 80}]
- to:
  - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: jobs}}
    podSelector: {matchLabels: {app: z}}
- ports: [{protocol: TCP, port: 443}]
";

#[test]
fn rules_peers_and_ports_have_one_order() {
    let mut spec: NetworkPolicySpec = serde_saphyr::from_str(SPEC).unwrap();
    sort_rules(&mut spec);
    let expected = [
        " 443/TCP",
        "jobs{app=z} ",
        "shop{app=db} 80/TCP,8080/TCP,53/UDP,1/SCTP",
        "9.0.0.0/8 ",
        "10.0.0.0/8 ",
        "2001:db8::/32 ",
    ];
    assert_eq!(kubernetes_rules(&spec), expected);
}

#[test]
fn what_was_learned_is_in_order() {
    let mut spec = proposal().spec.kubernetes.unwrap();
    sort_rules(&mut spec);
    assert_eq!(Some(spec), proposal().spec.kubernetes);
}

proptest! {
    #[test]
    fn the_order_does_not_depend_on_what_came_first(order in Just([0, 1, 2, 3, 4, 5]).prop_shuffle()) {
        let spec: NetworkPolicySpec = serde_saphyr::from_str(SPEC).unwrap();
        let rules = spec.egress.clone().unwrap();
        let mut shuffled = spec.clone();
        shuffled.egress = Some(order.iter().map(|position| rules[*position].clone()).collect());
        let mut sorted = spec;
        sort_rules(&mut sorted);
        sort_rules(&mut shuffled);
        prop_assert_eq!(sorted, shuffled);
    }
}
