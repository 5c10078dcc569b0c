//! Learning with everything but an API server: what is written is kept here, and learning is interrupted anywhere.

use std::collections::BTreeMap;

use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_cluster::queue::Limits;
use netenf_k8s::lifecycle::Resource;
use netenf_k8s::reconcile::{Document, Step};
use netenf_learn::observation::Observation;
use prometheus_client::registry::Registry;
use proptest::prelude::*;
use proptest::sample::Index as Choice;

use super::*;
use crate::ledger::Written;
use crate::packed::Packed;
use crate::reconciler::{Plan, learned};
use crate::sample::opened;
use crate::stored::Stored;

/// The API server, and the Lease.
#[derive(Default)]
struct World {
    proposals: BTreeMap<Name, WorkloadNetworkPolicyProposal>,
    policies: BTreeMap<Name, WorkloadNetworkPolicy>,
    note: Option<String>,
    version: u64,
    writes: u64,
    /// After as many writes the agent is killed.
    killed_after: u64,
    /// Of these writes the answer is lost.
    unanswered: BTreeSet<u64>,
}

fn packed(
    proposals: &BTreeMap<Name, WorkloadNetworkPolicyProposal>,
) -> BTreeMap<Name, Packed<WorkloadNetworkPolicyProposal>> {
    let packed = proposals.iter().map(|(name, one)| (name.clone(), Packed::new(one).unwrap()));
    packed.collect()
}

/// The agent was killed.
struct Killed;

/// What the agent is started with.
struct Agent {
    learning: Learning,
}

const SOURCE: &str = "replay:/recording";

impl Agent {
    fn start(world: &World) -> Self {
        let mut registry = Registry::default();
        let mut stored = Stored::default();
        stored.proposals = packed(&world.proposals);
        stored.policies = world.policies.clone();
        let learning = Learning {
            source: Source::Replay("/recording".into()),
            config: Config::default(),
            backend: Backend::Kubernetes,
            flush_interval: Duration::from_secs(5),
            status_interval: Duration::ZERO,
            index: Arc::default(),
            pending: watch::channel(BTreeSet::new()).1,
            leadership: Leadership::unopposed(),
            stored: Shared::new(stored),
            queue: Arc::new(Queue::new(Limits::default(), &mut registry)),
            counts: Counts::new(&mut registry),
            tap: Tap::default(),
            board: Board::default(),
            states: watch::channel(State::Idle).0,
            note: watch::channel(None).0,
            stop: watch::channel(false).1,
        };
        Self { learning }
    }

    /// Learns from `flows`, from where the one before ended; flushes before those at `flushes`.
    fn learn(
        &self,
        world: &mut World,
        flows: &[Observation],
        flushes: &[usize],
        pace: Pace,
    ) -> Result<(), Killed> {
        let until =
            world.note.as_deref().and_then(|note| noted(note, SOURCE)).unwrap_or(Timestamp(0));
        let resume = self.learning.resume(Some(until));
        let since = until.minus(MARGIN);
        let mut term = Term::new(&self.learning, resume);
        for (number, flow) in flows.iter().enumerate() {
            if flushes.contains(&number) {
                self.flush(&mut term, world, pace)?;
            }
            if flow.time.is_some_and(|time| time >= since) {
                term.take(Record::Flow(flow.clone()));
            }
        }
        term.flush(true, pace);
        self.write(world)
    }

    fn flush(&self, term: &mut Term<'_>, world: &mut World, pace: Pace) -> Result<(), Killed> {
        term.is_new = true;
        term.flush(false, pace);
        if !term.resume.is_over() {
            return Ok(());
        }
        self.write(world)?;
        let stored = self.learning.stored.lock();
        world.note = stored.ledger.written_until().map(|until| note(SOURCE, until));
        Ok(())
    }

