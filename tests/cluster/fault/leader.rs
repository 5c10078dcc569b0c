//! Two replicas, of which the one that leads stops in the middle of its work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use netenf_testkit::control_plane::ControlPlane;
use netenf_testkit::control_plane::proxy::{Proxy, Record};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::seen::{POLICIES, PROPOSALS, listed};
use super::{ACCOUNT, Fate, Place, Stage, is_current, is_judged, promoted};
use crate::agent::Agent;

const COUNT: usize = 50;

/// The leader stops at its write of that number, of three for each proposal.
const STOPS_AT: usize = 60;

/// As many requests a replica has under way at most.
const AT_ONCE: usize = 8;

/// Two replicas, the first of which leads.
struct Pair {
    place: Place,
    other: Proxy,
    first: Agent,
    second: Agent,
}

// === impl Pair ===

impl Pair {
    /// The first gets `signal` in the middle of its work.
    fn start(namespace: &str, signal: Signal) -> Self {
        let place = Place::create(namespace);
        let other = Proxy::start_for_namespace(ControlPlane::shared(), namespace).unwrap();
        let pid = Arc::new(OnceLock::<Pid>::new());
        let (writes, victim) = (AtomicUsize::new(0), Arc::clone(&pid));
        place.proxy.decide(move |request, stage| {
            let is_answered = matches!(stage, Stage::Answered(_)) && is_judged(request);
            if is_answered && writes.fetch_add(1, Ordering::SeqCst) + 1 == STOPS_AT {
                kill_process(*victim.wait(), signal).unwrap();
            }
            Fate::Pass
        });
        let own = format!("--namespace={namespace}");
        let replica = |client, name| {
            Agent::start_alone(client, &["--leader-elect", &own, &format!("--pod-name={name}")])
        };
        let first = replica(&place.agent, "first");
        pid.set(first.pid()).unwrap();
        place.person().wait("the first leads", |_| first.leads());
        let second = replica(&other.client(&ACCOUNT).unwrap(), "second");
        place.person().wait("the second stands by", |_| second.is_ready());
        Self { place, other, first, second }
    }

    /// Promotes, and waits until the second has done what the first did not.
    fn promote(&self) {
        let person = self.place.person();
        let all: Vec<Value> = (0..COUNT).map(|number| promoted(&format!("one-{number}"))).collect();
        person.apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}));
        let list = |kind: &str| listed(&kind.replace("NAMESPACE", &self.place.namespace));
        person.wait("all is done", |_| {
            let policies = list(POLICIES);
            list(PROPOSALS).is_empty() && policies.len() == COUNT && policies.iter().all(is_current)
        });
        person.wait("the second leads, and is done", |_| {
            self.second.leads() && self.second.is_idle()
        });
    }

    /// Each policy was made once, and both replicas had their part in it.
    #[track_caller]
    fn assert_each_once(&self) {
        let own = [self.place.proxy.records(), self.other.records()].map(|records| {
            let made = |it: &&Record| it.request.method == "POST" && it.status == Some(201);
            let policies = |it: &&Record| it.request.is_about("workloadnetworkpolicies");
            records.iter().filter(policies).filter(made).count()
        });
        assert!(own.iter().all(|count| *count > 0), "{own:?}");
        assert_eq!(own[0] + own[1], COUNT);
    }
}

#[test]
fn what_a_killed_leader_left_another_replica_does() {
    let pair = Pair::start("killed-leader", Signal::KILL);
    pair.promote();
    pair.assert_each_once();
}

/// It does not know that time went by, and goes on where it was.
#[test]
fn a_leader_that_was_asleep_writes_nothing_that_another_one_wrote() {
    let pair = Pair::start("sleeping-leader", Signal::STOP);
    pair.promote();
    let awoke = Instant::now();
    pair.first.signal(Signal::CONT);
    let later = |records: Vec<Record>| records.into_iter().filter(move |it| it.at > awoke);
    let person = pair.place.person();
    person.wait("it asks who leads, again and again", |_| {
        let records = later(pair.place.proxy.records());
        records.filter(|it| it.request.is_about("leases") && it.status == Some(200)).count() > 2
    });
    assert!(!pair.first.leads() && pair.second.leads());
    let writes: Vec<Record> =
        later(pair.place.proxy.records()).filter(|it| is_judged(&it.request)).collect();
    // What it was about to send in the moment in which it fell asleep is refused.
    assert!(writes.len() <= AT_ONCE, "{writes:#?}");
    assert!(writes.iter().all(|it| it.status.is_some_and(|status| status >= 400)), "{writes:#?}");
    pair.assert_each_once();
}
