//! Where flows come from. A source reports from a time on, what it can, and how it is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use netenf_flows::node::{self, Delivery, Tls};
use netenf_flows::{Input, Options, Record, Replay};
use netenf_learn::Timestamp;
use netenf_proto::netenf::v1::Provider;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use crate::address::Address;

/// As many records wait for the learner; a source waits with the next one.
const CAPACITY: usize = node::CAPACITY;

/// Between two attempts to listen.
const PAUSE: Duration = Duration::from_secs(1);

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A recording, read as fast as it is learned from.
    Replay(PathBuf),
    /// Our node agents, which report to this address: over TLS with the certificates in a folder, else to whoever
    /// reaches it.
    Node(Address, Option<PathBuf>),
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
    pub(crate) records: mpsc::Receiver<Delivery>,
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
        let (over, end) = watch::channel(State::Idle);
        match self.clone() {
            Self::Replay(path) => {
                let replay = Reading { records: sender, since, before: count };
                tokio::task::spawn_blocking(move || {
                    states.send_replace(State::Streaming);
                    over.send_replace(replay.read(path));
                });
            }
            Self::Node(address, certificates) => {
                let listening = Listening { address, certificates, states };
                tokio::spawn(listening.run(sender));
            }
        }
        Flows { records, before, end }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replay(path) => write!(formatter, "replay:{}", path.display()),
            Self::Node(..) => formatter.write_str("node"),
        }
    }
}

impl Source {
    /// The provider's name, as the flag has it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Replay(_) => "replay",
            Self::Node(..) => "node",
        }
    }

    /// What it is, and its address, for people who ask.
    pub(crate) fn told(&self) -> (Provider, String) {
        match self {
            Self::Replay(path) => (Provider::Replay, path.display().to_string()),
            Self::Node(address, _) => (Provider::Node, address.to_string()),
        }
    }

    /// Whether it tells again what it told before, so that what was learned from has to be known. Node agents send
    /// again what was not taken, and nothing else.
    pub(crate) fn tells_again(&self) -> bool {
        matches!(self, Self::Replay(_))
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
    records: mpsc::Sender<Delivery>,
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
                    if self.records.blocking_send(item.record.into()).is_err() {
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

/// Where node agents report.
struct Listening {
    address: Address,
    certificates: Option<PathBuf>,
    states: watch::Sender<State>,
}

// === impl Listening ===

impl Listening {
    /// Takes reports until nobody takes them any more. What keeps it from listening is tried again: certificates may
    /// come later, and the address may be in use by what ends just now.
    async fn run(self, deliveries: mpsc::Sender<Delivery>) {
        while !deliveries.is_closed() {
            let state = match self.listen().await {
                Ok(Some((listener, tls))) => self.serve(listener, tls, deliveries.clone()).await,
                Ok(None) => return,
                Err(error) => State::Failed(format!("node agents cannot report: {error:#}")),
            };
            if deliveries.is_closed() {
                // How the source is tells who learns next.
                return;
            }
            let is_news = *self.states.borrow() != state;
            if let State::Failed(why) = &state
                && is_news
            {
                tracing::error!("{why}");
            }
            self.states.send_replace(state);
            // Who learns no more ends the pause.
            tokio::select! {
                () = sleep(PAUSE) => {}
                () = deliveries.closed() => {}
            }
        }
    }

    async fn listen(&self) -> anyhow::Result<Option<(TcpListener, Option<Tls>)>> {
        let read = |folder: &Path| tokio::task::block_in_place(|| Tls::read(folder));
        let tls = self.certificates.as_deref().map(read).transpose()?;
        let listener = self.address.listen().await;
        let listener = listener.with_context(|| format!("cannot listen at {}", self.address))?;
        Ok(listener.map(|listener| (listener, tls)))
    }

    async fn serve(
        &self,
        listener: TcpListener,
        tls: Option<Tls>,
        deliveries: mpsc::Sender<Delivery>,
    ) -> State {
        let local = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        tracing::info!(what = "node", address = local, tls = tls.is_some(), "serving");
        if tls.is_none() {
            tracing::warn!(
                "whoever reaches {local} can report flows of any node, and what is reported is learned; use TLS but for trials"
            );
        }
        self.states.send_replace(State::Streaming);
        match node::serve(listener, tls, deliveries).await {
            Ok(()) => State::Idle,
            Err(error) => State::Failed(format!("node agents cannot report any more: {error}")),
        }
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> State {
    tracing::error!(%error, "{what}");
    State::Failed(format!("{what}: {error}"))
}
