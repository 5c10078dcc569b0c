//! Against a genuine OpenTelemetry Collector: what it got is what was told, and what it did not get is counted.
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::PathBuf;
use std::time::Duration;

use netenf_api::{AcknowledgedViolation, Backend, Violation};
use netenf_telemetry::config::Limits;
use netenf_telemetry::{Config, Protocol, Telemetry};
use netenf_testkit::collector::{Collector, Security};
use netenf_testkit::deadline::within;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use rstest::rstest;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);
const POLICY: (&str, &str) = ("shop", "deployment-web-egress");

/// What an agent has, but that nothing waits for others to go with.
const LIMITS: Limits = Limits {
    queue: 2048,
    batch: 512,
    delay: Duration::ZERO,
    pause: Duration::from_millis(20),
    longest_pause: Duration::from_millis(200),
    age: SOON,
    shutdown: Duration::from_secs(5),
};

/// Telemetry, and what it counts.
struct Sender {
    telemetry: Telemetry,
    registry: Registry,
}

impl Sender {
    fn start(config: &Config, limits: Limits) -> Self {
        let mut registry = Registry::default();
        let telemetry = Telemetry::start_within(config, limits, &mut registry).unwrap();
        Self { telemetry, registry }
    }

    fn observe(&self, id: &str) {
        self.telemetry.observed(&violation(id), POLICY, Backend::Kubernetes);
    }

    fn sample(&self, name: &str) -> u64 {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
    }

    /// How many observed violations came to this.
    fn observed(&self, outcome: &str) -> u64 {
        let labels = format!("{{event=\"policy_violation_observed\",outcome=\"{outcome}\"}}");
        self.sample(&format!("telemetry_records_total{labels}"))
    }

    fn failures(&self) -> u64 {
        self.sample("telemetry_request_failures_total")
    }
}

fn violation(id: &str) -> Violation {
    serde_json::from_value(json!({
        "id": id, "direction": "Egress", "protocol": "TCP", "dstPort": 6379, "action": "protect",
        "source": {"kind": "Deployment", "namespace": "shop", "name": "web", "identity": "cluster.local/ns/shop/sa/web"},
        "dest": {"kind": "StatefulSet", "namespace": "shop", "name": "db", "address": "10.0.0.8"},
        "reason": "NoRule", "count": 14, "decidedBy": {"tier": "NetworkPolicy", "name": "deployment-web-egress"},
        "firstSeen": "2026-09-02T10:00:00Z", "lastSeen": "2026-09-02T10:05:00.25Z",
    }))
    .unwrap()
}

fn acknowledged(id: &str) -> AcknowledgedViolation {
    let violation = violation(id);
    let mut acknowledged: AcknowledgedViolation = serde_json::from_value(json!({
        "violation": violation, "reason": "nightly scan", "acknowledgedAt": "2026-09-02T11:00:00Z",
        "acknowledgedBy": "jane",
    }))
    .unwrap();
    // An object of the API has no parts of seconds.
    acknowledged.violation = violation;
    acknowledged
}

