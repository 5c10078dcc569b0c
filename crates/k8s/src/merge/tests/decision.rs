//! What a person took out or narrowed stays so, however its peer is called or its ports are told by now.

use netenf_api::{Mode, WorkloadNetworkPolicyProposal as Object};
use netenf_learn::proposal::{Proposal, RulePeer, Suggestion};
use netenf_policy::Protocol;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::lifecycle::{self, Choice, Demoted, Resource, Step};

/// The same rules, learned of pods that go by their labels.
fn by_labels(rules: &str) -> Proposal {
    let mut proposal = learned(rules);
    for one in &mut proposal.evidence {
        let name = format!("app={}", one.peer.name.clone().unwrap());
        one.peer.kind = Some("Pods".into());
        one.peer.name = Some(name.as_str().into());
    }
    proposal
}

/// The same rules, for pods with the labels `pods`.
fn of_pods(rules: &str, pods: &str) -> Proposal {
    let mut proposal = learned(rules);
    let peer = RulePeer::Pods { namespace: "shop".into(), selector: labels(pods) };
    for one in &mut proposal.evidence {
        one.rule = peer.clone();
    }
    let ports = proposal.evidence.iter().map(|one| (one.protocol, one.port)).collect();
    proposal.rules = [(peer, ports)].into();
    proposal
}

fn without_rules(mut object: Object) -> Object {
    body(&mut object).egress = None;
    object
}

#[rstest]
#[case::named_otherwise(by_labels("db:5432"), learned("db:5432"))]
#[case::known_by_labels_only(learned("db:5432"), by_labels("db:5432"))]
#[case::with_more_labels(of_pods("db:5432", "app=db,tier=y"), learned("db:5432"))]
#[case::with_fewer_labels(learned("db:5432"), of_pods("db:5432", "app=db,tier=y"))]
#[case::other_labels_of_the_same(learned("db:5432"), of_pods("db:5432", "name=db"))]
fn a_removed_rule_stays_out(#[case] before: Proposal, #[case] now: Proposal) {
    let removed = without_rules(render::proposal(&before, None));
    for stored in [removed.clone(), merge(&removed, &before, None), forget(&removed)] {
        let merged = merge(&stored, &now, None);
        assert_eq!(body(&mut merged.clone()).egress, None);
        assert!(merged.status.unwrap().rules.iter().all(|rule| rule.refused));
    }
}

#[rstest]
#[case::other_port("db:5433")]
#[case::other_peer("cache:5432")]
fn what_is_no_part_of_it_is_added(#[case] rules: &str) {
    let removed = without_rules(stored("db:5432"));
    let merged = again(&removed, rules);
    assert_eq!(merged.spec, stored(rules).spec);
}

/// Ports 30000 to 30024 of ftp, and the range that stands for them.
fn many_ports() -> Proposal {
    let rules: Vec<String> = (30_000..30_025).map(|port| format!("ftp:{port}")).collect();
    let mut proposal = learned(&rules.join(" "));
    proposal.suggestions.push(Suggestion {
        id: "srange".to_owned(),
        rule: proposal.evidence[0].rule.clone(),
        peer: proposal.evidence[0].peer.clone(),
        protocol: Protocol::Tcp,
        port: 30_000,
        end_port: 30_024,
        ports: 25,
    });
    proposal
}

fn with_range() -> Object {
    let object = Resource::from(render::proposal(&many_ports(), None));
    let allowed = lifecycle::allow(&object, "srange", &Choice::Range).unwrap();
    allowed.object.as_proposal().unwrap().clone()
}

#[test]
fn an_accepted_range_is_one_entry_and_is_suggested_no_more() {
    let mut accepted = with_range();
    let spec = accepted.spec.clone();
    for round in 1..4 {
        accepted = merge(&accepted, &many_ports(), None);
        let status = accepted.status.as_ref().unwrap();
        assert_eq!(accepted.spec, spec);
        assert_eq!((status.rules.len(), status.rules[0].count), (1, 25 * (round + 1)));
        assert_eq!(status.suggestions, []);
    }
}

