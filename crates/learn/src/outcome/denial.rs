//! Denials that were seen, for people.

use crate::directory::Directory;
use crate::learner::Learner;
use crate::outcome::cast::Cast;
use crate::outcome::{Sorted, peer, recorded};
use crate::proposal::Denial;
use crate::sum::NoteSum;

/// All denials, sorted.
pub(super) fn denials<D: Directory>(learner: &Learner<D>, cast: &Cast) -> Vec<Denial> {
    let mut sums: Sorted<_, NoteSum> = Sorted::new();
    for (key, sum) in &learner.denials {
        let (source, destination, port, protocol) = key.edge;
        let describe = |id| peer::describe(learner, cast, cast.of(id));
        let unified = (
            describe(source),
            describe(destination),
            key.direction,
            protocol,
            port,
            key.by.clone(),
            key.ours,
        );
        let known = sums.entry(unified).or_insert(NoteSum::EMPTY);
        known.observations += sum.observations;
        known.first = known.first.min(sum.first);
        known.last = known.last.max(sum.last);
    }
    let denial = |((source, destination, direction, protocol, port, by, ours), sum): (
        (_, _, _, _, _, Option<std::sync::Arc<crate::observation::PolicyRef>>, bool),
        NoteSum,
    )| Denial {
        source,
        destination,
        direction,
        protocol,
        port,
        violation: ours,
        by: by.map(|by| match &by.namespace {
            Some(namespace) => format!("{} {namespace}/{}", by.kind, by.name),
            None => format!("{} {}", by.kind, by.name),
        }),
        count: sum.observations,
        first: recorded(sum.first),
        last: recorded(sum.last),
    };
    sums.into_iter().map(denial).collect()
}
