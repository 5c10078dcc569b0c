//! `kill -9` between any two calls: an undisturbed run tells how many writes there are and what is there
//! after each stage; then the agent is killed before and after each of them, and another goes on.

use std::collections::VecDeque;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use netenf_testkit::control_plane::ControlPlane;
use netenf_testkit::deadline::within;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::seen::{differences, seen};
use super::{Fate, Place, SOON, Stage, is_current, is_judged, promoted};
use crate::admin;
use crate::agent::Agent;
use crate::person::Person;

/// As many runs go on at once.
const AT_ONCE: usize = 4;

/// What is done, and what is there when the agent has done its part.
struct Step {
    does: fn(Person<'_>),
    is_done: fn(&[Value], &Agent) -> bool,
}

/// What is run.
struct Scenario {
    name: &'static str,
    /// Of the agent, in that namespace.
    arguments: fn(&str) -> Vec<String>,
    steps: &'static [Step],
    /// As many writes it takes, or more.
    least: usize,
    /// Fields that are not compared.
    left_out: &'static [&'static str],
}

/// When the agent is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// The API server has not seen the write of that number, which counts from 1. Others may be under way.
    Before(usize),
    /// The API server answered as many.
    After(usize),
}

/// What came of a run.
struct Course {
    /// What was there after each step, and after the agent's end.
    seen: Vec<Vec<Value>>,
    /// The writes that the API server carried out.
    writes: Vec<String>,
}

/// A run that goes on.
struct Run<'a> {
    scenario: &'a Scenario,
    place: &'a Place,
    agent: Agent,
    was_killed: bool,
}

/// Counts writes, and kills at one of them.
fn watch_over(
    place: &Place,
    when: Option<When>,
    victim: Arc<OnceLock<Pid>>,
) -> Arc<Mutex<Vec<String>>> {
    let (asked, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let next = |count: &AtomicUsize| count.fetch_add(1, Ordering::SeqCst) + 1;
    let done = Arc::<Mutex<Vec<String>>>::default();
    let (carried_out, namespace) = (Arc::clone(&done), place.namespace.clone());
    place.proxy.decide(move |request, stage| {
        if !is_judged(request) {
            return Fate::Pass;
        }
        let is_now = match stage {
            Stage::Asked => when == Some(When::Before(next(&asked))),
            Stage::Answered(status) => {
                let write = format!("{} {}", request.method, request.path);
                let write = write.replace(&namespace, "NAMESPACE");
                carried_out.lock().unwrap().extend((status < 300).then_some(write));
                when == Some(When::After(next(&answered)))
            }
        };
        if !is_now {
            return Fate::Pass;
        }
        kill_process(*victim.wait(), Signal::KILL).unwrap();
        Fate::Cut
    });
    done
}

// === impl Scenario ===

impl Scenario {
    fn run(&self, when: Option<When>) -> Course {
        let place = Place::create(&match when {
            None => format!("{}-undisturbed", self.name),
            Some(When::Before(number)) => format!("{}-before-{number}", self.name),
            Some(When::After(number)) => format!("{}-after-{number}", self.name),
        });
        let victim = Arc::new(OnceLock::new());
        let done = watch_over(&place, when, Arc::clone(&victim));
        let agent = self.start(&place);
        victim.set(agent.pid()).unwrap();
        let mut run = Run { scenario: self, place: &place, agent, was_killed: false };
        let mut stages: Vec<Vec<Value>> = self.steps.iter().map(|step| run.take(step)).collect();
        assert_eq!(run.was_killed, when.is_some(), "{when:?}");
        // Counts of what is known already are written at its end.
        run.agent.stop();
        stages.push(seen(&place.namespace, self.left_out));
        let writes = done.lock().unwrap().clone();
        Course { seen: stages, writes }
    }

    fn start(&self, place: &Place) -> Agent {
        let arguments = (self.arguments)(&place.namespace);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Agent::start_alone(&place.agent, &arguments)
    }

    /// Every place that the agent can be killed at, several at once.
    fn run_all(&self) {
        let undisturbed = self.run(None);
        assert!(undisturbed.writes.len() >= self.least, "{:?}", undisturbed.writes);
        let numbers = 1..=undisturbed.writes.len();
        let cases = numbers.flat_map(|number| [When::Before(number), When::After(number)]);
        let cases = Mutex::new(cases.collect::<VecDeque<When>>());
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(when) = { cases.lock().unwrap().pop_front() } {
                        self.run(Some(when)).assert_is(&undisturbed, when);
                    }
                });
            }
        });
    }
}

// === impl Course ===

impl Course {
    #[track_caller]
    fn assert_is(&self, undisturbed: &Self, when: When) {
        for (number, (own, other)) in self.seen.iter().zip(&undisturbed.seen).enumerate() {
            let differences = differences("", &json!(own), &json!(other));
            assert!(differences.is_empty(), "{when:?}, after step {number}: {differences:#?}");
        }
        // Several objects are written at once, in any order.
        let sorted = |writes: &[String]| {
            let mut writes = writes.to_vec();
            writes.sort_unstable();
            writes
        };
        assert!(
            sorted(&self.writes) == sorted(&undisturbed.writes),
            "{when:?}: {:#?} were carried out, and undisturbed {:#?}",
            self.writes,
            undisturbed.writes,
        );
    }
}

