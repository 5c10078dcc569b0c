use netenf_api::WorkloadNetworkPolicyProposal;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::lifecycle::sample::{istio_proposal, proposal};

/// A proposal for an egress: each rule as `NAMESPACE LABEL PORTS`, each entry of evidence as `NAMESPACE NAME PORT`
/// and, where it is known, the label by which it was selected.
fn object(rules: &[&str], evidence: &[&str]) -> Resource {
    let mut own: WorkloadNetworkPolicyProposal = proposal();
    let sample = own.status.as_ref().unwrap().rules[1].clone();
    let status = own.status.as_mut().unwrap();
    status.rules = evidence
        .iter()
        .map(|text| {
            let words: Vec<&str> = text.split(' ').collect();
            let mut entry = sample.clone();
            entry.peer.kind = Some("Deployment".to_owned());
            entry.peer.namespace = Some(words[0].to_owned());
            entry.peer.name = Some(words[1].to_owned());
            entry.port = Some(words[2].parse().unwrap());
            entry.selector = words.get(3).map(|label| {
                let labels = label.split(',').map(|label| label.split_once('=').unwrap());
                let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
                LabelSelector { match_labels: Some(labels.collect()), match_expressions: None }
            });
            entry
        })
        .collect();
    let body = own.spec.kubernetes.as_mut().unwrap();
    let rules = rules.iter().map(|text| {
        let words: Vec<&str> = text.split(' ').collect();
        let ports = words[2].split(',').map(|port| match port.split_once('-') {
            Some((first, last)) => (first.parse().unwrap(), last.parse().ok()),
            None => (port.parse().unwrap(), None),
        });
        let labels =
            words[1].split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        Rule {
            peers: vec![NetworkPolicyPeer {
                namespace_selector: Some(namespace_selector(words[0])),
                pod_selector: Some(LabelSelector {
                    match_labels: Some(labels.into_iter().collect()),
                    match_expressions: None,
                }),
                ip_block: None,
            }],
            ports: ports
                .map(|(first, last)| rule::port(netenf_api::Protocol::Tcp, Some(first), last))
                .collect(),
        }
    });
    body.egress = None;
    rule::put(body, Direction::Egress, rules.collect());
    own.into()
}

/// `LABEL PORT: NAME…`, with a question mark where it is not certain.
fn told(object: &Resource) -> Vec<String> {
    permits(object)
        .iter()
        .map(|permit| {
            let Permitted::Peer(peer) = &permit.peer else { panic!("{permit:?}") };
            let labels = peer.pod_selector.as_ref().and_then(|one| one.match_labels.clone());
            let label = labels.map_or("*".to_owned(), |labels| labels["app"].clone());
            let port = permit.port.as_ref().unwrap();
            let Some(IntOrString::Int(number)) = port.port else { panic!("{port:?}") };
            let names = |all: &[&RuleEvidence]| {
                all.iter().filter_map(|one| one.peer.name.clone()).collect::<Vec<_>>().join(" ")
            };
            let basis = match &permit.basis {
                Basis::Nothing => "-".to_owned(),
                Basis::Seen(all) => names(all),
                Basis::Perhaps(all) => names(all) + "?",
            };
            format!("{label} {number}: {basis}")
        })
        .collect()
}

#[rstest]
#[case::one_of_the_namespace(&["shop app=x 80"], &["shop web 80"], &["x 80: web"])]
#[case::one_in_each_of_two_namespaces(
    &["shop app=x 80", "data app=x 80"], &["shop web 80", "data db 80"], &["x 80: web", "x 80: db"])]
#[case::told_apart_by_their_ports(
    &["shop app=x 80", "shop app=y 81"], &["shop web 81", "shop api 80"], &["x 80: api", "y 81: web"])]
#[case::told_apart_by_all_of_their_ports(
    &["shop app=x 80", "shop app=y 80,81"], &["shop web 80", "shop web 81", "shop api 80"],
    &["x 80: api", "y 80: web", "y 81: web"])]
#[case::a_label_with_the_name_of_another_one(
    &["shop app=api 80", "shop app=web 80"], &["shop web 80", "shop api 80"],
    &["api 80: web api?", "web 80: web api?"])]
#[case::a_label_with_the_name_of_the_only_other_one(
    &["shop app=web 80", "shop app=x 80"], &["shop web 80"], &["web 80: web?", "x 80: web?"])]
