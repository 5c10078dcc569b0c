//! What is to be told, and what was told: pure, with the time as an argument.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::document::{Id, Telling};

/// As many different Events wait for their turn.
const WAITING: usize = 256;

/// Of as many Events it is known how often they were told. Of others the API server is asked.
const REMEMBERED: usize = 1024;

/// What was told is told again at the earliest after as long, with all that happened in between.
pub(super) const REPEAT: Duration = Duration::from_secs(5);

/// There is no room for another Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// An Event that waits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) telling: Telling,
    /// How often it happened since it was told.
    pub(super) times: u32,
    due: Instant,
}

/// What waits, in the order in which it came, and what was told.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    waiting: Vec<Entry>,
    told: HashMap<Id, Told>,
}

#[derive(Debug, Clone, Copy)]
struct Told {
    times: u32,
    last: Instant,
}

// === impl Ledger ===

impl Ledger {
    /// It happened, perhaps again.
    pub(super) fn add(&mut self, telling: Telling, now: Instant) -> Result<(), Full> {
        if let Some(entry) = self.waiting.iter_mut().find(|one| one.telling.id == telling.id) {
            entry.times = entry.times.saturating_add(1);
            return Ok(());
        }
        if self.waiting.len() >= WAITING {
            return Err(Full);
        }
        let due = self.told.get(&telling.id).map_or(now, |told| now.max(told.last + REPEAT));
        self.waiting.push(Entry { telling, times: 1, due });
        Ok(())
    }

    /// Takes out the first that is due.
    pub(super) fn next(&mut self, now: Instant) -> Option<Entry> {
        let first = self.waiting.iter().position(|entry| entry.due <= now)?;
        Some(self.waiting.remove(first))
    }

    /// When the next one is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.iter().map(|entry| entry.due).min()
    }

    /// How often it was told, as far as that is known.
    pub(super) fn told(&self, id: &Id) -> Option<u32> {
        self.told.get(id).map(|told| told.times)
    }

    /// It was told so often.
    pub(super) fn remember(&mut self, id: Id, times: u32, now: Instant) {
        if self.told.len() >= REMEMBERED && !self.told.contains_key(&id) {
            let oldest = self.told.iter().min_by_key(|(_, told)| told.last).map(|(id, _)| *id);
            oldest.and_then(|id| self.told.remove(&id));
        }
        self.told.insert(id, Told { times, last: now });
    }
}

#[cfg(test)]
mod tests;
