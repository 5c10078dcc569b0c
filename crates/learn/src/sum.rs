//! Sums that observations add to: edges, parties, and what is not decided yet. All of them commute.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use netenf_policy::{Labels, Protocol};

use crate::classify::Skip;
use crate::connection::{Ending, Errors, Interval};
use crate::identity::Party;
use crate::observation::{Direction, PolicyRef, ServiceRef};
use crate::time::Timestamp;

/// A hash map with a seed of its own for each process: input is hostile.
pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;

/// How many of a set of names, services or ports are kept: always the smallest, so that order does not matter.
pub(crate) const KEPT: usize = 16;

/// One end of edges and what flows told of it.
#[derive(Debug, Clone)]
pub(crate) struct PartySum {
    pub(crate) party: Party,
    /// Orders ends by what they are, not by when they came: those that are named best come first.
    pub(crate) rank: u64,
    /// Lasting labels that all of its pods carried.
    pub(crate) labels: Option<Labels>,
    /// DNS names.
    pub(crate) names: BTreeSet<Arc<str>>,
    /// What else a reviewer should know of it.
    pub(crate) notes: BTreeSet<&'static str>,
    /// Nodes that reported it as one of their own pods.
    pub(crate) nodes: BTreeSet<Arc<str>>,
    /// Whether it was seen as a node's own address.
    pub(crate) as_node: bool,
}

/// Key of an edge: the opener, the other end, and what was addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EdgeKey {
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
}

/// What is known of an edge, save how its attempts ended.
#[derive(Debug, Clone)]
pub(crate) struct EdgeSum {
    pub(crate) key: EdgeKey,
    /// Orders edges by what they are, not by when they came.
    pub(crate) rank: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) observations: u64,
    pub(crate) connections: u64,
    /// Nodes that reported attempts.
    pub(crate) watchers: Watchers,
    /// The smallest services that were addressed, sorted.
    pub(crate) services: Box<[Arc<ServiceRef>]>,
    /// The smallest pair of pods that was seen.
    pub(crate) example: Option<(Arc<str>, Arc<str>)>,
}

/// The nodes that reported attempts of an edge, as far as it matters: whether one of them reports answers.
#[derive(Debug, Clone)]
pub(crate) enum Watchers {
    /// One does.
    Answering,
    /// None did when it reported; it may do so later. [`u32::MAX`] is none.
    Few([u32; 2]),
    /// The same, of more nodes.
    #[expect(clippy::box_collection, reason = "hardly any is needed, and a set takes three words")]
    Many(Box<BTreeSet<u32>>),
}

/// How the attempts of an edge ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Endings {
    pub(crate) answered: u32,
    pub(crate) refused: u32,
    pub(crate) repeated: u32,
    pub(crate) silent: u32,
    /// Packets of unknown direction that turned out to belong to it.
    pub(crate) joined: u64,
    /// Whether a connection is known that addressed no service.
    pub(crate) direct: bool,
}

/// Packets whose opener nothing told yet, grouped by what is likely the server's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CandidateKey {
    /// Who would be the client.
    pub(crate) client: u32,
    /// Who would be the server.
    pub(crate) server: u32,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
}

/// A group of packets of unknown direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct CandidateSum {
    pub(crate) observations: u64,
    pub(crate) connections: u64,
    /// Distinct client ports, the smallest of them.
    pub(crate) client_ports: BTreeSet<u16>,
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
}

/// What retired connections have come to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) endings: Vec<Endings>,
    pub(crate) candidates: Map<CandidateKey, CandidateSum>,
    /// How many connections were counted for each of several edges.
    pub(crate) overlaps: Map<Together, u64>,
    /// Packets of unknown direction that turned out to teach nothing.
    pub(crate) skipped: BTreeMap<Skip, u64>,
}

/// Edges that share a connection, sorted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Together {
    /// Nearly always: two nodes name the same ends differently.
    Two([u32; 2]),
    /// More of them.
    More(Box<[u32]>),
}

