use std::time::Duration;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::core::Status;
use kube::core::response::StatusDetails;
use rstest::rstest;
use serde_json::json;

use super::{Cause, applied};

fn status(code: u16, reason: &str, retry_after_seconds: u32) -> kube::Error {
    let details = StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds,
    };
    kube::Error::Api(Box::new(Status {
        status: None,
        code,
        message: "why".to_owned(),
        metadata: None,
        reason: reason.to_owned(),
        details: Some(details),
    }))
}

#[rstest]
#[case(status(409, "Conflict", 0), "Conflict", "somebody else changed it: why")]
#[case(status(409, "AlreadyExists", 0), "AlreadyExists", "there is one already")]
#[case(status(404, "NotFound", 0), "NotFound", "it is not there: why")]
#[case(status(403, "Forbidden", 0), "Forbidden", "the agent may not do that: why")]
#[case(status(401, "Unauthorized", 0), "Forbidden", "the agent may not do that: why")]
#[case(status(422, "Invalid", 0), "Invalid", "the API server refuses it: why")]
#[case(status(400, "BadRequest", 0), "Invalid", "the API server refuses it: why")]
#[case(
    status(429, "TooManyRequests", 7),
    "TooManyRequests",
    "the API server is busy and asks to wait 7 s"
)]
#[case(
    status(429, "TooManyRequests", 0),
    "TooManyRequests",
    "the API server is busy and asks to wait 1 s"
)]
#[case(
    status(503, "ServiceUnavailable", 0),
    "Unreachable",
    "the API server cannot be reached or failed"
)]
fn failures_are_sorted_by_what_can_be_done(
    #[case] error: kube::Error,
    #[case] name: &str,
    #[case] message: &str,
) {
    let cause = Cause::of(error);
    assert_eq!((cause.name(), cause.to_string().as_str()), (name, message));
}

#[test]
fn the_pause_that_the_server_asks_for_is_kept() {
    let cause = Cause::of(status(429, "TooManyRequests", 7));
    assert!(matches!(cause, Cause::TooManyRequests { after } if after == Duration::from_secs(7)));
}

#[test]
fn what_the_server_sets_is_not_applied() {
    let policy: NetworkPolicy = serde_json::from_value(json!({
        "metadata": {
            "name": "web", "namespace": "shop", "labels": { "a": "b" }, "uid": "1",
            "resourceVersion": "2", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{ "manager": "kubectl" }],
        },
        "spec": { "podSelector": {} },
    }))
    .unwrap();
    let expected = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": { "name": "web", "namespace": "shop", "labels": { "a": "b" } },
        "spec": { "podSelector": {} },
    });
    assert_eq!(applied(&policy), expected);
}
