use netenf_api::Mode;
use netenf_learn::Timestamp;
use rstest::rstest;

use super::*;
use crate::lifecycle::{WithoutRules, promote};
use crate::merge::tests::learned as fresh;
use crate::reconcile::sample::told;

fn stored(rules: &str) -> WorkloadNetworkPolicyProposal {
    let mut proposal = render::proposal(&fresh(rules), Some(Timestamp::from_seconds(200)));
    proposal.metadata.resource_version = Some("5".to_owned());
    proposal
}

fn promoted(rules: &str) -> WorkloadNetworkPolicy {
    promote(&stored(rules), Mode::Protect, None, WithoutRules::Refuse).unwrap()
}

fn hand_written(rules: &str) -> WorkloadNetworkPolicy {
    let mut policy = promoted(rules);
    policy.metadata.labels = None;
    policy
}

fn outcome(
    proposal: Option<&WorkloadNetworkPolicyProposal>,
    policy: Option<&WorkloadNetworkPolicy>,
    fresh: &Fresh,
) -> (News, Vec<Step>) {
    let last = Some(Timestamp::from_seconds(200));
    let fresh = Some(fresh);
    learned(&Learned { proposal, policy, fresh, denied: Vec::new(), caps: Caps::default(), last })
}

/// The rows of the lifecycle table (enforcer.md §13) that are about flows, with our outcomes.
#[rstest]
#[case::nothing_there(None, None, "db:5432", News::Rules, &["create proposal", "status of proposal"])]
#[case::a_new_rule(Some(stored("db:5432")), None, "db:5432 cache:6379", News::Rules,
    &["replace proposal", "status of proposal"])]
#[case::seen_again(Some(stored("db:5432")), None, "db:5432", News::Counts, &["status of proposal"])]
#[case::promoted(None, Some(promoted("db:5432")), "db:5432 cache:6379", News::Nothing, &[])]
#[case::left_over(Some(stored("db:5432")), Some(promoted("db:5432")), "db:5432 cache:6379", News::Nothing, &[])]
#[case::beside_a_hand_written_policy(Some(stored("db:5432")), Some(hand_written("db:5432")), "db:5432 cache:6379",
    News::Rules, &["replace proposal", "status of proposal"])]
#[case::only_a_hand_written_policy(None, Some(hand_written("db:5432")), "cache:6379", News::Nothing, &[])]
fn what_is_there_takes_what_was_learned(
    #[case] proposal: Option<WorkloadNetworkPolicyProposal>,
    #[case] policy: Option<WorkloadNetworkPolicy>,
    #[case] rules: &str,
    #[case] news: News,
    #[case] expected: &[&str],
) {
    let (found, steps) = outcome(proposal.as_ref(), policy.as_ref(), &fresh(rules));
    let steps: Vec<String> = told(&steps)
        .iter()
        .map(|step| step.split(" Stable").next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!((found, steps), (news, expected.iter().map(ToString::to_string).collect()));
}

/// W27: a flush without news costs no request.
#[test]
fn nothing_new_is_nothing_written() {
    let policy = promoted("db:5432");
    assert_eq!(outcome(None, Some(&policy), &fresh("db:5432")), (News::Nothing, Vec::new()));
}

/// What a policy denies goes into its status, and its rules stay a person's.
#[test]
fn what_a_policy_denies_is_recorded_in_its_status() {
    let policy = promoted("db:5432");
    let denied = crate::lifecycle::sample::policy().status.unwrap().violations;
    let number = denied.len();
    let last = Some(Timestamp::from_seconds(200));
    let fresh = fresh("db:5432");
    let facts = Learned {
        proposal: None,
        policy: Some(&policy),
        fresh: Some(&fresh),
        denied: denied.clone(),
        caps: Caps::default(),
        last,
    };
    let (news, steps) = learned(&facts);
    let [Step::ReplaceStatus(Resource::Policy(written))] = &*steps else { unreachable!() };
    assert_eq!((news, &written.spec), (News::Rules, &policy.spec));
    assert_eq!(written.status.as_ref().unwrap().violations.len(), number);
    let again = Learned { policy: Some(written), ..facts };
    assert_eq!(learned(&again).0, News::Counts);
}

#[test]
fn what_is_being_deleted_takes_nothing() {
    let mut proposal = stored("db:5432");
    proposal.metadata.deletion_timestamp = Some(crate::reconcile::sample::now());
    let fresh = fresh("cache:6379");
    assert_eq!(outcome(Some(&proposal), None, &fresh), (News::Nothing, Vec::new()));
}
