use netenf_api::PeerRef;

use super::*;
use crate::lifecycle::sample::{proposal, rules, time};
use crate::lifecycle::{Choice, allow};

#[test]
fn the_range_stands_for_what_was_listed() {
    let allowed = allow(&proposal().into(), "s1range", &Choice::Range).unwrap();
    let object = &allowed.object;
    let ports: Vec<_> = object.evidence().iter().map(|rule| (rule.port, rule.end_port)).collect();
    let expected = [
        (Some(53), None),
        (Some(5432), None),
        (Some(21), None),
        (Some(30000), Some(31500)),
        (Some(80), None),
    ];
    assert_eq!(ports, expected);
    let merged = &object.evidence()[3];
    assert_eq!((merged.count, merged.provenance), (3, Provenance::Manual));
    assert_eq!(merged.first_seen, Some(time("2026-09-01T10:01:00Z")));
    assert_eq!(merged.last_seen, Some(time("2026-09-01T10:05:00Z")));
    assert_eq!(merged.notes, ["a range in place of 2 ports"]);
    assert!(object.suggestions().is_empty());
}

/// The sample with a rule for sftp beside the one for ftp, with the same ports.
fn with_a_twin() -> netenf_api::WorkloadNetworkPolicyProposal {
    let mut own = proposal();
    let egress = own.spec.kubernetes.as_mut().unwrap().egress.as_mut().unwrap();
    let mut twin = egress[2].clone();
    let selector = twin.to.as_mut().unwrap()[0].pod_selector.as_mut().unwrap();
    selector.match_labels.as_mut().unwrap().insert("app".to_owned(), "sftp".to_owned());
    egress.push(twin);
    own
}

#[test]
fn a_rule_that_another_peer_has_too_is_told_apart_by_how_it_was_written() {
    let mut own = with_a_twin();
    let written = own.spec.kubernetes.as_ref().unwrap().egress.as_ref().unwrap()[2].to.clone();
    let selector = written.unwrap()[0].pod_selector.clone();
    let evidence = &mut own.status.as_mut().unwrap().rules;
    let is_ftp = |rule: &&mut RuleEvidence| rule.peer.name.as_deref() == Some("ftp");
    evidence.iter_mut().filter(is_ftp).for_each(|rule| rule.selector.clone_from(&selector));
    let allowed = allow(&own.into(), "s1range", &Choice::Range).unwrap();
    let rules = rules(&allowed.object);
    assert_eq!(rules[2], "shop{app=ftp} 21/TCP,30000-31500/TCP");
    assert_eq!(rules[3], "shop{app=sftp} 21/TCP,30000/TCP,30037/TCP");
}

#[test]
fn a_label_that_is_like_the_name_of_the_peer_tells_nothing() {
    let refusal = allow(&with_a_twin().into(), "s1range", &Choice::Range).unwrap_err();
    assert!(matches!(*refusal.reason, Reason::UnclearRule { count: 2, .. }), "{refusal}");
}

#[test]
fn where_two_rules_fit_none_is_touched() {
    let mut own = proposal();
    let egress = own.spec.kubernetes.as_mut().unwrap().egress.as_mut().unwrap();
    for (position, value) in [(2, "one"), (2, "two")] {
        let mut twin = egress[position].clone();
        let selector = twin.to.as_mut().unwrap()[0].pod_selector.as_mut().unwrap();
        selector.match_labels.as_mut().unwrap().insert("app".to_owned(), value.to_owned());
        egress.push(twin);
    }
    egress.remove(2);
    let refusal = allow(&own.into(), "s1range", &Choice::Range).unwrap_err();
    let rule = "StatefulSet/shop/ftp 30000-31500/TCP".to_owned();
    assert_eq!(*refusal.reason, Reason::UnclearRule { rule, count: 2 });
}

#[test]
fn a_suggestion_for_every_port_leaves_none_listed() {
    let mut own = proposal();
    let suggestion = &mut own.status.as_mut().unwrap().suggestions[0];
    (suggestion.port, suggestion.end_port) = (None, None);
    let allowed = allow(&own.into(), "s1range", &Choice::Range).unwrap();
    assert_eq!(rules(&allowed.object)[2], "shop{app=ftp} */TCP");
}

#[test]
fn a_suggestion_for_a_peer_without_a_rule_is_refused() {
    let mut own = proposal();
    let suggestion = &mut own.status.as_mut().unwrap().suggestions[0];
    suggestion.peer = PeerRef {
        kind: Some("Deployment".to_owned()),
        namespace: Some("other".to_owned()),
        name: Some("media".to_owned()),
        ..PeerRef::default()
    };
    let refusal = allow(&own.into(), "s1range", &Choice::Range).unwrap_err();
    assert!(matches!(*refusal.reason, Reason::UnknownRule { .. }), "{refusal}");
}