/// What adding a connection to the tally needs to know.
pub(crate) struct Reckoning<'a> {
    pub(crate) edges: &'a [EdgeSum],
    /// An answer later than this does not count.
    pub(crate) answer_within: i64,
    /// ICMP errors, which answer attempts too.
    pub(crate) errors: &'a Errors,
    /// How many groups of packets of unknown direction are kept apart.
    pub(crate) limit: usize,
}

/// Key of a denial.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DenialKey {
    pub(crate) edge: (u32, u32, Option<u16>, Option<Protocol>),
    pub(crate) direction: Option<Direction>,
    pub(crate) by: Option<Arc<PolicyRef>>,
}

/// What is known of a denial.
#[derive(Debug, Clone)]
pub(crate) struct DenialSum {
    pub(crate) key: DenialKey,
    pub(crate) note: NoteSum,
    pub(crate) connections: u64,
}

/// Counters of observations that are decided at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    pub(crate) received: u64,
    pub(crate) skipped: BTreeMap<Skip, u64>,
    pub(crate) errors: u64,
    pub(crate) lost: u64,
}

/// Count and times of something that is only noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoteSum {
    pub(crate) observations: u64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

// === impl NoteSum ===

impl NoteSum {
    pub(crate) const EMPTY: Self = Self { observations: 0, first: i64::MAX, last: i64::MIN };

    pub(crate) fn merge(&mut self, other: &Self) {
        self.observations += other.observations;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    pub(crate) fn add(&mut self, time: Option<Timestamp>) {
        self.observations += 1;
        if let Some(time) = time {
            self.first = self.first.min(time.0);
            self.last = self.last.max(time.0);
        }
    }
}

// === impl Watchers ===

impl Watchers {
    pub(crate) const NOBODY: Self = Self::Few([u32::MAX; 2]);

    /// Adds a node, which was seen to report answers or not.
    pub(crate) fn add(&mut self, node: u32, answers: bool) {
        match self {
            Self::Answering => {}
            _ if answers => *self = Self::Answering,
            Self::Few([one, other]) => match (*one, *other) {
                (known, _) | (_, known) if known == node => {}
                (u32::MAX, _) => *one = node,
                (_, u32::MAX) => *other = node,
                (one, other) => {
                    *self = Self::Many(Box::new([one, other, node].into()));
                }
            },
            Self::Many(nodes) => drop(nodes.insert(node)),
        }
    }

    /// Whether a node reported attempts of which `answers` says that it reports answers.
    pub(crate) fn any(&self, answers: impl Fn(u32) -> bool) -> bool {
        match self {
            Self::Answering => true,
            Self::Few(nodes) => nodes.iter().any(|node| *node != u32::MAX && answers(*node)),
            Self::Many(nodes) => nodes.iter().any(|node| answers(*node)),
        }
    }
}

// === impl Together ===

impl Together {
    fn of(edges: impl Iterator<Item = u32>) -> Self {
        let mut edges: Vec<u32> = edges.collect();
        edges.sort_unstable();
        match *edges {
            [one, other] => Self::Two([one, other]),
            _ => Self::More(edges.into()),
        }
    }

    pub(crate) fn edges(&self) -> &[u32] {
        match self {
            Self::Two(edges) => edges,
            Self::More(edges) => edges,
        }
    }
}

// === impl Tally ===

impl Tally {
    /// Adds a connection that no further report will change.
    pub(crate) fn add(&mut self, interval: &Interval, reckoning: &Reckoning<'_>) {
        let openers = self.add_edges(interval, reckoning);
        for leg in 0..2 {
            let packets = u64::from(interval.candidates[leg]);
            match (openers[leg], openers[1 - leg], interval.ignored) {
                _ if packets == 0 => {}
                (Some(edge), _, _) => self.endings_of(edge).joined += packets,
                (None, Some(_), _) => self.skip(Skip::Reply, packets),
                (None, None, Some(skip)) => self.skip(skip, packets),
                (None, None, None) => self.add_candidates(interval, leg, packets, reckoning.limit),
            }
        }
    }

