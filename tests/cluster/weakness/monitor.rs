//! What monitoring says, and what becomes of it.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::feed::Feed;
use crate::person::{Person, policy};
use crate::place::{NAME, NATIVE, POLICY, Place, Scene};

/// Rules of egress, a connection that they allow, and one that they do not. All are broader than what learning writes.
fn shapes() -> [(&'static str, Value, &'static str, &'static str); 7] {
    let db = json!({"podSelector": {"matchLabels": {"app": "db"}}});
    let either = json!({"podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "cache"]}]}});
    let cache = json!({"podSelector": {"matchLabels": {"app": "cache"}}});
    [
        ("everyone", json!({"ports": [{"port": 5432}]}), "db:5432", "db:6379"),
        ("every-port", json!({"to": [db]}), "db:5432", "cache:5432"),
        (
            "range",
            json!({"to": [db], "ports": [{"port": 5000, "endPort": 6000}]}),
            "db:5432",
            "db:6379",
        ),
        (
            "namespace",
            json!({"to": [{"namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["elsewhere"]}]}}]}),
            "db:5432",
            "elsewhere/db:5432",
        ),
        (
            "addresses",
            json!({"to": [{"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.128/25"]}}]}),
            "203.0.113.7:443",
            "203.0.113.200:443",
        ),
        (
            "several",
            json!({"to": [db, cache], "ports": [{"port": 5432}, {"port": 6379}]}),
            "cache:6379",
            "cache:80",
        ),
        ("expression", json!({"to": [either]}), "cache:6379", "queue:5672"),
    ]
}

/// W14, W15: monitoring asks the engine, so that it denies what protecting would and nothing else, also by rules that
/// a person wrote in a policy that they wrote.
#[test]
fn monitoring_denies_what_protecting_would_and_nothing_else() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let places = shapes().map(|(namespace, rule, allowed, denied)| {
        let place = Place::new(plane.admin(), namespace, (&feed, &agent));
        let mut policy = place.here(&policy(NAME, "monitor"));
        policy["spec"]["kubernetes"]["egress"] = json!([rule]);
        place.person.apply(&policy);
        place.person.wait_for(POLICY, "Ready", "True", "Valid");
        (place, allowed, denied)
    });
    for (place, allowed, denied) in &places {
        for to in [allowed, denied] {
            let is_whole = to.contains('/') || to.starts_with("203");
            let here = format!("{}/", place.namespace);
            let to = if is_whole { (*to).to_owned() } else { here + to };
            feed.connects(&format!("{}/web > {to}", place.namespace));
        }
    }
    for (place, _, denied) in &places {
        let port = denied.rsplit_once(':').unwrap().1.parse().unwrap();
        place.has_violation("monitor", port);
        assert_eq!(place.person.get(POLICY).unwrap()["status"]["violationCount"], 1);
    }
}

/// W16: of the two policies of a workload the one of the direction tells it, and where the source names a policy that
/// one, whatever selects the same pods.
#[test]
fn a_denial_is_told_by_the_policy_that_denied_it() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let ingress = |name: &str| {
        let mut policy = policy(name, "protect");
        policy["spec"]["direction"] = json!("Ingress");
        policy["spec"]["kubernetes"] = json!({
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"], "ingress": [],
        });
        policy
    };
    place.person.apply(&policy(NAME, "protect"));
    place.person.apply(&ingress("deployment-web-ingress"));
    place.person.apply(&ingress("another-of-the-same-pods"));
    place
        .person
        .wait("all are enforced", |it| it.run("get networkpolicies -o name").lines().count() == 3);
    let mut denied = feed.flow("shop/cli > shop/web:8080");
    denied["verdict"] = json!("DROPPED");
    denied["drop_reason_desc"] = json!("POLICY_DENIED");
    denied["ingress_denied_by"] =
        json!([{"kind": "NetworkPolicy", "namespace": "shop", "name": "deployment-web-ingress"}]);
    feed.tell(&denied);
    let count = |name: &str| {
        let policy = place.person.get(&format!("wnp/{name}")).unwrap();
        policy["status"]["violationCount"].as_u64().unwrap_or_default()
    };
    place.person.wait("it is told", |_| count("deployment-web-ingress") == 1);
    // A later one that the source gives to no policy: all of the direction deny it.
    denied["ingress_denied_by"] = json!([]);
    denied["l4"]["TCP"]["source_port"] = json!(40_000);
    feed.tell(&denied);
    place.person.wait("both tell it", |_| {
        (count("deployment-web-ingress"), count("another-of-the-same-pods")) == (2, 1)
    });
    assert_eq!(count(NAME), 0, "the other direction has nothing to do with it");
}

/// W18, W19: an acknowledgement is for what it names and for ever, a wrong one is told and waits for nothing, and what
/// a person allows goes from the list by itself.
#[test]
fn violations_are_acknowledged_once_and_go_when_they_are_allowed() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let person = place.person;
    for name in ["cache", "queue"] {
        person.run(&format!("create deployment {name} --image=example.com/{name}:1"));
    }
    person.apply(&policy(NAME, "monitor"));
    let status = || person.get(POLICY).unwrap()["status"].clone();
    let annotate = |id: &str| {
        person.run(&format!(
            "annotate {POLICY} networkenforcer.kubewarden.io/acknowledge-{id}=known"
        ));
    };
    let has_no_annotation = |it: &Person<'_>| {
        !it.get(POLICY).unwrap()["metadata"]["annotations"].to_string().contains("acknowledge-")
    };
    person.wait_for(POLICY, "Ready", "True", "Valid");
    annotate("0");
    person.wait("the annotation goes", has_no_annotation);
    person.wait("it is told", |it| it.events().contains("Warning AcknowledgementRejected"));

    place.connects("cache:6379");
    person.wait("the violation is told", |_| status()["activeViolationCount"] == 1);
    let id = status()["violations"][0]["id"].as_str().unwrap().to_owned();
    annotate(&id);
    person
        .wait("it is acknowledged", |_| status()["acknowledgedViolations"][0]["reason"] == "known");
    person.wait("the annotation goes", has_no_annotation);
    place.connects("cache:6379");
    place.connects("queue:5672");
    person.wait("the recurrence is counted", |_| status()["violationCount"] == 3);
    let after = status();
    assert_eq!(
        (&after["activeViolationCount"], &after["violations"][0]["dstPort"]),
        (&json!(1), &json!(5672))
    );
    let known = &after["acknowledgedViolations"][0]["violation"];
    assert_eq!((&known["id"], &known["count"]), (&json!(id), &json!(2)), "{after:#}");

    let mut rules = policy(NAME, "monitor")["spec"]["kubernetes"]["egress"].clone();
    let to = json!([{"podSelector": {"matchExpressions": [
        {"key": "app", "operator": "In", "values": ["cache", "queue"]}]}}]);
    rules.as_array_mut().unwrap().push(json!({"to": to}));
    person.patch(POLICY, &json!({"spec": {"kubernetes": {"egress": rules}}}));
    person.wait("nothing is listed any more", |_| {
        let status = status();
        status["activeViolationCount"] == 0 && status.get("acknowledgedViolations").is_none()
    });
    assert_eq!(status()["violationCount"], 3, "what was counted stays counted");
    person.wait("it is told", |it| it.events().contains("Normal ViolationsCleared"));
}

/// W20: a peer of which nothing but an address is known is one, however many ports it comes from.
#[test]
fn a_stranger_is_one_violation_whatever_ports_it_uses() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let mut own = policy("deployment-web-ingress", "monitor");
    own["spec"]["direction"] = json!("Ingress");
    own["spec"]["kubernetes"] = json!({
        "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"], "ingress": [],
    });
    place.person.apply(&own);
    let own = "wnp/deployment-web-ingress";
    place.person.wait_for(own, "Ready", "True", "Valid");
    for _ in 0..150 {
        feed.connects("203.0.113.7 > shop/web:8080");
    }
    let status = || place.person.get(own).unwrap()["status"].clone();
    place.person.wait("all are counted", |_| status()["violationCount"] == 150);
    let violations = status()["violations"].as_array().unwrap().clone();
    let told: Vec<_> =
        violations.iter().map(|it| (&it["source"]["address"], &it["count"])).collect();
    assert_eq!(told, [(&json!("203.0.113.7"), &json!(150))]);
}

