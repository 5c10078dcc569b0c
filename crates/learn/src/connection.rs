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

/// No edge.
pub(crate) const NONE: u32 = u32::MAX;

/// What a connection is counted for is an edge, or with this bit a denial.
pub(crate) const DENIAL: u32 = 1 << 31;

/// How many edges of one connection are kept without a list of their own. There are several where two
/// nodes name the same ends differently (a node knows the workloads of its own pods only), and where a
/// service leads to several workloads.
const INLINE: usize = 2;

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

/// One connection, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    first: i64,
    last: i64,
    /// The legs in the order of their hashes: parties and ports of the low and the high one.
    pub(crate) party: [u32; 2],
    rank: [u64; 2],
    pub(crate) port: [u16; 2],
    pub(crate) protocol: Protocol,
    slots: [Slot; INLINE],
    more: Vec<Slot>,
    opened: [i64; 2],
    answered: [(i64, i64); 2],
    /// The first three distinct seconds in which the leg sent a SYN: a repeated SYN is an unanswered one.
    syns: [[i64; 3]; 2],
    /// Packets of unknown direction that the leg sent.
    pub(crate) candidates: [u32; 2],
    /// Whether what the leg attempted was refused.
    refused: [bool; 2],
    /// The addresses of both ends, hashed: an ICMP error tells no more.
    hosts: u64,
    /// Whether some report says which service the client addressed.
    pub(crate) by_service: bool,
    /// Why it teaches nothing, if one of its openings says so.
    pub(crate) ignored: Option<Skip>,
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

/// Connections of one 5-tuple, by their first report. Nearly all tuples are seen once.
#[derive(Debug, Clone)]
enum Tuple {
    One(Box<Interval>),
    Many(BTreeMap<i64, Interval>),
}