#[test]
fn a_range_that_grew_is_suggested_again() {
    let mut wider = many_ports();
    wider.evidence.push(evidence("ftp:30040"));
    wider.suggestions[0].end_port = 30_040;
    let merged = merge(&with_range(), &wider, None);
    assert_eq!(merged.status.unwrap().suggestions[0].end_port, Some(30_040));
}

#[test]
fn a_removed_range_stays_out_port_by_port() {
    let removed = without_rules(with_range());
    for stored in [removed.clone(), forget(&removed)] {
        let mut merged = merge(&stored, &many_ports(), None);
        assert_eq!(body(&mut merged).egress, None);
        let status = merged.status.unwrap();
        assert_eq!((status.rules.len(), status.rule_count), (1, 0));
        assert_eq!(status.suggestions, []);
    }
}

#[rstest]
#[case::network("203.0.113.0/24", true)]
#[case::everything("0.0.0.0/0", false)]
#[case::another("198.51.100.0/24", false)]
fn a_removed_network_stays_out_address_by_address(#[case] network: &str, #[case] is_out: bool) {
    let mut fresh = learned("");
    fresh.uncovered.push(uncovered(Reason::External, "198.51.100.7"));
    if network != "198.51.100.0/24" {
        fresh.uncovered[0].peer.address = "203.0.113.7".parse().ok();
    }
    let object = Resource::from(render::proposal(&fresh, None));
    let choice = Choice::Networks(vec![network.parse().unwrap()]);
    let allowed = lifecycle::allow(&object, "u1", &choice).unwrap();
    let removed = without_rules(allowed.object.as_proposal().unwrap().clone());
    let mut outside = evidence("x:443");
    outside.rule = RulePeer::Block("203.0.113.9/32".parse().unwrap());
    outside.peer = Peer { address: "203.0.113.9".parse().ok(), ..Peer::default() };
    let mut now = learned("");
    now.evidence.push(outside);
    let mut merged = merge(&removed, &now, None);
    assert_eq!(body(&mut merged).egress.is_none(), is_out);
}

/// What is forgotten is what was counted: a rule that is removed after it stays out, too.
#[test]
fn a_rule_that_is_removed_after_a_fresh_start_stays_out() {
    let other = merge(&forget(&stored("db:5432 cache:6379")), &learned("cache:6379"), None);
    assert_eq!(other.spec, stored("db:5432 cache:6379").spec, "rules stay");
    let db = other.status.as_ref().unwrap().rules.iter().find(|rule| rule.port == Some(5432));
    assert_eq!(db.map(|rule| (rule.count, rule.first_seen.clone())), Some((0, None)));
    let merged = again(&without_rules(other), "db:5432 cache:6379");
    assert_eq!(refused(&merged), [("cache".to_owned(), 6379), ("db".to_owned(), 5432)]);
}

#[test]
fn a_fresh_start_gives_what_learning_once_gives() {
    let once = stored("db:5432 cache:6379");
    let twice = again(&once, "db:5432 cache:6379");
    assert_eq!(
        merge(&forget(&twice), &learned("db:5432 cache:6379"), Some(Timestamp::from_seconds(200))),
        once
    );
}

#[test]
fn acknowledged_is_refused_by_whichever_name() {
    let refused_by_hand = lifecycle::refuse(
        &stored("db:5432 cache:6379").into(),
        &lifecycle::RuleKey::of(&stored("db:5432").status.unwrap().rules[0]),
    );
    let object = refused_by_hand.unwrap().as_proposal().unwrap().clone();
    let merged = merge(&object, &by_labels("db:5432"), None);
    assert_eq!(merged.spec, stored("cache:6379").spec);
}

fn inferred(mut proposal: Proposal) -> Proposal {
    proposal.selector.origin = SelectorOrigin::Inferred;
    proposal
}

