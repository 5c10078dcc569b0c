use super::*;
use crate::lifecycle::promote;
use crate::lifecycle::sample::{policy, proposal};

fn protecting() -> WorkloadNetworkPolicy {
    set_mode(&policy(), Mode::Protect, WithoutRules::Refuse).unwrap()
}

fn proposal_of(demoted: Result<Demoted, Refusal>) -> WorkloadNetworkPolicyProposal {
    match demoted.unwrap() {
        Demoted::Proposal(proposal) => proposal,
        Demoted::Policy(policy) => panic!("{policy:?}"),
    }
}

#[test]
fn demoting_goes_one_step_back() {
    let Demoted::Policy(monitor) = demote(&protecting(), None).unwrap() else { panic!() };
    assert_eq!(monitor, policy());
    let back = proposal_of(demote(&monitor, None));
    assert_eq!(back.spec, policy().spec.to_proposal_spec());
}

#[test]
fn demoting_may_skip_a_step_and_takes_none_forward() {
    let back = proposal_of(demote_to(&protecting(), Step::Proposal, None));
    assert_eq!(back.spec, policy().spec.to_proposal_spec());
    let refusal = demote_to(&policy(), Step::Monitor, None).unwrap_err();
    assert_eq!(*refusal.reason, Reason::NotAStepBack { mode: Mode::Monitor });
}

#[test]
fn a_proposal_that_was_promoted_and_demoted_is_the_proposal() {
    let policy = promote(&proposal(), Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    let back = proposal_of(demote(&policy, None));
    let (mut old, new) = (proposal().status.unwrap(), back.status.unwrap());
    assert_eq!(back.spec, proposal().spec);
    old.suggestions.clear();
    assert_eq!(new, old, "suggestions are made again");
    let labels = back.metadata.labels.unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), ["team"], "it is not promoted again");
}

#[test]
fn what_was_seen_and_denied_is_uncovered_then() {
    let status = proposal_of(demote(&policy(), None)).status.unwrap();
    let seen: Vec<(&str, UncoveredReason)> =
        status.uncovered.iter().map(|entry| (entry.id.as_str(), entry.reason)).collect();
    // The violation k7m2side is the uncovered peer u3f9k.
    let expected = [
        ("u3f9k", UncoveredReason::External),
        ("k7m2q9x4", UncoveredReason::NoSelector),
        ("m1admin", UncoveredReason::External),
    ];
    assert_eq!(seen, expected);
    assert_eq!(status.uncovered_count, 3);
}

#[test]
fn what_was_acknowledged_is_not_learned() {
    let status = proposal_of(demote(&policy(), None)).status.unwrap();
    let cache =
        status.rules.iter().find(|rule| rule.peer.name.as_deref() == Some("cache")).unwrap();
    assert!(cache.refused);
    assert_eq!(cache.notes, ["acknowledged as a violation: cache migration"]);
    assert_eq!(status.rule_count, 1);
}

#[test]
fn another_proposal_is_not_written_over() {
    let refusal = demote(&policy(), Some(&proposal())).unwrap_err();
    assert_eq!(*refusal.reason, Reason::ProposalExists);
    let mut same = proposal();
    same.spec = policy().spec.to_proposal_spec();
    assert!(demote(&policy(), Some(&same)).is_ok(), "the rest of a demotion that was interrupted");
    assert!(demote(&protecting(), Some(&proposal())).is_ok(), "to monitor no proposal is needed");
}
