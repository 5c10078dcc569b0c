//! Which drafts there are, and counting: every observation once, by where it went on the side that says most.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::fit::Fit;
use super::{Placer, Thing, Traffic, Way};
use crate::classify::Skip;
use crate::directory::Directory;
use crate::identity::Workload;
use crate::name::policy_name;
use crate::observation::Direction;
use crate::outcome::draft::Draft;
use crate::outcome::edge::Fate;
use crate::outcome::peer;
use crate::outcome::unplaced::Rest;
use crate::proposal::{Funnel, RulePeer, SeenEdge, SeenEnd};
use crate::sum::EdgeKey;

/// Whose draft it is: a workload, by its number, and a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::outcome) struct Subject {
    pub(in crate::outcome) id: u32,
    pub(in crate::outcome) direction: Direction,
}

/// Where one side of a thing went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placed {
    /// Into a rule.
    Rule,
    /// Into the rule for DNS, if the subject has a proposal.
    Dns,
    /// Among the uncovered.
    Uncovered,
    /// Nowhere.
    Nowhere(Skip),
}

/// Where everything went.
pub(in crate::outcome) struct Places {
    /// By thing: where its sides went. Drafts that cut a rule change it.
    placed: Vec<Sides>,
    /// In the order of proposals.
    subjects: Vec<Subject>,
    /// The number of a draft, and a thing that belongs into it; sorted.
    things: Vec<(u32, u32)>,
}

/// Where the sides of a thing went.
#[derive(Debug, Clone, Copy)]
struct Sides {
    egress: Placed,
    ingress: Placed,
}

/// What the observations of a thing come to.
enum Part {
    Learned,
    Uncovered,
    Skipped(Skip),
}

// === impl Placer ===

impl<D: Directory> Placer<'_, D> {
    /// Places everything; what belongs to no proposal is added to `rest`.
    pub(in crate::outcome) fn places(&self, rest: &mut Rest) -> Places {
        let count = u32::try_from(self.things()).unwrap_or(u32::MAX);
        let mut placed = Vec::with_capacity(self.things());
        let mut subjects: HashSet<Subject, RandomState> = HashSet::default();
        let mut things: Vec<(Subject, u32)> = Vec::new();
        for id in 0..count {
            let traffic = self.traffic(id);
            let mut place = |direction| {
                let way = self.way(&traffic, traffic.side(direction));
                let placed = Placed::of(&way, &traffic);
                let subject = Subject { id: traffic.side(direction).subject, direction };
                match (placed, way) {
                    (_, Way::Unplaced(reason, note)) => {
                        self.add_unplaced(id, &traffic, direction, (reason, note), rest);
                    }
                    (Placed::Rule | Placed::Uncovered, Way::Draft(_)) => {
                        subjects.insert(subject);
                        things.push((subject, id));
                    }
                    (Placed::Dns, Way::Draft(_)) => things.push((subject, id)),
                    (Placed::Nowhere(_), _) | (_, Way::Nowhere(_)) => {}
                }
                placed
            };
            placed.push(Sides {
                egress: place(Direction::Egress),
                ingress: place(Direction::Ingress),
            });
        }
        let subjects = self.in_order(subjects);
        let numbers: HashMap<Subject, u32, RandomState> =
            subjects.iter().copied().zip(0..).collect();
        let number = |(subject, id)| Some((*numbers.get(&subject)?, id));
        let mut things: Vec<(u32, u32)> = things.into_iter().filter_map(number).collect();
        things.sort_unstable();
        Places { placed, subjects, things }
    }

    /// Proposals are sorted by namespace and name.
    fn in_order(&self, subjects: HashSet<Subject, RandomState>) -> Vec<Subject> {
        let mut subjects: Vec<(&Workload, Subject)> = subjects
            .into_iter()
            .filter_map(|subject| Some((self.workload(subject)?, subject)))
            .collect();
        subjects.sort_unstable_by_key(|(workload, subject)| (*workload, subject.direction));
        subjects.sort_by_cached_key(|(workload, subject)| {
            (Arc::clone(&workload.namespace), policy_name(workload, subject.direction))
        });
        subjects.into_iter().map(|(_, subject)| subject).collect()
    }

    /// The workload whose proposal it is.
    pub(in crate::outcome) fn workload(&self, subject: Subject) -> Option<&Workload> {
        self.learner.parties[subject.id as usize].party.workload()
    }

    fn add_unplaced(
        &self,
        id: u32,
        traffic: &Traffic,
        direction: Direction,
        (reason, note): (crate::proposal::Reason, Option<String>),
        rest: &mut Rest,
    ) {
        let side = traffic.side(direction);
        let mut sum = self.sum(id);
        sum.reason = traffic.reason.or(Some(reason));
        sum.notes.extend(note.map(Arc::from));
        let described = peer::describe(self.learner, &self.cast, side.peer);
        let (item, sum) = self.item(id, side.peer, described, sum);
        let subject = peer::describe(self.learner, &self.cast, side.subject);
        rest.add(subject, direction, item, sum);
    }

    /// Notes what the draft of `number` came to: a rule that was cut is uncovered, and DNS is a rule where
    /// there is a proposal. All of a draft that is over the limit of proposals is uncovered.
    pub(in crate::outcome) fn settle(
        &self,
        number: usize,
        draft: Option<&Draft>,
        places: &mut Places,
    ) {
        let Some(&Subject { direction, .. }) = places.subjects.get(number) else { return };
        let things = places.range(number);
        for &(_, id) in &places.things[things] {
            let sides = &mut places.placed[id as usize];
            let placed = match direction {
                Direction::Egress => &mut sides.egress,
                Direction::Ingress => &mut sides.ingress,
            };
            let (Placed::Rule | Placed::Dns, traffic) = (*placed, self.traffic(id)) else {
                continue;
            };
            let Some(at) = traffic.at else { continue };
            let first_rule = || self.first_rule(&traffic, direction);
            let holds = draft.is_some_and(|draft| draft.holds(first_rule, at));
            *placed = if holds { Placed::Rule } else { Placed::Uncovered };
        }
    }

    fn first_rule(&self, traffic: &Traffic, direction: Direction) -> Option<RulePeer> {
        match self.fit(traffic.side(direction).peer, direction, traffic.at) {
            Fit::Rules(rules, _) | Fit::Dns(rules) => rules.into_iter().next(),
            Fit::Not(..) => None,
        }
    }

    /// Counts everything, when all drafts are settled: in a rule if either side has one after cutting.
    pub(in crate::outcome) fn count(&self, places: &Places, funnel: &mut Funnel) {
        let mut skipped: BTreeMap<Skip, u64> = BTreeMap::new();
        for (id, sides) in (0..).zip(&places.placed) {
            let observations = self.traffic(id).observations;
            match sides.part() {
                Part::Learned => funnel.learned += observations,
                Part::Uncovered => funnel.uncovered += observations,
                Part::Skipped(skip) => *skipped.entry(skip).or_default() += observations,
            }
        }
        for (skip, count) in skipped {
            funnel.skip(skip.name(), count);
        }
    }

    /// Every edge that works, sorted.
    pub(in crate::outcome) fn edges(&self, places: &Places) -> Vec<SeenEdge> {
        let mut ends: HashMap<u32, Arc<SeenEnd>, RandomState> = HashMap::default();
        let mut edges: Vec<SeenEdge> = (0..)
            .zip(&places.placed)
            .filter_map(|(id, sides)| self.seen(id, sides, &mut ends))
            .collect();
        edges.sort_by(|a, b| {
            (&a.source, &a.destination, a.protocol, a.port).cmp(&(
                &b.source,
                &b.destination,
                b.protocol,
                b.port,
            ))
        });
        edges
    }

    fn port_names(&self, key: &EdgeKey) -> Vec<Arc<str>> {
        let server = self.learner.parties[key.destination as usize].party.workload();
        let directory = &self.learner.directory;
        server.map_or(Vec::new(), |server| directory.port_names(server, key.port, key.protocol))
    }

    fn seen(
        &self,
        id: u32,
        sides: &Sides,
        ends: &mut HashMap<u32, Arc<SeenEnd>, RandomState>,
    ) -> Option<SeenEdge> {
        let Thing::Edge(key, edge) = self.thing(id) else { return None };
        if self.traffic(id).fate != Some(Fate::Alive) {
            return None;
        }
        let mut end = |id: u32| {
            let seen = || Arc::new(peer::seen(self.learner, &self.cast, id));
            Arc::clone(ends.entry(id).or_insert_with(seen))
        };
        let part = sides.part();
        Some(SeenEdge {
            source: end(key.source),
            destination: end(key.destination),
            protocol: key.protocol,
            port: key.port,
            port_names: self.port_names(key),
            count: edge.connections.max(1),
            observations: edge.observations,
            learned: matches!(part, Part::Learned),
            skipped: match part {
                Part::Skipped(skip) => Some(skip),
                Part::Learned | Part::Uncovered => None,
            },
            first: crate::outcome::recorded(edge.first),
            last: crate::outcome::recorded(edge.last),
        })
    }
}

