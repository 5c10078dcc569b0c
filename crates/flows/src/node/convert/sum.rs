//! The connections of one edge that a report tells apart by what was decided: they have one key, and of equal keys the
//! larger number counts, so that here they are added up.

use std::collections::HashMap;

use netenf_learn::{Direction, End, Observation, Verdict};

use super::NAMES;

/// The flows of one report.
#[derive(Debug, Default)]
pub(super) struct Flows {
    all: Vec<Observation>,
    /// Where those of a key and direction stand. A node that has both ends reports each direction, which is one
    /// connection still.
    places: HashMap<(Option<u64>, Option<Direction>), Vec<usize>>,
}

// === impl Flows ===

impl Flows {
    /// Adds a flow to the one that tells the same but for its decision, if there is one.
    pub(super) fn add(&mut self, flow: Observation) {
        let places = self.places.entry((flow.connection_key, flow.direction)).or_default();
        match places.iter().find(|place| is_alike(&self.all[**place], &flow)) {
            Some(place) => join(&mut self.all[*place], flow),
            None => {
                places.push(self.all.len());
                self.all.push(flow);
            }
        }
    }

    /// All of them, in the order of the report.
    pub(super) fn into_all(self) -> Vec<Observation> {
        self.all
    }
}

/// Whether two flows of one key and direction are counted under the same edge or denial.
fn is_alike(one: &Observation, other: &Observation) -> bool {
    let passed = |flow: &Observation| matches!(flow.verdict, Verdict::Forwarded | Verdict::Audit);
    (one.verdict == other.verdict || (passed(one) && passed(other)))
        && one.source.endpoint == other.source.endpoint
        && one.destination.endpoint == other.destination.endpoint
        && one.service == other.service
        && one.denied_by == other.denied_by
}

/// That a policy in monitor would have denied some of them is told of all.
fn join(known: &mut Observation, flow: Observation) {
    known.connections = known.connections.saturating_add(flow.connections);
    known.time = known.time.max(flow.time);
    known.answered = known.answered.max(flow.answered);
    if flow.verdict == Verdict::Audit {
        known.verdict = Verdict::Audit;
    }
    add_names(&mut known.source, flow.source);
    add_names(&mut known.destination, flow.destination);
}

fn add_names(known: &mut End, end: End) {
    for name in end.names {
        if known.names.len() < NAMES && !known.names.contains(&name) {
            known.names.push(name);
        }
    }
}