#[case::written_by_hand(&["shop app=x 80", "shop app=y 81"], &["shop web 80"], &["x 80: web", "y 81: -"])]
#[case::two_with_the_same_labels(&["shop app=x 80"], &["shop web 80", "shop api 80"], &["x 80: web api"])]
#[case::a_wider_port(&["shop app=x 80-90"], &["shop web 80", "shop web 85"], &["x 80: web web"])]
#[case::all_pods(&["shop - 80"], &["shop web 80"], &["* 80: web"])]
#[case::as_it_was_written(
    &["shop app=api 80", "shop app=web 80"], &["shop web 80 app=api", "shop api 80 app=web"],
    &["api 80: web", "web 80: api"])]
#[case::widened(
    &["shop app=x 80", "shop app=web 80"], &["shop web 80 app=x,tier=a", "shop api 80 app=web"],
    &["x 80: web", "web 80: api"])]
#[case::widened_to_the_namespace(&["shop - 80"], &["shop web 80 app=x"], &["* 80: web"])]
#[case::taken_away_by_a_person(&["shop app=y 80"], &["shop web 80 app=x"], &["y 80: -"])]
#[case::selected_otherwise_from_one_day_on(
    &["shop app=x 80", "shop app=y 80"], &["shop web 80 app=x", "shop web 80 app=y"],
    &["x 80: web", "y 80: web"])]
#[case::another_namespace(&["shop app=x 80"], &["data web 80"], &["x 80: -"])]
#[case::a_rule_twice(&["shop app=x 80", "shop app=x 80,81"], &["shop web 80"], &["x 80: web", "x 81: -"])]
fn a_rule_rests_on_the_evidence_that_can_only_be_its_own(
    #[case] rules: &[&str],
    #[case] evidence: &[&str],
    #[case] expected: &[&str],
) {
    assert_eq!(told(&object(rules, evidence)), expected);
}

#[test]
fn identities_are_told_apart_by_what_they_are() {
    let object: Resource = istio_proposal().into();
    let [permit] = permits(&object).try_into().unwrap();
    assert_eq!(permit.peer, Permitted::Principal("cluster.local/ns/shop/sa/front".to_owned()));
    assert!(matches!(permit.basis, Basis::Seen(all) if all[0].count == 9));
}

#[test]
fn rules_for_everyone_are_rules_too() {
    let mut own = istio_proposal();
    let body = own.spec.istio.as_mut().unwrap();
    body.rules = vec![netenf_api::istio::IstioRule { from: Vec::new(), to: Vec::new() }];
    let object: Resource = own.into();
    let [permit] = permits(&object).try_into().unwrap();
    assert_eq!((permit.peer, permit.port), (Permitted::Everyone, None));
}

proptest! {
    #[test]
    fn no_rule_is_lost_or_told_twice_and_no_evidence_is_claimed_twice(
        rules in prop::collection::vec(("[ab]", "[wxyz]", 80u16..84), 0..8),
        evidence in prop::collection::btree_set(("[ab]", "[wxyz]", 80u16..84), 0..8),
    ) {
        let written: Vec<String> =
            rules.iter().map(|(place, label, port)| format!("{place} app={label} {port}")).collect();
        let seen: Vec<String> =
            evidence.iter().map(|(place, name, port)| format!("{place} {name} {port}")).collect();
        let object = object(
            &written.iter().map(String::as_str).collect::<Vec<_>>(),
            &seen.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let all = permits(&object);
        let told: Vec<String> = all.iter().map(|permit| {
            let Permitted::Peer(peer) = &permit.peer else { panic!("{permit:?}") };
            let place = peer.namespace_selector.as_ref().and_then(named_namespace).unwrap();
            let labels = peer.pod_selector.as_ref().unwrap().match_labels.as_ref().unwrap();
            let Some(IntOrString::Int(port)) = permit.port.as_ref().unwrap().port else { panic!() };
            format!("{place} app={} {port}", labels["app"])
        }).collect();
        let mut expected = written;
        expected.sort();
        expected.dedup();
        let mut sorted = told;
        sorted.sort();
        prop_assert_eq!(sorted, expected);
        let mut claimed: Vec<*const RuleEvidence> = Vec::new();
        for permit in &all {
            let Basis::Seen(own) = &permit.basis else { continue };
            for one in own {
                prop_assert!(!claimed.contains(&std::ptr::from_ref(*one)));
                claimed.push(std::ptr::from_ref(*one));
            }
        }
    }
}
