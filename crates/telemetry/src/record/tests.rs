use std::collections::BTreeSet;

use netenf_api::{AcknowledgedViolation, Backend, Violation};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use rstest::rstest;
use serde_json::json;

use super::{acknowledged, observed, resource};
use crate::config::Config;

const POLICY: (&str, &str) = ("shop", "deployment-web-egress");

/// A violation of which everything is known.
fn whole() -> Violation {
    serde_json::from_value(json!({
        "id": "k7m2q9x4", "direction": "Egress", "protocol": "TCP", "dstPort": 6379, "action": "protect",
        "source": {"kind": "Deployment", "namespace": "shop", "name": "web", "identity": "cluster.local/ns/shop/sa/web",
            "address": "10.0.0.7"},
        "dest": {"kind": "StatefulSet", "namespace": "shop", "name": "db", "identity": "cluster.local/ns/shop/sa/db",
            "address": "10.0.0.8"},
        "reason": "DeniedByPolicy", "count": 14,
        "decidedBy": {"tier": "Admin", "kind": "ClusterNetworkPolicy", "namespace": "infra", "name": "walls", "rule": 2},
        "firstSeen": "2026-09-02T10:00:00Z", "lastSeen": "2026-09-02T10:05:00.25Z",
    }))
    .unwrap()
}

/// One of which nothing is known but what must be.
fn sparse() -> Violation {
    serde_json::from_value(json!({
        "id": "k7m2q9x4", "direction": "Egress", "protocol": "UDP", "action": "monitor", "source": {}, "dest": {},
        "reason": "Unknown", "firstSeen": "1970-01-01T00:00:00Z", "lastSeen": "1970-01-01T00:00:00Z",
    }))
    .unwrap()
}

fn known(violation: Violation, reason: &str) -> AcknowledgedViolation {
    AcknowledgedViolation {
        acknowledged_at: violation.last_seen.clone(),
        violation,
        reason: reason.to_owned(),
        acknowledged_by: Some("jane".to_owned()),
        previous_mode: None,
    }
}

fn keys(record: &LogRecord) -> Vec<&str> {
    record.attributes.iter().map(|attribute| attribute.key.as_str()).collect()
}

fn text(record: &LogRecord, key: &str) -> String {
    let attribute = record.attributes.iter().find(|it| it.key == key);
    let value = attribute.and_then(|it| it.value.clone()?.value);
    let Some(Value::StringValue(text)) = value else { panic!("{key} is {value:?}") };
    text
}

fn body(record: &LogRecord) -> String {
    let value = record.body.clone().and_then(|body| body.value);
    let Some(Value::StringValue(text)) = value else { panic!("the body is {value:?}") };
    text
}

/// The names in the first column of the documentation's tables.
fn documented() -> BTreeSet<&'static str> {
    let lines = include_str!("../../../../docs/telemetry.md").lines();
    let cells = lines.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    cells.map(|(name, _)| name).filter(|name| name.contains('.') || *name == "action").collect()
}

#[test]
fn the_documentation_names_every_attribute_and_no_other() {
    let record = acknowledged(&known(whole(), "nightly scan"), POLICY, Backend::Kubernetes);
    let config = Config { instance: Some("agent-0".to_owned()), ..Config::default() };
    let resource = resource(&config);
    let resource = resource.attributes.iter().map(|attribute| attribute.key.as_str());
    let all: BTreeSet<&str> = keys(&record).into_iter().chain(resource).collect();
    assert_eq!(all, documented());
}

#[test]
fn both_events_have_one_schema() {
    let acknowledged = acknowledged(&known(whole(), "nightly scan"), POLICY, Backend::Istio);
    let common: Vec<&str> = keys(&acknowledged)
        .into_iter()
        .filter(|key| !key.starts_with("acknowledgement."))
        .collect();
    assert_eq!(keys(&observed(&whole(), POLICY, Backend::Istio)), common);
}

#[test]
fn no_key_stands_twice() {
    let record = acknowledged(&known(whole(), "nightly scan"), POLICY, Backend::Istio);
    let all = keys(&record);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

#[test]
fn what_is_not_known_has_no_attribute() {
    let record = observed(&sparse(), POLICY, Backend::Kubernetes);
    let expected = [
        "enforcement.provider",
        "action",
        "network.transport",
        "policy.ref.namespace",
        "policy.ref.name",
        "violation.id",
        "violation.direction",
        "violation.reason",
        "violation.count",
    ];
    assert_eq!(record.time_unix_nano, 0);
    assert_eq!(keys(&record), expected);
    let expected = "policy shop/deployment-web-egress does not allow UDP from an unknown peer to an unknown peer";
    assert_eq!(body(&record), expected);
}

#[rstest]
#[case::workload(json!({"kind": "Job", "namespace": "a", "name": "b", "address": "10.0.0.1"}), "Job a/b")]
#[case::node(json!({"kind": "Node", "name": "n1", "address": "10.0.0.1"}), "Node n1")]
#[case::domain(json!({"kind": "External", "names": ["api.example.com"], "address": "203.0.113.7"}), "External api.example.com")]
#[case::address(json!({"kind": "External", "address": "203.0.113.7"}), "External 203.0.113.7")]
#[case::identity(json!({"identity": "cluster.local/ns/a/sa/b"}), "cluster.local/ns/a/sa/b")]
#[case::kind(json!({"kind": "ApiServer"}), "ApiServer")]
#[case::hostile(json!({"name": "a\u{1b}[2J\nb"}), "a\\u{1b}[2J\\nb")]
fn a_body_tells_the_other_end(#[case] dest: serde_json::Value, #[case] expected: &str) {
    let violation = Violation { dest: serde_json::from_value(dest).unwrap(), ..whole() };
    let record = observed(&violation, POLICY, Backend::Kubernetes);
    let start = "policy shop/deployment-web-egress denied TCP from Deployment shop/web to ";
    assert_eq!(body(&record), format!("{start}{expected} port 6379"));
}

#[test]
fn times_are_of_the_observation_and_of_the_acknowledgement() {
    let violation = whole();
    let at = violation.last_seen.0.as_nanosecond();
    assert_eq!(i128::from(observed(&violation, POLICY, Backend::Istio).time_unix_nano), at);
    let later = AcknowledgedViolation {
        acknowledged_at: serde_json::from_value(json!("2026-09-02T11:00:00Z")).unwrap(),
        ..known(violation, "")
    };
    let record = acknowledged(&later, POLICY, Backend::Istio);
    assert_eq!(i128::from(record.time_unix_nano), later.acknowledged_at.0.as_nanosecond());
    assert_eq!(text(&record, "acknowledgement.time"), "2026-09-02T11:00:00Z");
    assert!(record.observed_time_unix_nano > record.time_unix_nano);
}

#[test]
fn a_reason_is_whole_and_what_is_longer_is_cut_at_a_character() {
    let reason = "ä".repeat(netenf_api::violation::MAX_REASON);
    let record = acknowledged(&known(whole(), &reason), POLICY, Backend::Istio);
    assert_eq!(text(&record, "acknowledgement.reason"), reason);
    let mut violation = whole();
    violation.dest.identity = Some("€".repeat(3000));
    let record = observed(&violation, POLICY, Backend::Istio);
    assert_eq!(text(&record, "destination.workload.identity"), "€".repeat(1365));
}
