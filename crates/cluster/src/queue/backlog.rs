//! What is to be done, in which order and when: pure, with the time as an argument.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// The bounds of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// As many keys are known at once, parked ones too.
    pub capacity: usize,
    /// A key that was refused as often is parked.
    pub attempts: u32,
    /// After the first failure; it doubles with each further one.
    pub first_pause: Duration,
    /// No pause is longer.
    pub longest_pause: Duration,
}

/// There is no room for another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the queue is full: {capacity} objects wait")]
pub struct Full {
    /// As many keys it holds.
    pub capacity: usize,
}

/// How an attempt at a key ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything is as it should be.
    Done,
    /// It failed because of the object. That is tried a limited number of times.
    Refused,
    /// It failed because of something else, which will pass, and not before `after`.
    Interrupted {
        /// What the server asked to wait.
        after: Duration,
    },
    /// Nothing was tried: a change is awaited that the worker itself made, and by which it decides.
    Early {
        /// A change that did not come by then does not come.
        at_most: Duration,
    },
}

/// What becomes of a key after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing: it is forgotten.
    Done,
    /// It changed in the meantime, and is due again.
    Again,
    /// It is due when it changes, or after a while.
    Awaited,
    /// It is tried again.
    Retried {
        /// After as long.
        after: Duration,
    },
    /// It is not tried again before it changes. That should be said in a condition of the object.
    Parked {
        /// It failed as often.
        attempts: u32,
    },
}

/// Keys, each in one phase.
pub(super) struct Backlog<K> {
    limits: Limits,
    entries: HashMap<K, Entry>,
    /// In the order in which they became due.
    ready: VecDeque<K>,
    delayed: BTreeSet<(Instant, K)>,
    parked: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    phase: Phase,
    failures: u32,
    /// The server asked to wait until then.
    not_before: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Ready,
    Running,
    /// Changed while somebody works at it.
    RunningAgain,
    Delayed(Instant),
    /// The same, but due as soon as it changes.
    Awaiting(Instant),
    Parked,
}

// === impl Limits ===

impl Default for Limits {
    /// Ten attempts take eight and a half minutes.
    fn default() -> Self {
        Self {
            capacity: 100_000,
            attempts: 10,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_mins(5),
        }
    }
}

impl Limits {
    /// The pause after that many failures in a row.
    fn pause(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.first_pause.saturating_mul(factor).min(self.longest_pause)
    }
}

// === impl Backlog ===

