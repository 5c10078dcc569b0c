//! Work by key: each key waits at most once, is worked at by one worker at a time, and is tried again with
//! growing pauses. `Backlog` decides, with the time as an argument; [`Queue`] lets workers wait for it.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use backlog::Backlog;

pub use backlog::{Fate, Full, Limits, Outcome};

mod backlog;

/// A backlog that several tasks share.
pub struct Queue<K> {
    backlog: Mutex<Backlog<K>>,
    /// Since when each key is worked at.
    begun: Mutex<HashMap<K, Instant>>,
    changed: Notify,
    /// Told when nothing is left to do.
    idle: Notify,
    metrics: Metrics,
}

#[derive(Debug)]
struct Metrics {
    depth: Gauge,
    parked: Gauge,
    retries: Counter,
    refused: Counter,
    work: Histogram,
}

// === impl Queue ===

impl<K: Clone + Debug + Eq + Hash + Ord> Queue<K> {
    /// An empty queue, seen in `registry`.
    pub fn new(limits: Limits, registry: &mut Registry) -> Self {
        let metrics = Metrics::new(registry);
        let (changed, idle) = (Notify::new(), Notify::new());
        let begun = Mutex::default();
        Self { backlog: Mutex::new(Backlog::new(limits)), begun, changed, idle, metrics }
    }

    /// The object changed: it is to be worked at, soon even if it was parked. Not for changes that the
    /// worker itself makes, which would keep it busy with itself.
    ///
    /// # Errors
    /// If the queue is full; the caller has to come back with the object later.
    pub fn add(&self, key: K) -> Result<(), Full> {
        let added = self.lock().add(key, Instant::now());
        if added.is_err() {
            self.metrics.refused.inc();
        }
        self.wake();
        added
    }

    /// What kept many objects from being worked at is over: those that wait after a failure are tried soon.
    pub fn hurry(&self) {
        self.lock().hurry(Instant::now());
        self.wake();
    }

    /// The object is gone: nothing waits for it any more.
    pub fn forget(&self, key: &K) {
        self.lock().forget(key);
        self.wake();
    }

    /// The next key that is due. Nobody else gets it until [`Self::finish`] is told.
    pub async fn next(&self) -> K {
        loop {
            let changed = self.changed.notified();
            let (key, due) = {
                let mut backlog = self.lock();
                (backlog.next(Instant::now()), backlog.due())
            };
            match (key, due) {
                (Some(key), _) => {
                    // There may be another one for another worker, who got no word of it.
                    self.changed.notify_one();
                    locked(&self.begun).insert(key.clone(), Instant::now());
                    return key;
                }
                (None, Some(due)) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                },
                (None, None) => changed.await,
            }
        }
    }

    /// The worker is done with the key, and what becomes of it.
    pub fn finish(&self, key: &K, outcome: Outcome) -> Fate {
        if let Some(begun) = locked(&self.begun).remove(key) {
            self.metrics.work.observe(begun.elapsed().as_secs_f64());
        }
        let fate = self.lock().finish(key, outcome, Instant::now());
        if matches!(fate, Fate::Retried { .. }) {
            self.metrics.retries.inc();
        }
        self.wake();
        fate
    }

    /// Waits until nothing is left to do; what is parked is given up.
    pub async fn until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            let (depth, parked) = self.sizes();
            if depth == parked {
                return;
            }
            idle.await;
        }
    }

    fn sizes(&self) -> (usize, usize) {
        let backlog = self.lock();
        (backlog.len(), backlog.parked())
    }

    /// Lets a worker look at the backlog, which changed.
    fn wake(&self) {
        let (depth, parked) = self.sizes();
        if depth == parked {
            self.idle.notify_waiters();
        }
        self.metrics.depth.set(depth.try_into().unwrap_or(i64::MAX));
        self.metrics.parked.set(parked.try_into().unwrap_or(i64::MAX));
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Backlog<K>> {
        locked(&self.backlog)
    }
}

/// A worker that panicked left the backlog as whole as it was: no method of it panics halfway.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Metrics ===

impl Metrics {
    fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            depth: Gauge::default(),
            parked: Gauge::default(),
            retries: Counter::default(),
            refused: Counter::default(),
            // From half a millisecond to 32 seconds.
            work: Histogram::new(exponential_buckets(0.0005, 4.0, 9)),
        };
        registry.register(
            "queue_depth",
            "Objects that are waited for, worked at or parked",
            metrics.depth.clone(),
        );
        registry.register(
            "queue_parked",
            "Objects that failed too often and wait until they change",
            metrics.parked.clone(),
        );
        registry.register(
            "queue_retries",
            "Failed attempts at an object that are tried again",
            metrics.retries.clone(),
        );
        registry.register(
            "queue_refused",
            "Changes that were not taken in because the queue was full",
            metrics.refused.clone(),
        );
        registry.register(
            "reconcile_duration_seconds",
            "Time of one attempt to make an object what it is to be",
            metrics.work.clone(),
        );
        metrics
    }
}

#[cfg(test)]
mod tests;