    /// Writes what waits, name after name.
    fn write(&self, world: &mut World) -> Result<(), Killed> {
        let mut stored = self.learning.stored.lock();
        for name in stored.ledger.all_due() {
            while let Some(Plan { steps, draft: Some(draft) }) = {
                let proposal = stored.proposal(&name);
                learned(&mut stored, &name, proposal.as_ref())
            } {
                let mut is_answered = true;
                for step in steps {
                    world.execute(&name, step)?;
                    is_answered &= !world.unanswered.contains(&world.writes);
                    if let Some(proposal) = world.proposals.get(&name) {
                        stored.proposals.insert(name.clone(), Packed::new(proposal).unwrap());
                    }
                    if let Some(policy) = world.policies.get(&name) {
                        stored.policies.insert(name.clone(), policy.clone());
                    }
                    if !is_answered {
                        break;
                    }
                }
                if is_answered {
                    stored.ledger.settle(&name, &draft, Written::All);
                    break;
                }
                stored.ledger.doubt(&name, &draft);
            }
        }
        Ok(())
    }
}

impl World {
    fn execute(&mut self, name: &Name, step: Step) -> Result<(), Killed> {
        if self.writes == self.killed_after {
            return Err(Killed);
        }
        self.writes += 1;
        self.version += 1;
        let version = Some(self.version.to_string());
        match step {
            Step::Create(Document::Ours(Resource::Proposal(it))) => {
                assert!(!self.proposals.contains_key(name), "{name:?} is created twice");
                let mut it = Arc::unwrap_or_clone(it);
                (it.status, it.metadata.resource_version) = (None, version);
                self.proposals.insert(name.clone(), it);
            }
            Step::Replace(Document::Ours(Resource::Proposal(it))) => {
                let stored = self.proposals.get_mut(name).unwrap();
                (stored.spec, stored.metadata.resource_version) = (it.spec.clone(), version);
            }
            Step::ReplaceStatus(Resource::Proposal(it)) => {
                let stored = self.proposals.get_mut(name).unwrap();
                (stored.status, stored.metadata.resource_version) = (it.status.clone(), version);
            }
            Step::ReplaceStatus(Resource::Policy(it)) => {
                let stored = self.policies.get_mut(name).unwrap();
                (stored.status, stored.metadata.resource_version) = (it.status.clone(), version);
            }
            Step::Event(_) => {}
            other => panic!("learning does not do this: {other:?}"),
        }
        Ok(())
    }

    /// Rules with their counts, and what policies deny.
    fn told(&self) -> BTreeMap<String, i64> {
        let mut told = BTreeMap::new();
        for ((_, name), one) in &self.proposals {
            for rule in &one.status.as_ref().unwrap().rules {
                let peer = rule.peer.name.as_deref().unwrap();
                told.insert(format!("{name} {peer}:{}", rule.port.unwrap()), rule.count);
            }
        }
        for ((_, name), one) in &self.policies {
            let Some(status) = &one.status else { continue };
            for one in &status.violations {
                let peer = one.dest.name.as_deref().unwrap();
                told.insert(format!("{name} denies {peer}:{}", one.dst_port.unwrap()), one.count);
            }
            told.insert(format!("{name} denies in all"), status.violation_count);
        }
        told
    }
}

/// A policy of the Deployment web that allows the database only.
fn monitor() -> WorkloadNetworkPolicy {
    serde_json::from_value(serde_json::json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
        "metadata": {"name": "deployment-web-egress", "namespace": "shop", "uid": "1", "resourceVersion": "1",
            "labels": {"networkenforcer.kubewarden.io/promoted-from": "deployment-web-egress"}},
        "spec": {"mode": "monitor", "backend": "kubernetes", "kubernetes": {
            "podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"],
            "egress": [{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}]}],
        }},
    }))
    .unwrap()
}

fn waits() -> Pace {
    Pace::At(Instant::now())
}

fn world() -> World {
    let mut world = World { killed_after: u64::MAX, ..World::default() };
    let name = ("shop".to_owned(), "deployment-web-egress".to_owned());
    world.policies.insert(name, monitor());
    world
}

