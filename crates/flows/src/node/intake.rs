//! Which reports were taken in: none is counted twice, whatever connection it comes through, and what never came is
//! told.

use std::collections::{HashMap, VecDeque};

use tokio::sync::watch;

/// How many runs of a node are remembered: a report of an old one may still be on its way.
const RUNS: usize = 4;

/// How many nodes are remembered: as many as a Kubernetes cluster has. Of more the one that was silent longest is
/// forgotten; what it sends again is then counted again.
const NODES: usize = 5_000;

/// What was taken in of each node.
#[derive(Debug, Default)]
pub(super) struct Intake {
    nodes: HashMap<String, Node>,
    /// Counts what is asked, to know who was silent longest.
    clock: u64,
}

#[derive(Debug, Default)]
struct Node {
    runs: VecDeque<Run>,
    asked: u64,
}

/// A run of an agent.
#[derive(Debug)]
struct Run {
    id: String,
    /// All reports up to this one were handed on, or never came.
    handed: u64,
    /// All up to this one were taken.
    taken: watch::Sender<u64>,
}

/// Tells that a report was taken, and need not be sent again. One that is dropped before tells nothing: the agent sends
/// the report again.
#[derive(Debug)]
pub struct Receipt {
    sequence: u64,
    taken: watch::Sender<u64>,
}

/// What is to be done with a report.
#[derive(Debug)]
pub(super) enum Turn {
    /// Nothing: it was handed on before.
    Again,
    /// It is handed on; before it `missing` reports never came.
    Next { missing: u64, receipt: Receipt },
}

// === impl Intake ===

impl Intake {
    /// Where the run of the node stands: changes with every report that is taken.
    pub(super) fn taken(&mut self, node: &str, run: &str) -> watch::Receiver<u64> {
        self.run(node, run).taken.subscribe()
    }

    /// Decides about a report, and takes its handing on for done. Sequences begin at 1; the first report of a run that
    /// is not known may have any: those before it were acknowledged by another replica.
    pub(super) fn hand(&mut self, node: &str, run: &str, sequence: u64) -> Turn {
        let run = self.run(node, run);
        if sequence <= run.handed {
            return Turn::Again;
        }
        let missing = if run.handed == 0 { 0 } else { sequence - run.handed - 1 };
        run.handed = sequence;
        Turn::Next { missing, receipt: Receipt::new(sequence, run.taken.clone()) }
    }

    fn run(&mut self, node: &str, id: &str) -> &mut Run {
        self.clock += 1;
        if !self.nodes.contains_key(node) {
            self.make_room();
        }
        let known = self.nodes.entry(node.to_owned()).or_default();
        known.asked = self.clock;
        let place = known.runs.iter().position(|run| run.id == id);
        let run = place.and_then(|place| known.runs.remove(place));
        let run =
            run.unwrap_or_else(|| Run { id: id.to_owned(), handed: 0, taken: watch::channel(0).0 });
        known.runs.truncate(RUNS - 1);
        known.runs.push_front(run);
        &mut known.runs[0]
    }

    fn make_room(&mut self) {
        if self.nodes.len() < NODES {
            return;
        }
        let silent = self.nodes.iter().min_by_key(|(_, node)| node.asked);
        if let Some(name) = silent.map(|(name, _)| name.clone()) {
            self.nodes.remove(&name);
        }
    }
}

// === impl Receipt ===

impl Receipt {
    /// A receipt of the report of that number; where reports stand is told to `taken`.
    pub fn new(sequence: u64, taken: watch::Sender<u64>) -> Self {
        Self { sequence, taken }
    }

    /// Everything that the report told was taken, and every report of its run before it.
    pub fn confirm(self) {
        let sequence = self.sequence;
        self.taken.send_if_modified(|taken| {
            let is_news = *taken < sequence;
            *taken = (*taken).max(sequence);
            is_news
        });
    }
}

#[cfg(test)]
mod tests;
