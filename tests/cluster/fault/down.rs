//! A server that does not answer for a minute.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netenf_testkit::control_plane::proxy::Proxy;
use netenf_testkit::deadline::within;
use serde_json::{Value, json};

use super::{Fate, Stage, is_current, is_judged, promoted};
use crate::agent::{Agent, account};
use crate::person::Person;
use crate::plane;

const COUNT: usize = 30;

/// So long the server is down.
const OUTAGE: Duration = Duration::from_mins(1);

/// By then the agent has noticed.
const NOTICED: Duration = Duration::from_secs(15);

/// Everything is done as long after the outage: no longer than the pause between two attempts.
const CAUGHT_UP: Duration = Duration::from_secs(20);

/// The server stops in the middle of the agent's work.
#[test]
fn a_minute_without_a_server_is_told_and_loses_nothing() {
    let plane = plane();
    let proxy = Proxy::start(&plane).unwrap();
    let agent = Agent::start_with(&proxy.client(&account(&plane)).unwrap(), "one", &[]);
    let shop = Person::moving_to(plane.admin(), "shop");
    shop.wait("the agent is ready", |_| agent.is_ready());
    let (reach, reached) = channel();
    let (stop, stopped) = channel();
    let (left, stopped) = (Arc::new(Mutex::new(2 * COUNT)), Mutex::new(stopped));
    proxy.decide(move |request, stage| {
        if is_judged(request) && stage == Stage::Asked {
            let mut left = left.lock().unwrap();
            *left = left.saturating_sub(1);
            if *left == COUNT {
                reach.send(()).unwrap();
                stopped.lock().unwrap().recv().unwrap();
            }
        }
        Fate::Pass
    });
    let all: Vec<Value> = (0..COUNT).map(|number| promoted(&format!("one-{number}"))).collect();
    shop.apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}));
    reached.recv().unwrap();
    let paused = plane.pause_api_server().unwrap();
    stop.send(()).unwrap();

    let down = Instant::now();
    within(2 * OUTAGE, "the outage is over", || {
        assert!(down.elapsed() < NOTICED || !agent.is_ready());
        Ok((down.elapsed() >= OUTAGE).then_some(()))
    })
    .unwrap();
    let report = agent.report();
    assert!(report["faults"]["apiServer"].as_str().unwrap().starts_with("does not answer"));
    assert!(report["faults"]["lease"].is_string(), "{report}");
    drop(paused);
    let up = Instant::now();
    shop.wait("all is done", |it| {
        let list: Value = serde_json::from_str(&it.run("get wnp -o json")).unwrap();
        let policies = list["items"].as_array().unwrap();
        policies.len() == COUNT
            && policies.iter().all(is_current)
            && it.run("get wnpp -o name").is_empty()
    });
    assert!(up.elapsed() < CAUGHT_UP, "it took {:?}", up.elapsed());
    shop.wait("the agent is ready", |_| agent.is_ready() && agent.leads());
    assert_eq!(agent.metric("queue_parked"), Some(0));
}
