//! Events as the server takes them.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use netenf_cluster::event::{Event, EventType, Events};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::{admin, connect, create_namespace, eventually};

const SOON: Duration = Duration::from_mins(1);

fn about(namespace: Option<&str>, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("networkenforcer.kubewarden.io/v1alpha1".to_owned()),
        kind: Some("WorkloadNetworkPolicy".to_owned()),
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        ..ObjectReference::default()
    }
}

fn warning(note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: "Conflict".to_owned(),
        action: "Enforce".to_owned(),
        note: note.to_owned(),
    }
}

/// Of each Event the name of its object, how often it happened, and who tells it.
fn told(namespace: &str) -> String {
    let path = "-o=jsonpath={range .items[*]}{.type} {.reason} {.regarding.name} {.series.count} {.reportingController} {.reportingInstance};{end}";
    admin().kubectl(&["get", "events.events.k8s.io", "-n", namespace, path]).unwrap()
}

/// What is told again after a restart is counted on.
#[tokio::test(flavor = "multi_thread")]
async fn equal_events_are_one_with_a_count_also_after_a_restart() {
    create_namespace("events");
    let start =
        async || Events::start(connect(admin()).await, "one".to_owned(), &mut Registry::default());
    let note = "a long note: ".repeat(100);
    let (first, object) = (start().await, about(Some("events"), "web"));
    first.publish(warning(&note), object.clone());
    let expected = "Warning Conflict web  netenf-agent one;";
    eventually(SOON, "it is told once", || told("events") == expected).await;
    for _ in 0..3 {
        first.publish(warning(&note), object.clone());
    }
    let expected = "Warning Conflict web 4 netenf-agent one;";
    eventually(SOON, "the Events are one", || told("events") == expected).await;

    let second = start().await;
    for _ in 0..2 {
        second.publish(warning(&note), object.clone());
    }
    let expected = "Warning Conflict web 6 netenf-agent one;";
    eventually(SOON, "it is counted on", || told("events") == expected).await;
    admin().kubectl(&["delete", "events.events.k8s.io", "--all", "-n=events"]).unwrap();
    second.publish(warning(&note), object);
    let expected = "Warning Conflict web  netenf-agent one;";
    eventually(SOON, "it is told anew where it is gone", || told("events") == expected).await;
}

/// Names of any length, objects of the whole cluster, and notes that hold what no terminal should get.
#[tokio::test(flavor = "multi_thread")]
async fn every_object_has_events_and_no_note_is_refused() {
    create_namespace("names");
    let mut registry = Registry::default();
    let events = Events::start(connect(admin()).await, "x".repeat(300), &mut registry);
    let longest = ["x".repeat(63).as_str(); 4].join(".")[..253].to_owned();
    let hostile = format!("\u{1b}[2J\0\n\u{202e}{}", "é\u{7}".repeat(1000));
    events.publish(warning(&hostile), about(Some("names"), &longest));
    let cluster_wide = format!("cluster-wide-{}", "y".repeat(240));
    events.publish(warning("of all"), about(None, &cluster_wide));
    eventually(SOON, "the one of the longest name is told", || told("names").contains(&longest))
        .await;
    eventually(SOON, "so is the cluster-wide one", || told("default").contains(&cluster_wide))
        .await;
    let note = "-o=jsonpath={.items[0].note}";
    let note = admin().kubectl(&["get", "events.events.k8s.io", "-n=names", note]).unwrap();
    assert!(note.len() <= 1024 && !note.contains(char::is_control), "{note:?}");
    assert!(note.starts_with("\\u{1b}[2J\\u{0}\\n\\u{202e}é"), "{note}");

    // Nothing failed, and what cannot be written is counted.
    let counts = || {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    };
    let has = |line: &str| counts().lines().any(|one| one == line);
    assert!(has("events_total{outcome=\"Published\"} 2"), "{}", counts());
    assert!(has("events_total{outcome=\"Failed\"} 0"), "{}", counts());
    events.publish(warning("of nothing"), about(Some("no-such-namespace"), "web"));
    eventually(SOON, "it is counted", || has("events_total{outcome=\"Failed\"} 1")).await;
}
