//! Learning in the cluster: what a source reports becomes proposals, written when they changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use netenf_cluster::queue::Queue;
use netenf_flows::{Input, Options, Record, Replay};
use netenf_k8s::Index;
use netenf_learn::name::policy_name;
use netenf_learn::proposal::{Outcome, Proposal};
use netenf_learn::{Config, Learner};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::reconciler::Shared;
use crate::stored::{Fresh, Name};

/// As many records wait for the learner; a source waits with the next one.
const CAPACITY: usize = 4096;

/// What learning needs.
pub(crate) struct Learning {
    pub(crate) index: Arc<RwLock<Index>>,
    pub(crate) config: Config,
    pub(crate) flush_interval: Duration,
    pub(crate) stored: Shared,
    pub(crate) queue: Arc<Queue<Name>>,
    pub(crate) counts: Counts,
}

/// What became of observations, as metrics.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    received: Gauge,
    learned: Gauge,
    proposals: Gauge,
}

// === impl Counts ===

impl Counts {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let counts = Self::default();
        registry.register("flows_received", "Observations of the source", counts.received.clone());
        registry.register(
            "flows_learned",
            "Observations that became evidence",
            counts.learned.clone(),
        );
        registry.register(
            "proposals_learned",
            "Proposals that were learned",
            counts.proposals.clone(),
        );
        counts
    }

    fn set(&self, outcome: &Outcome) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.received.set(number(outcome.funnel.received));
        self.learned.set(number(outcome.funnel.learned));
        self.proposals.set(outcome.proposal_count.try_into().unwrap_or(i64::MAX));
    }
}

/// Reads a recording, record by record, as fast as they are taken.
pub(crate) fn replay(recording: PathBuf) -> mpsc::Receiver<Record> {
    let (records, taken) = mpsc::channel(CAPACITY);
    tokio::task::spawn_blocking(move || {
        let input = Input::from_argument(recording);
        let mut replay = match Replay::new(vec![input], Options::default()) {
            Ok(replay) => replay,
            Err(error) => return tracing::error!(%error, "the recording cannot be read"),
        };
        loop {
            match replay.next() {
                Ok(Some(item)) => {
                    if records.blocking_send(item.record).is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "the recording ends here");
                    break;
                }
            }
        }
        let (bad, abandoned) = (replay.summary().bad, replay.summary().inputs.len());
        tracing::info!(bad, inputs = abandoned, "the recording was read");
    });
    taken
}

// === impl Learning ===

impl Learning {
    /// Learns for ever, and has what changed written once an interval.
    pub(crate) async fn run(self, mut records: mpsc::Receiver<Record>) {
        let mut learner = Learner::new(self.config.clone(), Arc::clone(&self.index));
        let mut flushed: HashMap<Name, Proposal> = HashMap::new();
        let mut flush = interval(self.flush_interval);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_open, mut is_new) = (true, false);
        loop {
            tokio::select! {
                record = records.recv(), if is_open => match record {
                    Some(record) => {
                        is_new = true;
                        match record {
                            Record::Flow(observation) => learner.observe(&observation),
                            Record::Lost(lost) => learner.lost(&lost),
                            Record::NodeStatus(status) => learner.node_status(&status),
                        }
                    }
                    None => is_open = false,
                },
                _ = flush.tick() => if std::mem::take(&mut is_new) {
                    self.flush(&learner, &mut flushed);
                },
            }
        }
    }

    /// Has the proposals written that are others than at the last flush.
    fn flush(&self, learner: &Learner<Arc<RwLock<Index>>>, flushed: &mut HashMap<Name, Proposal>) {
        let outcome = learner.outcome();
        self.counts.set(&outcome);
        let last = outcome.window.map(|(_, last)| last);
        for proposal in outcome.proposals {
            let subject = &proposal.subject;
            let name = (subject.namespace.to_string(), policy_name(subject, proposal.direction));
            if flushed.get(&name) == Some(&proposal) {
                continue;
            }
            let fresh = Fresh { proposal: proposal.clone(), caps: self.config.caps, last };
            let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
            stored.fresh.insert(name.clone(), Arc::new(fresh));
            drop(stored);
            match self.queue.add(name.clone()) {
                Ok(()) => drop(flushed.insert(name, proposal)),
                Err(full) => tracing::warn!(%full, "what was learned is written later"),
            }
        }
    }
}
