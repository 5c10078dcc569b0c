//! Going on where another replica, or this one before a restart, ended.
//!
//! The Lease tells a time until which everything is written. Flows are read again from a little before it, since
//! nodes report each at their pace. Some objects were written after it: `status.learnedUntil` says until when they
//! count. At each of these times ([`Resume::passed`]) what was learned so far is what the objects already hold.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::fmt::temporal::DateTimeParser;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use netenf_learn::Timestamp;

use crate::stored::{Name, Stored};

/// How far before the time that is known to be written flows are read again.
pub(crate) const MARGIN: Duration = Duration::from_secs(10);

/// At how many times what was learned is looked at, at most; the work at one grows with everything that is learned.
const POINTS: usize = 16;

/// What is known of what was learned before.
#[derive(Debug, Default)]
pub(crate) struct Resume {
    until: Option<Timestamp>,
    points: BTreeSet<Timestamp>,
    /// Until when objects count, where it is after `until`.
    objects: HashMap<Name, Timestamp>,
    /// Names of all objects that were there.
    known: BTreeSet<Name>,
}

// === impl Resume ===

impl Resume {
    /// From `until`, with the objects of then; from nothing where it is not known.
    pub(crate) fn new(until: Option<Timestamp>, stored: &Stored) -> Self {
        let Some(until) = until else { return Self::default() };
        let later = counted_until(stored).filter(|(_, time)| *time > until);
        let mut objects: HashMap<Name, Timestamp> = HashMap::new();
        for (name, time) in later {
            let known = objects.entry(name.clone()).or_insert(time);
            *known = (*known).max(time);
        }
        let mut points: BTreeSet<Timestamp> = objects.values().copied().collect();
        while points.len() > POINTS {
            points.pop_first();
        }
        points.insert(until);
        Self { until: Some(until), points, objects, known: stored.names() }
    }

    /// The next time that lies before `time`, where there is one still to be passed.
    pub(crate) fn passed(&mut self, time: Option<Timestamp>) -> Option<Timestamp> {
        let point = *self.points.first()?;
        time.is_some_and(|time| time > point).then(|| self.points.pop_first()).flatten()
    }

    /// The next time that is still to be passed.
    pub(crate) fn rest(&mut self) -> Option<Timestamp> {
        self.points.pop_first()
    }

    /// Whether everything that comes is new.
    pub(crate) fn is_over(&self) -> bool {
        self.points.is_empty()
    }

    /// Whether the objects of that name hold what was counted until `point`. What has no object is not written,
    /// whatever is known of the time.
    pub(crate) fn is_counted(&self, name: &Name, point: Timestamp) -> bool {
        let until = self.objects.get(name).copied().or(self.until);
        self.known.contains(name) && until.is_some_and(|until| until >= point)
    }

    /// Whether what the policy of that name denied until `point` is in its status: everything until the known time
    /// is, with or without an object.
    pub(crate) fn is_judged(&self, name: &Name, point: Timestamp) -> bool {
        let until = self.objects.get(name).copied().max(self.until);
        until.is_some_and(|until| until >= point)
    }
}

/// Until when objects say that they count.
fn counted_until(stored: &Stored) -> impl Iterator<Item = (&Name, Timestamp)> {
    let proposals = stored.proposals.iter();
    let proposals =
        proposals.map(|(name, one)| (name, one.get().and_then(|it| it.status?.learned_until)));
    let policies = stored.policies.iter();
    let policies = policies
        .map(|(name, one)| (name, one.status.as_ref().and_then(|it| it.learned_until.clone())));
    proposals.chain(policies).filter_map(|(name, time)| Some((name, end_of(&time?)?)))
}

/// The API holds microseconds: what was observed within this one counts.
pub(crate) fn end_of(time: &MicroTime) -> Option<Timestamp> {
    let nanos = i64::try_from(time.0.as_nanosecond()).ok()?;
    Some(Timestamp(nanos.saturating_add(999)))
}

/// What the Lease says: everything that `source` reported until then is written.
pub(crate) fn note(source: &str, until: Timestamp) -> String {
    let time = jiff::Timestamp::from_nanosecond(until.0.into()).unwrap_or_default();
    format!("{source} {time}")
}

/// The time in a note about `source`; one about another source tells nothing of this one.
pub(crate) fn noted(note: &str, source: &str) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let (about, time) = note.rsplit_once(' ')?;
    let time = PARSER.parse_timestamp(time).ok().filter(|_| about == source)?;
    i64::try_from(time.as_nanosecond()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests;
