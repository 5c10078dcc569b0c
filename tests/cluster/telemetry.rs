//! What a genuine OpenTelemetry Collector is told of violations, and what the API server holds of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use netenf_testkit::collector::{Collector, Security};
use netenf_testkit::control_plane::{Client, ControlPlane};
use netenf_testkit::deadline::within;
use serde_json::{Value, json};

use crate::agent::{Agent, account};
use crate::person::{Person, SOON, policy};
use crate::plane;

const NAME: &str = "deployment-web-egress";
const POLICY: &str = "wnp/deployment-web-egress";
const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/demo/flows.jsonl");

fn violation(id: &str) -> Value {
    json!({
        "id": id, "direction": "Egress", "protocol": "TCP", "dstPort": 6379, "action": "monitor", "reason": "NoRule",
        "source": {"kind": "Deployment", "namespace": "shop", "name": "web"},
        "dest": {"kind": "StatefulSet", "namespace": "shop", "name": "db"},
        "count": 14, "firstSeen": "2026-09-02T10:00:00Z", "lastSeen": "2026-09-02T10:05:00Z",
    })
}

/// A person, and a policy of theirs that monitors.
fn person(plane: &ControlPlane) -> Person<'_> {
    let person = Person::moving_to(plane.admin(), "shop");
    person.apply(&policy(NAME, "monitor"));
    person
}

fn has(person: Person<'_>, ids: &[&str]) {
    person.run(&format!("wait {POLICY} --for=condition=Ready --timeout=60s"));
    let violations: Vec<Value> = ids.iter().map(|id| violation(id)).collect();
    person.patch_status(POLICY, &json!({"status": {"violations": violations}}));
}

fn acknowledge(person: Person<'_>, id: &str) {
    let annotation = format!("networkenforcer.kubewarden.io/acknowledge-{id}");
    let patch = json!({"metadata": {"annotations": {annotation: "nightly scan"}}});
    person.patch(POLICY, &patch);
}

fn status(person: Person<'_>) -> Value {
    person.get(POLICY).unwrap()["status"].take()
}

/// An agent that sends to the collector.
fn start(account: &Client, name: &str, collector: &Collector, more: &[&str]) -> Agent {
    let (certificate, key) = collector.client();
    let arguments = [
        format!("--otlp-log-endpoint={}", collector.grpc()),
        format!("--otlp-log-ca-cert={}", collector.authority().display()),
        format!("--otlp-log-client-cert={}", certificate.display()),
        format!("--otlp-log-client-key={}", key.display()),
    ];
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Agent::start_with(account, name, &arguments)
}

/// As many records as `count`, or more.
#[track_caller]
fn told(collector: &Collector, count: usize) -> Vec<Value> {
    let told = within(SOON, "the collector is told", || {
        Ok(Some(collector.records()?).filter(|records| records.len() >= count))
    });
    told.unwrap()
}

/// The status holds the acknowledgement before the collector is told, which is told once.
#[test]
fn an_acknowledgement_is_told_once_and_after_the_status_holds_it() {
    let plane = plane();
    let person = person(&plane);
    let collector = Collector::start(Security::Mutual).unwrap();
    let agent = start(&account(&plane), "one", &collector, &[]);
    has(person, &["k7m2q9x4", "b3f9k2aa"]);

    for (count, id) in [(1, "k7m2q9x4"), (2, "b3f9k2aa")] {
        acknowledge(person, id);
        let told = told(&collector, count);
        let status = status(person);
        let mut held = status["acknowledgedViolations"].as_array().unwrap().iter();
        let held = held.find(|one| one["violation"]["id"] == id).expect("the status holds it");
        assert_eq!(told.len(), count, "it is told again: {told:?}");
        let record = &told[count - 1];
        assert_eq!(record["event"], "policy_violation_acknowledged");
        assert_eq!(record["resource"]["service.instance.id"], "one");
        let attribute = |name: &str| &record["attributes"][name];
        assert_eq!(attribute("violation.id"), id);
        assert_eq!(attribute("policy.ref.name"), NAME);
        assert_eq!(attribute("policy.ref.namespace"), "shop");
        assert_eq!(attribute("enforcement.provider"), "kubernetes");
        assert_eq!(attribute("acknowledgement.reason"), "nightly scan");
        assert_eq!(attribute("acknowledgement.time"), &held["acknowledgedAt"]);
    }
    agent.stop();
    assert_eq!(collector.records().unwrap().len(), 2, "something is told again");
}