/// What a collector shows of [`violation`] and [`acknowledged`].
fn expected(id: &str) -> [Value; 2] {
    let attributes = json!({
        "enforcement.provider": "kubernetes", "action": "protect",
        "source.workload.name": "web", "source.workload.namespace": "shop", "source.workload.kind": "Deployment",
        "source.workload.identity": "cluster.local/ns/shop/sa/web",
        "destination.workload.name": "db", "destination.workload.namespace": "shop",
        "destination.workload.kind": "StatefulSet", "destination.address": "10.0.0.8",
        "network.transport": "TCP", "destination.port": 6379,
        "policy.ref.namespace": "shop", "policy.ref.name": "deployment-web-egress",
        "violation.id": id, "violation.direction": "Egress", "violation.reason": "NoRule", "violation.count": 14,
        "violation.first_seen": "2026-09-02T10:00:00Z", "violation.last_seen": "2026-09-02T10:05:00.25Z",
        "violation.decided_by.tier": "NetworkPolicy", "violation.decided_by.name": "deployment-web-egress",
    });
    let connection = "TCP from Deployment shop/web to StatefulSet shop/db port 6379";
    let observed = json!({
        "event": "policy_violation_observed", "severity": "WARN", "time": "1788343500250000000",
        "body": format!("policy shop/deployment-web-egress denied {connection}"),
        "attributes": attributes, "scope": "network-enforcer",
        "resource": {"service.name": "network-enforcer", "service.version": "1.2.3", "service.instance.id": "agent-0"},
    });
    let mut acknowledged = observed.clone();
    acknowledged["event"] = json!("policy_violation_acknowledged");
    acknowledged["severity"] = json!("INFO");
    acknowledged["time"] = json!("1788346800000000000");
    acknowledged["body"] = json!(format!(
        "jane acknowledged that policy shop/deployment-web-egress does not allow {connection}"
    ));
    acknowledged["attributes"]["acknowledgement.reason"] = json!("nightly scan");
    acknowledged["attributes"]["acknowledgement.by"] = json!("jane");
    acknowledged["attributes"]["acknowledgement.time"] = json!("2026-09-02T11:00:00Z");
    [observed, acknowledged]
}

fn config(collector: &Collector, protocol: Protocol) -> Config {
    let endpoint = match protocol {
        Protocol::Grpc => collector.grpc(),
        Protocol::HttpProtobuf => collector.http(),
    };
    Config {
        endpoint: Some(endpoint),
        protocol,
        version: "1.2.3".to_owned(),
        instance: Some("agent-0".to_owned()),
        ..Config::default()
    }
}

/// The same with what the collector's security asks for.
fn secured(collector: &Collector, protocol: Protocol, security: Security) -> Config {
    let is_mutual = security == Security::Mutual;
    Config {
        authorities: (security != Security::None).then(|| collector.authority()),
        identity: is_mutual.then(|| collector.client()),
        ..config(collector, protocol)
    }
}

#[track_caller]
fn wait(what: &str, holds: impl Fn() -> bool) {
    within(SOON, what, || Ok(holds().then_some(()))).unwrap();
}

/// The ids of what the collector got, once it got as many as `count`.
#[track_caller]
fn ids(collector: &Collector, count: usize) -> Vec<String> {
    let records = within(SOON, "the collector has the records", || {
        Ok(Some(collector.records()?).filter(|records| records.len() >= count))
    });
    let id = |record: Value| record["attributes"]["violation.id"].as_str().unwrap().to_owned();
    records.unwrap().into_iter().map(id).collect()
}

#[rstest]
#[case::plain(Security::None)]
#[case::tls(Security::Server)]
#[case::mutual_tls(Security::Mutual)]
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_exactly_what_was_told(
    #[case] security: Security,
    #[values(Protocol::Grpc, Protocol::HttpProtobuf)] protocol: Protocol,
) {
    let collector = Collector::start(security).unwrap();
    let sender = Sender::start(&secured(&collector, protocol, security), LIMITS);
    sender.observe("k7m2q9x4");
    sender.telemetry.acknowledged(&acknowledged("k7m2q9x4"), POLICY, Backend::Kubernetes);
    sender.telemetry.clone().shutdown().await;
    assert_eq!(ids(&collector, 2).len(), 2);
    assert_eq!(collector.records().unwrap(), expected("k7m2q9x4"));
    assert_eq!((sender.observed("Delivered"), sender.failures()), (1, 0));
    assert_eq!(sender.sample("telemetry_records_waiting"), 0);
}

