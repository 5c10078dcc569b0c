//! What is known of one connection. Over a hundred thousand are held at once, so each is small.

use netenf_policy::Protocol;

use super::{DENIAL, Denied, Ending, Errors, NONE, Opening, Report, Sign, Slot, hosts};
use crate::classify::Skip;

/// How many edges of one connection are kept without a list of their own. There are several where two
/// nodes name the same ends differently (a node knows the workloads of its own pods only), and where a
/// service leads to several workloads.
const INLINE: usize = 2;

/// Within how many seconds repeated SYNs belong to one attempt.
const ATTEMPT: i64 = 30;

/// One connection, as far as it is known.
#[derive(Debug)]
pub(crate) struct Interval {
    first: i64,
    last: i64,
    opened: [i64; 2],
    answered: [(i64, i64); 2],
    /// The addresses of both ends, hashed: an ICMP error tells no more.
    hosts: u64,
    /// The first second in which the leg sent a SYN.
    syn: [i64; 2],
    /// The edges and denials, and how many connections it counts for each.
    edges: [u32; INLINE],
    weights: [u32; INLINE],
    #[expect(clippy::box_collection, reason = "hardly any has more, and a list takes three words")]
    more: Option<Box<Vec<Slot>>>,
    /// The legs in the order of their hashes: parties and ports of the low and the high one.
    pub(crate) party: [u32; 2],
    /// Packets of unknown direction that the leg sent.
    pub(crate) candidates: [u32; 2],
    pub(crate) port: [u16; 2],
    again: [Again; 2],
    legs: [u8; INLINE],
    pub(crate) protocol: Protocol,
    /// Whether what the leg attempted was refused.
    refused: [bool; 2],
    /// Whether some report says which service the client addressed.
    pub(crate) by_service: bool,
    /// Why it teaches nothing, if one of its openings says so.
    pub(crate) ignored: Option<Skip>,
}

/// In which seconds after the first a SYN came again, the first two of [`ATTEMPT`]; 0 is none. A repeated SYN
/// is an unanswered one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Again([u8; 2]);

// === impl Interval ===

impl Interval {
    /// The interval of a first report, and how many connections its edge has.
    pub(super) fn new(report: &Report, ranks: &[u64]) -> (Self, u32) {
        let &Report { low, high, protocol, time, .. } = report;
        let mut interval = Self {
            first: time,
            last: time,
            opened: [i64::MAX; 2],
            answered: [(i64::MAX, i64::MIN); 2],
            hosts: hosts(low, high),
            syn: [i64::MAX; 2],
            edges: [NONE; INLINE],
            weights: [0; INLINE],
            more: None,
            party: [low.party, high.party],
            candidates: [0; 2],
            port: [low.port, high.port],
            again: [Again::default(); 2],
            legs: [0; INLINE],
            protocol,
            refused: [false; 2],
            by_service: false,
            ignored: None,
        };
        let change = interval.take(report, ranks);
        (interval, change)
    }

    /// Takes in a report of it; returns how many connections more its edge has.
    pub(super) fn take(&mut self, report: &Report, ranks: &[u64]) -> u32 {
        self.widen(report.time);
        self.name(0, report.low.party, ranks);
        self.name(1, report.high.party, ranks);
        self.apply(report.leg, report.time, report.sign)
    }

