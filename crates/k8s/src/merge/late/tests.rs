use netenf_api::Mode;
use netenf_learn::Timestamp;
use rstest::rstest;

use super::*;
use crate::lifecycle::{WithoutRules, promote};
use crate::merge::tests::learned;
use crate::render;

fn proposal(rules: &str) -> WorkloadNetworkPolicyProposal {
    render::proposal(&learned(rules), Some(Timestamp::from_seconds(200)))
}

fn policy(rules: &str) -> WorkloadNetworkPolicy {
    promote(&proposal(rules), Mode::Protect, None, WithoutRules::Refuse).unwrap()
}

/// What the policy knows: rules by evidence, and what is uncovered, by name and port.
fn known(policy: &WorkloadNetworkPolicy) -> (Vec<String>, Vec<String>) {
    let status = policy.status.clone().unwrap_or_default();
    let end = |peer: &netenf_api::PeerRef, port: Option<u16>| {
        format!("{}:{}", peer.name.as_deref().unwrap_or_default(), port.unwrap_or_default())
    };
    (
        status.rules.iter().map(|rule| end(&rule.peer, rule.port)).collect(),
        status.uncovered.iter().map(|item| end(&item.peer, item.port)).collect(),
    )
}

#[rstest]
#[case::nothing_since("db:5432", "db:5432", &["db:5432"], &[])]
#[case::a_rule_since("db:5432", "cache:6379 db:5432", &["db:5432"], &["cache:6379"])]
#[case::a_port_since("db:5432", "db:5432 db:5433", &["db:5432"], &["db:5433"])]
fn what_came_late_is_uncovered(
    #[case] promoted: &str,
    #[case] left: &str,
    #[case] rules: &[&str],
    #[case] uncovered: &[&str],
) {
    let (policy, left) = (policy(promoted), proposal(left));
    let taken = take_over(&policy, &left);
    let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(known(&taken), (texts(rules), texts(uncovered)));
    assert_eq!((&taken.spec, &taken.metadata), (&policy.spec, &policy.metadata));
    assert_eq!(take_over(&taken, &left), taken);
}

#[test]
fn a_policy_without_status_gets_all_of_it() {
    let whole = policy("cache:6379 db:5432");
    let bare = WorkloadNetworkPolicy { status: None, ..whole.clone() };
    assert_eq!(take_over(&bare, &proposal("cache:6379 db:5432")), whole);
}

/// Counts are of the same connections: the higher one holds both.
#[test]
fn counts_are_not_added_up() {
    let mut left = proposal("db:5432");
    left.status.as_mut().unwrap().rules[0].count = 7;
    let taken = take_over(&policy("db:5432"), &left);
    assert_eq!(taken.status.unwrap().rules[0].count, 7);
}

#[test]
fn a_rule_that_was_refused_stays_refused() {
    let mut left = proposal("cache:6379 db:5432");
    left.status.as_mut().unwrap().rules[0].refused = true;
    let taken = take_over(&policy("db:5432"), &left);
    assert_eq!(known(&taken).1, [""; 0]);
    assert!(taken.status.unwrap().rules[0].refused);
}

/// The agent ended between the write of the spec and that of the status.
#[test]
fn a_rule_without_evidence_is_uncovered_too() {
    let mut left = proposal("cache:6379 db:5432");
    left.status = proposal("db:5432").status;
    let policy = policy("db:5432");
    let taken = take_over(&policy, &left);
    let item = &taken.status.as_ref().unwrap().uncovered[0];
    let expected = (Some("shop"), Some(6379), UncoveredReason::Late);
    assert_eq!((item.peer.namespace.as_deref(), item.port, item.reason), expected);
    assert_eq!(item.selector, serde_saphyr::from_str("matchLabels: {app: cache}").unwrap());
    assert_eq!(take_over(&taken, &left), taken);
}

#[test]
fn where_nothing_is_known_nothing_is_written() {
    let left = WorkloadNetworkPolicyProposal { status: None, ..proposal("db:5432") };
    let bare = WorkloadNetworkPolicy { status: None, ..policy("db:5432") };
    assert_eq!(take_over(&bare, &left), bare);
}
