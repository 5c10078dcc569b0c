use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::{Direction, Protocol};
use rstest::rstest;

use super::*;
use crate::lifecycle::sample::{istio_proposal, policy, proposal, rules, time};

const DNS: &str = "kube-system{k8s-app=kube-dns} 53/TCP,53/UDP";
const DB: &str = "shop{app=db} 5432/TCP";
const FTP: &str = "shop{app=ftp} 21/TCP,30000/TCP,30037/TCP";

fn cidr(text: &str) -> Choice {
    Choice::Networks(text.split(',').map(|text| text.parse().unwrap()).collect())
}

fn any() -> Choice {
    let except = ["10.0.0.0/8", "fd00::/8", "10.1.0.0/16"];
    Choice::Any { except: except.iter().map(|range| range.parse().unwrap()).collect() }
}

fn peer() -> Choice {
    Choice::Peer { selector: None }
}

fn labels(value: &str) -> LabelSelector {
    let labels = [("app".to_owned(), value.to_owned())].into();
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

fn allowed(id: &str, choice: &Choice) -> Allowed {
    allow(&proposal().into(), id, choice).unwrap()
}

fn refused(object: impl Into<Resource>, id: &str, choice: &Choice) -> Reason {
    *allow(&object.into(), id, choice).unwrap_err().reason
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

#[rstest]
#[case::an_address("u3f9k", Choice::Addresses, &[DNS, DB, FTP, "203.0.113.7/32 443/TCP"])]
#[case::every_address("u3f9x", Choice::Addresses, &[DNS, DB, FTP, "198.51.100.3/32 443/TCP", "2001:db8::9/128 443/TCP"])]
#[case::a_network("u3f9k", cidr("203.0.113.9/24"), &[DNS, DB, FTP, "203.0.113.0/24 443/TCP"])]
#[case::several_networks("u3f9x", cidr("2001:db8::/64,198.51.100.0/24"), &[DNS, DB, FTP, "198.51.100.0/24 443/TCP", "2001:db8::/64 443/TCP"])]
#[case::anything("u3f9k", any(), &[DNS, DB, FTP, "0.0.0.0/0 -10.0.0.0/8 443/TCP", "::/0 -fd00::/8 443/TCP"])]
#[case::pods("ucron", peer(), &["jobs{job=nightly} 8080/TCP", DNS, DB, FTP])]
#[case::pods_that_are_told("udark", Choice::Peer { selector: Some(labels("dark")) }, &["jobs{app=dark} 8080/TCP", DNS, DB, FTP])]
#[case::a_node("u8node", Choice::Addresses, &[DNS, DB, FTP, "10.0.0.4/32 9100/TCP"])]
#[case::without_an_address("ubno", cidr("192.0.2.0/24"), &[DNS, DB, FTP, "192.0.2.0/24 80/TCP"])]
#[case::a_machine_beside_the_nodes("u7vm", Choice::Addresses, &[DNS, DB, FTP, "10.0.0.200/32 443/TCP"])]
#[case::the_beginning_of_an_id("u8no", Choice::Addresses, &[DNS, DB, FTP, "10.0.0.4/32 9100/TCP"])]
#[case::a_range("s1ra", Choice::Range, &[DNS, DB, "shop{app=ftp} 21/TCP,30000-31500/TCP"])]
fn a_rule_is_added_in_its_place(
    #[case] id: &str,
    #[case] choice: Choice,
    #[case] expected: &[&str],
) {
    let allowed = allowed(id, &choice);
    assert_eq!(rules(&allowed.object), expected);
    let gone = |id: &str| !allowed.object.uncovered().iter().any(|entry| entry.id == id);
    assert!(allowed.id.starts_with(id) && gone(&allowed.id));
    let status = allowed.object.as_proposal().unwrap().status.clone().unwrap();
    let mut counted = status.clone();
    counted.recount();
    assert_eq!(status, counted);
}

#[rstest]
#[case::icmp("u9icmp", Choice::Addresses, Reason::ProtocolWithoutRule { protocol: Protocol::Icmp })]
#[case::a_node_port("uanp", Choice::Addresses, Reason::NodePort)]
#[case::no_address("ubno", Choice::Addresses, Reason::NoAddress { id: "ubno".into() })]
#[case::no_labels("udark", peer(), Reason::NoSelector { id: "udark".into() })]
#[case::empty_labels("udark", Choice::Peer { selector: Some(LabelSelector::default()) }, Reason::NoSelector { id: "udark".into() })]
#[case::an_address_as_a_peer("u3f9k", peer(), Reason::NoSelector { id: "u3f9k".into() })]
#[case::another_network("u3f9k", cidr("198.51.100.0/24"), Reason::OutsideBlocks { missing: vec![net("203.0.113.7/32")], blocks: vec![net("198.51.100.0/24")] })]
#[case::one_of_two_addresses("u3f9x", cidr("198.51.100.0/24"), Reason::OutsideBlocks { missing: vec![net("2001:db8::9/128")], blocks: vec![net("198.51.100.0/24")] })]
#[case::in_neither_of_two_networks("u3f9k", cidr("198.51.100.0/24,192.0.2.0/24"), Reason::OutsideBlocks { missing: vec![net("203.0.113.7/32")], blocks: vec![net("192.0.2.0/24"), net("198.51.100.0/24")] })]
#[case::in_a_private_range("u7vm", any(), Reason::LeftOut { missing: vec![net("10.0.0.200/32")] })]
#[case::no_range("u3f9k", Choice::Range, Reason::NoSuggestion { id: "u3f9k".into() })]
#[case::a_range_as_a_peer("s1range", peer(), Reason::IsSuggestion { id: "s1range".into() })]
#[case::unknown("xxxx", Choice::Addresses, Reason::UnknownId { id: "xxxx".into() })]
#[case::nothing("", Choice::Addresses, Reason::ShortId { id: String::new() })]
#[case::too_short("u8n", Choice::Addresses, Reason::ShortId { id: "u8n".into() })]
#[case::several("u3f9", Choice::Addresses, Reason::AmbiguousId { id: "u3f9".into(), candidates: vec!["u3f9k".into(), "u3f9x".into()] })]
fn what_cannot_be_a_rule_is_refused(
    #[case] id: &str,
    #[case] choice: Choice,
    #[case] expected: Reason,
) {
    assert_eq!(refused(proposal(), id, &choice), expected);
    assert!(!expected.next_step().is_empty() && !expected.to_string().ends_with('.'));
}

/// Goldmane tells of a private network and of no address; what nodes have may be in it, or not.
#[test]
fn what_may_be_in_a_network_is_not_what_was_seen() {
    let mut object: Resource = proposal().into();
    let item = &mut object.uncovered_mut()[0];
    item.peer.kind = Some("Network".to_owned());
    item.peer.addresses = vec!["10.0.0.11".to_owned()];
    assert_eq!(
        refused(object.clone(), "u3f9k", &Choice::Addresses),
        Reason::NoAddress { id: "u3f9k".into() }
    );
    let allowed = allow(&object, "u3f9k", &cidr("172.16.0.0/12")).unwrap();
    assert_eq!(allowed.warnings, [Warning::Unchecked { networks: vec![net("172.16.0.0/12")] }]);
}

#[rstest]
#[case::nothing_to_say("u3f9k", cidr("203.0.113.0/24"), &[])]
#[case::not_known_to_be_there("ubno", cidr("192.0.2.0/24"), &[Warning::Unchecked { networks: vec![net("192.0.2.0/24")] }])]
#[case::pods("ucron", cidr("10.99.0.0/16"), &[Warning::Unchecked { networks: vec![net("10.99.0.0/16")] }, Warning::Pods])]
#[case::a_node("u8node", Choice::Addresses, &[Warning::Node])]
fn a_rule_that_may_not_do_what_is_meant_is_told(
    #[case] id: &str,
    #[case] choice: Choice,
    #[case] expected: &[Warning],
) {
    assert_eq!(allowed(id, &choice).warnings, expected);
}

#[test]
fn what_was_seen_is_the_evidence_of_the_rule() {
    let object = allowed("u3f9k", &Choice::Addresses).object;
    let rule = object.evidence().last().unwrap();
    assert_eq!(rule.provenance, Provenance::Manual);
    assert_eq!((rule.count, rule.port), (97, Some(443)));
    assert_eq!(rule.peer.names, ["api.example.com"]);
    assert_eq!(rule.first_seen, Some(time("2026-09-01T10:00:00Z")));
}

#[test]
fn a_network_covers_others_too() {
    let mut object: Resource = proposal().into();
    object.uncovered_mut()[1].peer.addresses.clear();
    object.uncovered_mut()[1].peer.address = Some("203.0.113.9".to_owned());
    let allowed = allow(&object, "u3f9k", &cidr("203.0.113.0/24")).unwrap();
    assert_eq!(allowed.cleared, ["u3f9x"]);
    let rule = allowed.object.evidence().last().unwrap();
    assert_eq!(rule.count, 100);
    assert_eq!(rule.first_seen, Some(time("2026-08-01T10:00:00Z")));
    assert_eq!(rule.last_seen, Some(time("2026-09-03T10:00:00Z")));
    assert_eq!(rule.peer.address.as_deref(), Some("203.0.113.0/24"));
    assert_eq!(rule.notes.len(), 2, "{:?}", rule.notes);
}

#[test]
fn any_covers_what_is_outside_and_not_what_it_leaves_out() {
    let allowed = allowed("u3f9k", &any());
    assert_eq!(allowed.cleared, ["u3f9x"]);
    assert!(allowed.object.uncovered().iter().any(|entry| entry.id == "u7vm"));
    assert_eq!(allowed.warnings, [], "both families are allowed");
}

#[rstest]
#[case::one_family("u3f9k", cidr("0.0.0.0/0"), &[Warning::OneFamily { cidr: net("0.0.0.0/0") }])]
#[case::a_node("u8node", Choice::Addresses, &[Warning::Node])]
#[case::nothing("u3f9k", Choice::Addresses, &[])]
fn a_person_is_warned(#[case] id: &str, #[case] choice: Choice, #[case] expected: &[Warning]) {
    assert_eq!(allowed(id, &choice).warnings, expected);
}

#[test]
fn what_is_allowed_already_is_not_allowed_twice() {
    let mut object = allowed("u3f9k", &Choice::Addresses).object;
    object.uncovered_mut().extend(proposal().status.unwrap().uncovered.into_iter().take(1));
    let again = allow(&object, "u3f9k", &Choice::Addresses).unwrap();
    assert_eq!(again.warnings, [Warning::AllowedBefore]);
    assert_eq!(rules(&again.object), rules(&object));
    assert_eq!(again.object.evidence().len(), object.evidence().len());
}

#[test]
fn a_port_joins_the_rule_of_its_peer() {
    let choice = Choice::Peer { selector: Some(labels("db")) };
    let allowed = allow(&policy().into(), "k7m2q9x4", &choice).unwrap();
    assert_eq!(rules(&allowed.object), ["shop{app=db} 5432/TCP,6379/TCP"]);
    let places: Vec<_> = allowed.object.evidence().iter().map(|rule| rule.port).collect();
    assert_eq!(places, [Some(5432), Some(6379), Some(80)], "beside the evidence of the same peer");
}

#[test]
fn an_allowed_violation_is_none_any_more() {
    let allowed = allow(&policy().into(), "k7m2s", &Choice::Addresses).unwrap();
    assert_eq!(allowed.cleared, ["u3f9k"], "the same peer was uncovered");
    let status = allowed.object.as_policy().unwrap().status.clone().unwrap();
    let ids: Vec<&str> = status.violations.iter().map(|violation| &*violation.id).collect();
    assert_eq!(ids, ["k7m2q9x4", "m1admin"]);
    assert_eq!((status.active_violation_count, status.violation_count), (2, 20));
    assert_eq!(status.revision, Some(1));
    assert_eq!(status.rules.last().unwrap().count, 102);
}

#[test]
fn an_acknowledged_violation_can_be_allowed_after_all() {
    let choice = Choice::Peer { selector: Some(labels("cache")) };
    let allowed = allow(&policy().into(), "p2w8r5t1", &choice).unwrap();
    let status = allowed.object.as_policy().unwrap().status.clone().unwrap();
    assert_eq!(status.acknowledged_violations, []);
    assert_eq!(status.active_violation_count, 3, "it was not active");
}

#[test]
fn a_refused_rule_that_is_allowed_is_refused_no_more() {
    let mut own = policy();
    let status = own.status.as_mut().unwrap();
    status.rules[1].peer.name = Some("cache".to_owned());
    status.rules[1].port = Some(7000);
    let choice = Choice::Peer { selector: Some(labels("cache")) };
    let allowed = allow(&own.into(), "p2w8r5t1", &choice).unwrap();
    let rule = &allowed.object.evidence()[1];
    assert_eq!((rule.refused, rule.provenance, rule.count), (false, Provenance::Manual, 6));
}

#[test]
fn what_another_policy_denies_is_not_allowed_here() {
    let expected = Reason::DeniedElsewhere { by: "ClusterNetworkPolicy no-outside".to_owned() };
    assert_eq!(refused(policy(), "m1admin", &Choice::Addresses), expected);
}

#[test]
fn a_violation_without_a_port_is_refused() {
    let mut own = policy();
    own.status.as_mut().unwrap().violations[0].dst_port = None;
    let expected = Reason::NoPort { id: "k7m2q9x4".to_owned() };
    assert_eq!(refused(own, "k7m2q9x4", &peer()), expected);
}

#[test]
fn a_policy_of_both_directions_goes_by_the_violation() {
    let mut own = policy();
    own.spec.direction = None;
    let spec = own.spec.kubernetes.as_mut().unwrap();
    spec.policy_types = Some(vec!["Ingress".to_owned(), "Egress".to_owned()]);
    assert_eq!(refused(own.clone(), "u3f9k", &Choice::Addresses), Reason::NoDirection);
    own.status.as_mut().unwrap().violations[1].direction = Direction::Ingress;
    own.status.as_mut().unwrap().violations[1].source.address = Some("192.0.2.7".to_owned());
    own.status.as_mut().unwrap().violations[1].source.kind = None;
    own.status.as_mut().unwrap().violations[1].source.namespace = None;
    own.status.as_mut().unwrap().violations[1].source.name = None;
    let allowed = allow(&own.into(), "k7m2side", &Choice::Addresses).unwrap();
    assert_eq!(rules(&allowed.object), [DB, "192.0.2.7/32 443/TCP"]);
    let spec = allowed.object.kubernetes().unwrap();
    assert_eq!(spec.ingress.as_ref().unwrap().len(), 1);
}

#[test]
fn a_persons_rules_are_not_moved() {
    let mut own = policy();
    let spec = own.spec.kubernetes.as_mut().unwrap();
    let mut wide = spec.egress.as_ref().unwrap()[0].clone();
    wide.to.as_mut().unwrap()[0].namespace_selector = None;
    wide.ports = None;
    spec.egress.as_mut().unwrap().push(wide);
    let choice = Choice::Peer { selector: Some(labels("cache")) };
    let allowed = allow(&own.into(), "p2w8", &choice).unwrap();
    assert_eq!(rules(&allowed.object), ["shop{app=cache} 7000/TCP", DB, "{app=db} "]);
}

#[rstest]
#[case::another_port("ufront", &["cluster.local/ns/shop/sa/front 8080,9090"])]
#[case::another_identity("ubatch", &["cluster.local/ns/jobs/sa/batch 8080", "cluster.local/ns/shop/sa/front 8080"])]
fn istio_allows_identities(#[case] id: &str, #[case] expected: &[&str]) {
    let allowed = allow(&istio_proposal().into(), id, &peer()).unwrap();
    assert_eq!(rules(&allowed.object), expected);
    assert_eq!(allowed.object.evidence().len(), 2);
    assert_eq!(allowed.object.uncovered().len(), 2);
}

#[rstest]
#[case::no_identity("uplain", peer(), Reason::NoIdentity { id: "uplain".into() })]
#[case::an_address("uplain", Choice::Addresses, Reason::NamesIdentities)]
#[case::a_network("ufront", cidr("10.0.0.0/8"), Reason::NamesIdentities)]
#[case::anything("ufront", any(), Reason::NamesIdentities)]
#[case::a_range("ufront", Choice::Range, Reason::NoSuggestion { id: "ufront".into() })]
fn istio_allows_nothing_else(#[case] id: &str, #[case] choice: Choice, #[case] expected: Reason) {
    assert_eq!(refused(istio_proposal(), id, &choice), expected);
}