/// The collector that the chart configures: violations by policy, for Prometheus. What was acknowledged is none.
#[tokio::test(flavor = "multi_thread")]
async fn violations_are_counted_by_policy() {
    let collector = Collector::start(Security::None).unwrap();
    let sender = Sender::start(&config(&collector, Protocol::Grpc), LIMITS);
    for id in ["a", "b"] {
        sender.observe(id);
    }
    sender.telemetry.acknowledged(&acknowledged("a"), POLICY, Backend::Kubernetes);
    sender.telemetry.clone().shutdown().await;
    let counted = within(SOON, "the violations are counted", || {
        let samples = collector.samples()?;
        let line = samples.into_iter().find(|it| it.starts_with("network_enforcer_policy_denies"));
        Ok(line.filter(|line| line.ends_with(" 2")))
    });
    let counted = counted.unwrap();
    for label in [
        r#"policy_ref_namespace="shop""#,
        r#"policy_ref_name="deployment-web-egress""#,
        r#"source_workload_name="web""#,
        r#"destination_workload_name="db""#,
        r#"enforcement_provider="kubernetes""#,
        r#"action="protect""#,
    ] {
        assert!(counted.contains(label), "{counted} has no {label}");
    }
}

/// Whoever cannot be verified gets nothing, and every record that they do not get is counted.
#[rstest]
#[case::other_authority(|it: &Collector| Some(it.stranger()), "https://localhost")]
#[case::system_authorities(|_: &Collector| None, "https://localhost")]
#[case::other_name(|it: &Collector| Some(it.authority()), "https://[::1]")]
#[case::no_tls(|_: &Collector| None, "http://localhost")]
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_known_gets_nothing(
    #[case] authorities: fn(&Collector) -> Option<PathBuf>,
    #[case] start: &str,
    #[values(Protocol::Grpc, Protocol::HttpProtobuf)] protocol: Protocol,
) {
    let collector = Collector::start(Security::Server).unwrap();
    let mut config = config(&collector, protocol);
    config.authorities = authorities(&collector);
    config.endpoint = config.endpoint.map(|it| it.replace("https://localhost", start));
    let limits = Limits { age: Duration::from_millis(200), ..LIMITS };
    let sender = Sender::start(&config, limits);
    sender.observe("a");
    wait("the record is given up", || {
        sender.observed("Expired") + sender.observed("Rejected") == 1
    });
    assert!(sender.failures() > 0);
    assert_eq!(collector.records().unwrap(), Vec::<Value>::new());
}

/// A client that shows no certificate, where one is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_know_the_agent_takes_nothing() {
    let collector = Collector::start(Security::Mutual).unwrap();
    let config = secured(&collector, Protocol::Grpc, Security::Server);
    let sender = Sender::start(&config, Limits { age: Duration::from_millis(200), ..LIMITS });
    sender.observe("a");
    wait("the record is given up", || sender.observed("Expired") == 1);
    assert_eq!(collector.records().unwrap(), Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_while_the_collector_was_down_is_delivered_once() {
    let mut collector = Collector::start(Security::None).unwrap();
    let sender = Sender::start(&config(&collector, Protocol::Grpc), LIMITS);
    sender.observe("before");
    assert_eq!(ids(&collector, 1), ["before"]);
    collector.stop().unwrap();
    for id in ["down-1", "down-2"] {
        sender.observe(id);
    }
    wait("it was tried more than once", || sender.failures() > 2);
    assert_eq!(sender.observed("Delivered"), 1);
    collector.resume().unwrap();
    wait("all is delivered", || sender.observed("Delivered") == 3);
    sender.observe("after");
    sender.telemetry.clone().shutdown().await;
    assert_eq!(ids(&collector, 4), ["before", "down-1", "down-2", "after"]);
    assert_eq!(sender.observed("Expired") + sender.observed("Abandoned"), 0);
}

/// Nobody waits for a queue that is full; nothing of it is lost but what did not fit, and that is counted.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_counted() {
    let mut collector = Collector::start(Security::None).unwrap();
    collector.stop().unwrap();
    let config = config(&collector, Protocol::HttpProtobuf);
    let sender = Sender::start(&config, Limits { queue: 10, batch: 1, ..LIMITS });
    sender.observe("first");
    wait("the first is tried", || sender.failures() > 0);
    for number in 0..15 {
        sender.observe(&format!("{number}"));
    }
    assert_eq!(sender.observed("Overflowed"), 5);
    assert_eq!(sender.sample("telemetry_records_waiting"), 11);
    collector.resume().unwrap();
    wait("the rest is delivered", || sender.observed("Delivered") == 11);
    let expected = (0..10).map(|number| number.to_string());
    let expected: Vec<String> = ["first".to_owned()].into_iter().chain(expected).collect();
    assert_eq!(ids(&collector, 11), expected);
}

