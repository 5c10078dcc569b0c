//! Which nodes report. A connection ends after an hour and the next one begins within moments, an old one may end after
//! that: a node is away once nothing of it was there for some time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use netenf_learn::Timestamp;

/// How long a node without a stream is still taken to report: an agent tries again within seconds.
pub(super) const AWAY: Duration = Duration::from_secs(30);

/// How many nodes are remembered: as many as a Kubernetes cluster has.
const NODES: usize = 5_000;

/// The nodes that report, and those that did until a moment ago.
#[derive(Debug, Default)]
pub(super) struct Presence {
    nodes: HashMap<String, Node>,
}

#[derive(Debug, Default)]
struct Node {
    streams: usize,
    /// Since when there is none, and how the last one ended.
    left: Option<(Instant, End)>,
}

/// How the last stream of a node ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// When, by the machine's clock.
    pub(super) time: Timestamp,
    /// Why.
    pub(super) why: String,
    /// The agent's version.
    pub(super) version: String,
}

// === impl Presence ===

impl Presence {
    /// A stream of the node begins.
    pub(super) fn arrive(&mut self, node: &str) {
        let known = self.nodes.entry(node.to_owned()).or_default();
        known.streams += 1;
        known.left = None;
    }

    /// A stream of the node ended, at `now`.
    pub(super) fn leave(&mut self, node: &str, end: End, now: Instant) {
        let Some(known) = self.nodes.get_mut(node) else { return };
        known.streams = known.streams.saturating_sub(1);
        if known.streams == 0 {
            known.left = Some((now, end));
        }
    }

    /// A node that has been away for [`AWAY`] at `now`, or longest where too many are; it is told once.
    pub(super) fn away(&mut self, now: Instant) -> Option<(String, End)> {
        let left = |node: &Node| node.left.as_ref().map(|(time, _)| *time);
        let gone = self.nodes.iter().filter_map(|(name, node)| Some((left(node)?, name)));
        let (time, name) = gone.min()?;
        if now.saturating_duration_since(time) < AWAY && self.nodes.len() <= NODES {
            return None;
        }
        let name = name.clone();
        let (_, end) = self.nodes.remove(&name)?.left?;
        Some((name, end))
    }
}

#[cfg(test)]
mod tests;