fn own_selector(object: &mut Object) -> &mut LabelSelector {
    body(object).pod_selector.as_mut().unwrap()
}

#[rstest]
#[case::narrowed(&[("app", "web"), ("track", "stable")])]
#[case::another(&[("team", "a"), ("tier", "edge")])]
fn a_selector_that_a_person_wrote_stays(#[case] own: &[(&str, &str)]) {
    let mut edited = render::proposal(&inferred(learned("db:5432")), None);
    let labels = own.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    own_selector(&mut edited).match_labels = Some(labels.collect());
    for now in [inferred(learned("db:5432")), learned("db:5432")] {
        for stored in [edited.clone(), forget(&edited), merge(&edited, &now, None)] {
            let merged = merge(&stored, &now, None);
            assert_eq!(merged.spec, edited.spec);
            assert!(!is_inferred(&merged), "it is a person's");
        }
    }
}

#[rstest]
#[case::same(of_pods("db:5432", "app=db,tier=y"))]
#[case::wider(of_pods("db:5432", "app=db"))]
#[case::narrower(of_pods("db:5432", "app=db,tier=y,zone=a"))]
fn a_peer_that_a_person_narrowed_stays_so(#[case] now: Proposal) {
    let mut edited = render::proposal(&inferred(of_pods("db:5432", "app=db,tier=y")), None);
    let rule = &mut body(&mut edited).egress.as_mut().unwrap()[0];
    let pods = rule.to.as_mut().unwrap()[0].pod_selector.as_mut().unwrap();
    pods.match_labels.as_mut().unwrap().insert("role".into(), "primary".into());
    for now in [inferred(now.clone()), now] {
        let merged = merge(&edited, &now, None);
        assert_eq!(
            merged.spec.kubernetes.as_ref().unwrap().egress,
            edited.spec.kubernetes.as_ref().unwrap().egress
        );
        assert_eq!(refused(&merged), [("db".to_owned(), 5432)]);
    }
}

/// What learning wrote gives way to what is known better, whoever the subject's selector is from.
#[test]
fn a_peer_that_learning_wrote_is_widened_by_what_is_seen() {
    let stored = render::proposal(&of_pods("db:5432 db:5433", "app=db,tier=y"), None);
    let merged = again(&stored, "db:5432 db:5433");
    assert_eq!(merged.spec, super::stored("db:5432 db:5433").spec);
    assert_eq!(refused(&merged), []);
    let mut removed = merged;
    body(&mut removed).egress.as_mut().unwrap()[0].ports.as_mut().unwrap().pop();
    assert_eq!(refused(&again(&removed, "db:5433")), [("db".to_owned(), 5433)]);
}

#[test]
fn a_changed_selector_of_the_object_is_followed() {
    let mut moved = learned("db:5432");
    moved.selector.selector = labels("app.kubernetes.io/name=web");
    let mut merged = merge(&stored("db:5432"), &moved, None);
    assert_eq!(*own_selector(&mut merged), render::selector(&moved.selector.selector));
}

#[test]
fn that_a_selector_was_inferred_is_known_after_promotion_and_back() {
    let mut wider = inferred(learned("db:5432"));
    wider.selector.selector = labels("app=web,track=canary");
    let proposal = render::proposal(&wider, None);
    let policy =
        lifecycle::promote(&proposal, Mode::Monitor, None, lifecycle::WithoutRules::Refuse)
            .unwrap();
    let back = match lifecycle::demote_to(&policy, Step::Proposal, None).unwrap() {
        Demoted::Proposal(back) => back,
        Demoted::Policy(policy) => panic!("{policy:?}"),
    };
    assert!(is_inferred(&back) && is_inferred(&forget(&back)));
    for stored in [back.clone(), forget(&back)] {
        let merged = merge(&stored, &learned("db:5432"), None);
        assert_eq!(merged.spec, super::stored("db:5432").spec);
        assert!(!is_inferred(&merged));
        assert!(is_inferred(&merge(&stored, &wider, None)));
    }
}

