//! Limits hold over all that was ever learned into an object.

use netenf_api::{UncoveredPeer, WorkloadNetworkPolicy};
use netenf_learn::proposal::Proposal;
use rstest::rstest;

use super::*;

fn caps(rules: usize, ports: usize, entries: usize, uncovered: usize) -> Caps {
    Caps { rules, ports, entries, uncovered, ..Caps::default() }
}

fn learn(stored: &Object, fresh: &Proposal, caps: &Caps) -> Object {
    super::super::merge(stored, fresh, caps, None)
}

fn sizes(object: &Object) -> Vec<usize> {
    let rules = object.spec.kubernetes.as_ref().unwrap().egress.iter().flatten();
    rules.map(|rule| rule.ports.as_ref().unwrap().len()).collect()
}

fn truncated(object: &Object) -> Vec<&UncoveredPeer> {
    let items = object.status.as_ref().unwrap().uncovered.iter();
    items.filter(|item| item.reason == UncoveredReason::Truncated).collect()
}

fn told(object: &Object) -> Option<String> {
    let conditions = &object.status.as_ref().unwrap().conditions;
    conditions.iter().find(|one| one.type_ == "Truncated").map(|one| one.message.clone())
}

#[rstest]
#[case::ports(caps(9, 3, 99, 99), "db:1 db:2", "db:1 db:3 db:4 db:5", &[3], "2 ports of one peer over the limit of 3")]
#[case::peers(caps(2, 9, 99, 99), "db:1", "api:1 cache:1 queue:1", &[1, 1], "2 peers over the limit of 2")]
#[case::entries(caps(9, 9, 3, 99), "db:1 db:2", "api:1 cache:1", &[1, 2], "1 port of all peers over the limit of 3")]
#[case::of_before_stay(caps(1, 1, 1, 99), "db:1 db:2 cache:1", "db:1 db:2 cache:1 cache:2", &[1, 2], "1 port of all peers over the limit of 1")]
fn what_is_new_keeps_to_the_limit(
    #[case] caps: Caps,
    #[case] before: &str,
    #[case] now: &str,
    #[case] expected: &[usize],
    #[case] words: &str,
) {
    let merged = learn(&stored(before), &learned(now), &caps);
    assert_eq!(sizes(&merged), expected);
    assert_eq!(told(&merged).as_deref(), Some(words));
    assert_eq!(truncated(&merged).len(), 1);
    let again = learn(&merged, &learned(now), &caps);
    assert_eq!((&again.spec, told(&again).as_deref()), (&merged.spec, Some(words)));
    assert_eq!(truncated(&again).len(), 1, "and is one item");
    let clean = learn(&again, &learned(before), &caps);
    assert_eq!(told(&clean), None, "what this learning did not cut is no condition of it");
    assert_eq!(truncated(&clean).len(), 1, "but was seen and has no rule");
}

#[test]
fn the_rules_with_the_most_connections_stay() {
    let mut fresh = learned("db:1 db:2 db:3");
    fresh.evidence[2].count = 9;
    let merged = learn(&stored("api:1"), &fresh, &caps(9, 1, 99, 99));
    assert_eq!(merged.spec, stored("api:1 db:3").spec);
    assert_eq!(truncated(&merged)[0].count, 2);
}

#[test]
fn what_the_cluster_needs_has_room() {
    let mut fresh = learned("dns:53");
    fresh.evidence[0].provenance = Provenance::Infrastructure;
    let merged = learn(&stored("db:1"), &fresh, &caps(1, 1, 1, 1));
    assert_eq!(merged.spec, stored("db:1 dns:53").spec);
}

#[test]
fn many_learns_of_ever_new_ports_stay_within_the_limits() {
    let caps = caps(3, 10, 20, 5);
    let mut object = stored("db:1");
    for round in 0..30_u16 {
        let ports = (0..10).map(|port| format!("db:{} w{round}:{port}", 2 + round * 10 + port));
        let mut fresh = learned(&ports.collect::<Vec<_>>().join(" "));
        for number in 0..10 {
            let address = format!("203.0.113.{number}");
            let mut item = uncovered(Reason::External, &address);
            item.id = format!("u{round}x{number}");
            fresh.uncovered.push(item);
        }
        object = learn(&object, &fresh, &caps);
    }
    let status = object.status.as_ref().unwrap();
    assert!(sizes(&object).iter().sum::<usize>() <= 20 && status.rules.len() <= 20);
    assert!(status.uncovered.len() <= 5 + 1, "{:?}", status.uncovered);
    let connections: i64 = status.rules.iter().map(|rule| rule.count).sum();
    let cut: i64 = status.uncovered.iter().map(|item| item.count).sum();
    assert_eq!(connections + cut, 1 + 30 * (20 + 30), "every connection is in one or the other");
}

