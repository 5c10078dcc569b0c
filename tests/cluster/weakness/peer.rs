//! Whom web talks to, whatever that is.

use serde_json::{Value, json};

use crate::agent::account;
use crate::feed::Feed;
use crate::person::policy;
use crate::place::{NAME, NATIVE, POLICY, PROPOSAL, Place, Scene};
use crate::plane;

/// Reason, port and count of what is listed as not covered by rules.
fn uncovered(object: &Value) -> Vec<(String, u64, u64)> {
    let items = object["status"]["uncovered"].as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let item = |one: &Value| {
        (
            one["reason"].as_str().unwrap_or_default().to_owned(),
            number(&one["port"]),
            number(&one["count"]),
        )
    };
    items.iter().map(item).collect()
}

/// W1: an address outside of the cluster has no rule, and is listed with what was seen of it; a proposal that lists
/// such only is written too, and does not protect.
#[test]
fn what_no_rule_can_express_is_listed() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    for _ in 0..2 {
        feed.connects("shop/web > 203.0.113.7:443");
    }
    feed.wait(&agent);
    let proposal = place.person.get(PROPOSAL).unwrap();
    assert_eq!(uncovered(&proposal), [("External".to_owned(), 443, 2)], "{proposal:#}");
    place.promote("protect");
    place.person.wait_for(PROPOSAL, "Promoted", "False", "NoRules");
    place.learn("db:5432");
    place.person.wait("with a rule it is promoted", |it| it.get(NATIVE).is_some());
    let policy = place.person.get(POLICY).unwrap();
    assert_eq!(uncovered(&policy), [("External".to_owned(), 443, 2)], "it is not forgotten");
}

/// W2: what is denied is a violation whoever the other end is.
#[test]
fn denials_to_anybody_are_violations() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    place.person.apply(&policy(NAME, "protect"));
    place.person.wait("it is enforced", |it| it.get(NATIVE).is_some());
    let peers =
        ["203.0.113.7:443", "shop/CronJob/report:80", "shop/Pod/debug:81", "shop/Rollout/front:82"];
    for peer in peers {
        feed.is_denied(&format!("shop/web > {peer}"));
    }
    let violations = || place.person.get(POLICY).unwrap()["status"]["violations"].clone();
    place
        .person
        .wait("all are told", |_| violations().as_array().is_some_and(|all| all.len() == 4));
    let all = violations();
    let told = all.as_array().unwrap().iter().map(|it| {
        let peer = &it["dest"];
        (it["dstPort"].as_u64().unwrap(), peer.get("name").unwrap_or(&peer["address"]).clone())
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by_key(|(port, _)| *port);
    let expected = [(80, "report"), (81, "debug"), (82, "front"), (443, "203.0.113.7")];
    assert_eq!(told, expected.map(|(port, name)| (port, json!(name))), "{all:#}");
}

/// W3: whoever owns pods is a peer, of which there is a rule or a word.
#[test]
fn every_owner_of_pods_is_a_peer() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let kinds = ["DaemonSet", "StatefulSet", "Job", "CronJob", "ReplicaSet", "Rollout"];
    for (port, kind) in (8000..).zip(kinds) {
        feed.connects(&format!("shop/web > shop/{kind}/{}:{port}", kind.to_lowercase()));
    }
    feed.wait(&agent);
    let proposal = place.person.get(PROPOSAL).unwrap();
    let mut known = place.ports(PROPOSAL);
    known.extend(uncovered(&proposal).into_iter().map(|(_, port, _)| port));
    known.sort_unstable();
    assert_eq!(known, [8000, 8001, 8002, 8003, 8004, 8005], "{proposal:#}");
    assert!(
        place.ports(PROPOSAL).len() >= 5,
        "owners that Kubernetes knows have rules: {proposal:#}"
    );
    // They are peers and no subjects.
    assert_eq!(place.person.run("get wnpp -o name").lines().count(), 3);
}

/// W8: a scan of many ports makes no more rules than it may, which is told.
#[test]
fn a_scan_makes_no_more_rules_than_it_may() {
    let plane = plane();
    let account = account(&plane);
    let feed = Feed::new(&account, "flows");
    let limits = ["--learning-max-ports=10", "--learning-max-rules=20"];
    let agent = feed.start_with(&account, "one", &limits);
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    for port in 1..=100 {
        place.connects(&format!("db:{port}"));
    }
    feed.wait(&agent);
    let proposal = place.person.get(PROPOSAL).unwrap();
    assert_eq!(place.ports(PROPOSAL).len(), 10);
    assert!(place.person.is(PROPOSAL, "Truncated", "True", "OverLimit"), "{proposal:#}");
    let cut = uncovered(&proposal);
    assert_eq!(
        cut.iter().map(|(_, _, count)| count).sum::<u64>(),
        90,
        "what is cut is counted: {cut:?}"
    );
}
