use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::Direction;
use rstest::rstest;

use super::*;
use crate::lifecycle::sample::{istio_proposal, policy, proposal, rules};
use crate::lifecycle::{Demoted, demote};

fn promoted(mode: Mode) -> WorkloadNetworkPolicy {
    promote(&proposal(), mode, None, WithoutRules::Refuse).unwrap()
}

fn reason(
    proposal: &WorkloadNetworkPolicyProposal,
    mode: Mode,
    existing: Option<&WorkloadNetworkPolicy>,
) -> Reason {
    *promote(proposal, mode, existing, WithoutRules::Refuse).unwrap_err().reason
}

#[test]
fn a_policy_is_the_proposal_in_a_mode() {
    let (proposal, policy) = (proposal(), promoted(Mode::Protect));
    assert_eq!(policy.metadata.name, proposal.metadata.name);
    assert_eq!(policy.metadata.namespace, proposal.metadata.namespace);
    assert_eq!(policy.spec, proposal.spec.to_policy_spec(Mode::Protect));
    let (old, new) = (proposal.status.unwrap(), policy.status.unwrap());
    assert_eq!((new.rules, new.uncovered), (old.rules, old.uncovered));
    assert_eq!((new.learned_since, new.last_new_rule), (old.learned_since, old.last_new_rule));
}