/// Refuses what the agent writes to the status of policies.
const REFUSING: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-status}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [networkenforcer.kubewarden.io], apiVersions: [v1alpha1], operations: [UPDATE], resources: [workloadnetworkpolicies/status]}
  validations: [{expression: 'false', message: not now}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-status}
spec: {policyName: no-status, validationActions: [Deny]}
";

/// W22: a write of violations that is refused is made again, and the end of the agent waits for the last one.
#[test]
fn violations_outlast_refused_writes_and_the_end_of_the_agent() {
    let Scene { plane, account, feed, agent } = Scene::new();
    let person = Person::moving_to(plane.admin(), "shop");
    person.apply(&policy(NAME, "protect"));
    person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    person.wait_for(POLICY, "Ready", "True", "Valid");
    plane.admin().kubectl_reading(REFUSING, &["apply", "-f", "-"]).unwrap();
    let refusals = || agent.writes_that_ended("Forbidden") + agent.writes_that_ended("Invalid");
    let told = Cell::new(0_u16);
    person.wait("the refusal is in force", |_| {
        told.set(told.get() + 1);
        feed.is_denied(&format!("shop/web > shop/db:{}", 7000 + told.get()));
        refusals() > 0
    });
    // What a person asks for does not wait for it.
    person.patch(POLICY, &json!({"spec": {"mode": "monitor"}}));
    person.wait("nothing is blocked any more", |it| it.get(NATIVE).is_none());
    person.wait("it is told", |it| it.events().contains("what was learned cannot be written"));
    plane.admin().kubectl_reading(REFUSING, &["delete", "-f", "-"]).unwrap();
    let count = || person.get(POLICY).unwrap()["status"]["violationCount"].as_u64().unwrap_or(0);
    person.wait("all are written", |_| count() == u64::from(told.get()));
    agent.stop();

    let slow = ["--wnp-status-update-interval=1h", "--learning-flush-interval=1h"];
    let feed = Feed::new(&account, "more");
    let agent = feed.start_with(&account, "two", &slow);
    feed.is_denied("shop/web > shop/db:6379");
    feed.end();
    person.wait("it has read all", |_| agent.has_ended());
    agent.stop();
    assert_eq!(count(), u64::from(told.get()) + 1, "the last one is written at the end");
}
