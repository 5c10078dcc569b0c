use rstest::rstest;

use super::*;
use crate::lifecycle::sample::{istio_proposal, policy, proposal, rules};
use crate::lifecycle::{Choice, allow};

fn key(object: &Resource, name: &str, port: u16) -> RuleKey {
    let evidence = object.evidence().iter().find(|rule| {
        let named = [
            rule.peer.name.as_deref(),
            rule.peer.identity.as_deref(),
            rule.peer.address.as_deref(),
        ];
        named.contains(&Some(name)) && rule.port == Some(port)
    });
    RuleKey::of(evidence.unwrap())
}

#[rstest]
#[case::one_of_several_ports("ftp", 30000, "shop{app=ftp} 21/TCP,30037/TCP")]
#[case::dns("kube-dns", 53, "kube-system{k8s-app=kube-dns} 53/TCP")]
fn a_port_is_taken_away(#[case] name: &str, #[case] port: u16, #[case] expected: &str) {
    let object = proposal().into();
    let refused = refuse(&object, &key(&object, name, port)).unwrap();
    assert!(rules(&refused).contains(&expected.to_owned()), "{:?}", rules(&refused));
    assert_eq!(rules(&refused).len(), 3);
    let marked: Vec<_> = refused.evidence().iter().filter(|rule| rule.refused).collect();
    assert_eq!(marked.len(), 2);
    assert_eq!(refused.as_proposal().unwrap().status.as_ref().unwrap().rule_count, 4);
}

#[test]
fn a_rule_without_ports_left_is_gone() {
    let object: Resource = policy().into();
    let refused = refuse(&object, &key(&object, "db", 5432)).unwrap();
    assert!(rules(&refused).is_empty(), "and does not allow every port");
    assert_eq!(refused.kubernetes().unwrap().egress, None);
    assert_eq!(refused.as_policy().unwrap().status.as_ref().unwrap().revision, Some(1));
}

#[test]
fn an_address_and_an_identity_are_taken_away() {
    let object = allow(&proposal().into(), "u3f9k", &Choice::Addresses).unwrap().object;
    let refused = refuse(&object, &key(&object, "203.0.113.7", 443)).unwrap();
    assert_eq!(rules(&refused), rules(&proposal().into()));
    let object: Resource = istio_proposal().into();
    let refused = refuse(&object, &key(&object, "cluster.local/ns/shop/sa/front", 8080)).unwrap();
    assert!(rules(&refused).is_empty());
}

#[test]
fn what_was_refused_or_never_was_is_refused() {
    let object: Resource = proposal().into();
    let old = key(&object, "old", 80);
    let reason = *refuse(&object, &old).unwrap_err().reason;
    assert_eq!(reason, Reason::AlreadyRefused { rule: "Deployment/shop/old 80/TCP".to_owned() });
    let unknown = RuleKey { port: Some(81), ..old };
    let reason = *refuse(&object, &unknown).unwrap_err().reason;
    assert_eq!(reason, Reason::UnknownRule { rule: "Deployment/shop/old 81/TCP".to_owned() });
}

#[test]
fn a_port_that_a_range_allows_too_is_not_taken_away_in_part() {
    let mut own = proposal();
    let egress = own.spec.kubernetes.as_mut().unwrap().egress.as_mut().unwrap();
    egress[2].ports.as_mut().unwrap().push(rule::port(Protocol::Tcp, Some(1), Some(65535)));
    let object: Resource = own.into();
    let reason = *refuse(&object, &key(&object, "ftp", 21)).unwrap_err().reason;
    assert_eq!(reason, Reason::WiderRule { rule: "StatefulSet/shop/ftp 21/TCP".to_owned() });
}