/// The connections that are still open to further reports.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    map: HashMap<u64, Tuple, RandomState>,
    window: i64,
    capacity: usize,
    held: usize,
    /// Edges and denials that counted a connection twice before two of its intervals were merged.
    pub(crate) corrections: Vec<(u32, u64)>,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(window: i64, capacity: usize) -> Self {
        let map = HashMap::default();
        let corrections = Vec::new();
        Self { map, window, capacity: capacity.max(2), held: 0, corrections }
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
        let leg = usize::from(swapped);
        let key = tuple_key(low.hash, high.hash, protocol);
        let report = Report { low, high, protocol, time, leg, sign };
        let tuple = match self.map.entry(key) {
            Entry::Vacant(entry) => {
                let (interval, change) = Interval::new(&report);
                entry.insert(Tuple::One(Box::new(interval)));
                self.held += 1;
                return change;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if let Tuple::One(interval) = tuple {
            if interval.reaches(time, self.window) {
                return interval.take(&report);
            }
            let first = (interval.first, (**interval).clone());
            *tuple = Tuple::Many([first].into());
        }
        let Tuple::Many(many) = tuple else { return 0 };
        let before = many.len();
        let change = take_among(many, &report, self.window, &mut self.corrections);
        self.held = self.held + many.len() - before;
        change
    }

    /// Whether the table must be thinned before the next report.
    pub(crate) fn is_full(&self) -> bool {
        self.held > self.capacity
    }

    /// Takes out the half of the connections that was last seen longest ago.
    pub(crate) fn retire(&mut self, mut out: impl FnMut(&Interval)) {
        let mut lasts: Vec<i64> =
            self.map.values().flat_map(Tuple::iter).map(|interval| interval.last).collect();
        let middle = lasts.len() / 2;
        let (_, &mut median, _) = lasts.select_nth_unstable(middle);
        let mut held = 0;
        let mut keep = |interval: &Interval| {
            let keep = interval.last > median;
            if !keep {
                out(interval);
            }
            held += usize::from(keep);
            keep
        };
        self.map.retain(|_, tuple| match tuple {
            Tuple::One(interval) => keep(interval),
            Tuple::Many(many) => {
                many.retain(|_, interval| keep(interval));
                !many.is_empty()
            }
        });
        self.held = held;
    }

    /// How many connections are held.
    pub(crate) fn len(&self) -> usize {
        self.held
    }

    /// Shows every connection that is still held.
    pub(crate) fn for_each(&self, show: impl FnMut(&Interval)) {
        self.map.values().flat_map(Tuple::iter).for_each(show);
    }
}

/// Takes a report in among the intervals of its tuple, which lie farther apart than the window, and merges
/// those that come to touch.
fn take_among(
    many: &mut BTreeMap<i64, Interval>,
    report: &Report,
    window: i64,
    corrections: &mut Vec<(u32, u64)>,
) -> u32 {
    let near = many.range(..=report.time.saturating_add(window)).next_back();
    let near = near.filter(|(_, interval)| interval.reaches(report.time, window));
    let near = near.map(|(first, _)| *first).and_then(|first| many.remove(&first));
    let (mut interval, change) = match near {
        Some(mut interval) => {
            let change = interval.take(report);
            (interval, change)
        }
        None => Interval::new(report),
    };
    let next = |many: &BTreeMap<i64, Interval>, interval: &Interval| {
        let before = many.range(..interval.first).next_back();
        let touching = before.into_iter().chain(many.range(interval.first..).next());
        let mut touching = touching.filter(|(_, other)| interval.touches(other, window));
        touching.next().map(|(first, _)| *first)
    };
    while let Some(other) = next(many, &interval).and_then(|first| many.remove(&first)) {
        interval.merge(&other, corrections);
    }
    many.insert(interval.first, interval);
    change
}

fn tuple_key(low: u64, high: u64, protocol: Protocol) -> u64 {
    low.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high ^ ((protocol as u64) << 60)
}

// === impl Tuple ===

impl Tuple {
    fn iter(&self) -> impl Iterator<Item = &Interval> {
        let (one, many) = match self {
            Self::One(interval) => (Some(&**interval), None),
            Self::Many(many) => (None, Some(many.values())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
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

// === impl Slot ===

impl Slot {
    const EMPTY: Self = Self { edge: NONE, weight: 0, leg: 0 };

    /// Of several weights the largest counts; returns how much more that is.
    fn weigh(&mut self, weight: u32) -> u32 {
        let more = weight.saturating_sub(self.weight);
        self.weight += more;
        more
    }
}

// === impl Interval ===

impl Interval {
    fn new(report: &Report) -> (Self, u32) {
        let &Report { low, high, protocol, time, .. } = report;
        let mut interval = Self {
            first: time,
            last: time,
            party: [low.party, high.party],
            rank: [low.rank, high.rank],
            port: [low.port, high.port],
            protocol,
            slots: [Slot::EMPTY; INLINE],
            more: Vec::new(),
            opened: [i64::MAX; 2],
            answered: [(i64::MAX, i64::MIN); 2],
            syns: [[i64::MAX; 3]; 2],
            candidates: [0; 2],
            refused: [false; 2],
            hosts: hosts(low, high),
            by_service: false,
            ignored: None,
        };
        let change = interval.take(report);
        (interval, change)
    }

    /// Takes in a report of it; returns how many connections more its edge has.
    fn take(&mut self, report: &Report) -> u32 {
        self.first = self.first.min(report.time);
        self.last = self.last.max(report.time);
        self.name(0, report.low.party, report.low.rank);
        self.name(1, report.high.party, report.high.rank);
        self.apply(report.leg, report.time, report.sign)
    }

    fn reaches(&self, time: i64, window: i64) -> bool {
        self.first.saturating_sub(window) <= time && time <= self.last.saturating_add(window)
    }

    /// The edges that it was reported for.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().chain(&self.more).filter(|slot| slot.edge < DENIAL)
    }

    /// Nodes name the same end differently: the name of the lowest rank counts, whichever came first.
    fn name(&mut self, leg: usize, party: u32, rank: u64) {
        if rank < self.rank[leg] {
            self.rank[leg] = rank;
            self.party[leg] = party;
        }
    }

    fn apply(&mut self, leg: usize, time: i64, sign: Sign) -> u32 {
        match sign {
            Sign::Open(opening) => return self.open(leg, time, opening),
            Sign::Ignored(skip) => self.ignore(Some(skip)),
            Sign::Answer => self.answer(leg, time),
            Sign::Candidate => self.candidates[leg] = self.candidates[leg].saturating_add(1),
            Sign::Refused => self.refused = [true; 2],
            Sign::Reset => self.refused[1 - leg] = true,
            Sign::Denied(Denied { denial, weight }) => {
                self.refused = [true; 2];
                let slot = |denial| Slot { edge: denial | DENIAL, weight, leg: u8::from(leg == 1) };
                return denial.map_or(0, |denial| self.count(slot(denial)));
            }
        }
        0
    }

    fn open(&mut self, leg: usize, time: i64, opening: Opening) -> u32 {
        let Opening { edge, weight, syn, taken, by_service } = opening;
        self.opened[leg] = self.opened[leg].min(time);
        self.by_service |= by_service;
        if syn {
            insert_smallest(&mut self.syns[leg], time.div_euclid(1_000_000_000));
        }
        if taken {
            self.answer(1 - leg, time);
        }
        self.count(Slot { edge, weight, leg: u8::from(leg == 1) })
    }

    fn answer(&mut self, leg: usize, time: i64) {
        let (first, last) = self.answered[leg];
        self.answered[leg] = (first.min(time), last.max(time));
    }

    fn ignore(&mut self, skip: Option<Skip>) {
        self.ignored = [self.ignored, skip].into_iter().flatten().min();
    }

    /// Counts the connection for an edge or a denial: once, however often it is reported.
    fn count(&mut self, slot: Slot) -> u32 {
        for own in &mut self.slots {
            if own.edge == slot.edge {
                return own.weigh(slot.weight);
            }
            if own.edge == NONE {
                *own = slot;
                return slot.weight;
            }
        }
        match self.more.binary_search_by_key(&slot.edge, |own| own.edge) {
            Ok(at) => self.more[at].weigh(slot.weight),
            Err(at) => {
                self.more.insert(at, slot);
                slot.weight
            }
        }
    }

    fn touches(&self, other: &Self, window: i64) -> bool {
        other.first <= self.last.saturating_add(window)
            && self.first <= other.last.saturating_add(window)
    }

    /// Takes in another interval of the same tuple.
    fn merge(&mut self, other: &Self, corrections: &mut Vec<(u32, u64)>) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        for slot in other.slots.iter().chain(&other.more).filter(|slot| slot.edge != NONE) {
            let more = self.count(*slot);
            corrections.push((slot.edge, u64::from(slot.weight - more)));
        }
        for leg in 0..2 {
            self.name(leg, other.party[leg], other.rank[leg]);
            self.opened[leg] = self.opened[leg].min(other.opened[leg]);
            self.answered[leg].0 = self.answered[leg].0.min(other.answered[leg].0);
            self.answered[leg].1 = self.answered[leg].1.max(other.answered[leg].1);
            self.candidates[leg] = self.candidates[leg].saturating_add(other.candidates[leg]);
            for &second in other.syns[leg].iter().filter(|second| **second != i64::MAX) {
                insert_smallest(&mut self.syns[leg], second);
            }
        }
        for (own, other) in self.refused.iter_mut().zip(other.refused) {
            *own |= other;
        }
        self.by_service |= other.by_service;
        self.ignore(other.ignored);
    }

    /// First and last report.
    pub(crate) fn span(&self) -> (i64, i64) {
        (self.first, self.last)
    }

    /// How the attempt that `leg` made ended.
    pub(crate) fn ending(&self, leg: usize, answer_within: i64, errors: &Errors) -> Ending {
        if self.is_answered(leg, answer_within) {
            Ending::Answered
        } else if self.refused[leg] || errors.answer(self.hosts, self.opened[leg], answer_within) {
            Ending::Refused
        } else if self.repeated(leg) {
            Ending::Repeated
        } else {
            Ending::Silent
        }
    }

    /// Whether the other end answered in time, or the packets of unknown direction say so: an opener goes
    /// on only where it was answered (in TCP), and what comes back is an answer.
    fn is_answered(&self, leg: usize, answer_within: i64) -> bool {
        let opened = self.opened[leg];
        let (first, last) = self.answered[1 - leg];
        // Clocks of nodes differ, so an answer may seem to come before its question.
        let in_time = first <= opened.saturating_add(answer_within)
            && last >= opened.saturating_sub(answer_within);
        let goes_on = self.candidates[leg] > 0 && self.protocol == Protocol::Tcp;
        (first <= last && in_time) || goes_on || self.candidates[1 - leg] > 0
    }

    /// Three SYNs in three different seconds of half a minute: nobody repeats what was answered.
    fn repeated(&self, leg: usize) -> bool {
        let [first, _, third] = self.syns[leg];
        third != i64::MAX && third - first <= 30
    }
}

/// Keeps the smallest three distinct values, sorted.
fn insert_smallest(kept: &mut [i64; 3], value: i64) {
    if kept.contains(&value) {
        return;
    }
    if value < kept[2] {
        kept[2] = value;
        kept.sort_unstable();
    }
}

#[cfg(test)]
mod tests;
