//! What was counted before, so that a sum that only grows can be told in parts.
//!
//! A learner's sums cover all that it ever saw. Who adds them to what is stored, again and again, adds only what is
//! new: the difference to the [`Counts`] of the time before.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;

use crate::Timestamp;

use super::{Denial, Evidence, Peer, Proposal, Provenance, SeenEdge, Uncovered};

/// Connections by rule and by uncovered item of one proposal: 16 bytes for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(HashMap<u64, u64, FixedState>);

// === impl Counts ===

impl Counts {
    /// How much of `count` is new.
    fn rest(&self, key: u64, count: u64) -> u64 {
        count.saturating_sub(self.0.get(&key).copied().unwrap_or_default())
    }
}

// === impl Proposal ===

impl Proposal {
    /// What was counted until now.
    pub fn counts(&self) -> Counts {
        let rules = self.evidence.iter().map(|one| (of_evidence(one), one.count));
        let items = self.uncovered.iter().map(|one| (of_uncovered(one), one.count));
        Counts(rules.chain(items).collect())
    }

    /// Everything that was counted; by it, it shows without further ado whether something was counted since.
    pub fn total(&self) -> u64 {
        let rules = self.evidence.iter().map(|one| one.count);
        rules.chain(self.uncovered.iter().map(|one| one.count)).fold(0, u64::saturating_add)
    }

    /// The same proposal, counting only what `before` does not hold. Rules and items stay, also where nothing new
    /// was seen of them.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Self {
        let mut proposal = self.clone();
        for one in &mut proposal.evidence {
            one.count = before.rest(of_evidence(one), one.count);
        }
        for one in &mut proposal.uncovered {
            one.count = before.rest(of_uncovered(one), one.count);
        }
        proposal
    }

    /// When the newest of the rules was first seen.
    pub(crate) fn newest_rule(&self) -> Option<Timestamp> {
        let observed =
            self.evidence.iter().filter(|one| one.provenance != Provenance::Infrastructure);
        observed.filter_map(|one| one.first).max()
    }

    /// Without what counts nothing; what the cluster needs stays beside what was seen. `None` if nothing is left.
    pub fn seen(mut self) -> Option<Self> {
        let is_needed = |one: &Evidence| one.provenance == Provenance::Infrastructure;
        self.uncovered.retain(|one| one.count > 0);
        let is_seen = |one: &Evidence| one.count > 0 && !is_needed(one);
        if self.uncovered.is_empty() && !self.evidence.iter().any(is_seen) {
            return None;
        }
        self.evidence.retain(|one| one.count > 0 || is_needed(one));
        self.last_new_rule = self.newest_rule();
        let evidence = &self.evidence;
        self.rules.retain(|peer, ports| {
            ports.retain(|(protocol, port)| {
                let is_of = |one: &Evidence| {
                    one.rule == *peer && one.protocol == *protocol && one.port == *port
                };
                evidence.iter().any(is_of)
            });
            !ports.is_empty()
        });
        Some(self)
    }

    /// A hash of everything but how often and when something was seen last: it changes where the proposal tells
    /// something new.
    pub fn meaning(&self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        (&self.subject, self.direction, self.backend, &self.selector).hash(&mut hasher);
        self.rules.hash(&mut hasher);
        for one in &self.evidence {
            (of_evidence(one), &one.peer, one.provenance).hash(&mut hasher);
            (&one.services, &one.notes, &one.example, one.first).hash(&mut hasher);
        }
        for one in &self.uncovered {
            (of_uncovered(one), &one.peer, &one.rule, one.reason).hash(&mut hasher);
            (&one.notes, one.first).hash(&mut hasher);
        }
        for one in &self.suggestions {
            (&one.id, one.port, one.end_port, one.ports).hash(&mut hasher);
        }
        for one in &self.denials {
            (&one.source, &one.destination, &one.by).hash(&mut hasher);
            (one.direction, one.protocol, one.port).hash(&mut hasher);
        }
        for one in &self.gaps {
            (&one.node, &one.reason, one.since).hash(&mut hasher);
        }
        // What reports again ends a gap that is stored.
        for (node, _) in self.reporting.iter() {
            node.hash(&mut hasher);
        }
        (&self.truncated, self.learned_since).hash(&mut hasher);
        std::hash::Hasher::finish(&hasher)
    }
}

// === impl SeenEdge ===

impl SeenEdge {
    /// Tells edges apart by a hash of their ends, protocol and port, whatever was counted.
    pub fn key(&self) -> u64 {
        let ends = [&self.source.peer, &self.destination.peer].map(of_peer);
        hash(&(ends, self.protocol, self.port))
    }
}

// === impl Denial ===

impl Denial {
    /// The same for what was denied, on which side and by whom.
    pub fn key(&self) -> u64 {
        let ends = [&self.source.peer, &self.destination.peer].map(of_peer);
        hash(&(ends, self.protocol, self.port, self.direction, &self.by))
    }
}

/// What becomes known of an end later does not make it another.
fn of_peer(peer: &Peer) -> u64 {
    let address = peer.address.filter(|_| peer.name.is_none());
    hash(&(&peer.kind, &peer.namespace, &peer.name, &peer.identity, address))
}

fn of_evidence(one: &Evidence) -> u64 {
    hash(&(&one.rule, one.protocol, one.port))
}

fn of_uncovered(one: &Uncovered) -> u64 {
    hash(&one.id)
}

fn hash(value: &impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

#[cfg(test)]
mod tests;
