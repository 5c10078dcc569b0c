//! Denials that were seen: for people, and for those who know which policies are ours.

use std::sync::Arc;

use netenf_policy::Protocol;

use crate::directory::Directory;
use crate::learner::Learner;
use crate::observation::{Direction, PolicyRef};
use crate::outcome::cast::Cast;
use crate::outcome::{Sorted, peer, recorded};
use crate::proposal::{Denial, SeenEnd};
use crate::sum::{DenialSum, NoteSum};

/// What makes denials one.
type Key =
    (SeenEnd, SeenEnd, Option<Direction>, Option<Protocol>, Option<u16>, Option<Arc<PolicyRef>>);

/// All denials, sorted.
pub(super) fn denials<D: Directory>(learner: &Learner<D>, cast: &Cast) -> Vec<Denial> {
    let mut sums: Sorted<Key, (u64, NoteSum)> = Sorted::new();
    for DenialSum { key, note: sum, connections } in &learner.denials {
        let (source, destination, port, protocol) = key.edge;
        let end = |id| peer::seen(learner, cast, cast.of(id));
        let (source, destination) = (end(source), end(destination));
        let unified = (source, destination, key.direction, protocol, port, key.by.clone());
        let (count, known) = sums.entry(unified).or_insert((0, NoteSum::EMPTY));
        *count += connections;
        known.merge(sum);
    }
    let denial = |((source, destination, direction, protocol, port, by), (count, sum)): (
        Key,
        (u64, NoteSum),
    )| Denial {
        source,
        destination,
        direction,
        protocol,
        port,
        by,
        count,
        observations: sum.observations,
        first: recorded(sum.first),
        last: recorded(sum.last),
    };
    sums.into_iter().map(denial).collect()
}