/// From, to, port.
type Flow = (&'static str, &'static str, u16);

/// One flow a second, each a connection of its own.
fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let end = || prop::sample::select(vec!["web", "db", "cache", "api"]);
    let flow = (end(), end(), 1_u16..4);
    let flow = flow.prop_filter("two ends", |(from, to, _)| from != to);
    prop::collection::vec(flow, 1..40)
}

fn observed(flows: &[Flow]) -> Vec<Observation> {
    let all = flows.iter().zip(1000..);
    all.map(|((from, to, port), second)| opened(from, to, *port, second)).collect()
}

/// What an agent comes to that nobody disturbs.
fn undisturbed(flows: &[Observation], flushes: &[usize], pace: Pace) -> World {
    let mut world = world();
    assert!(Agent::start(&world).learn(&mut world, flows, flushes, pace).is_ok());
    world
}

/// The same by agents that are killed, one after as many writes as the number says, and then by one that lives.
fn disturbed(
    flows: &[Observation],
    flushes: &[usize],
    pace: Pace,
    kills: &[Choice],
    writes: u64,
) -> World {
    let mut world = world();
    for kill in kills {
        world.killed_after =
            world.writes + u64::try_from(kill.index(usize::try_from(writes).unwrap() + 1)).unwrap();
        let _ = Agent::start(&world).learn(&mut world, flows, flushes, pace);
    }
    world.killed_after = u64::MAX;
    assert!(Agent::start(&world).learn(&mut world, flows, flushes, pace).is_ok());
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever agents are killed, what is written in the end is what one that lives would have written: no rule, no
    /// connection and no violation is lost or counted twice.
    #[test]
    fn a_kill_between_any_two_writes_changes_nothing(
        flows in flows(),
        flushes in prop::collection::vec(0_usize..40, 0..6),
        kills in prop::collection::vec(any::<Choice>(), 1..4),
    ) {
        let flows = observed(&flows);
        let expected = undisturbed(&flows, &flushes, Pace::Last);
        let found = disturbed(&flows, &flushes, Pace::Last, &kills, expected.writes);
        prop_assert_eq!(found.told(), expected.told());
    }

    /// Counts that wait for a rule to go with are lost with the agent that held them, and nothing else.
    #[test]
    fn a_kill_loses_counts_that_wait_and_nothing_else(
        flows in flows(),
        flushes in prop::collection::vec(0_usize..40, 0..6),
        kills in prop::collection::vec(any::<Choice>(), 1..4),
    ) {
        let flows = observed(&flows);
        let expected = undisturbed(&flows, &flushes, Pace::Last).told();
        let waiting = undisturbed(&flows, &flushes, waits());
        let found = disturbed(&flows, &flushes, waits(), &kills, waiting.writes).told();
        prop_assert!(found.keys().eq(expected.keys()), "{found:?} {expected:?}");
        for (key, count) in found {
            let is_waiting = !key.contains("denies");
            prop_assert!(count == expected[&key] || is_waiting && count < expected[&key], "{key} {count}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A write that nobody answered may be stored all the same: then it is not written again.
    #[test]
    fn an_answer_that_is_lost_doubles_nothing(
        flows in flows(),
        flushes in prop::collection::vec(0_usize..40, 0..6),
        unanswered in prop::collection::vec(any::<Choice>(), 1..6),
    ) {
        let flows = observed(&flows);
        let expected = undisturbed(&flows, &flushes, Pace::Last);
        let mut world = world();
        let size = usize::try_from(expected.writes).unwrap() + 1;
        world.unanswered =
            unanswered.iter().map(|one| u64::try_from(one.index(size)).unwrap()).collect();
        prop_assert!(Agent::start(&world).learn(&mut world, &flows, &flushes, Pace::Last).is_ok());
        prop_assert_eq!(world.told(), expected.told());
    }
}

/// How often flushes come does not change what is written in the end.
#[test]
fn flushes_add_up() {
    let flows: Vec<Observation> = (1000..1030)
        .map(|second| {
            opened("web", ["db", "cache"][usize::try_from(second).unwrap() % 2], 1, second)
        })
        .collect();
    let all: Vec<usize> = (0..30).collect();
    let once = undisturbed(&flows, &[], Pace::Last);
    let often = undisturbed(&flows, &all, Pace::Last);
    assert_eq!(often.told(), once.told());
    assert_eq!(once.told()["deployment-web-egress denies cache:1"], 15);
    assert_eq!(once.told()["deployment-db-ingress web:1"], 15);
}

/// W27: what was seen before costs no write, however often it is seen again.
#[test]
fn repetitions_cost_no_write() {
    let flows: Vec<Observation> =
        (1000..1060).map(|second| opened("api", "db", 1, second)).collect();
    let all: Vec<usize> = (0..60).collect();
    let world = undisturbed(&flows, &all, waits());
    // One creation and one status for each of the two directions.
    assert_eq!(world.writes, 4);
}

/// A node agent hears that its report need not be sent again when what it told is written, and not before.
#[test]
fn a_report_is_confirmed_once_it_is_written() {
    let mut world = world();
    let agent = Agent::start(&world);
    let mut term = Term::new(&agent.learning, Resume::default());
    let (taken, confirmed) = watch::channel(0);
    let receipt = |sequence| Delivery::Receipt(Receipt::new(sequence, taken.clone()));
    term.take_in(Record::Flow(opened("api", "db", 1, 1000)).into());
    term.take_in(receipt(1));
    term.flush(false, Pace::At(Instant::now()));
    term.confirm();
    assert_eq!(*confirmed.borrow(), 0, "nothing is written yet");
    // A report of what was denied waits for the status.
    term.take_in(Record::Flow(opened("web", "cache", 1, 1001)).into());
    term.take_in(receipt(2));
    assert!(agent.write(&mut world).is_ok());
    term.confirm();
    assert_eq!(*confirmed.borrow(), 1, "the second was not flushed");
    term.flush(false, Pace::At(Instant::now()));
    assert_eq!(*confirmed.borrow(), 1);
    assert!(agent.write(&mut world).is_ok());
    term.flush(false, Pace::At(Instant::now()));
    assert_eq!(*confirmed.borrow(), 2);
    // One that tells nothing waits for nothing.
    term.take_in(receipt(3));
    term.flush(false, Pace::At(Instant::now()));
    assert_eq!(*confirmed.borrow(), 3);
}

/// One object that waits, for the answer to its last write or for its next try, has no report of the others sent again.
#[tokio::test]
async fn at_the_end_each_report_is_confirmed_as_soon_as_it_is_written() {
    let mut world = world();
    let agent = Agent::start(&world);
    let mut term = Term::new(&agent.learning, Resume::default());
    let (taken, mut confirmed) = watch::channel(0);
    let receipt = |sequence| Delivery::Receipt(Receipt::new(sequence, taken.clone()));
    for (sequence, to) in [(1, "db"), (2, "cache")] {
        term.take_in(Record::Flow(opened("api", to, 1, 1000)).into());
        term.take_in(receipt(sequence));
        term.flush(false, Pace::At(Instant::now()));
        if sequence == 1 {
            assert!(agent.write(&mut world).is_ok());
        }
    }
    // Nobody works on it: the queue is never idle.
    agent.learning.enqueue(("shop".to_owned(), "waits".to_owned()));
    let ending = agent.learning.confirm_rest(&mut term);
    let told = async {
        confirmed.wait_for(|sequence| *sequence == 1).await.unwrap();
        assert!(agent.write(&mut world).is_ok());
        confirmed.wait_for(|sequence| *sequence == 2).await.unwrap();
    };
    let both = async { tokio::join!(ending, told) };
    tokio::time::timeout(Duration::from_secs(30), both).await.unwrap();
}