    /// Adds how the attempts ended; returns by leg the edge that stands for those it opened.
    fn add_edges(&mut self, interval: &Interval, reckoning: &Reckoning<'_>) -> [Option<u32>; 2] {
        let mut openers = [None, None];
        let rank = |edge: u32| reckoning.edges[edge as usize].rank;
        for slot in interval.slots() {
            let leg = usize::from(slot.leg);
            let endings = self.endings_of(slot.edge);
            match interval.ending(leg, reckoning.answer_within, reckoning.errors) {
                Ending::Answered => endings.answered = endings.answered.saturating_add(1),
                Ending::Refused => endings.refused = endings.refused.saturating_add(1),
                Ending::Repeated => endings.repeated = endings.repeated.saturating_add(1),
                Ending::Silent => endings.silent = endings.silent.saturating_add(1),
            }
            endings.direct |= !interval.by_service;
            if openers[leg].is_none_or(|known| rank(slot.edge) < rank(known)) {
                openers[leg] = Some(slot.edge);
            }
        }
        if interval.slots().nth(1).is_some() {
            let together = Together::of(interval.slots().map(|slot| slot.edge));
            let both = interval.slots().map(|slot| slot.weight).min().unwrap_or_default();
            // Over the limit connections stay counted for each of the edges.
            if self.overlaps.len() < reckoning.limit || self.overlaps.contains_key(&together) {
                *self.overlaps.entry(together).or_default() += u64::from(both);
            }
        }
        openers
    }

    fn skip(&mut self, skip: Skip, packets: u64) {
        *self.skipped.entry(skip).or_default() += packets;
    }

    fn endings_of(&mut self, edge: u32) -> &mut Endings {
        let index = edge as usize;
        if self.endings.len() <= index {
            self.endings.resize(index + 1, Endings::default());
        }
        &mut self.endings[index]
    }

    /// The lower port is likelier the server's: clients get theirs from a high range.
    fn add_candidates(&mut self, interval: &Interval, sender: usize, packets: u64, limit: usize) {
        let order = interval.port[0].cmp(&interval.port[1]);
        let server = match order {
            Ordering::Less => 0,
            Ordering::Greater => 1,
            Ordering::Equal => 1 - sender,
        };
        let key = CandidateKey {
            client: interval.party[1 - server],
            server: interval.party[server],
            port: interval.port[server],
            protocol: interval.protocol,
        };
        if self.candidates.len() >= limit && !self.candidates.contains_key(&key) {
            return self.skip(Skip::Limit, packets);
        }
        // Packets both ways are one connection, in one group unless the ports are the same.
        let counted = order != Ordering::Equal && sender == 1 && interval.candidates[0] > 0;
        let sum = self.candidates.entry(key).or_default();
        sum.observations += packets;
        sum.connections += u64::from(!counted);
        keep_smallest(&mut sum.client_ports, interval.port[1 - server], KEPT);
        let (first, last) = interval.span();
        // Zero stands for reports without a time.
        let timed = |time: i64| Some(time).filter(|time| *time != 0);
        sum.first = [sum.first, timed(first)].into_iter().flatten().min();
        sum.last = [sum.last, timed(last)].into_iter().flatten().max();
    }
}

/// Adds to a sorted list that keeps only its smallest members, each once.
pub(crate) fn keep_few<T: Ord + Clone>(list: &mut Box<[T]>, value: &T, limit: usize) {
    let Err(at) = list.binary_search(value) else { return };
    if at < limit {
        let (before, after) = list.split_at(at);
        let after = after[..after.len().min(limit - at - 1)].iter();
        *list = before.iter().chain([value]).chain(after).cloned().collect();
    }
}

/// Adds to a set that keeps only its smallest members.
pub(crate) fn keep_smallest<T: Ord>(set: &mut BTreeSet<T>, value: T, limit: usize) {
    let full = set.len() >= limit;
    if full && set.last().is_some_and(|largest| *largest <= value) {
        return;
    }
    set.insert(value);
    if set.len() > limit {
        set.pop_last();
    }
}

#[cfg(test)]
mod tests;
