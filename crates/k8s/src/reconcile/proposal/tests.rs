use jiff::Timestamp;
use netenf_api::WorkloadNetworkPolicyProposal;
use rstest::rstest;

use super::*;
use crate::lifecycle::sample;
use crate::reconcile::sample::{now, told};

/// The proposal for web's egress, as the API server has it.
fn labelled(label: Option<&str>) -> WorkloadNetworkPolicyProposal {
    let mut proposal = sample::proposal();
    let metadata = &mut proposal.metadata;
    metadata.labels = label.map(|mode| [(key::PROMOTE.to_owned(), mode.to_owned())].into());
    metadata.uid = Some("w1".to_owned());
    metadata.resource_version = Some("5".to_owned());
    metadata.creation_timestamp = Some(time(100));
    proposal
}

fn time(seconds: i64) -> Time {
    Time(Timestamp::from_second(seconds).unwrap())
}

/// The policy that `from` names as its origin, created at that second.
fn existing(from: Option<&str>, seconds: i64) -> WorkloadNetworkPolicy {
    let mut policy = promote(&labelled(None), Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    policy.metadata.labels =
        from.map(|name| [(key::PROMOTED_FROM.to_owned(), name.to_owned())].into());
    policy.metadata.creation_timestamp = Some(time(seconds));
    policy
}

fn plan(own: &WorkloadNetworkPolicyProposal, policy: Option<&WorkloadNetworkPolicy>) -> Vec<Step> {
    proposal(&Proposal { proposal: own, policy, refused: None, now: &now() })
}

const NAME: &str = "deployment-web-egress";
const PROMOTED: &[&str] =
    &["create policy", "status of policy", "delete proposal", "Normal Promoted"];
const NOTHING: &[&str] = &[];

/// The lifecycle table of the reference (enforcer.md §13), with our outcomes: nothing is silent (W24).
#[rstest]
#[case::no_label(None, None, NOTHING)]
#[case::monitor(Some("monitor"), None, PROMOTED)]
#[case::protect(Some("protect"), None, PROMOTED)]
#[case::not_a_mode(Some("Protect"), None, &["status of proposal Promoted=False/InvalidMode", "Warning InvalidMode"])]
#[case::empty(Some(""), None, &["status of proposal Promoted=False/InvalidMode", "Warning InvalidMode"])]
#[case::left_over(Some("monitor"), Some(existing(Some(NAME), 100)), &["delete proposal"])]
#[case::left_over_without_label(None, Some(existing(Some(NAME), 200)), &["delete proposal"])]
#[case::hand_written(Some("monitor"), Some(existing(None, 100)),
    &["status of proposal Promoted=False/AlreadyExists", "Warning AlreadyExists"])]
#[case::from_another(Some("protect"), Some(existing(Some("other"), 100)),
    &["status of proposal Promoted=False/AlreadyExists", "Warning AlreadyExists"])]
#[case::hand_written_without_label(None, Some(existing(None, 100)), NOTHING)]
fn the_label_and_the_policy_of_the_name_decide(
    #[case] label: Option<&str>,
    #[case] policy: Option<WorkloadNetworkPolicy>,
    #[case] expected: &[&str],
) {
    assert_eq!(told(&plan(&labelled(label), policy.as_ref())), expected);
}

/// The steps of a promotion carry what the proposal was and nothing of ours or a tool's.
#[test]
fn a_policy_is_what_was_read_and_the_proposal_goes_only_as_it_was_read() {
    let own =
        WorkloadNetworkPolicyProposal { metadata: sample::proposal().metadata, ..labelled(None) };
    let steps = plan(&own, None);
    let Step::Create(Document::Ours(Resource::Policy(policy))) = &steps[0] else { unreachable!() };
    assert_eq!(policy.spec, own.spec.to_policy_spec(Mode::Protect));
    let labels = policy.metadata.labels.as_ref().unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), [key::PROMOTED_FROM, "team"]);
    assert_eq!(policy.metadata.annotations, Some([("note".to_owned(), "ours".to_owned())].into()));
    assert_eq!(steps[2], Step::Delete(Document::Ours(Resource::from(own))));
}

#[rstest]
#[case::no_rules(|one: &mut WorkloadNetworkPolicyProposal| one.spec.kubernetes.as_mut().unwrap().egress = None, "NoRules")]
#[case::every_pod(|one: &mut WorkloadNetworkPolicyProposal| one.spec.kubernetes.as_mut().unwrap().pod_selector = None, "InvalidSpec")]
#[case::invalid(|one: &mut WorkloadNetworkPolicyProposal| {
    one.spec.kubernetes.as_mut().unwrap().policy_types = Some(vec!["Both".to_owned()]);
}, "InvalidSpec")]
fn what_cannot_protect_is_not_promoted(
    #[case] spoil: fn(&mut WorkloadNetworkPolicyProposal),
    #[case] reason: &str,
) {
    let mut own = labelled(Some("protect"));
    spoil(&mut own);
    let expected =
        [format!("status of proposal Promoted=False/{reason}"), format!("Warning {reason}")];
    assert_eq!(told(&plan(&own, None)), expected);
}