#[test]
fn a_collector_that_is_gone_holds_up_neither_the_status_nor_the_end() {
    let plane = plane();
    let person = person(&plane);
    let mut collector = Collector::start(Security::Mutual).unwrap();
    collector.stop().unwrap();
    let agent = start(&account(&plane), "one", &collector, &[]);
    has(person, &["k7m2q9x4"]);
    acknowledge(person, "k7m2q9x4");
    person.wait("the status holds it", |it| {
        status(*it)["acknowledgedViolations"][0]["violation"]["id"] == "k7m2q9x4"
    });
    let start = Instant::now();
    agent.stop();
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
}

/// Destination, port and count of violations as records tell them, by id.
fn observed(records: &[Value]) -> BTreeMap<String, Value> {
    let one = |record: &Value| {
        let attribute = |name: &str| record["attributes"][name].clone();
        assert_eq!(record["event"], "policy_violation_observed");
        assert_eq!(attribute("policy.ref.name"), NAME);
        let told = json!([
            attribute("destination.workload.name"),
            attribute("destination.port"),
            attribute("violation.count"),
        ]);
        (attribute("violation.id").as_str().unwrap().to_owned(), told)
    };
    let all: BTreeMap<_, _> = records.iter().map(one).collect();
    assert_eq!(all.len(), records.len(), "one is told twice: {records:?}");
    all
}

/// The same as a status tells them.
fn held(status: &Value) -> BTreeMap<String, Value> {
    let violations = status["violations"].as_array().unwrap();
    let one = |one: &Value| {
        let told = json!([one["dest"]["name"], one["dstPort"], one["count"]]);
        (one["id"].as_str().unwrap().to_owned(), told)
    };
    violations.iter().map(one).collect()
}

/// Each violation is told once, as the status holds it; one that recurs again with all of its connections, but not
/// one that a person acknowledged.
#[test]
fn violations_are_told_once_as_the_status_holds_them_and_not_when_a_person_knows() {
    let plane = plane();
    let person = person(&plane);
    // Something is learned of there, too.
    plane.admin().kubectl(&["create", "namespace", "monitoring"]).unwrap();
    let account = account(&plane);
    let collector = Collector::start(Security::Mutual).unwrap();
    let later = tempfile::NamedTempFile::new().unwrap();
    let a_month_later = std::fs::read_to_string(RECORDING).unwrap().replace("2026-09-", "2026-10-");
    std::fs::write(&later, a_month_later).unwrap();
    let learn = |name: &str, recording: &str| {
        let endpoint = format!("--provider-endpoint={recording}");
        let source = ["--provider-name=replay", "--learning-flush-interval=1h", &endpoint];
        let agent = start(&account, name, &collector, &source);
        person.wait("all is learned", |_| agent.has_ended());
        agent.stop();
    };

    learn("one", RECORDING);
    let first = held(&status(person));
    let records = told(&collector, first.len());
    assert_eq!(observed(&records), first);
    let ids: Vec<String> = first.keys().cloned().collect();
    assert!(ids.len() > 1, "{first:?}");

    let agent = start(&account, "two", &collector, &[]);
    acknowledge(person, &ids[0]);
    let records = told(&collector, records.len() + 1);
    let last = records.last().unwrap();
    assert_eq!(last["event"], "policy_violation_acknowledged");
    assert_eq!(last["attributes"]["violation.id"], ids[0]);
    agent.stop();

    learn("three", later.path().to_str().unwrap());
    let status = status(person);
    let records = told(&collector, records.len() + ids.len() - 1).split_off(records.len());
    assert_eq!(observed(&records), held(&status));
    assert!(observed(&records).keys().eq(&ids[1..]));
    for (id, told) in observed(&records) {
        assert_eq!(told[2].as_i64().unwrap(), 2 * first[&id][2].as_i64().unwrap(), "{id}");
    }
    let known = &status["acknowledgedViolations"][0]["violation"];
    assert_eq!(known["count"].as_i64().unwrap(), 2 * first[&ids[0]][2].as_i64().unwrap());
}
