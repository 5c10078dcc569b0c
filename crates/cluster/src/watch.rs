//! Watches of all kinds, as one stream of changes.
//!
//! Each kind has a task of its own, which lists the kind, follows it, and lists it again where the server
//! no longer knows what came in between. All tasks share one bounded channel: a slow owner slows the
//! watches down, and loses nothing. A kind that the server does not serve counts as one without objects
//! until its definition comes; a kind that may not be read is told, and asked for again now and then.

use std::collections::BTreeMap;
use std::fmt;

use kube::Client;
use netenf_k8s::Object;
use prometheus_client::registry::Registry;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::kind::{Kind, Presence};
use metric::Metrics;
use source::Hub;
use starter::Starter;

mod definition;
mod metric;
mod source;
mod starter;
mod trim;

#[cfg(test)]
mod tests;

/// As many changes wait for their owner; then the watches wait.
const CAPACITY: usize = 1024;

/// What happened in the cluster. Changes of one kind come in their order, those of different kinds do not.
#[derive(Debug)]
pub enum Change {
    /// These are all objects of the kind: what is not among them is gone.
    Replaced(Kind, Vec<Object>),
    /// The object is new or has changed.
    Applied(Object),
    /// The object is gone.
    Deleted(Object),
    /// The object cannot be understood. It is not among those of [`Change::Replaced`], after which it is told.
    Unreadable(Unreadable),
}

/// An object that the server accepted and that has another shape here: it is newer than this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for an object of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID, by which an Event finds it.
    pub uid: Option<String>,
    /// Whether it is there no more.
    pub is_gone: bool,
    /// What could not be read.
    pub message: String,
}

/// How it stands with the watch of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It was not listed yet.
    Starting,
    /// Everything that the server knows is known, or in the channel.
    Synced,
    /// The server does not serve the kind.
    Absent,
    /// This program may not read the kind; the server says why.
    Forbidden(String),
    /// The last request failed; another follows.
    Failing(String),
}

/// How it stands with each kind.
pub type States = BTreeMap<Kind, State>;

/// Running watches.
pub struct Watches {
    /// Changes, for the one owner of the index.
    pub changes: mpsc::Receiver<Change>,
    /// How it stands with each kind.
    pub states: watch::Receiver<States>,
    /// One task a kind. They end when this is dropped.
    pub tasks: JoinSet<()>,
}

// === impl State ===

impl State {
    /// Why a kind in this state keeps the agent from being ready; `None` if it does not.
    pub fn fault(&self, presence: Presence) -> Option<String> {
        match (self, presence) {
            (Self::Synced, _) | (Self::Absent, Presence::Optional) => None,
            (Self::Starting | Self::Absent | Self::Forbidden(_) | Self::Failing(_), _) => {
                Some(self.to_string())
            }
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("not listed yet"),
            Self::Synced => f.write_str("synced"),
            Self::Absent => f.write_str("not served: its definition is not installed"),
            Self::Forbidden(message) => write!(f, "forbidden: {message}"),
            Self::Failing(message) => write!(f, "failing: {message}"),
        }
    }
}

// === impl Watches ===

impl Watches {
    /// Starts to watch every kind. The first change of each kind is [`Change::Replaced`], once it could be
    /// listed or is found to be absent.
    pub fn start(client: &Client, registry: &mut Registry) -> Self {
        let (sender, changes) = mpsc::channel(CAPACITY);
        let (states_sender, states) =
            watch::channel(Kind::ALL.map(|kind| (kind, State::Starting)).into());
        let (defined, definitions) = watch::channel(());
        let hub = Hub {
            changes: sender,
            states: states_sender,
            definitions,
            metrics: Metrics::register(registry),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(definition::follow(client.clone(), defined));
        let mut starter = Starter { client: client.clone(), hub, tasks };
        for kind in Kind::ALL {
            starter.start(kind);
        }
        Self { changes, states, tasks: starter.tasks }
    }
}
