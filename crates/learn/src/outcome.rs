//! From sums to proposals.
//!
//! ```text
//! cast: which ends are the same, and by which selector -> merge: edges between them, and how they
//! ended -> place: a rule, an uncovered item or nothing on either side -> draft: one proposal a subject
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Backend;
use crate::directory::Directory;
use crate::learner::Learner;
use crate::observation::{Direction, NodeState};
use crate::proposal::{Denial, Funnel, Gap, Outcome, Proposal};
use crate::sum::Tally;
use crate::time::Timestamp;

mod cast;
mod denial;
mod dns;
mod draft;
mod edge;
mod few;
mod peer;
mod place;

use cast::Cast;
use draft::Drafts;
use place::Placer;

impl<D: Directory> Learner<D> {
    /// What has been learned so far. Learning can go on afterwards.
    pub fn outcome(&self) -> Outcome {
        let mut tally: Tally = self.tally.clone();
        let reckoning = self.reckoning();
        self.table.for_each(|interval| tally.add(interval, &reckoning));
        let cast = Cast::new(self);
        let merged = edge::merge(self, &cast, &tally);
        let mut drafts = Drafts::default();
        let mut funnel = self.funnel(&tally);
        let mut placer = Placer::new(self, &cast, &merged);
        placer.place(&merged, &mut drafts, &mut funnel);
        let mut edges = std::mem::take(&mut placer.edges);
        edges.sort_by(|a, b| {
            (&a.source, &a.destination, a.protocol, a.port).cmp(&(
                &b.source,
                &b.destination,
                b.protocol,
                b.port,
            ))
        });
        drop((merged, tally));
        let denials = denial::denials(self, &cast);
        let mut proposals = drafts.proposals(&self.config);
        for proposal in &mut proposals {
            self.finish(proposal, &denials);
        }
        Outcome {
            unplaced: drafts.unplaced(),
            proposals,
            over_limit: drafts.over_limit(),
            funnel,
            edges,
            denials,
            nodes: self.node_states.iter().map(|(node, sum)| (node.clone(), sum.state)).collect(),
            unlisted: self.unlisted.clone(),
            window: self.first.zip(self.last),
        }
    }

    /// Who reports: how many nodes were seen.
    pub fn reporters(&self) -> usize {
        self.reporters.len()
    }

    fn funnel(&self, tally: &Tally) -> Funnel {
        let counters = &self.counters;
        let mut funnel = Funnel {
            received: counters.received,
            errors: counters.errors,
            lost: counters.lost,
            ..Funnel::default()
        };
        for (skip, count) in counters.skipped.iter().chain(&tally.skipped) {
            funnel.skip(skip.name(), *count);
        }
        funnel
    }

    fn finish(&self, proposal: &mut Proposal, denials: &[Denial]) {
        proposal.learned_since = self.first;
        proposal.gaps = self.gaps(&self.nodes_of(proposal));
        proposal.denials =
            denials.iter().filter(|denial| is_about(denial, proposal)).cloned().collect();
    }

    fn nodes_of(&self, proposal: &Proposal) -> Vec<Arc<str>> {
        let known = self.directory.nodes_of(&proposal.subject);
        if known.is_empty() { Cast::nodes_of(self, &proposal.subject) } else { known }
    }

    /// Losses and unreachable nodes that concern pods on `nodes`; all of them where no node is known.
    fn gaps(&self, nodes: &[Arc<str>]) -> Vec<Gap> {
        let concerns = |node: &Option<Arc<str>>| match node {
            Some(node) => nodes.is_empty() || nodes.iter().any(|one| host(one) == host(node)),
            None => true,
        };
        let losses = self.losses.iter().filter(|((node, _), _)| concerns(node));
        let losses = losses.map(|((node, origin), sum)| Gap {
            node: node.clone(),
            reason: format!("LostEvents ({origin})"),
            lost: Some(sum.count),
            since: sum.first,
            until: sum.last,
        });
        let silent = self.node_states.iter().filter(|(node, sum)| {
            sum.state != NodeState::Connected && concerns(&Some((*node).clone()))
        });
        let silent = silent.map(|(node, sum)| Gap {
            node: Some(node.clone()),
            reason: match &sum.message {
                Some(message) => format!("Node{:?}: {message}", sum.state),
                None => format!("Node{:?}", sum.state),
            },
            lost: None,
            since: sum.time,
            until: None,
        });
        let mut gaps: Vec<Gap> = losses.chain(silent).collect();
        gaps.sort_by(|a, b| (&a.node, &a.reason).cmp(&(&b.node, &b.reason)));
        gaps
    }
}

/// A node's name without the cluster's that Hubble puts before it.
fn host(node: &str) -> &str {
    node.rsplit('/').next().unwrap_or(node)
}

fn is_about(denial: &Denial, proposal: &Proposal) -> bool {
    let side = match proposal.direction {
        Direction::Egress => &denial.source.peer,
        Direction::Ingress => &denial.destination.peer,
    };
    let same = side.kind.as_ref() == Some(&proposal.subject.kind)
        && side.namespace.as_ref() == Some(&proposal.subject.namespace)
        && side.name.as_ref() == Some(&proposal.subject.name);
    same && denial.direction.is_none_or(|direction| direction == proposal.direction)
}

/// A time that was recorded; zero stands for observations without one.
fn recorded(nanos: i64) -> Option<Timestamp> {
    (nanos != 0 && nanos != i64::MAX && nanos != i64::MIN).then_some(Timestamp(nanos))
}

/// Which directions a backend can enforce.
fn enforces(backend: Backend, direction: Direction) -> bool {
    match backend {
        Backend::Kubernetes => true,
        Backend::Istio => direction == Direction::Ingress,
    }
}

/// Sorted copies of a set's members.
fn listed(set: &std::collections::BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
    set.iter().cloned().collect()
}

type Sorted<K, V> = BTreeMap<K, V>;