#[test]
fn what_a_person_wrote_on_it_goes_along() {
    let metadata = promoted(Mode::Monitor).metadata;
    let expected = [
        ("networkenforcer.kubewarden.io/promoted-from", "deployment-web-egress"),
        ("team", "payments"),
    ];
    let own = |entries: &[(&str, &str)]| -> Option<BTreeMap<String, String>> {
        Some(entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
    };
    assert_eq!(metadata.labels, own(&expected));
    assert_eq!(metadata.annotations, own(&[("note", "ours")]));
}

/// The table of states in reference/enforcer.md, as far as it is decided without a cluster.
#[rstest]
#[case::no_policy(None, Ok(()))]
#[case::the_policy_that_it_became(Some(policy()), Err(Reason::AlreadyPromoted))]
#[case::a_policy_that_a_person_wrote(Some(from(None)), Err(Reason::PolicyExists))]
#[case::a_policy_that_came_from_another(Some(from(Some("other"))), Err(Reason::PolicyExists))]
fn what_is_there_decides(
    #[case] existing: Option<WorkloadNetworkPolicy>,
    #[case] expected: Result<(), Reason>,
) {
    for mode in [Mode::Monitor, Mode::Protect] {
        let promoted = promote(&proposal(), mode, existing.as_ref(), WithoutRules::Refuse);
        let outcome = promoted.map(drop).map_err(|refusal| *refusal.reason);
        assert_eq!(outcome, expected);
        let is_left = existing.as_ref().is_some_and(|policy| is_leftover(&proposal(), policy));
        assert_eq!(is_left, expected == Err(Reason::AlreadyPromoted));
    }
}

fn from(name: Option<&str>) -> WorkloadNetworkPolicy {
    let mut policy = policy();
    policy.metadata.labels =
        name.map(|name| BTreeMap::from([(key::PROMOTED_FROM.to_owned(), name.to_owned())]));
    policy
}

/// W23: names have up to 253 characters, and a label holds 63.
#[rstest]
#[case::as_it_is("deployment-web-egress".to_owned(), "deployment-web-egress".to_owned())]
#[case::the_longest_label("n".repeat(63), "n".repeat(63))]
#[case::too_long("n".repeat(253), format!("{}-1f2036e5", "n".repeat(54)))]
#[case::no_dash_before_the_hash(format!("{}-{}", "n".repeat(53), "x".repeat(20)), format!("{}-790fc674", "n".repeat(53)))]
fn a_name_of_any_length_can_be_promoted(#[case] name: String, #[case] link: String) {
    let mut proposal = proposal();
    proposal.metadata.name = Some(name);
    let policy = promote(&proposal, Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    assert_eq!(policy.metadata.labels.as_ref().unwrap()[key::PROMOTED_FROM], link);
    assert!(netenf_learn::name::is_label(key::PROMOTED_FROM, &link));
    assert!(is_leftover(&proposal, &policy));
}

#[test]
fn a_refusal_names_object_cause_and_next_step() {
    let existing = from(None);
    let refusal =
        promote(&proposal(), Mode::Monitor, Some(&existing), WithoutRules::Refuse).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "cannot promote proposal shop/deployment-web-egress: a policy of that name exists already"
    );
    assert!(refusal.next_step().contains("diff"));
}

#[test]
fn without_rules_only_monitor_is_safe() {
    let mut proposal = proposal();
    proposal.spec.kubernetes.as_mut().unwrap().egress = None;
    assert!(promote(&proposal, Mode::Monitor, None, WithoutRules::Refuse).is_ok());
    assert_eq!(reason(&proposal, Mode::Protect, None), Reason::NoRules);
    let forced = promote(&proposal, Mode::Protect, None, WithoutRules::Accept).unwrap();
    assert_eq!(forced.spec.mode, Mode::Protect);
    let monitor = promote(&proposal, Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    let refusal = set_mode(&monitor, Mode::Protect, WithoutRules::Refuse).unwrap_err();
    assert_eq!(*refusal.reason, Reason::NoRules);
}

#[test]
fn an_empty_selector_is_refused() {
    let mut own = proposal();
    for selector in [None, Some(LabelSelector::default())] {
        own.spec.kubernetes.as_mut().unwrap().pod_selector = selector;
        assert_eq!(reason(&own, Mode::Monitor, None), Reason::EmptySelector);
    }
    let mut own = istio_proposal();
    own.spec.istio.as_mut().unwrap().selector = LabelSelector::default();
    assert_eq!(reason(&own, Mode::Monitor, None), Reason::EmptySelector);
}

#[test]
fn a_body_that_is_not_there_is_refused() {
    let mut own = istio_proposal();
    own.spec.istio = None;
    let expected = Reason::NoBody { backend: netenf_api::Backend::Istio };
    assert_eq!(reason(&own, Mode::Monitor, None), expected);
}

#[test]
fn istio_has_no_egress() {
    let mut own = istio_proposal();
    assert!(promote(&own, Mode::Protect, None, WithoutRules::Refuse).is_ok());
    own.spec.direction = Some(Direction::Egress);
    assert_eq!(reason(&own, Mode::Monitor, None), Reason::IstioEgress);
}

#[test]
fn a_refused_rule_does_not_come_back() {
    let policy = promoted(Mode::Monitor);
    let Demoted::Proposal(back) = demote(&policy, None).unwrap() else { panic!() };
    for object in [Resource::from(policy), back.into()] {
        let refused: Vec<_> =
            object.evidence().iter().filter(|rule| rule.refused).map(|rule| rule.port).collect();
        assert_eq!(refused, [Some(80)]);
        assert!(!rules(&object).iter().any(|rule| rule.contains("80/")), "{:?}", rules(&object));
    }
}

#[test]
fn a_mode_change_keeps_acknowledgements_and_notes_the_old_mode() {
    let modes = |policy: &WorkloadNetworkPolicy| -> Vec<Option<Mode>> {
        let acknowledged = &policy.status.as_ref().unwrap().acknowledged_violations;
        acknowledged.iter().map(|entry| entry.previous_mode).collect()
    };
    let protect = set_mode(&policy(), Mode::Protect, WithoutRules::Refuse).unwrap();
    assert_eq!((protect.spec.mode, modes(&protect)), (Mode::Protect, vec![Some(Mode::Monitor)]));
    let again = set_mode(&protect, Mode::Protect, WithoutRules::Refuse).unwrap();
    assert_eq!(again, protect);
    let monitor = set_mode(&protect, Mode::Monitor, WithoutRules::Refuse).unwrap();
    assert_eq!(monitor, policy());
}
