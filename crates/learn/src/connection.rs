//! Which reports belong to one connection, who opened it, and whether it was answered.
//!
//! A connection is a 5-tuple within the pairing window: any number of nodes and trace points may report
//! it, in any order (DESIGN D3). Each report widens an interval of time; intervals that come to touch
//! are merged, so the result does not depend on the order. The table is bounded: when it is full the
//! half that was last seen longest ago is retired into sums, and only reports that come later than
//! that could be counted as another connection.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use netenf_policy::Protocol;

/// No edge.
pub(crate) const NONE: u32 = u32::MAX;

/// How many ways of naming the two ends of one connection are told apart (DESIGN §3: a node knows the
/// workloads of its own pods only, so two nodes name the same ends differently).
const VIEWS: usize = 4;

/// One end's address and port, hashed, and who it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leg {
    pub(crate) hash: u64,
    pub(crate) party: u32,
    pub(crate) port: u16,
}

/// What a report says about its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The sender opened it; it belongs to this edge, and stands for so many connections.
    Open { edge: u32, weight: u32, syn: bool },
    /// The sender answered.
    Answer,
    /// A packet of an open connection in one direction or the other.
    Candidate,
    /// Refused or denied.
    Refused,
}

/// One connection, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    first: i64,
    last: i64,
    /// The legs in the order of their hashes: parties and ports of the low and the high one.
    pub(crate) party: [u32; 2],
    pub(crate) port: [u16; 2],
    pub(crate) protocol: Protocol,
    /// Edges that it was reported for, with the opener's leg and the weight.
    pub(crate) edges: [(u32, u8, u32); VIEWS],
    opened: [i64; 2],
    answered: [(i64, i64); 2],
    /// The first three distinct seconds in which the leg sent a SYN: a repeated SYN is an unanswered one.
    syns: [[i64; 3]; 2],
    /// Packets of unknown direction that the leg sent.
    pub(crate) candidates: [u32; 2],
    pub(crate) refused: bool,
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

/// The connections that are still open to further reports.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    map: HashMap<u64, Vec<Interval>, RandomState>,
    window: i64,
    answer_within: i64,
    capacity: usize,
    held: usize,
    /// Edges that counted a connection twice before two of its intervals were merged.
    pub(crate) corrections: Vec<(u32, u64)>,
}

/// What a report changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Change {
    /// How many connections more the edge has.
    pub(crate) connections: u32,
    /// Whether this is the edge's first report of this connection.
    pub(crate) fresh: bool,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(window: i64, answer_within: i64, capacity: usize) -> Self {
        let map = HashMap::default();
        let corrections = Vec::new();
        Self { map, window, answer_within, capacity: capacity.max(2), held: 0, corrections }
    }

    /// Takes in a report from `source` to `destination`.
    pub(crate) fn report(
        &mut self,
        source: Leg,
        destination: Leg,
        protocol: Protocol,
        time: i64,
        sign: Sign,
    ) -> Change {
        let swapped = source.hash > destination.hash;
        let (low, high) = if swapped { (destination, source) } else { (source, destination) };
        let leg = usize::from(swapped);
        let key = tuple_key(low.hash, high.hash, protocol);
        let intervals = self.map.entry(key).or_default();
        let window = self.window;
        let reach = |interval: &Interval| {
            interval.first.saturating_sub(window) <= time
                && time <= interval.last.saturating_add(window)
        };
        let at = if let Some(at) = intervals.iter().position(reach) {
            at
        } else {
            intervals.push(Interval::new(low, high, protocol, time));
            self.held += 1;
            intervals.len() - 1
        };
        intervals[at].first = intervals[at].first.min(time);
        intervals[at].last = intervals[at].last.max(time);
        let change = intervals[at].apply(leg, time, sign);
        if intervals.len() > 1 {
            self.held -= absorb(intervals, at, window, &mut self.corrections);
        }
        change
    }

    /// Whether the table must be thinned before the next report.
    pub(crate) fn is_full(&self) -> bool {
        self.held > self.capacity
    }

    /// Takes out the half of the connections that was last seen longest ago.
    pub(crate) fn retire(&mut self, mut out: impl FnMut(&Interval, i64)) {
        let mut lasts: Vec<i64> =
            self.map.values().flatten().map(|interval| interval.last).collect();
        let middle = lasts.len() / 2;
        let (_, &mut median, _) = lasts.select_nth_unstable(middle);
        let answer_within = self.answer_within;
        let mut held = 0;
        self.map.retain(|_, intervals| {
            intervals.retain(|interval| {
                let keep = interval.last > median;
                if !keep {
                    out(interval, answer_within);
                }
                keep
            });
            held += intervals.len();
            !intervals.is_empty()
        });
        self.held = held;
    }

    /// Shows every connection that is still held.
    pub(crate) fn for_each(&self, mut show: impl FnMut(&Interval, i64)) {
        self.map.values().flatten().for_each(|interval| show(interval, self.answer_within));
    }
}