// === impl Places ===

impl Places {
    /// Whose the draft of `number` is.
    pub(in crate::outcome) fn subject(&self, number: usize) -> Option<Subject> {
        self.subjects.get(number).copied()
    }

    /// How many drafts there are.
    pub(in crate::outcome) fn drafts(&self) -> usize {
        self.subjects.len()
    }

    /// What belongs into the draft of `number`.
    pub(in crate::outcome) fn things(&self, number: usize) -> impl Iterator<Item = u32> {
        self.things[self.range(number)].iter().map(|(_, id)| *id)
    }

    fn range(&self, number: usize) -> std::ops::Range<usize> {
        let before = |end: usize| self.things.partition_point(|(of, _)| (*of as usize) < end);
        before(number)..before(number + 1)
    }
}

// === impl Placed ===

impl Placed {
    fn of(way: &Way, traffic: &Traffic) -> Self {
        match (way, traffic.at) {
            (Way::Draft(Fit::Rules(..)), Some(_)) => Self::Rule,
            (Way::Draft(Fit::Dns(_)), Some(_)) => Self::Dns,
            (Way::Draft(Fit::Rules(..) | Fit::Dns(_)), None) => Self::Nowhere(Skip::Incomplete),
            (Way::Draft(Fit::Not(..)) | Way::Unplaced(..), _) => Self::Uncovered,
            (Way::Nowhere(skip), _) => Self::Nowhere(*skip),
        }
    }
}

// === impl Sides ===

impl Sides {
    fn part(&self) -> Part {
        match (self.egress, self.ingress) {
            (Placed::Rule, _) | (_, Placed::Rule) => Part::Learned,
            (Placed::Uncovered, _) | (_, Placed::Uncovered) => Part::Uncovered,
            (Placed::Dns, _) | (_, Placed::Dns) => Part::Skipped(Skip::Dns),
            (Placed::Nowhere(egress), Placed::Nowhere(ingress)) => {
                Part::Skipped(egress.min(ingress))
            }
        }
    }
}