/// W24: a condition is written once, tells what to do, and goes with its cause.
#[test]
fn a_refused_promotion_is_told_once_and_heals() {
    let mut own = labelled(Some("prod"));
    let steps = plan(&own, None);
    let Some(Step::ReplaceStatus(Resource::Proposal(told_of))) = steps.first() else {
        unreachable!()
    };
    own.status = told_of.status.clone();
    let told_of = own.status.as_ref().unwrap().conditions.last().unwrap();
    assert_eq!(
        told_of.message,
        "the label networkenforcer.kubewarden.io/promote cannot be followed: \"prod\" is no mode, expected one of \
         monitor, protect"
    );
    assert_eq!(plan(&own, None), []);
    own.metadata.labels = None;
    assert_eq!(told(&plan(&own, None)), ["status of proposal"]);
}

/// W24: what the API server refuses is told, once, and tried again.
#[test]
fn a_policy_that_is_refused_is_told_before_it_is_tried_again() {
    let mut own = labelled(Some("monitor"));
    let refused = |own: &WorkloadNetworkPolicyProposal| {
        let refused = Some("denied by a webhook");
        proposal(&Proposal { proposal: own, policy: None, refused, now: &now() })
    };
    let first = refused(&own);
    assert_eq!(told(&first), ["status of proposal Promoted=False/Refused", "Warning Refused"]);
    let Some(Step::ReplaceStatus(Resource::Proposal(written))) = first.first() else {
        unreachable!()
    };
    own.status = written.status.clone();
    assert_eq!(told(&refused(&own)), PROMOTED);
}

/// A demotion writes the proposal first and deletes the policy then; who takes it for a left over one in
/// between loses both.
#[rstest]
#[case::just_created(30, NOTHING)]
#[case::forgotten(3_600, &["delete proposal"])]
fn a_proposal_younger_than_the_policy_is_no_left_over_yet(
    #[case] age: i64,
    #[case] expected: &[&str],
) {
    let mut own = labelled(None);
    let created = now().0.as_second() - age;
    own.metadata.creation_timestamp = Some(time(created));
    let policy = existing(Some(NAME), created - 60);
    assert_eq!(told(&plan(&own, Some(&policy))), expected);
}

#[test]
fn nothing_is_decided_about_what_is_being_deleted() {
    let mut own = labelled(Some("monitor"));
    let mut policy = existing(Some(NAME), 100);
    policy.metadata.deletion_timestamp = Some(now());
    assert_eq!(plan(&own, Some(&policy)), []);
    own.metadata.deletion_timestamp = Some(now());
    assert_eq!(plan(&own, None), []);
}

/// W29: what was learned between the creation of the policy and the deletion of the proposal is told in the
/// policy, whose rules a person chose, before the proposal goes.
#[test]
fn what_was_learned_in_between_is_not_lost() {
    let mut own = labelled(Some("monitor"));
    let policy = promote(&own, Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    let status = own.status.as_mut().unwrap();
    let mut late = status.rules[1].clone();
    late.port = Some(6379);
    late.selector = serde_saphyr::from_str("matchLabels: {app: db}").unwrap();
    status.rules.push(late);
    let steps = plan(&own, Some(&policy));
    assert_eq!(told(&steps), ["status of policy", "delete proposal", "Warning LearnedLate"]);
    let Some(Step::ReplaceStatus(Resource::Policy(taken))) = steps.first() else { unreachable!() };
    let items = taken.status.as_ref().unwrap().uncovered.iter();
    let items: Vec<_> = items
        .filter(|item| item.reason == UncoveredReason::Late)
        .map(|item| (item.peer.name.as_deref(), item.port, item.count))
        .collect();
    assert_eq!(items, [(Some("db"), Some(6379), 812)]);
    assert_eq!(taken.spec, policy.spec);
    assert_eq!(told(&plan(&own, Some(taken))), ["delete proposal"]);
}

/// A policy whose status could not be written is given what its proposal knows.
#[test]
fn an_interrupted_promotion_is_finished() {
    let own = labelled(Some("monitor"));
    let whole = promote(&own, Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    let created = WorkloadNetworkPolicy { status: None, ..whole.clone() };
    let steps = plan(&own, Some(&created));
    assert_eq!(told(&steps), ["status of policy", "delete proposal"]);
    let Some(Step::ReplaceStatus(Resource::Policy(taken))) = steps.first() else { unreachable!() };
    let (taken, whole) = (taken.status.as_ref().unwrap(), whole.status.unwrap());
    assert_eq!(taken.rules.len(), whole.rules.len());
    assert_eq!(taken.uncovered.len(), whole.uncovered.len());
    assert_eq!((&taken.selector, &taken.learned_since), (&whole.selector, &whole.learned_since));
}