/// Records of a request are as many as it holds, and all of them arrive.
#[tokio::test(flavor = "multi_thread")]
async fn many_records_go_in_few_requests() {
    let collector = Collector::start(Security::None).unwrap();
    let limits = Limits { delay: Duration::from_millis(200), ..LIMITS };
    let sender = Sender::start(&config(&collector, Protocol::Grpc), limits);
    let told: Vec<String> = (0..1500).map(|number| number.to_string()).collect();
    for id in &told {
        sender.observe(id);
    }
    sender.telemetry.clone().shutdown().await;
    assert_eq!(ids(&collector, 1500), told);
    assert_eq!((sender.observed("Delivered"), sender.failures()), (1500, 0));
}

/// Both sides get certificates of another authority in the files that they had.
#[rstest]
#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_taken_over_when_they_change(
    #[values(Protocol::Grpc, Protocol::HttpProtobuf)] protocol: Protocol,
) {
    let mut collector = Collector::start(Security::Mutual).unwrap();
    let sender = Sender::start(&secured(&collector, protocol, Security::Mutual), LIMITS);
    sender.observe("before");
    assert_eq!(ids(&collector, 1), ["before"]);
    collector.stop().unwrap();
    collector.rotate().unwrap();
    collector.resume().unwrap();
    sender.observe("after");
    assert_eq!(ids(&collector, 2), ["before", "after"]);
}

/// Files in the middle of being replaced stop nothing.
#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_cannot_be_read_leave_the_old_ones() {
    let collector = Collector::start(Security::Mutual).unwrap();
    let sender = Sender::start(&secured(&collector, Protocol::Grpc, Security::Mutual), LIMITS);
    std::fs::write(collector.client().1, "-----BEGIN").unwrap();
    sender.observe("broken");
    assert_eq!(ids(&collector, 1), ["broken"]);
    std::fs::remove_file(collector.authority()).unwrap();
    sender.observe("gone");
    assert_eq!(ids(&collector, 2), ["broken", "gone"]);
}

/// A shutdown is bounded, and what it leaves is counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_without_a_collector_counts_what_was_not_sent() {
    let mut collector = Collector::start(Security::None).unwrap();
    collector.stop().unwrap();
    let limits = Limits { shutdown: Duration::from_millis(300), ..LIMITS };
    let sender = Sender::start(&config(&collector, Protocol::Grpc), limits);
    for id in ["a", "b", "c"] {
        sender.observe(id);
    }
    sender.telemetry.clone().shutdown().await;
    assert_eq!(sender.observed("Abandoned"), 3);
    sender.observe("late");
    assert_eq!(sender.observed("Abandoned"), 4);
    assert_eq!(sender.sample("telemetry_records_waiting"), 0);
}

#[tokio::test]
async fn without_a_collector_nothing_is_sent_or_counted() {
    let sender = Sender::start(&Config::default(), LIMITS);
    sender.observe("a");
    sender.telemetry.clone().shutdown().await;
    let mut text = String::new();
    encode(&mut text, &sender.registry).unwrap();
    assert!(text.contains("telemetry_records_total"), "{text}");
    assert!(text.lines().all(|line| line.starts_with('#') || line.ends_with(" 0")), "{text}");
}
