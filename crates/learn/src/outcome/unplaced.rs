//! What was seen but belongs to no proposal.

use crate::observation::Direction;
use crate::outcome::Sorted;
use crate::outcome::draft::{Item, Sum, uncovered};
use crate::proposal::{Peer, Unplaced};

/// Items without a proposal, by their subjects.
#[derive(Default)]
pub(super) struct Rest(Sorted<(Peer, Direction), Sorted<Item, Sum>>);

// === impl Rest ===

impl Rest {
    pub(super) fn add(&mut self, subject: Peer, direction: Direction, item: Item, sum: Sum) {
        self.0.entry((subject, direction)).or_default().entry(item).or_default().add(sum);
    }

    /// The items, sorted.
    pub(super) fn unplaced(self) -> Vec<Unplaced> {
        let mut all = Vec::new();
        for ((subject, direction), items) in self.0 {
            let identity = format!("{subject:?} {direction:?}");
            let uncovered = items.iter().map(|(item, sum)| uncovered(&identity, item, sum));
            all.extend(uncovered.map(|uncovered| Unplaced {
                subject: subject.clone(),
                direction,
                uncovered,
            }));
        }
        all
    }
}
