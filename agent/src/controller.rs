//! The one loop that owns the index: changes of the cluster come in here, one after the other, and
//! everything that asks the index is asked from here.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_cluster::queue::Queue;
use netenf_cluster::watch::Change;
use netenf_k8s::Index;
use netenf_learn::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::interval;

use crate::clock::now;
use crate::enforcement::Enforcement;
use crate::stored::{Name, Shared};

/// How often what was deleted long ago is forgotten.
const SWEEP: Duration = Duration::from_mins(1);

/// How often everything is decided on again, whatever was told.
const RESYNC: Duration = Duration::from_mins(10);

/// The kinds that reconciling decides by.
const DECIDING: [Kind; 6] = [
    Kind::Proposal,
    Kind::Policy,
    Kind::NetworkPolicy,
    Kind::AuthorizationPolicy,
    // They tell what enforces.
    Kind::DaemonSet,
    Kind::Node,
];

/// What the loop holds.
pub(crate) struct Controller {
    index: Arc<RwLock<Index>>,
    enforcement: Arc<Enforcement>,
    changes: mpsc::Receiver<Change>,
    /// Kinds that were not listed yet.
    pending: watch::Sender<BTreeSet<Kind>>,
    leadership: Leadership,
    stored: Shared,
    queue: Arc<Queue<Name>>,
}

// === impl Controller ===

impl Controller {
    /// A controller that knows nothing yet, and the kinds that it waits for.
    pub(crate) fn new(
        changes: mpsc::Receiver<Change>,
        leadership: Leadership,
        enforcement: Arc<Enforcement>,
        (stored, queue): (Shared, Arc<Queue<Name>>),
    ) -> (Self, watch::Receiver<BTreeSet<Kind>>) {
        let (pending, waiting) = watch::channel(Kind::ALL.into());
        let index = Arc::clone(&enforcement.index);
        (Self { index, enforcement, changes, pending, leadership, stored, queue }, waiting)
    }

    /// Runs until `shutdown`, or until nothing can change any more.
    pub(crate) async fn run(&mut self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let (mut sweep, mut resync) = (interval(SWEEP), interval(RESYNC));
        let mut leads = false;
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Some(change) => self.take(change, now()),
                    None => return,
                },
                _ = sweep.tick() => self.index_mut().forget(now()),
                _ = resync.tick() => {
                    let mut stored = self.stored.lock();
                    stored.ledger.retry();
                    drop(stored);
                    self.enqueue(None);
                }
                () = self.leadership.changed_from(leads) => {
                    leads = !leads;
                    if leads {
                        // While it stood by everything was put off.
                        self.queue.hurry();
                        self.enqueue(None);
                    }
                    tracing::info!(leads, "this replica {}", if leads { "leads" } else { "stands by" });
                }
                () = &mut shutdown => return,
            }
        }
    }

    /// A reader that panicked changed nothing.
    fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the names decided on again that a change is about; all of them where there is none. While kinds are
    /// not listed yet nothing is decided: what is not known yet would be taken for absent.
    fn enqueue(&self, change: Option<&Change>) {
        let mut stored = self.stored.lock();
        let touched = match change {
            Some(change) => stored.take(change),
            None => stored.names(),
        };
        drop(stored);
        if self.pending.borrow().iter().any(|kind| DECIDING.contains(kind)) {
            return;
        }
        for name in touched {
            if let Err(full) = self.queue.add(name) {
                tracing::warn!(%full, "what does not fit is decided on at the next resync");
            }
        }
    }

    /// Takes in what was told at `at`.
    fn take(&mut self, change: Change, at: Timestamp) {
        if matches!(&change, Change::Replaced(kind, _) if DECIDING.contains(kind)) {
            // A kind that was not served may be by now.
            self.queue.hurry();
        }
        self.enqueue(Some(&change));
        let was_waiting = self.pending.borrow().iter().any(|kind| DECIDING.contains(kind));
        self.apply(change, at);
        let is_known =
            was_waiting && !self.pending.borrow().iter().any(|kind| DECIDING.contains(kind));
        if self.enforcement.has_changed() || is_known {
            self.enqueue(None);
        }
    }

    fn apply(&mut self, change: Change, at: Timestamp) {
        match change {
            Change::Replaced(kind, objects) => {
                tracing::debug!(%kind, objects = objects.len(), "listed");
                self.index_mut().replace(&kind.into(), objects, at);
                self.pending.send_if_modified(|pending| pending.remove(&kind));
            }
            Change::Applied(object) => self.index_mut().apply(object),
            Change::Deleted(object) => self.index_mut().delete(&object, at),
            Change::Unreadable(it) if it.is_gone => {}
            Change::Unreadable(it) => tracing::warn!(
                kind = %it.kind, namespace = it.namespace, name = it.name, message = it.message,
                "an object cannot be read and is left out; another version of the agent may have written it"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
