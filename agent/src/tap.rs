//! The latest observations, for those who watch. Whoever learns puts each in, and is never kept waiting: a bounded
//! ring holds the latest, and a reader that is slower than it is told how many it missed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use netenf_learn::classify::Skip;
use netenf_learn::{LostEvents, Observation};
use tokio::sync::Notify;

/// How many events are held.
pub(crate) const HELD: usize = 4096;

/// What was seen or lost.
#[derive(Debug)]
pub(crate) enum Event {
    /// An observation, and why it taught nothing, where the learner said so at once.
    Seen(Box<Observation>, Option<Skip>),
    /// The source lost events.
    Lost(LostEvents),
}

/// Where observations are put in and read from. Clones are the same tap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tap(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    ring: Mutex<Ring>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Ring {
    held: VecDeque<Arc<Event>>,
    /// The number of the oldest event that is held; events are numbered from 0.
    first: u64,
}

/// A place in the stream of events.
#[derive(Debug)]
pub(crate) struct Reader {
    tap: Tap,
    /// The number of the next event.
    next: u64,
}

/// Events that follow each other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// How many went before they could be read.
    pub(crate) missed: u64,
    pub(crate) events: Vec<Arc<Event>>,
}

// === impl Tap ===

impl Tap {
    /// Puts an observation in, with why it taught nothing, where the learner says so at once.
    pub(crate) fn seen(&self, observation: Observation, skipped: Option<Skip>) {
        self.put(Event::Seen(Box::new(observation), skipped));
    }

    /// Puts in that the source lost events.
    pub(crate) fn lost(&self, lost: LostEvents) {
        self.put(Event::Lost(lost));
    }

    /// A reader of all that is held and of what comes.
    pub(crate) fn reader(&self) -> Reader {
        Reader { next: self.ring().first, tap: self.clone() }
    }

    /// The number that the next event will have.
    pub(crate) fn end(&self) -> u64 {
        self.ring().end()
    }

    fn put(&self, event: Event) {
        let event = Arc::new(event);
        let mut ring = self.ring();
        // Another reader may hold it still: it goes when the last one is done with it.
        let dropped = if ring.held.len() == HELD { ring.held.pop_front() } else { None };
        ring.first += u64::from(dropped.is_some());
        ring.held.push_back(event);
        drop(ring);
        drop(dropped);
        self.0.news.notify_waiters();
    }

    /// A ring is whole after each change.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Ring ===

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.held.len() as u64
    }
}

// === impl Reader ===

impl Reader {
    /// The next events, `limit` at most; none where there are none yet.
    pub(crate) fn read(&mut self, limit: usize) -> Batch {
        let ring = self.tap.ring();
        let missed = ring.first.saturating_sub(self.next);
        let start = usize::try_from(self.next.saturating_sub(ring.first)).unwrap_or(usize::MAX);
        let events: Vec<_> = ring.held.iter().skip(start).take(limit).cloned().collect();
        drop(ring);
        self.next += missed + events.len() as u64;
        Batch { missed, events }
    }

    /// Goes on with what is put in from now on.
    pub(crate) fn skip_to(&mut self, number: u64) {
        self.next = self.next.max(number);
    }

    /// The number of the next event.
    pub(crate) fn position(&self) -> u64 {
        self.next
    }

    /// Waits until there is more to read.
    pub(crate) async fn more(&self) {
        loop {
            // Made before looking: what is put in after that wakes it.
            let news = self.tap.0.news.notified();
            if self.tap.end() > self.next {
                return;
            }
            news.await;
        }
    }
}

#[cfg(test)]
mod tests;
