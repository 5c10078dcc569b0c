//! Counting: every observation once, by where it went on the side that says most.

use std::collections::BTreeMap;

use netenf_policy::Protocol;

use super::fit::Fit;
use super::{At, Placer};
use crate::classify::Skip;
use crate::directory::Directory;
use crate::identity::Party;
use crate::observation::Direction;
use crate::outcome::draft::{DraftKey, Drafts};
use crate::proposal::{Funnel, RulePeer};

/// Where one side of an edge went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// Into a rule.
    Rule,
    /// Into the rule for DNS, if the subject has a proposal.
    Dns,
    /// Among the uncovered.
    Uncovered,
    /// Nowhere.
    Nowhere(Skip),
}

/// An edge that was placed, to be counted when all are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count {
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) at: Option<At>,
    pub(super) egress: Placed,
    pub(super) ingress: Placed,
    pub(super) observations: u64,
    /// Its place among the edges that work.
    pub(super) edge: Option<usize>,
}

/// What the observations of an edge come to.
enum Part {
    Learned,
    Uncovered,
    Skipped(Skip),
}

impl<D: Directory> Placer<'_, D> {
    /// Counts everything that was placed: in a rule if either side has one after cutting.
    pub(super) fn settle(&mut self, drafts: &Drafts, funnel: &mut Funnel) {
        let mut skipped: BTreeMap<Skip, u64> = BTreeMap::new();
        for count in std::mem::take(&mut self.counts) {
            let part = self.part(&count, drafts);
            match &part {
                Part::Learned => funnel.learned += count.observations,
                Part::Uncovered => funnel.uncovered += count.observations,
                Part::Skipped(skip) => *skipped.entry(*skip).or_default() += count.observations,
            }
            if let Some(edge) = count.edge.and_then(|edge| self.edges.get_mut(edge)) {
                edge.learned = matches!(part, Part::Learned);
                edge.skipped = match part {
                    Part::Skipped(skip) => Some(skip),
                    Part::Learned | Part::Uncovered => None,
                };
            }
        }
        for (skip, count) in skipped {
            funnel.skip(skip.name(), count);
        }
    }

    fn part(&self, count: &Count, drafts: &Drafts) -> Part {
        let egress = self.after_cutting(count, Direction::Egress, drafts);
        let ingress = self.after_cutting(count, Direction::Ingress, drafts);
        match (egress, ingress) {
            (Placed::Rule, _) | (_, Placed::Rule) => Part::Learned,
            (Placed::Uncovered, _) | (_, Placed::Uncovered) => Part::Uncovered,
            (Placed::Dns, _) | (_, Placed::Dns) => Part::Skipped(Skip::Dns),
            (Placed::Nowhere(egress), Placed::Nowhere(ingress)) => {
                Part::Skipped(egress.min(ingress))
            }
        }
    }

    /// A rule that was cut is uncovered; DNS is a rule where there is a proposal.
    fn after_cutting(&self, count: &Count, direction: Direction, drafts: &Drafts) -> Placed {
        let (placed, subject, peer) = match direction {
            Direction::Egress => (count.egress, count.source, count.destination),
            Direction::Ingress => (count.ingress, count.destination, count.source),
        };
        let (Placed::Rule | Placed::Dns, Some(at)) = (placed, count.at) else { return placed };
        let Some(key) = self.key(subject, direction) else { return placed };
        if drafts.holds(&key, || self.first_rule(peer, direction, at), at) {
            Placed::Rule
        } else if placed == Placed::Rule || drafts.drafts.contains_key(&key) {
            Placed::Uncovered
        } else {
            Placed::Dns
        }
    }

    fn key(&self, subject: u32, direction: Direction) -> Option<DraftKey> {
        let party: &Party = &self.learner.parties[subject as usize].party;
        party.workload().map(|workload| (workload.clone(), direction))
    }

    fn first_rule(&self, peer: u32, direction: Direction, at: (Protocol, u16)) -> Option<RulePeer> {
        match self.fit(peer, direction, Some(at)) {
            Fit::Rules(rules, _) | Fit::Dns(rules) => rules.into_iter().next(),
            Fit::Not(..) => None,
        }
    }
}
