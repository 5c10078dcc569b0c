use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::istio::{IstioOperation, IstioTo};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::lifecycle::{Choice, Resource, RuleKey, allow, refuse, sample};
use crate::render::{PORTS_IN_RULE, pods_of};

fn peer(name: &str) -> NetworkPolicyPeer {
    let labels = [("app".to_owned(), name.to_owned())].into();
    pods_of("shop", LabelSelector { match_labels: Some(labels), match_expressions: None })
}

fn tcp(number: u16) -> NetworkPolicyPort {
    port(Protocol::Tcp, Some(number), None)
}

fn sizes(rules: &[Rule]) -> Vec<usize> {
    rules.iter().map(|rule| rule.ports.len()).collect()
}

fn with_ports(ports: impl Iterator<Item = u16>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for number in ports {
        add(&mut rules, peer("db"), tcp(number));
    }
    rules
}

#[rstest]
#[case::into_the_second_rule(60, 8061, Addition::Added, &[40, 21])]
#[case::in_the_first_rule(60, 8001, Addition::Present, &[40, 20])]
#[case::in_the_second_rule(60, 8055, Addition::Present, &[40, 20])]
#[case::into_a_rule_of_its_own(80, 9000, Addition::Added, &[40, 40, 1])]
#[case::below_all(80, 1, Addition::Added, &[40, 40, 1])]
fn a_rule_holds_no_more_than_cilium_takes(
    #[case] ports: u16,
    #[case] wanted: u16,
    #[case] expected: Addition,
    #[case] after: &[usize],
) {
    let mut rules = with_ports(8001..=8000 + ports);
    assert_eq!(add(&mut rules, peer("db"), tcp(wanted)), expected);
    assert_eq!(sizes(&rules), after);
}

#[test]
fn a_rule_without_ports_holds_every_one() {
    let mut rules = vec![Rule { peers: vec![peer("db")], ports: Vec::new() }];
    assert_eq!(add(&mut rules, peer("db"), tcp(1)), Addition::Present);
}

proptest! {
    #[test]
    fn what_is_added_is_there_once_and_in_order(
        wanted in prop::collection::vec((0..3usize, 1..200u16), 1..200),
    ) {
        let names = ["api", "db", "web"];
        let mut rules = Vec::new();
        for (name, number) in &wanted {
            add(&mut rules, peer(names[*name]), tcp(*number));
        }
        let mut found: Vec<(NetworkPolicyPeer, NetworkPolicyPort)> = Vec::new();
        for rule in &rules {
            prop_assert!(rule.ports.len() <= PORTS_IN_RULE);
            prop_assert!(rule.ports.is_sorted_by(|one, other| is_after(other, one)));
            found.extend(rule.ports.iter().map(|port| (rule.peers[0].clone(), port.clone())));
        }
        prop_assert!(rules.is_sorted_by(|a, b| peer_order(&a.peers[0]) <= peer_order(&b.peers[0])));
        let distinct: std::collections::BTreeSet<_> = wanted.iter().collect();
        prop_assert_eq!(found.len(), distinct.len());
        prop_assert!(distinct.iter().all(|(name, number)| found.contains(&(peer(names[*name]), tcp(*number)))));
    }

    #[test]
    fn principals_have_their_ports_in_order_of_number(ports in prop::collection::vec(1..20_000u16, 1..20)) {
        let mut policy = IstioPolicySpec::default();
        for port in &ports {
            add_principal(&mut policy, "cluster.local/ns/a/sa/b", *port);
        }
        let mut expected = ports.clone();
        expected.sort_unstable();
        expected.dedup();
        let found = policy.rules[0].to[0].operation.ports.iter().map(|port| port.parse().unwrap());
        prop_assert_eq!(found.collect::<Vec<u16>>(), expected);
        prop_assert_eq!(policy.rules.len(), 1);
    }
}

#[test]
fn a_principal_with_every_port_needs_no_more() {
    let mut policy = IstioPolicySpec::default();
    add_principal(&mut policy, "a", 1);
    for open in [Vec::new(), vec![IstioTo { operation: IstioOperation::default() }]] {
        policy.rules[0].to = open;
        assert_eq!(add_principal(&mut policy, "a", 2), Addition::Present);
    }
}

/// A peer of 60 ports has two rules, which are one to a person.
fn with_many_ports() -> Resource {
    let mut object = sample::proposal();
    let status = object.status.as_mut().unwrap();
    let ftp = status.rules[3].clone();
    for number in 30_038..30_098 {
        status.rules.push(netenf_api::RuleEvidence { port: Some(number), ..ftp.clone() });
    }
    let policy = object.spec.kubernetes.as_mut().unwrap();
    let mut rules = take(policy, Direction::Egress);
    let ftp = rules[2].peers[0].clone();
    for number in 30_038..30_098 {
        add(&mut rules, ftp.clone(), tcp(number));
    }
    assert_eq!(sizes(&rules), [2, 1, 40, 23]);
    put(policy, Direction::Egress, rules);
    object.into()
}

#[test]
fn a_range_takes_the_place_of_ports_in_several_rules() {
    let allowed = allow(&with_many_ports(), "s1range", &Choice::Range).unwrap();
    assert_eq!(sample::rules(&allowed.object)[2..], ["shop{app=ftp} 21/TCP,30000-31500/TCP"]);
}

#[test]
fn a_port_is_taken_from_whichever_rule_has_it() {
    let object = with_many_ports();
    for port in [30_000, 30_097] {
        let evidence = object.evidence().iter().find(|rule| rule.port == Some(port)).unwrap();
        let refused = refuse(&object, &RuleKey::of(evidence)).unwrap();
        let text = sample::rules(&refused).join(" ");
        assert!(!text.contains(&port.to_string()), "{text}");
    }
}

/// Where two rules fit, how the peer was selected tells which it is.
#[test]
fn evidence_that_tells_its_selector_finds_its_rule() {
    let mut object = sample::proposal();
    let policy = object.spec.kubernetes.as_mut().unwrap();
    let mut rules = take(policy, Direction::Egress);
    for name in ["one", "two"] {
        rules.push(Rule { peers: vec![peer(name)], ports: rules[2].ports.clone() });
    }
    rules.remove(2);
    put(policy, Direction::Egress, rules);
    let unclear = allow(&object.clone().into(), "s1range", &Choice::Range).unwrap_err();
    assert!(unclear.to_string().contains("2 rules"), "{unclear}");
    for rule in &mut object.status.as_mut().unwrap().rules {
        rule.selector = peer("two").pod_selector;
    }
    let allowed = allow(&object.into(), "s1range", &Choice::Range).unwrap();
    let rules = sample::rules(&allowed.object);
    assert_eq!(rules[2], "shop{app=one} 21/TCP,30000/TCP,30037/TCP");
    assert_eq!(rules[3], "shop{app=two} 21/TCP,30000-31500/TCP");
}
