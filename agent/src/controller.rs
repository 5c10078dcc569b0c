//! The one loop that owns the index: changes of the cluster come in here, one after the other, and
//! everything that asks the index is asked from here.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_cluster::watch::Change;
use netenf_k8s::Index;
use netenf_learn::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::time::interval;

/// How often what was deleted long ago is forgotten.
const SWEEP: Duration = Duration::from_mins(1);

/// What the loop holds.
pub(crate) struct Controller {
    index: Index,
    changes: mpsc::Receiver<Change>,
    /// Kinds that were not listed yet.
    pending: watch::Sender<BTreeSet<Kind>>,
    leadership: Leadership,
}

// === impl Controller ===

impl Controller {
    /// A controller that knows nothing yet, and the kinds that it waits for.
    pub(crate) fn new(
        changes: mpsc::Receiver<Change>,
        leadership: Leadership,
    ) -> (Self, watch::Receiver<BTreeSet<Kind>>) {
        let (pending, waiting) = watch::channel(Kind::ALL.into());
        (Self { index: Index::default(), changes, pending, leadership }, waiting)
    }

    /// Runs until `shutdown`, or until nothing can change any more.
    pub(crate) async fn run(&mut self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        let mut sweep = interval(SWEEP);
        let mut leads = false;
        loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Some(change) => self.take(change, now()),
                    None => return,
                },
                _ = sweep.tick() => self.index.forget(now()),
                () = self.leadership.changed_from(leads) => {
                    leads = !leads;
                    tracing::info!(leads, "this replica {}", if leads { "leads" } else { "stands by" });
                }
                () = &mut shutdown => return,
            }
        }
    }

    /// What was not written yet belongs here.
    pub(crate) fn finish(self) {
        let workloads = self.index.workloads().count();
        tracing::info!(workloads, "the controller stopped");
    }

    /// Takes in what was told at `at`.
    fn take(&mut self, change: Change, at: Timestamp) {
        match change {
            Change::Replaced(kind, objects) => {
                tracing::debug!(%kind, objects = objects.len(), "listed");
                self.index.replace(&kind.into(), objects, at);
                self.pending.send_if_modified(|pending| pending.remove(&kind));
            }
            Change::Applied(object) => self.index.apply(object),
            Change::Deleted(object) => self.index.delete(&object, at),
            Change::Unreadable(it) => tracing::warn!(
                kind = %it.kind, namespace = it.namespace, name = it.name, message = it.message,
                "an object cannot be read and is left out; another version of the agent may have written it"
            ),
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_nanos().try_into().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
