//! What is told of the agent to people who ask: learning and sources put it here, the service reads it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use netenf_learn::proposal::Funnel;
use netenf_learn::{LostEvents, NodeState, NodeStatus, Timestamp};
use netenf_proto::netenf::v1::{Provider, SourceState};
use tokio::sync::watch;

use crate::clock::now;
use crate::source;

/// Over what time the rate of flows is told.
const MINUTE: Duration = Duration::from_mins(1);

/// How many samples a rate is told by, at most.
const SAMPLES: usize = 128;

/// How many losses are told.
const LOSSES: usize = 32;

/// How many nodes are told apart: as many as a Kubernetes cluster has.
const NODES: usize = 5_000;

/// Where what is told stands. Clones are the same board.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board(Arc<Mutex<State>>);

/// What is told of the source and of what was learned from it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct State {
    /// What the source is and its address; none where nothing is learned.
    pub(crate) source: Option<(Provider, String)>,
    /// Whether flows come.
    pub(crate) state: SourceState,
    /// The last error, empty for none.
    pub(crate) message: String,
    /// Since when.
    pub(crate) since: Option<Timestamp>,
    /// When the latest observation was made.
    pub(crate) last: Option<Timestamp>,
    /// What became of observations.
    pub(crate) funnel: Funnel,
    /// Edges in memory.
    pub(crate) edges: usize,
    /// The nodes behind the source.
    pub(crate) nodes: BTreeMap<Arc<str>, Node>,
    /// The latest losses, the newest first.
    pub(crate) losses: VecDeque<LostEvents>,
    /// Observations so far, at times.
    samples: VecDeque<(Timestamp, u64)>,
}

/// What a source says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) state: NodeState,
    pub(crate) message: Arc<str>,
    /// The last that was told.
    pub(crate) version: Option<Arc<str>>,
}

// === impl Board ===

impl Board {
    /// A board of a source that was not reached yet.
    pub(crate) fn new(source: Option<(Provider, String)>, now: Timestamp) -> Self {
        let state = SourceState::Connecting;
        let state = State { source, state, since: Some(now), ..State::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Tells what was learned so far: what became of observations, how many edges are held, and when the latest
    /// observation was made.
    pub(crate) fn publish(
        &self,
        funnel: &Funnel,
        edges: usize,
        last: Option<Timestamp>,
        now: Timestamp,
    ) {
        let mut state = self.state();
        state.funnel = funnel.clone();
        state.edges = edges;
        state.last = last;
        let is_old = |(time, _): &(Timestamp, u64)| time.distance(now) > MINUTE;
        while state.samples.len() >= SAMPLES || state.samples.get(1).is_some_and(is_old) {
            state.samples.pop_front();
        }
        state.samples.push_back((now, funnel.received));
    }

    /// Tells how the source is, whenever that changes.
    pub(crate) async fn follow(self, mut states: watch::Receiver<source::State>) {
        loop {
            let (state, message) = told(&states.borrow_and_update());
            self.source(state, &message, now());
            if states.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells whether flows come, with the last error if there is one.
    pub(crate) fn source(&self, source: SourceState, message: &str, now: Timestamp) {
        let mut state = self.state();
        if state.state != source {
            state.since = Some(now);
        }
        state.state = source;
        message.clone_into(&mut state.message);
    }

    /// Tells that the source lost events.
    pub(crate) fn lost(&self, lost: &LostEvents) {
        let mut state = self.state();
        state.losses.push_front(lost.clone());
        state.losses.truncate(LOSSES);
    }

    /// Tells what the source says of its nodes.
    pub(crate) fn nodes(&self, status: &NodeStatus) {
        let mut state = self.state();
        for node in &status.nodes {
            if state.nodes.len() >= NODES && !state.nodes.contains_key(node) {
                return;
            }
            let message = status.message.clone().unwrap_or_default();
            let known = state.nodes.get(node).and_then(|known| known.version.clone());
            let version = status.version.clone().or(known);
            state.nodes.insert(node.clone(), Node { state: status.state, message, version });
        }
    }

    /// What the source is.
    pub(crate) fn provider(&self) -> Provider {
        self.state().source.as_ref().map_or(Provider::Unspecified, |(provider, _)| *provider)
    }

    /// What is told now.
    pub(crate) fn read(&self) -> State {
        self.state().clone()
    }

    /// A state is whole after each change.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Observations per second over the last minute.
    pub(crate) fn rate(&self, now: Timestamp) -> f64 {
        let within = |(time, _): &&(Timestamp, u64)| time.distance(now) <= MINUTE;
        let Some(latest) = self.samples.back().filter(within) else { return 0.0 };
        let earlier = || self.samples.iter().rev().skip(1);
        let Some(first) = earlier().take_while(within).last().or(earlier().next()) else {
            return 0.0;
        };
        let count = latest.1.saturating_sub(first.1);
        let time = first.0.distance(now).as_secs_f64();
        if time > 0.0 { as_f64(count) / time } else { 0.0 }
    }
}

/// How a source is, for people; nothing is tried again of what ended.
fn told(state: &source::State) -> (SourceState, String) {
    match state {
        source::State::Idle => (SourceState::Unspecified, "this replica stands by".to_owned()),
        source::State::Streaming => (SourceState::Streaming, String::new()),
        source::State::Ended => (SourceState::Failed, "all that it had was reported".to_owned()),
        source::State::Failed(why) => (SourceState::Failed, why.clone()),
    }
}

/// As near as a float comes.
fn as_f64(count: u64) -> f64 {
    let low = u32::try_from(count & u64::from(u32::MAX)).unwrap_or_default();
    let high = u32::try_from(count >> 32).unwrap_or_default();
    f64::from(high).mul_add(4_294_967_296.0, f64::from(low))
}

#[cfg(test)]
mod tests;
