use super::*;
use crate::lifecycle::sample::{policy, time};

const NOW: &str = "2026-09-04T10:00:00Z";

fn acknowledged(
    policy: &WorkloadNetworkPolicy,
    id: &str,
) -> Result<WorkloadNetworkPolicy, Refusal> {
    let now = time(NOW);
    let acknowledgement = Acknowledgement { reason: "a test", author: Some("ben"), time: &now };
    acknowledge(policy, id, &acknowledgement)
}

fn status(policy: &WorkloadNetworkPolicy) -> &WorkloadNetworkPolicyStatus {
    policy.status.as_ref().unwrap()
}

fn active(policy: &WorkloadNetworkPolicy) -> Vec<&str> {
    status(policy).violations.iter().map(|violation| &*violation.id).collect()
}

fn known(policy: &WorkloadNetworkPolicy) -> Vec<&str> {
    status(policy).acknowledged_violations.iter().map(|entry| &*entry.violation.id).collect()
}

#[test]
fn an_acknowledged_violation_moves_with_reason_author_and_time() {
    let policy = acknowledged(&policy(), "k7m2q").unwrap();
    assert_eq!(
        (active(&policy), known(&policy)),
        (vec!["k7m2side", "m1admin"], vec!["k7m2q9x4", "p2w8r5t1"])
    );
    let entry = &status(&policy).acknowledged_violations[0];
    assert_eq!((entry.reason.as_str(), entry.acknowledged_by.as_deref()), ("a test", Some("ben")));
    assert_eq!((&entry.acknowledged_at, entry.violation.count), (&time(NOW), 14));
    assert_eq!((status(&policy).active_violation_count, status(&policy).violation_count), (2, 20));
}

#[test]
fn an_id_names_one_violation() {
    let reason = |id| *acknowledged(&policy(), id).unwrap_err().reason;
    let candidates = vec!["k7m2q9x4".to_owned(), "k7m2side".to_owned()];
    assert_eq!(reason("k7m2"), Reason::AmbiguousId { id: "k7m2".to_owned(), candidates });
    assert_eq!(reason("zzzz"), Reason::UnknownId { id: "zzzz".to_owned() });
    for id in ["p2w8r5t1", "p2w8"] {
        assert_eq!(reason(id), Reason::AlreadyAcknowledged { id: "p2w8r5t1".to_owned() }, "{id}");
    }
}

#[test]
fn a_reason_is_as_long_as_the_api_takes() {
    let now = time(NOW);
    let with = |length| {
        let reason = "ä".repeat(length);
        let said = Acknowledgement { reason: &reason, author: None, time: &now };
        acknowledge(&policy(), "k7m2q9x4", &said).map_err(|refusal| *refusal.reason)
    };
    assert!(with(MAX_REASON).is_ok());
    assert_eq!(with(MAX_REASON + 1), Err(Reason::LongReason { length: MAX_REASON + 1 }));
}

#[test]
fn an_acknowledgement_can_be_undone() {
    let once = acknowledged(&policy(), "k7m2side").unwrap();
    assert_eq!(unacknowledge(&once, "k7m2s").unwrap(), policy());
    let other = unacknowledge(&policy(), "p2w8r5t1").unwrap();
    assert_eq!(active(&other), ["k7m2q9x4", "p2w8r5t1", "k7m2side", "m1admin"], "newest first");
    assert_eq!(status(&other).active_violation_count, 4);
    assert!(unacknowledge(&policy(), "k7m2q9x4").is_err());
}

#[test]
fn the_lists_are_bounded_and_what_is_cut_is_counted() {
    let mut full = policy();
    let status_mut = full.status.as_mut().unwrap();
    let entry = status_mut.acknowledged_violations[0].clone();
    status_mut.acknowledged_violations = vec![entry; MAX_VIOLATIONS];
    let policy = acknowledged(&full, "k7m2q9x4").unwrap();
    assert_eq!(known(&policy).len(), MAX_VIOLATIONS);
    assert_eq!(known(&policy)[0], "k7m2q9x4");
    assert_eq!(status(&policy).acknowledged_violations_truncated, Some(1));
}

#[test]
fn annotations_are_consumed_and_bad_ones_are_told() {
    let mut own = policy();
    let annotations = [
        ("networkenforcer.kubewarden.io/acknowledge-k7m2q9x4", "migration"),
        ("networkenforcer.kubewarden.io/acknowledge-k7m2s", ""),
        ("networkenforcer.kubewarden.io/acknowledge-nope", "x"),
        ("networkenforcer.kubewarden.io/acknowledge-", "x"),
        ("note", "ours"),
    ];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    own.metadata.annotations = Some(annotations.into());
    let consumed = consume_acknowledgements(&own, None, &time(NOW));
    let left: Vec<&String> =
        consumed.policy.metadata.annotations.as_ref().unwrap().keys().collect();
    assert_eq!(left, ["note"]);
    let reasons: Vec<&str> = consumed.acknowledged.iter().map(|entry| &*entry.reason).collect();
    assert_eq!(reasons, ["migration", ""]);
    assert_eq!(active(&consumed.policy), ["m1admin"]);
    let rejected: Vec<&str> = consumed.rejected.iter().map(|own| &*own.id).collect();
    assert_eq!(rejected, ["", "nope"]);
    let again = consume_acknowledgements(&consumed.policy, None, &time(NOW));
    assert_eq!(
        (again.acknowledged, again.rejected, again.policy),
        (vec![], vec![], consumed.policy)
    );
}

#[test]
fn a_policy_without_a_status_has_nothing_to_acknowledge() {
    let mut own = policy();
    own.status = None;
    let refusal = acknowledged(&own, "k7m2q9x4").unwrap_err();
    assert!(refusal.to_string().contains("policy shop/deployment-web-egress"), "{refusal}");
}