/// Merges the intervals that the one at `at` has come to touch; returns how many are gone.
fn absorb(
    intervals: &mut Vec<Interval>,
    at: usize,
    window: i64,
    corrections: &mut Vec<(u32, u64)>,
) -> usize {
    let before = intervals.len();
    let mut merged = intervals.swap_remove(at);
    while let Some(index) = intervals.iter().position(|other| merged.touches(other, window)) {
        let other = intervals.swap_remove(index);
        merged.merge(&other, corrections);
    }
    intervals.push(merged);
    before - intervals.len()
}

fn tuple_key(low: u64, high: u64, protocol: Protocol) -> u64 {
    low.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high ^ ((protocol as u64) << 60)
}

// === impl Interval ===

impl Interval {
    fn new(low: Leg, high: Leg, protocol: Protocol, time: i64) -> Self {
        Self {
            first: time,
            last: time,
            party: [low.party, high.party],
            port: [low.port, high.port],
            protocol,
            edges: [(NONE, 0, 0); VIEWS],
            opened: [i64::MAX; 2],
            answered: [(i64::MAX, i64::MIN); 2],
            syns: [[i64::MAX; 3]; 2],
            candidates: [0; 2],
            refused: false,
        }
    }

    fn apply(&mut self, leg: usize, time: i64, sign: Sign) -> Change {
        match sign {
            Sign::Open { edge, weight, syn } => {
                self.opened[leg] = self.opened[leg].min(time);
                if syn {
                    insert_smallest(&mut self.syns[leg], time.div_euclid(1_000_000_000));
                }
                self.count(edge, leg, weight)
            }
            Sign::Answer => {
                let (first, last) = self.answered[leg];
                self.answered[leg] = (first.min(time), last.max(time));
                Change::default()
            }
            Sign::Candidate => {
                self.candidates[leg] = self.candidates[leg].saturating_add(1);
                Change::default()
            }
            Sign::Refused => {
                self.refused = true;
                Change::default()
            }
        }
    }

    /// Counts the connection for `edge`: once, however often it is reported.
    fn count(&mut self, edge: u32, leg: usize, weight: u32) -> Change {
        for slot in &mut self.edges {
            if slot.0 == edge {
                let more = weight.saturating_sub(slot.2);
                slot.2 += more;
                return Change { connections: more, fresh: false };
            }
            if slot.0 == NONE {
                *slot = (edge, u8::from(leg == 1), weight);
                return Change { connections: weight, fresh: true };
            }
        }
        Change::default()
    }

    fn touches(&self, other: &Self, window: i64) -> bool {
        other.first <= self.last.saturating_add(window)
            && self.first <= other.last.saturating_add(window)
    }

    /// Takes in another interval of the same tuple.
    fn merge(&mut self, other: &Self, corrections: &mut Vec<(u32, u64)>) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        for &(edge, leg, weight) in other.edges.iter().filter(|slot| slot.0 != NONE) {
            let change = self.count(edge, usize::from(leg), weight);
            corrections.push((edge, u64::from(weight - change.connections)));
        }
        for leg in 0..2 {
            self.opened[leg] = self.opened[leg].min(other.opened[leg]);
            self.answered[leg].0 = self.answered[leg].0.min(other.answered[leg].0);
            self.answered[leg].1 = self.answered[leg].1.max(other.answered[leg].1);
            self.candidates[leg] = self.candidates[leg].saturating_add(other.candidates[leg]);
            for &second in other.syns[leg].iter().filter(|second| **second != i64::MAX) {
                insert_smallest(&mut self.syns[leg], second);
            }
        }
        self.refused |= other.refused;
    }

    /// First and last report.
    pub(crate) fn span(&self) -> (i64, i64) {
        (self.first, self.last)
    }

    /// How the attempt that `leg` made ended.
    pub(crate) fn ending(&self, leg: usize, answer_within: i64) -> Ending {
        let opened = self.opened[leg];
        let (first, last) = self.answered[1 - leg];
        let in_time = |answer: i64| answer.abs_diff(opened) <= answer_within.unsigned_abs();
        let answered = first <= last && (in_time(first) || in_time(last));
        if answered || (self.candidates[leg] > 0 && self.protocol == Protocol::Tcp) {
            Ending::Answered
        } else if self.refused {
            Ending::Refused
        } else if self.repeated(leg) {
            Ending::Repeated
        } else {
            Ending::Silent
        }
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