// === impl Run ===

impl Run<'_> {
    /// What is there after the step.
    fn take(&mut self, step: &Step) -> Vec<Value> {
        let namespace = &self.place.namespace;
        (step.does)(Person::new(admin(), namespace));
        within(SOON, "the step is done", || {
            if !self.was_killed && self.agent.is_dead() {
                self.was_killed = true;
                self.agent = self.scenario.start(self.place);
            }
            let seen = seen(namespace, self.scenario.left_out);
            Ok(((step.is_done)(&seen, &self.agent) && self.agent.is_idle()).then_some(seen))
        })
        .unwrap()
    }
}

fn of_kind<'a>(seen: &'a [Value], kind: &str) -> Vec<&'a Value> {
    seen.iter().filter(|object| object["kind"] == kind).collect()
}

/// The one policy, once its status is of its newest generation.
fn judged(seen: &[Value]) -> Option<&Value> {
    let policy = *of_kind(seen, "WorkloadNetworkPolicy").first()?;
    is_current(policy).then_some(policy)
}

const LIFE: [Step; 4] = [
    Step {
        does: |person| {
            person.apply(&promoted("deployment-web-egress"));
        },
        is_done: |seen, _| seen.len() == 1 && judged(seen).is_some(),
    },
    Step {
        does: |person| {
            person.patch("wnp/deployment-web-egress", &json!({"spec": {"mode": "protect"}}));
        },
        is_done: |seen, _| seen.len() == 2 && judged(seen).is_some(),
    },
    Step {
        does: |person| {
            let violation = json!({"status": {"violationCount": 1, "activeViolationCount": 1, "violations": [{
                "id": "0a1b2c3d", "direction": "Egress", "source": {"kind": "Deployment", "name": "web"},
                "dest": {"kind": "Deployment", "name": "cache"}, "protocol": "TCP", "dstPort": 6379,
                "action": "protect", "reason": "NoRule", "count": 1,
                "firstSeen": "2026-09-01T08:00:00Z", "lastSeen": "2026-09-01T08:00:00Z",
            }]}});
            person.patch_status("wnp/deployment-web-egress", &violation);
            person.run("annotate wnp/deployment-web-egress networkenforcer.kubewarden.io/acknowledge-0a1b2c3d=known");
        },
        is_done: |seen, _| {
            judged(seen).is_some_and(|policy| {
                policy["metadata"].get("annotations").is_none()
                    && policy["status"]["acknowledgedViolations"][0]["reason"] == "known"
            })
        },
    },
    Step {
        does: |person| {
            person.run("delete wnp/deployment-web-egress");
        },
        is_done: |seen, _| seen.is_empty(),
    },
];

/// The demonstration's recording, whose namespace `shop` is the one that is given. The others get no proposals.
fn replayed(namespace: &str) -> Vec<String> {
    let recording = include_str!("../../../docs/demo/flows.jsonl").replace("shop", namespace);
    let path = ControlPlane::shared().folder().join(format!("{namespace}.jsonl"));
    fs::write(&path, recording).unwrap();
    vec![
        "--provider-name=replay".to_owned(),
        format!("--provider-endpoint={}", path.display()),
        format!("--learning-include-namespaces={namespace}"),
        "--learning-flush-interval=2s".to_owned(),
        // What was learned is resumed by the Lease.
        "--leader-elect".to_owned(),
        "--pod-name=one".to_owned(),
        format!("--namespace={namespace}"),
    ]
}

/// What is made of the namespace.
const OF_THE_PLACE: [&str; 1] = ["id"];

/// Flows of the recording.
const FLOWS: u64 = 389;

/// The flows that it took in or left out, once the last of them are decided on.
fn all_flows(agent: &Agent) -> Option<u64> {
    let [new, before] = ["flows_received", "flows_before_resume"];
    Some(agent.metric(new)? + agent.metric(before)?)
}

const LEARNING: [Step; 1] = [Step {
    does: |_| {},
    is_done: |seen, agent| {
        let is_told = |one: &&&Value| one["status"]["conditions"].is_array();
        let proposals = of_kind(seen, "WorkloadNetworkPolicyProposal");
        proposals.iter().filter(is_told).count() == 5
            && agent.has_ended()
            && all_flows(agent) == Some(FLOWS)
    },
}];

/// From a proposal that a person promotes, protects by, acknowledges a violation of, to its end.
#[test]
fn another_agent_goes_on_wherever_one_was_killed() {
    let life =
        Scenario { name: "life", arguments: |_| Vec::new(), steps: &LIFE, least: 7, left_out: &[] };
    life.run_all();
}

#[test]
fn another_agent_learns_on_wherever_one_was_killed() {
    let learning = Scenario {
        name: "learning",
        arguments: replayed,
        steps: &LEARNING,
        least: 10,
        left_out: &OF_THE_PLACE,
    };
    learning.run_all();
}
