//! Where flows come from. A source reports from a time on, what it can, and how it is.

use std::fmt;
use std::path::PathBuf;

use netenf_flows::{Input, Options, Record, Replay};
use netenf_learn::Timestamp;
use netenf_proto::netenf::v1::Provider;
use serde::Serialize;
use tokio::sync::{mpsc, watch};

/// As many records wait for the learner; a source waits with the next one.
const CAPACITY: usize = 4096;

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A recording, read as fast as it is learned from.
    Replay(PathBuf),
}

/// How a source is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "state", content = "message")]
pub(crate) enum State {
    /// This replica does not ask it: it stands by.
    #[default]
    Idle,
    /// Flows come, or may come.
    Streaming,
    /// All that it had was reported.
    Ended,
    /// It cannot be read, and why.
    Failed(String),
}

/// What a source reports.
pub(crate) struct Flows {
    pub(crate) records: mpsc::Receiver<Record>,
    /// How many flows were not reported, since they are from before.
    pub(crate) before: watch::Receiver<u64>,
    /// How the source is once no more records come.
    pub(crate) end: watch::Receiver<State>,
}

// === impl Source ===

impl Source {
    /// Begins to report what is not older than `since`; its flows end when nobody takes them any more.
    pub(crate) fn start(&self, since: Option<Timestamp>, states: watch::Sender<State>) -> Flows {
        let (sender, records) = mpsc::channel(CAPACITY);
        let (count, before) = watch::channel(0);
        let Self::Replay(path) = self.clone();
        let (over, end) = watch::channel(State::Idle);
        let replay = Reading { records: sender, since, before: count };
        tokio::task::spawn_blocking(move || {
            states.send_replace(State::Streaming);
            over.send_replace(replay.read(path));
        });
        Flows { records, before, end }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Replay(path) = self;
        write!(formatter, "replay:{}", path.display())
    }
}

impl Source {
    /// The provider's name, as the flag has it.
    pub(crate) fn name(&self) -> &'static str {
        let Self::Replay(_) = self;
        "replay"
    }

    /// What it is, and its address, for people who ask.
    pub(crate) fn told(&self) -> (Provider, String) {
        let Self::Replay(path) = self;
        (Provider::Replay, path.display().to_string())
    }

    /// What is taken for written before anything was: for a recording nothing.
    pub(crate) fn beginning(&self) -> Timestamp {
        let Self::Replay(_) = self;
        Timestamp(0)
    }
}

// === impl State ===

impl State {
    /// Why flows do not come, if they should.
    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Failed(why) => Some(why.clone()),
            Self::Idle | Self::Streaming | Self::Ended => None,
        }
    }
}

/// A recording that is read.
struct Reading {
    records: mpsc::Sender<Record>,
    since: Option<Timestamp>,
    before: watch::Sender<u64>,
}

// === impl Reading ===

impl Reading {
    /// Reads to the end, or until nobody takes records any more.
    fn read(&self, path: PathBuf) -> State {
        let inputs = vec![Input::from_argument(path)];
        let mut replay = match Replay::new(inputs, Options::default()) {
            Ok(replay) => replay,
            Err(error) => return failed("the recording cannot be read", &error),
        };
        loop {
            match replay.next() {
                Ok(Some(item)) if self.is_before(&item.record) => {
                    self.before.send_modify(|count| *count += 1);
                }
                Ok(Some(item)) => {
                    if self.records.blocking_send(item.record).is_err() {
                        return State::Idle;
                    }
                }
                Ok(None) => break,
                Err(error) => return failed("the recording ends here", &error),
            }
        }
        let summary = replay.summary();
        tracing::info!(bad = summary.bad, inputs = summary.inputs.len(), "the recording was read");
        State::Ended
    }

    /// What tells no time may always be new.
    fn is_before(&self, record: &Record) -> bool {
        let Record::Flow(observation) = record else { return false };
        observation.time.zip(self.since).is_some_and(|(time, since)| time < since)
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> State {
    tracing::error!(%error, "{what}");
    State::Failed(format!("{what}: {error}"))
}