/// A named port cannot be resolved here: who wrote it did not take the rule out, and other ports are new.
#[test]
fn a_port_that_a_person_named_is_theirs() {
    let named = with_egress(json!([{
        "to": [{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
            "podSelector": {"matchLabels": {"app": "db"}},
        }],
        "ports": [{"protocol": "TCP", "port": "pg"}],
    }]));
    for now in [learned("db:5432"), by_labels("db:5432")] {
        let merged = merge(&named, &now, None);
        assert_eq!(merged.spec, named.spec);
        assert_eq!(refused(&merged), []);
    }
    let other = again(&named, "db:5432 db:5433 cache:5432");
    assert_eq!(refused(&other), []);
    let spec = other.spec.kubernetes.unwrap();
    let ports = |rule: &NetworkPolicyEgressRule| rule.ports.as_ref().unwrap().len();
    assert_eq!(spec.egress.unwrap().iter().map(ports).collect::<Vec<_>>(), [1, 2]);
    let udp = with_egress(
        json!([{"to": [{"podSelector": {}}], "ports": [{"protocol": "UDP", "port": "pg"}]}]),
    );
    assert_eq!(refused(&again(&udp, "db:5432")), [("db".to_owned(), 5432)]);
}

#[test]
fn what_a_backend_cannot_hold_is_not_taken_out_of_it() {
    let mut fresh = learned("");
    fresh.backend = netenf_learn::Backend::Istio;
    let mut probe = evidence("probe:8080");
    probe.rule = RulePeer::Block("169.254.7.127/32".parse().unwrap());
    probe.peer = Peer { address: "169.254.7.127".parse().ok(), ..Peer::default() };
    fresh.evidence.push(probe);
    let mut stored = render::proposal(&fresh, None);
    for _ in 0..2 {
        stored = merge(&stored, &fresh, None);
        assert!(stored.status.as_ref().unwrap().rules.iter().all(|rule| !rule.refused));
    }
}

proptest! {
    /// Whatever is learned in whatever order: what a person took out is never allowed again, what they left
    /// stays allowed, and learning the same again changes no rule.
    #[test]
    fn what_a_person_took_out_never_comes_back(
        first in prop::collection::btree_set((0..4usize, 1..6u16), 1..12),
        removed in prop::collection::vec(any::<bool>(), 12),
        later in prop::collection::vec((prop::collection::btree_set((0..4usize, 1..6u16), 1..12), any::<bool>(), any::<bool>()), 1..5),
    ) {
        let rules = |set: &std::collections::BTreeSet<(usize, u16)>| {
            let names = ["api", "cache", "db", "queue"];
            set.iter().map(|(at, port)| format!("{}:{port}", names[*at])).collect::<Vec<_>>()
        };
        let before = rules(&first);
        let out: Vec<String> =
            before.iter().zip(&removed).filter(|(_, out)| **out).map(|(rule, _)| rule.clone()).collect();
        let left: Vec<String> = before.iter().filter(|rule| !out.contains(rule)).cloned().collect();
        let mut object = stored(&before.join(" "));
        object.spec = stored(&left.join(" ")).spec;
        for (set, is_by_labels, is_fresh) in later {
            let now = rules(&set).join(" ");
            let now = if is_by_labels { by_labels(&now) } else { learned(&now) };
            let from = if is_fresh { forget(&object) } else { object };
            object = merge(&from, &now, None);
            let cover = super::cover(&object, Direction::Egress);
            let allowed = |rule: &String| {
                let one = evidence(rule);
                cover.allows(&one.rule, (one.protocol, one.port))
            };
            prop_assert!(!out.iter().any(allowed), "{out:?} in {:?}", object.spec);
            prop_assert!(left.iter().all(allowed));
            prop_assert!(rules(&set).iter().all(|rule| out.contains(rule) || allowed(rule)));
            prop_assert_eq!(&merge(&object, &now, None).spec, &object.spec);
        }
    }
}