#[test]
fn lists_within_an_entry_are_bounded() {
    let mut object = render::proposal(&learned(""), None);
    for number in 0..200 {
        let mut fresh = learned("db:1");
        fresh.evidence[0].services = vec![format!("svc/s{number}").as_str().into()];
        let mut item = uncovered(Reason::External, "203.0.113.7");
        item.peer.addresses = vec![format!("203.0.113.{number}").parse().unwrap()];
        item.peer.names = vec![format!("n{number}.example").as_str().into()];
        fresh.uncovered.push(item);
        object = learn(&object, &fresh, &Caps::default());
    }
    let status = object.status.unwrap();
    let item = &status.uncovered[0];
    assert_eq!((status.rules[0].services.len(), item.peer.addresses.len()), (16, 64));
    assert_eq!(item.peer.names.len(), 64);
    assert_eq!(item.notes, ["more than 64 addresses; these are some"]);
}

fn policy() -> WorkloadNetworkPolicy {
    let proposal = stored("db:5432");
    let without = crate::lifecycle::WithoutRules::Refuse;
    crate::lifecycle::promote(&proposal, netenf_api::Mode::Monitor, None, without).unwrap()
}

#[test]
fn a_policy_lists_what_is_seen_and_has_no_rule() {
    let caps = caps(9, 9, 9, 2);
    let mut fresh = learned("db:5432");
    for (number, reason) in
        [Reason::Protocol, Reason::Ambiguous, Reason::Unanswered].into_iter().enumerate()
    {
        let mut item = uncovered(reason, "203.0.113.7");
        item.id = format!("u{number}");
        fresh.uncovered.push(item);
    }
    let mut listed = policy();
    for _ in 0..2 {
        listed = merge_uncovered(&listed, &fresh, &[], &caps, None);
    }
    let status = listed.status.clone().unwrap();
    let reasons: Vec<String> =
        status.uncovered.iter().map(|item| format!("{} {}", item.reason, item.count)).collect();
    assert_eq!(reasons, ["Ambiguous 6", "Truncated 6", "Protocol 6"].map(str::to_owned));
    assert_eq!(listed.spec, policy().spec);
    assert!(status.conditions.iter().any(|one| one.type_ == "Truncated"));
    let clean = merge_uncovered(&listed, &learned("db:5432"), &[], &caps, None);
    assert!(clean.status.unwrap().conditions.is_empty());
}

#[test]
fn what_a_policy_denies_or_allows_is_not_listed() {
    let mut fresh = learned("db:5432");
    fresh.uncovered.push(uncovered(Reason::External, "203.0.113.7"));
    let caps = Caps::default();
    let denied = netenf_api::Violation {
        id: "v1".to_owned(),
        direction: netenf_api::Direction::Egress,
        source: netenf_api::PeerRef::default(),
        dest: render::peer(&fresh.uncovered[0].peer),
        protocol: netenf_api::Protocol::Tcp,
        dst_port: Some(443),
        action: netenf_api::Mode::Monitor,
        reason: netenf_api::ViolationReason::NoRule,
        decided_by: None,
        count: 1,
        first_seen: render::time(Timestamp::from_seconds(1)).unwrap(),
        last_seen: render::time(Timestamp::from_seconds(1)).unwrap(),
    };
    let uncovered = |policy: &WorkloadNetworkPolicy, violations: &[netenf_api::Violation]| {
        let merged = merge_uncovered(policy, &fresh, violations, &caps, None);
        merged.status.unwrap().uncovered.len()
    };
    assert_eq!(uncovered(&policy(), &[]), 1);
    assert_eq!(uncovered(&policy(), std::slice::from_ref(&denied)), 0);
    let mut several = fresh.clone();
    several.uncovered[0].peer.addresses =
        ["203.0.113.7", "203.0.113.8"].map(|address| address.parse().unwrap()).to_vec();
    let told = std::slice::from_ref(&denied);
    let merged = merge_uncovered(&policy(), &several, told, &caps, None);
    assert_eq!(merged.status.unwrap().uncovered, [], "one name of several addresses is one");
    let mut open = policy();
    open.spec.kubernetes.as_mut().unwrap().egress = Some(vec![NetworkPolicyEgressRule::default()]);
    assert_eq!(uncovered(&open, &[]), 0);
    let listed = merge_uncovered(&policy(), &fresh, &[], &caps, None);
    open.status = listed.status;
    let cleared = merge_uncovered(&open, &learned("db:5432"), &[], &caps, None).status.unwrap();
    assert_eq!(cleared.uncovered, []);
    assert_eq!(cleared.rules.iter().filter(|rule| rule.port == Some(443)).count(), 1);
}

#[test]
fn a_policy_of_which_there_is_nothing_to_say_stays_as_it_is() {
    let mut written = policy();
    written.status = None;
    let fresh = learned("db:5432");
    assert_eq!(merge_uncovered(&written, &fresh, &[], &Caps::default(), None), written);
}

#[test]
fn a_policy_of_another_backend_is_left_alone_until_flows_are_for_its_own() {
    let mut other = learned("db:5432");
    other.backend = netenf_learn::Backend::Istio;
    let caps = Caps::default();
    let told = merge_uncovered(&policy(), &other, &[], &caps, None);
    assert_eq!(told.status.as_ref().unwrap().conditions[0].reason, "OtherBackend");
    let merged = merge_uncovered(&told, &learned("db:5432"), &[], &caps, None);
    assert_eq!(merged.status.unwrap().conditions, []);
}
