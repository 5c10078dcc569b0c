//! Which reports belong to one connection, who opened it, and whether it was answered.
//!
//! A connection is a 5-tuple within the pairing window: any number of nodes and trace points may report
//! it, in any order (DESIGN D3). Each report widens an interval of time; intervals that come to touch
//! are merged, so the result does not depend on the order. The table is bounded: when it is full the
//! half that was last seen longest ago is retired into sums, and only reports that come later than
//! that could be counted as another connection.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use netenf_policy::Protocol;

use crate::classify::Skip;

mod interval;

pub(crate) use interval::Interval;

/// No edge.
const NONE: u32 = u32::MAX;

/// What a connection is counted for is an edge, or with this bit a denial.
pub(crate) const DENIAL: u32 = 1 << 31;

/// One end's address and port, hashed, and who it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    pub(crate) hash: u64,
    /// The address alone, hashed.
    pub(crate) host: u64,
    pub(crate) party: u32,
    /// Of several names for one end the one of the lowest rank counts.
    pub(crate) rank: u64,
    pub(crate) port: u16,
}

/// What a report says about its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The sender opened it.
    Open(Opening),
    /// The sender opened it, and it teaches nothing for this reason; nor does what follows.
    Ignored(Skip),
    /// The sender answered.
    Answer,
    /// A packet of an open connection in one direction or the other.
    Candidate,
    /// Refused, whoever attempted it.
    Refused,
    /// The sender resets: what the other end attempted is refused.
    Reset,
    /// Denied: counted for this denial.
    Denied(Denied),
}

/// A report of a denied connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Denied {
    /// The denial that it belongs to; `None` over the limit.
    pub(crate) denial: Option<u32>,
    /// How many connections it stands for.
    pub(crate) weight: u32,
}

/// A report of an opened connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    /// The edge that it belongs to.
    pub(crate) edge: u32,
    /// How many connections it stands for.
    pub(crate) weight: u32,
    /// Whether it is a packet that opens, rather than a record of a connection.
    pub(crate) syn: bool,
    /// Whether the source says that the other end took it.
    pub(crate) taken: bool,
    /// Whether the client addressed a service.
    pub(crate) by_service: bool,
}

/// An edge or a denial that a connection was reported for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) edge: u32,
    pub(crate) weight: u32,
    /// The leg that opened it.
    pub(crate) leg: u8,
}

/// How an attempt to open a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The other end answered, or the opener went on talking.
    Answered,
    /// Refused or denied.
    Refused,
    /// The opener repeated itself and got no answer (case B76).
    Repeated,
    /// Nothing else was seen.
    Silent,
}

/// A report and whose legs it names, in the order of their hashes.
struct Report {
    low: Leg,
    high: Leg,
    protocol: Protocol,
    time: i64,
    /// The leg that sent.
    leg: usize,
    sign: Sign,
}

/// How many spans of time with ICMP errors are kept.
const ERRORS_LIMIT: usize = 1 << 16;

/// ICMP errors between two addresses: they do not tell which of the attempts between them failed, so
/// those that nothing else answered are taken as refused. Both directions are one, since a router may
/// send the error from either.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errors {
    /// Spans of time with errors, by the hash of both addresses. Errors close to each other are one span.
    spans: HashMap<u64, BTreeMap<i64, i64>, RandomState>,
    held: usize,
}

/// The connections of one 5-tuple: places in the table. Nearly all tuples have one for ever.
#[derive(Debug)]
enum Tuple {
    One(u32),
    /// Several, by their first report. They lie farther apart than the window.
    #[expect(
        clippy::box_collection,
        reason = "hardly any has several, and a map takes three words"
    )]
    Many(Box<BTreeMap<i64, u32>>),
}

