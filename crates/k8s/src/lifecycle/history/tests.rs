use netenf_api::Mode;

use super::*;
use crate::lifecycle::sample::{istio_proposal, policy, proposal, rules, time};
use crate::lifecycle::{Choice, WithoutRules, allow, set_mode};

fn revision(object: impl Into<Resource>) -> Revision {
    let record = Record {
        time: time("2026-09-01T10:00:00Z"),
        verb: Verb::Promote,
        author: None,
        summary: "promoted".to_owned(),
        object: object.into(),
    };
    record.numbered(1)
}

#[test]
fn the_spec_is_as_it_was_and_what_was_seen_stays() {
    let old: Resource = policy().into();
    let now = allow(&old, "k7m2side", &Choice::Addresses).unwrap().object;
    assert_eq!(rules(&now).len(), 2);
    let back = rollback(&now, &revision(policy())).unwrap();
    assert_eq!(back.as_policy().unwrap().spec, policy().spec);
    let status = back.as_policy().unwrap().status.clone().unwrap();
    assert_eq!(status.revision, Some(2), "the rollback is a revision too");
    assert_eq!(status.violations, now.as_policy().unwrap().status.as_ref().unwrap().violations);
    let ids: Vec<&str> = back.uncovered().iter().map(|entry| &*entry.id).collect();
    assert_eq!(ids, ["u3f9k"], "no rule allows it any more");
    let refused: Vec<_> =
        back.evidence().iter().filter(|rule| rule.refused).map(|rule| rule.port).collect();
    assert_eq!(refused, [Some(80), Some(443)]);
}

#[test]
fn a_rule_that_comes_back_is_refused_no_more() {
    let object: Resource = policy().into();
    let key = RuleKey::of(&object.evidence()[0]);
    let now = super::super::refuse(&object, &key).unwrap();
    let back = rollback(&now, &revision(policy())).unwrap();
    assert_eq!(rules(&back), rules(&object));
    assert_eq!(back.evidence(), object.evidence());
}

#[test]
fn the_mode_comes_back_and_is_noted() {
    let now = set_mode(&policy(), Mode::Protect, WithoutRules::Refuse).unwrap();
    let back = rollback(&now.clone().into(), &revision(policy())).unwrap();
    assert_eq!(back, policy().into(), "traffic did not change, so that it is no revision of it");
    let forth = rollback(&policy().into(), &revision(now.clone())).unwrap();
    assert_eq!(forth, now.into());
}

#[test]
fn counts_are_those_of_now() {
    let mut now = policy();
    now.status.as_mut().unwrap().rules[0].count = 900;
    let back = rollback(&now.into(), &revision(policy())).unwrap();
    assert_eq!(back.evidence()[0].count, 900);
}

#[test]
fn a_revision_of_something_else_is_refused() {
    let reason =
        |current: Resource, old: Resource| *rollback(&current, &revision(old)).unwrap_err().reason;
    let other_kind = Reason::OtherKind { number: 1, kind: "proposal" };
    assert_eq!(reason(policy().into(), proposal().into()), other_kind);
    let mut renamed = policy();
    renamed.metadata.name = Some("other".to_owned());
    let object = Resource::from(renamed.clone()).key();
    assert_eq!(reason(policy().into(), renamed.into()), Reason::OtherObject { number: 1, object });
    let mut istio = istio_proposal();
    istio.metadata = proposal().metadata;
    let other = Reason::OtherBackend { number: 1, backend: netenf_api::Backend::Istio };
    assert_eq!(reason(proposal().into(), istio.into()), other);
}

#[test]
fn a_verb_of_a_newer_version_is_read() {
    let mut value = serde_json::to_value(revision(policy())).unwrap();
    value["verb"] = "levitate".into();
    let read: Revision = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(read.verb, Verb::Other);
    value["object"]["kind"] = "Pod".into();
    assert!(serde_json::from_value::<Revision>(value).is_err());
}