impl<K: Clone + Eq + Hash + Ord> Backlog<K> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: HashMap::new(),
            ready: VecDeque::new(),
            delayed: BTreeSet::new(),
            parked: 0,
        }
    }

    /// The object changed. One that waits after a failure is tried after the first pause: the change may
    /// have mended it, and may also be the trace of the attempt itself. What the server asked to wait is waited.
    pub(super) fn add(&mut self, key: K, now: Instant) -> Result<(), Full> {
        let known = self.entries.get(&key).copied();
        match known.map(|entry| entry.phase) {
            None if self.entries.len() >= self.limits.capacity => {
                return Err(Full { capacity: self.limits.capacity });
            }
            None | Some(Phase::Parked) => self.set(key, Phase::Ready, 0),
            Some(Phase::Awaiting(_)) => {
                let failures = known.map_or(0, |entry| entry.failures);
                self.set(key, Phase::Ready, failures);
            }
            Some(Phase::Running) => self.set(key, Phase::RunningAgain, 0),
            Some(Phase::Delayed(at)) => {
                let failures = known.map_or(0, |entry| entry.failures);
                let soon = known
                    .and_then(|entry| entry.not_before)
                    .max(Some(now + self.limits.first_pause));
                self.set(key, Phase::Delayed(soon.map_or(at, |soon| at.min(soon))), failures);
            }
            Some(Phase::Ready | Phase::RunningAgain) => {}
        }
        Ok(())
    }

    /// Everything that waits after a failure is tried after the first pause, as if it had changed.
    pub(super) fn hurry(&mut self, now: Instant) {
        let waiting: Vec<K> = self.delayed.iter().map(|(_, key)| key.clone()).collect();
        for key in waiting {
            // What waits is known, so that there is room for it.
            let _ = self.add(key, now);
        }
    }

    /// The object is gone. A worker that is at it finds that out.
    pub(super) fn forget(&mut self, key: &K) {
        match self.entries.get(key).map(|entry| entry.phase) {
            Some(Phase::Ready) => {
                self.ready.retain(|one| one != key);
                self.entries.remove(key);
            }
            Some(Phase::Delayed(_) | Phase::Awaiting(_) | Phase::Parked) => {
                self.leave(key);
                self.entries.remove(key);
            }
            Some(Phase::Running | Phase::RunningAgain) | None => {}
        }
    }

    /// The key that is due first.
    pub(super) fn next(&mut self, now: Instant) -> Option<K> {
        while let Some((_, key)) = self.delayed.first().filter(|(at, _)| *at <= now).cloned() {
            let failures = self.entries.get(&key).map_or(0, |entry| entry.failures);
            self.set(key, Phase::Ready, failures);
        }
        let key = self.ready.pop_front()?;
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.phase = Phase::Running;
        }
        Some(key)
    }

    /// When the next key that waits is due, if none is now.
    pub(super) fn due(&self) -> Option<Instant> {
        self.delayed.first().map(|(at, _)| *at)
    }

    /// A worker's word on a key that it got.
    pub(super) fn finish(&mut self, key: &K, outcome: Outcome, now: Instant) -> Fate {
        let Some(Entry { phase, failures, .. }) = self.entries.get(key).copied() else {
            return Fate::Done;
        };
        match outcome {
            Outcome::Done if phase == Phase::RunningAgain => {
                self.set(key.clone(), Phase::Ready, 0);
                Fate::Again
            }
            Outcome::Done => {
                self.entries.remove(key);
                Fate::Done
            }
            Outcome::Early { .. } if phase == Phase::RunningAgain => {
                self.set(key.clone(), Phase::Ready, failures);
                Fate::Again
            }
            Outcome::Early { at_most } => {
                self.set(key.clone(), Phase::Awaiting(now + at_most), failures);
                Fate::Awaited
            }
            // One that changed in the meantime was not tried as it is now.
            Outcome::Refused
                if phase != Phase::RunningAgain && failures + 1 >= self.limits.attempts =>
            {
                self.set(key.clone(), Phase::Parked, failures + 1);
                Fate::Parked { attempts: failures + 1 }
            }
            Outcome::Refused => self.delay(key, failures + 1, Duration::ZERO, now),
            Outcome::Interrupted { after } => {
                let failures = (failures + 1).min(self.limits.attempts.saturating_sub(1));
                self.delay(key, failures, after, now)
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn parked(&self) -> usize {
        self.parked
    }

    fn delay(&mut self, key: &K, failures: u32, at_least: Duration, now: Instant) -> Fate {
        let after = self.limits.pause(failures).max(at_least);
        self.set(key.clone(), Phase::Delayed(now + after), failures);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.not_before = Some(now + at_least);
        }
        Fate::Retried { after }
    }

    /// Moves a key into a phase, and into the list of those in it.
    fn set(&mut self, key: K, phase: Phase, failures: u32) {
        self.leave(&key);
        match phase {
            Phase::Ready => self.ready.push_back(key.clone()),
            Phase::Delayed(at) | Phase::Awaiting(at) => {
                self.delayed.insert((at, key.clone()));
            }
            Phase::Parked => self.parked += 1,
            Phase::Running | Phase::RunningAgain => {}
        }
        let not_before = self.entries.get(&key).and_then(|entry| entry.not_before);
        self.entries.insert(key, Entry { phase, failures, not_before });
    }

    /// Takes a key that waits or is parked out of where it stands.
    fn leave(&mut self, key: &K) {
        match self.entries.get(key).map(|entry| entry.phase) {
            Some(Phase::Delayed(at) | Phase::Awaiting(at)) => {
                self.delayed.remove(&(at, key.clone()));
            }
            Some(Phase::Parked) => self.parked -= 1,
            Some(Phase::Ready | Phase::Running | Phase::RunningAgain) | None => {}
        }
    }
}
