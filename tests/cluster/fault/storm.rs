//! Somebody who never stops writing the same objects.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netenf_testkit::control_plane::proxy::Record;
use serde_json::{Value, json};

use super::seen::{NATIVE, POLICIES, PROPOSALS, listed, patch};
use super::{Place, is_current, is_judged, promoted};
use crate::agent::Agent;

const COUNT: usize = 50;

/// The modes change as often, or until somebody came between.
const ROUNDS: usize = 10;

/// Annotates each proposal, or the policy where the proposal is gone, over and over again until it is to stop. Gives
/// the last word on each policy.
fn rage(namespace: &str, names: &[String], stop: &AtomicBool) -> HashMap<String, String> {
    let mut last = HashMap::new();
    let of = |kind: &str, name: &str| format!("{}/{name}", kind.replace("NAMESPACE", namespace));
    for round in 0.. {
        let word = format!("round {round}");
        let annotation = json!({"metadata": {"annotations": {"storm": word}}});
        for name in names {
            if !patch(&of(PROPOSALS, name), &annotation) && patch(&of(POLICIES, name), &annotation)
            {
                last.insert(name.clone(), word.clone());
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    last
}

/// How often the agent was told that somebody else came between.
fn conflicts(place: &Place) -> usize {
    place.proxy.records().iter().filter(|it| it.status == Some(409)).count()
}

/// How often the agent's most frequent write came, of those that name their object.
fn most(records: Vec<Record>) -> usize {
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    let named =
        records.into_iter().filter(|it| is_judged(&it.request) && it.request.method != "POST");
    for Record { request, .. } in named {
        *counts.entry((request.method, request.path)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default()
}

#[test]
fn everything_is_done_in_spite_of_somebody_who_writes_all_the_time_and_whose_word_stays() {
    let place = Place::create("storm");
    let agent = Agent::start_alone(&place.agent, &[]);
    let person = place.person();
    let names: Vec<String> = (0..COUNT).map(|number| format!("one-{number}")).collect();
    let stop = AtomicBool::new(false);
    let list = |kind: &str| listed(&kind.replace("NAMESPACE", &place.namespace));
    let is_done = |natives: usize| {
        let policies = list(POLICIES);
        list(PROPOSALS).is_empty()
            && policies.len() == COUNT
            && policies.iter().all(is_current)
            && list(NATIVE).len() == natives
    };
    let last = thread::scope(|scope| {
        let raging = scope.spawn(|| rage(&place.namespace, &names, &stop));
        let all: Vec<Value> = names.iter().map(|name| promoted(name)).collect();
        person.apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}));
        person.wait("all are promoted", |_| is_done(0));
        for (mode, natives) in [("protect", COUNT), ("monitor", 0)].into_iter().cycle().take(ROUNDS)
        {
            for name in &names {
                let path = format!("{}/{name}", POLICIES.replace("NAMESPACE", &place.namespace));
                assert!(patch(&path, &json!({"spec": {"mode": mode}})));
            }
            person.wait("all are in the mode", |_| is_done(natives));
            if conflicts(&place) > 0 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        raging.join().unwrap()
    });
    person.wait("nothing is left to do", |_| agent.is_idle());
    let word =
        |policy: &Value| policy["metadata"]["annotations"]["storm"].as_str().map(str::to_owned);
    for policy in list(POLICIES) {
        let name = policy["metadata"]["name"].as_str().unwrap();
        assert_eq!(word(&policy).as_ref(), last.get(name), "{name}");
    }
    assert!(conflicts(&place) > 0, "nobody came between in {ROUNDS} rounds");
    assert_eq!(agent.metric("queue_parked"), Some(0));
    let most = most(place.proxy.records());
    assert!(most <= 20, "one write was tried {most} times");
}