    /// The edges that it was reported for.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.counted().filter(|slot| slot.edge < DENIAL)
    }

    fn counted(&self) -> impl Iterator<Item = Slot> {
        let inline = (0..INLINE).map(|at| Slot {
            edge: self.edges[at],
            weight: self.weights[at],
            leg: self.legs[at],
        });
        let more = self.more.iter().flat_map(|more| more.iter().copied());
        inline.filter(|slot| slot.edge != NONE).chain(more)
    }

    /// Whether a report at `time` belongs to it.
    pub(super) fn reaches(&self, time: i64, window: i64) -> bool {
        self.first.saturating_sub(window) <= time && time <= self.last.saturating_add(window)
    }

    fn widen(&mut self, time: i64) {
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    /// Nodes name the same end differently: the name of the lowest rank counts, whichever came first.
    fn name(&mut self, leg: usize, party: u32, ranks: &[u64]) {
        if ranks[party as usize] < ranks[self.party[leg] as usize] {
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
            self.note_syn(leg, time.div_euclid(1_000_000_000));
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

    fn note_syn(&mut self, leg: usize, second: i64) {
        let (first, again) = (self.syn[leg], self.again[leg]);
        if second < first {
            self.syn[leg] = second;
            self.again[leg] = Again::default();
            if first != i64::MAX {
                self.again[leg] = again.since(first - second);
            }
        } else {
            self.again[leg] = again.with(second - first);
        }
    }

    /// Counts the connection for an edge or a denial: once, however often it is reported.
    fn count(&mut self, slot: Slot) -> u32 {
        for at in 0..INLINE {
            if self.edges[at] == slot.edge {
                return raise(&mut self.weights[at], slot.weight);
            }
            if self.edges[at] == NONE {
                (self.edges[at], self.weights[at], self.legs[at]) =
                    (slot.edge, slot.weight, slot.leg);
                return slot.weight;
            }
        }
        let more = self.more.get_or_insert_default();
        match more.binary_search_by_key(&slot.edge, |known| known.edge) {
            Ok(at) => raise(&mut more[at].weight, slot.weight),
            Err(at) => {
                more.insert(at, slot);
                slot.weight
            }
        }
    }

    pub(super) fn touches(&self, other: &Self, window: i64) -> bool {
        other.first <= self.last.saturating_add(window)
            && self.first <= other.last.saturating_add(window)
    }

    /// Takes in another interval of the same tuple.
    pub(super) fn merge(&mut self, other: &Self, ranks: &[u64], corrections: &mut Vec<(u32, u64)>) {
        self.widen(other.first);
        self.widen(other.last);
        for slot in other.counted() {
            let more = self.count(slot);
            corrections.push((slot.edge, u64::from(slot.weight - more)));
        }
        for leg in 0..2 {
            self.name(leg, other.party[leg], ranks);
            self.opened[leg] = self.opened[leg].min(other.opened[leg]);
            self.answered[leg].0 = self.answered[leg].0.min(other.answered[leg].0);
            self.answered[leg].1 = self.answered[leg].1.max(other.answered[leg].1);
            self.candidates[leg] = self.candidates[leg].saturating_add(other.candidates[leg]);
            if other.syn[leg] != i64::MAX {
                self.note_syn(leg, other.syn[leg]);
                for after in other.again[leg].seconds() {
                    self.note_syn(leg, other.syn[leg] + after);
                }
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
        } else if self.again[leg].is_full() {
            // Three SYNs in three different seconds of half a minute: nobody repeats what was answered.
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
}

/// Raises `known` to `weight`, where that is more; returns by how much.
fn raise(known: &mut u32, weight: u32) -> u32 {
    let more = weight.saturating_sub(*known);
    *known += more;
    more
}

// === impl Again ===

impl Again {
    /// With a SYN `after` seconds, too.
    fn with(self, after: i64) -> Self {
        let Self([next, last]) = self;
        let after = match u8::try_from(after) {
            Ok(after) if after > 0 && i64::from(after) <= ATTEMPT => after,
            _ => return self,
        };
        match (next, last) {
            (0, _) => Self([after, 0]),
            _ if after == next || after == last => self,
            _ if after < next => Self([after, next]),
            (_, 0) => Self([next, after]),
            _ => Self([next, last.min(after)]),
        }
    }

    /// As seen from a SYN that came `before` seconds before the first.
    fn since(self, before: i64) -> Self {
        let later = self.seconds().map(|after| after + before);
        std::iter::once(before).chain(later).fold(Self::default(), Self::with)
    }

    fn seconds(self) -> impl Iterator<Item = i64> {
        self.0.into_iter().filter(|after| *after > 0).map(i64::from)
    }

    fn is_full(self) -> bool {
        self.0[1] > 0
    }
}
