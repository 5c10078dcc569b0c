//! The first rule whose subject, peer and ports all match.

use std::sync::Arc;
use std::time::Duration;

use crate::cluster_policy::{Action, Tier};
use crate::engine::ports::PortRows;
use crate::engine::prefix::PrefixRows;
use crate::engine::row::Row;
use crate::engine::share::Chunks;
use crate::engine::table::Table;

use super::{Outcome, Told};

/// The rules whose peer the other end is.
pub(super) struct PeerRows<'a> {
    pub(super) table: &'a Table,
    pub(super) pod: Option<&'a Row>,
    pub(super) nodes: Option<&'a Row>,
    pub(super) prefixes: PrefixRows<'a>,
    /// What everyone was told, and what the subject alone was.
    pub(super) told: [&'a [Told]; 2],
    pub(super) classes: &'a Chunks<Arc<Row>>,
    pub(super) now: Duration,
}

/// All that has to match at once.
pub(super) struct Search<'a> {
    pub(super) table: &'a Table,
    pub(super) subject: &'a Row,
    pub(super) peer: PeerRows<'a>,
    pub(super) ports: PortRows<'a>,
}

// === impl Search ===

impl Search<'_> {
    /// The first rule decides; one that passes leaves its tier.
    pub(super) fn outcome(&self) -> Outcome {
        let table = self.table;
        let mut from = 0;
        loop {
            let Some(position) = self.first(from) else { return Outcome::Default };
            let tier = table.tier(position);
            match (table.rules[position as usize].action, tier) {
                (Action::Accept, _) => return Outcome::Accepted(tier, position),
                (Action::Deny, _) if position == table.isolation => return Outcome::Isolated,
                (Action::Deny, _) => return Outcome::Denied(tier, position),
                (Action::Pass, Tier::Admin) => from = table.network,
                (Action::Pass, Tier::NetworkPolicy | Tier::Baseline) => return Outcome::Default,
            }
        }
    }

    /// The first rule from a position on that matches.
    fn first(&self, from: u32) -> Option<u32> {
        let from = from as usize;
        let mut kept = u64::MAX << (from % 64);
        let mut words = u64::MAX << (from / 64 % 64);
        let every = &self.table.every_subject;
        for block in from / 4096..self.subject.blocks().max(every.blocks()) {
            let subjects = self.subject.summary(block) | every.summary(block);
            let mut open = subjects & words;
            if open != 0 {
                open &= self.ports.summary(block);
            }
            if open != 0 {
                open &= self.peer.summary(block);
            }
            words = u64::MAX;
            while open != 0 {
                let word = block * 64 + open.trailing_zeros() as usize;
                open &= open - 1;
                let mut bits = self.subject.word(word) | every.word(word);
                if word == from / 64 {
                    bits &= kept;
                    kept = u64::MAX;
                }
                if bits != 0 {
                    bits &= self.ports.word(word);
                }
                if bits != 0 {
                    bits &= self.peer.word(word);
                }
                if bits != 0 {
                    return u32::try_from(word * 64 + bits.trailing_zeros() as usize).ok();
                }
            }
        }
        None
    }
}

// === impl PeerRows ===

impl PeerRows<'_> {
    fn summary(&self, block: usize) -> u64 {
        let rows = self.rows().fold(0, |bits, row| bits | row.summary(block));
        rows | self.prefixes.summary(block)
    }

    fn word(&self, word: usize) -> u64 {
        self.rows().fold(0, |bits, row| bits | row.word(word)) | self.prefixes.word(word)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        let every = self.pod.map(|_| &self.table.every_peer);
        let told = self.told.iter().copied().flatten().filter(|told| self.now < told.expires);
        let known = [Some(&self.table.any_peer), every, self.pod, self.nodes];
        let told = told.filter_map(|told| self.classes.value(told.class).map(|row| &**row));
        known.into_iter().flatten().chain(told)
    }
}
