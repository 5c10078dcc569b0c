use rstest::rstest;

use super::*;
use crate::lifecycle::sample;
use crate::reconcile::sample::{now, told};

fn annotated(entries: &[(&str, &str)]) -> WorkloadNetworkPolicy {
    let mut policy = sample::policy();
    let all = entries.iter().map(|(id, reason)| (key::acknowledge(id), (*reason).to_owned()));
    let note = ("note".to_owned(), "ours".to_owned());
    policy.metadata.annotations = Some(all.chain([note]).collect());
    policy.metadata.resource_version = Some("7".to_owned());
    policy
}

/// W19: every annotation goes, and one that acknowledged nothing is told.
#[rstest]
#[case::none(&[], &[])]
#[case::one(&[("k7m2q9x4", "known")], &["status of policy", "export k7m2q9x4", "replace policy"])]
#[case::without_reason(&[("m1admin", "")], &["status of policy", "export m1admin", "replace policy"])]
#[case::unknown(&[("zzzz", "known")], &["replace policy", "Warning AcknowledgementRejected"])]
#[case::ambiguous(&[("k7m2", "known")], &["replace policy", "Warning AcknowledgementRejected"])]
#[case::no_id(&[("", "known")], &["replace policy", "Warning AcknowledgementRejected"])]
#[case::some(&[("k7m2q9x4", ""), ("zzzz", "")],
    &["status of policy", "export k7m2q9x4", "replace policy", "Warning AcknowledgementRejected"])]
#[case::seen_again(&[("p2w8r5t1", "cache migration")], &["replace policy"])]
#[case::with_another_reason(&[("p2w8r5t1", "no idea")], &["replace policy", "Warning AcknowledgementRejected"])]
fn every_annotation_is_consumed(#[case] entries: &[(&str, &str)], #[case] expected: &[&str]) {
    let steps = acknowledge(&annotated(entries), &now());
    assert_eq!(told(&steps), expected);
    for step in steps {
        if let Step::Replace(Document::Ours(Resource::Policy(policy))) = step {
            let left: Vec<&String> =
                policy.metadata.annotations.iter().flat_map(|all| all.keys()).collect();
            assert_eq!(left, ["note"]);
        }
    }
}

/// The metadata could not be written after the status: the same annotation is seen again, and no record and no
/// telemetry comes of it twice.
#[test]
fn an_annotation_that_is_seen_twice_counts_once() {
    let mut policy = annotated(&[("k7m2q9x4", "known")]);
    let steps = acknowledge(&policy, &now());
    let Some(Step::ReplaceStatus(Resource::Policy(taken))) = steps.first() else { unreachable!() };
    policy.status = taken.status.clone();
    assert_eq!(told(&acknowledge(&policy, &now())), ["replace policy"]);
}
