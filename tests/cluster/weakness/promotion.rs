//! What a promotion and a deletion leave.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use crate::agent::account;
use crate::feed::Feed;
use crate::person::proposal;
use crate::place::{NAME, POLICY, PROPOSAL, Place, Scene};
use crate::plane;

/// Ports that are seen while a proposal is promoted.
const PORTS: Range<u64> = 6000..6012;

/// W29: what is seen while a proposal becomes a policy is a rule, listed as late, or a violation; nothing is lost.
#[test]
fn nothing_that_is_seen_during_a_promotion_is_lost() {
    const NAMESPACES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let plane = plane();
    let account = account(&plane);
    let feed = Feed::new(&account, "flows");
    let agent = feed.start_with(&account, "one", &["--learning-flush-interval=20ms"]);
    let places = NAMESPACES.map(|name| Place::new(plane.admin(), name, (&feed, &agent)));
    for place in &places {
        place.learn("db:5432");
        std::thread::scope(|scope| {
            let promotion = scope.spawn(|| place.promote("monitor"));
            for port in PORTS {
                place.connects(&format!("db:{port}"));
            }
            promotion.join().unwrap();
        });
    }
    for place in &places {
        place
            .person
            .wait("it is promoted", |it| it.get(PROPOSAL).is_none() && it.get(POLICY).is_some());
        place.person.wait("all ports are known of", |it| {
            let policy = it.get(POLICY).unwrap();
            PORTS.collect::<BTreeSet<_>>().is_subset(&known(&policy))
        });
    }
}

/// Ports that a policy allows, lists as uncovered, or had violations of.
fn known(policy: &Value) -> BTreeSet<u64> {
    let list = |pointer: &str| {
        policy.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let rules = list("/spec/kubernetes/egress").into_iter();
    let allowed = rules.flat_map(|rule| rule["ports"].as_array().cloned().unwrap_or_default());
    let allowed = allowed.filter_map(|port| port["port"].as_u64());
    let uncovered = list("/status/uncovered").into_iter().filter_map(|item| item["port"].as_u64());
    let violations = list("/status/violations").into_iter().filter_map(|it| it["dstPort"].as_u64());
    allowed.chain(uncovered).chain(violations).collect()
}

/// W29: a proposal that somebody wrote is theirs: it is not deleted because its workload is not there, nor what it is
/// named after guessed.
#[test]
fn proposals_that_others_wrote_are_never_deleted() {
    let Scene { plane, feed, agent, .. } = Scene::new();
    let place = Place::new(plane.admin(), "shop", (&feed, &agent));
    let names = [NAME, "deployment-never-there-egress", "of-no-such-form"];
    for name in names {
        let words = "apply --server-side --field-manager=argocd -f -";
        place.person.read(&place.here(&proposal(name)), words).unwrap();
    }
    let written = || -> Vec<(Value, Value)> {
        let all = names.map(|name| place.person.get(&format!("wnpp/{name}")).unwrap());
        all.map(|one| (one["metadata"]["uid"].clone(), one["metadata"]["ownerReferences"].clone()))
            .into()
    };
    let before = written();
    place.learn("cache:6379");
    assert_eq!(place.ports(PROPOSAL), [6379, 5432], "learning adds to it");
    assert_eq!(written(), before);
}
