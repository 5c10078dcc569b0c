//! What sources say that they did not see: what was lost, and nodes that did not report.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::learner::NODES_LIMIT;
use crate::observation::{LostEvents, NodeState, NodeStatus};
use crate::proposal::Gap;
use crate::sum::Map;
use crate::time::Timestamp;

/// How many origins of losses are told apart by node: a node's own words may be any.
const ORIGINS: usize = 16;

/// What stands for all other origins of a node.
const OTHERS: &str = "other reasons";

/// What is known of each node.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    losses: Map<(Option<Arc<str>>, Arc<str>), LossSum>,
    /// How many origins are told apart, by node.
    origins: Map<Option<Arc<str>>, usize>,
    states: Map<Arc<str>, Word>,
}

/// Something is not kept, since a limit is reached.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Names of nodes without the cluster's; all nodes where there is none.
pub(crate) type Hosts<'a> = HashSet<&'a str, RandomState>;

/// Events that a source lost.
#[derive(Debug, Clone, Default)]
struct LossSum {
    count: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// The last word of a source about a node; ordered by time, then by how bad it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    time: Option<Timestamp>,
    state: NodeState,
    message: Option<Arc<str>>,
}

// === impl Nodes ===

impl Nodes {
    pub(crate) fn lost(&mut self, lost: &LostEvents) -> Result<(), Full> {
        let mut key = (lost.node.clone(), lost.origin.clone());
        if !self.losses.contains_key(&key) {
            let origins = self.origins.entry(lost.node.clone()).or_default();
            if *origins >= ORIGINS {
                key.1 = OTHERS.into();
            }
            if !self.losses.contains_key(&key) {
                if self.losses.len() >= NODES_LIMIT {
                    return Err(Full);
                }
                *origins += 1;
            }
        }
        let sum = self.losses.entry(key).or_default();
        sum.count = sum.count.saturating_add(lost.count);
        if let Some(time) = lost.time {
            sum.first = Some(sum.first.map_or(time, |first| first.min(time)));
            sum.last = Some(sum.last.map_or(time, |last| last.max(time)));
        }
        Ok(())
    }

    /// The latest word counts, of two at a time the worse.
    pub(crate) fn status(&mut self, status: &NodeStatus) -> Result<(), Full> {
        let mut kept = Ok(());
        for node in &status.nodes {
            let word =
                Word { time: status.time, state: status.state, message: status.message.clone() };
            let full = self.states.len() >= NODES_LIMIT;
            match self.states.get_mut(node) {
                Some(known) if *known >= word => {}
                Some(known) => *known = word,
                None if full => kept = Err(Full),
                None => drop(self.states.insert(node.clone(), word)),
            }
        }
        kept
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = (Arc<str>, NodeState)> {
        self.states.iter().map(|(node, word)| (node.clone(), word.state))
    }

    /// Losses, and nodes among `hosts` that do not report.
    pub(crate) fn gaps(&self, hosts: &Hosts<'_>) -> Vec<Gap> {
        let losses = self.losses.iter();
        let losses =
            losses.filter(|((node, _), _)| node.as_ref().is_none_or(|node| concerns(hosts, node)));
        let losses = losses.map(|((node, origin), sum)| Gap {
            node: node.clone(),
            reason: format!("LostEvents ({origin})"),
            lost: Some(sum.count),
            since: sum.first,
            until: sum.last,
        });
        let silent = self.states.iter();
        let silent = silent.filter(|(node, word)| !word.is_of_reporting() && concerns(hosts, node));
        let silent = silent.map(|(node, word)| word.gap(node));
        let mut gaps: Vec<Gap> = losses.chain(silent).collect();
        gaps.sort_by(|a, b| (&a.node, &a.reason).cmp(&(&b.node, &b.reason)));
        gaps
    }

    /// Which nodes among `hosts` report, and when that was last told, sorted.
    pub(crate) fn reporting(&self, hosts: &Hosts<'_>) -> Arc<[(Arc<str>, Option<Timestamp>)]> {
        let states = self.states.iter();
        let reporting =
            states.filter(|(node, word)| word.is_of_reporting() && concerns(hosts, node));
        let mut reporting: Vec<_> =
            reporting.map(|(node, word)| (node.clone(), word.time)).collect();
        reporting.sort();
        reporting.into()
    }
}

// === impl Word ===

impl Word {
    fn is_of_reporting(&self) -> bool {
        self.state == NodeState::Connected
    }

    fn gap(&self, node: &Arc<str>) -> Gap {
        let reason = match &self.message {
            Some(message) => format!("Node{:?}: {message}", self.state),
            None => format!("Node{:?}", self.state),
        };
        Gap { node: Some(node.clone()), reason, lost: None, since: self.time, until: None }
    }
}

/// Whether the node is among `hosts`.
fn concerns(hosts: &Hosts<'_>, node: &str) -> bool {
    hosts.is_empty() || hosts.contains(host(node))
}

/// A node's name without the cluster's that Hubble puts before it.
pub(crate) fn host(node: &str) -> &str {
    node.rsplit('/').next().unwrap_or(node)
}

#[cfg(test)]
mod tests;