/// The connections that are still open to further reports.
#[derive(Debug)]
pub(crate) struct Table {
    map: HashMap<u64, Tuple, RandomState>,
    arena: Arena,
    /// By party: of several names for one end the one of the lowest rank counts.
    ranks: Vec<u64>,
    window: i64,
    /// Edges and denials that counted a connection twice before two of its intervals were merged.
    pub(crate) corrections: Vec<(u32, u64)>,
}

/// Intervals in one piece of memory, and which of the places are free.
#[derive(Debug)]
struct Arena {
    intervals: Vec<Interval>,
    free: Vec<u32>,
    capacity: usize,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(window: i64, capacity: usize) -> Self {
        let arena = Arena { intervals: Vec::new(), free: Vec::new(), capacity: capacity.max(2) };
        let (map, ranks, corrections) = (HashMap::default(), Vec::new(), Vec::new());
        Self { map, arena, ranks, window, corrections }
    }

    /// Takes in a report from `source` to `destination`; returns how many connections more its edge has.
    pub(crate) fn report(
        &mut self,
        source: Leg,
        destination: Leg,
        protocol: Protocol,
        time: i64,
        sign: Sign,
    ) -> u32 {
        let swapped = source.hash > destination.hash;
        let (low, high) = if swapped { (destination, source) } else { (source, destination) };
        let key = tuple_key(low.hash, high.hash, protocol);
        self.note_rank(low);
        self.note_rank(high);
        let report = Report { low, high, protocol, time, leg: usize::from(swapped), sign };
        let Self { map, arena, ranks, window, corrections } = self;
        let tuple = match map.entry(key) {
            Entry::Vacant(entry) => {
                let (at, change) = arena.add(&report, ranks);
                entry.insert(Tuple::One(at));
                return change;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if let Tuple::One(at) = tuple {
            let interval = &mut arena.intervals[*at as usize];
            if interval.reaches(time, *window) {
                return interval.take(&report, ranks);
            }
            let first = (interval.span().0, *at);
            *tuple = Tuple::Many(Box::new([first].into()));
        }
        let Tuple::Many(many) = tuple else { return 0 };
        take_among(many, arena, &report, *window, ranks, corrections)
    }

    /// Whether the table must be thinned before the next report.
    pub(crate) fn is_full(&self) -> bool {
        self.len() > self.arena.capacity
    }

    /// Takes out the half of the connections that was last seen longest ago.
    pub(crate) fn retire(&mut self, mut out: impl FnMut(&Interval)) {
        let mut lasts = Vec::with_capacity(self.len());
        self.for_each(|interval| lasts.push(interval.span().1));
        let middle = lasts.len() / 2;
        let (_, &mut median, _) = lasts.select_nth_unstable(middle);
        let Arena { intervals, free, .. } = &mut self.arena;
        let mut keep = |at: u32| {
            let interval = &intervals[at as usize];
            let keep = interval.span().1 > median;
            if !keep {
                out(interval);
                free.push(at);
            }
            keep
        };
        self.map.retain(|_, tuple| match tuple {
            Tuple::One(at) => keep(*at),
            Tuple::Many(many) => {
                many.retain(|_, at| keep(*at));
                !many.is_empty()
            }
        });
    }

    /// Takes out all connections, and frees their memory.
    pub(crate) fn drain(&mut self, out: impl FnMut(&Interval)) {
        self.for_each(out);
        *self = Self::new(self.window, self.arena.capacity);
    }

    /// How many connections are held.
    pub(crate) fn len(&self) -> usize {
        self.arena.intervals.len() - self.arena.free.len()
    }

    /// Shows every connection that is still held.
    pub(crate) fn for_each(&self, mut show: impl FnMut(&Interval)) {
        let mut show = |at: &u32| show(&self.arena.intervals[*at as usize]);
        for tuple in self.map.values() {
            match tuple {
                Tuple::One(at) => show(at),
                Tuple::Many(many) => many.values().for_each(&mut show),
            }
        }
    }

    fn note_rank(&mut self, leg: Leg) {
        let party = leg.party as usize;
        if self.ranks.len() <= party {
            self.ranks.resize(party + 1, u64::MAX);
        }
        self.ranks[party] = leg.rank;
    }
}

// === impl Arena ===

impl Arena {
    /// Adds the interval of a first report; returns its place, and how many connections its edge has.
    fn add(&mut self, report: &Report, ranks: &[u64]) -> (u32, u32) {
        let (interval, change) = Interval::new(report, ranks);
        if let Some(at) = self.free.pop() {
            self.intervals[at as usize] = interval;
            return (at, change);
        }
        let count = self.intervals.len();
        if count == self.intervals.capacity() {
            // One more than the capacity is held before the table is thinned.
            let most = (self.capacity + 1).saturating_sub(count).max(1);
            self.intervals.reserve_exact(count.clamp(1, most));
        }
        self.intervals.push(interval);
        (u32::try_from(count).unwrap_or(NONE), change)
    }
}

/// Takes a report in among the intervals of its tuple, and merges those that come to touch.
fn take_among(
    many: &mut BTreeMap<i64, u32>,
    arena: &mut Arena,
    report: &Report,
    window: i64,
    ranks: &[u64],
    corrections: &mut Vec<(u32, u64)>,
) -> u32 {
    let near = many.range(..=report.time.saturating_add(window)).next_back();
    let near = near.map(|(first, at)| (*first, *at));
    let near = near.filter(|(_, at)| arena.intervals[*at as usize].reaches(report.time, window));
    let (at, change) = match near {
        Some((first, at)) => {
            many.remove(&first);
            (at, arena.intervals[at as usize].take(report, ranks))
        }
        None => arena.add(report, ranks),
    };
    loop {
        let own = &arena.intervals[at as usize];
        let first = own.span().0;
        let before = many.range(..first).next_back();
        let mut beside = before.into_iter().chain(many.range(first..).next());
        let touches = |at: &u32| own.touches(&arena.intervals[*at as usize], window);
        let Some((first, other)) = beside.find(|(_, other)| touches(other)) else { break };
        let (first, other) = (*first, *other);
        many.remove(&first);
        if let Ok([own, other]) = arena.intervals.get_disjoint_mut([at as usize, other as usize]) {
            own.merge(other, ranks, corrections);
        }
        arena.free.push(other);
    }
    many.insert(arena.intervals[at as usize].span().0, at);
    change
}

fn tuple_key(low: u64, high: u64, protocol: Protocol) -> u64 {
    low.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high ^ ((protocol as u64) << 60)
}

// === impl Errors ===

impl Errors {
    /// Notes an error that a sender told a receiver; `false` when there is no room for it.
    pub(crate) fn note(&mut self, hosts: u64, time: i64, within: i64) -> bool {
        if self.held >= ERRORS_LIMIT {
            return false;
        }
        let spans = self.spans.entry(hosts).or_default();
        let (mut first, mut last) = (time, time);
        while let Some((&from, &to)) = spans.range(..=last.saturating_add(within)).next_back()
            && to >= first.saturating_sub(within)
        {
            spans.remove(&from);
            self.held -= 1;
            (first, last) = (first.min(from), last.max(to));
        }
        spans.insert(first, last);
        self.held += 1;
        true
    }

    /// Whether an error came in time to be the answer to what was opened then.
    fn answer(&self, hosts: u64, opened: i64, within: i64) -> bool {
        let Some(spans) = self.spans.get(&hosts).filter(|_| opened != i64::MAX) else {
            return false;
        };
        let latest = spans.range(..=opened.saturating_add(within)).next_back();
        // Clocks of nodes differ, so an answer may seem to come before its question.
        latest.is_some_and(|(_, last)| *last >= opened.saturating_sub(within))
    }
}

/// What both ends of a report have in common, whichever sent it.
pub(crate) fn hosts(source: Leg, destination: Leg) -> u64 {
    source.host ^ destination.host
}

#[cfg(test)]
mod tests;
