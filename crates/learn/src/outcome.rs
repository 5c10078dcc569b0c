//! From sums to proposals.
//!
//! ```text
//! cast: which ends are the same, and by which selector -> merge: edges between them, and how they
//! ended -> place: a rule, an uncovered item or nothing on either side -> draft: one proposal a subject
//! ```
//!
//! Drafts are what takes memory, so there is one at a time: [`Proposals`] places everything first, and
//! puts a proposal together when it is asked for the next one.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::Backend;
use crate::directory::Directory;
use crate::gap::{Hosts, host};
use crate::identity::Workload;
use crate::learner::Learner;
use crate::observation::Direction;
use crate::proposal::{Denial, Funnel, Outcome, Proposal};
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
mod traffic;
mod unplaced;

pub use traffic::{State, Traffic, seen, who};

use cast::Cast;
use draft::{Draft, Item};
use place::{Placer, settle};
use settle::{Places, Subject};
use unplaced::Rest;

/// The proposals that a learner comes to, one after the other, sorted by namespace and name.
pub struct Proposals<'a, D> {
    learner: &'a Learner<D>,
    placer: Placer<'a, D>,
    places: Places,
    /// The number of the next draft.
    next: usize,
    /// How many uncovered items the proposals held that were taken.
    uncovered: usize,
    rest: Rest,
    funnel: Funnel,
    denials: Vec<Denial>,
    /// All nodes that report.
    reporting: Arc<[(Arc<str>, Option<Timestamp>)]>,
}

impl<D: Directory> Learner<D> {
    /// What has been learned so far. Learning can go on afterwards.
    pub fn outcome(&self) -> Outcome {
        self.proposals().finish()
    }

    /// What has been learned so far, one proposal at a time. Learning can go on afterwards.
    pub fn proposals(&self) -> Proposals<'_, D> {
        let mut tally: Cow<'_, Tally> = Cow::Borrowed(&self.tally);
        let reckoning = self.reckoning();
        self.table.for_each(|interval| tally.to_mut().add(interval, &reckoning));
        let cast = Cast::new(self);
        let merged = edge::merge(self, &cast, &tally);
        let funnel = self.funnel(&tally);
        let denials = denial::denials(self, &cast);
        let placer = Placer::new(self, cast, merged);
        let mut rest = Rest::default();
        let places = placer.places(&mut rest);
        let reporting = self.nodes.reporting(&Hosts::default());
        let learner = self;
        Proposals {
            learner,
            placer,
            places,
            next: 0,
            uncovered: 0,
            rest,
            funnel,
            denials,
            reporting,
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

    fn nodes_of(&self, subject: Subject, workload: &Workload) -> Vec<Arc<str>> {
        let known = self.directory.nodes_of(workload);
        if known.is_empty() { listed(&self.parties[subject.id as usize].nodes) } else { known }
    }
}

// === impl Proposals ===

impl<D: Directory> Proposals<'_, D> {
    /// First and last observation.
    pub fn window(&self) -> Option<(Timestamp, Timestamp)> {
        self.learner.first.zip(self.learner.last)
    }

    /// Denials that were seen, sorted.
    pub fn denials(&self) -> &[Denial] {
        &self.denials
    }

    /// Everything else; the proposals that were not taken yet are in it.
    pub fn finish(mut self) -> Outcome {
        let proposals = self.by_ref().collect();
        let Self { learner, placer, places, rest, uncovered, mut funnel, denials, .. } = self;
        placer.count(&places, &mut funnel);
        let over_limit = places.drafts().saturating_sub(learner.config.caps.proposals);
        Outcome {
            proposals,
            proposal_count: places.drafts() - over_limit,
            uncovered_count: uncovered,
            unplaced: rest.unplaced(),
            over_limit,
            funnel,
            edges: placer.edges(&places),
            denials,
            nodes: learner.nodes.states().collect(),
            unlisted: learner.unlisted.clone(),
            window: learner.first.zip(learner.last),
        }
    }

    fn proposal(&self, subject: Subject, workload: &Workload, draft: &Draft) -> Proposal {
        let learner = self.learner;
        let mut proposal = draft.proposal(workload, subject.direction, &learner.config);
        let denials = self.denials.iter();
        let denials = denials.filter(|one| is_about(one, &proposal));
        proposal.denials = denials.cloned().collect();
        let nodes = learner.nodes_of(subject, workload);
        let hosts: Hosts<'_> = nodes.iter().map(|node| host(node)).collect();
        proposal.gaps = learner.nodes.gaps(&hosts);
        proposal.reporting = if hosts.is_empty() {
            Arc::clone(&self.reporting)
        } else {
            learner.nodes.reporting(&hosts)
        };
        proposal.learned_since = learner.first;
        proposal
    }
}

impl<D: Directory> Iterator for Proposals<'_, D> {
    type Item = Proposal;

    fn next(&mut self) -> Option<Proposal> {
        let caps = &self.learner.config.caps;
        loop {
            let number = self.next;
            let subject = self.places.subject(number)?;
            self.next += 1;
            let workload = self.placer.workload(subject)?;
            let Ok(selector) = self.placer.cast().selector(subject.id) else { continue };
            let mut draft = self.placer.draft(subject, selector, self.places.things(number));
            draft.limit(caps);
            if number < caps.proposals {
                self.placer.settle(number, Some(&draft), &mut self.places);
                let proposal = self.proposal(subject, workload, &draft);
                self.uncovered += proposal.uncovered.len();
                return Some(proposal);
            }
            let (peer, sum) = (peer::of_workload(workload), draft.over_limit(caps));
            self.rest.add(peer, subject.direction, Item::of_nothing(), sum);
            self.placer.settle(number, None, &mut self.places);
        }
    }
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
