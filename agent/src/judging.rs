//! What the policies say of what was seen: every connection is judged once, by the policies of its time.

use std::collections::HashMap;

use netenf_api::{Backend, Violation};
use netenf_k8s::Index;
use netenf_k8s::monitor::{Denied, Guard, judge, violation};
use netenf_learn::Timestamp;
use netenf_learn::proposal::{Funnel, Outcome};

use crate::stored::{Name, Stored};

/// Connections and observations of an edge.
type Seen = (u64, u64);

/// What was judged before: 24 bytes for each edge.
#[derive(Debug, Default)]
pub(crate) struct Judging {
    edges: HashMap<u64, Seen>,
    denials: HashMap<u64, Seen>,
    /// The newest observation that was judged.
    last: Option<Timestamp>,
    /// Observations that are violations, by what the learner takes them for.
    moved: Funnel,
}

/// The policies that are judged by.
pub(crate) fn guards(stored: &Stored, backend: Backend) -> Vec<Guard> {
    let policies = stored.policies.iter();
    let live = policies.filter(|(_, one)| {
        one.metadata.deletion_timestamp.is_none() && one.spec.backend == backend
    });
    let kind = netenf_k8s::lifecycle::Kind::Policy.as_str();
    live.filter_map(|((namespace, name), one)| Guard::new(kind, namespace, name, &one.spec))
        .collect()
}

// === impl Judging ===

impl Judging {
    /// Judges what was seen since the last call. Gives the violations by policy, and moves all observations that
    /// ever were violations to where they belong in the funnel of `outcome`.
    pub(crate) fn judge(
        &mut self,
        index: &Index,
        guards: &[Guard],
        mut outcome: Outcome,
    ) -> (HashMap<Name, Vec<Violation>>, Funnel) {
        let all = outcome.funnel.clone();
        self.keep_new(&mut outcome);
        self.last = self.last.max(outcome.window.map(|(_, last)| last));
        let is_new = !outcome.edges.is_empty() || !outcome.denials.is_empty();
        let denied = if is_new && !guards.is_empty() {
            judge(index, guards, &mut outcome)
        } else {
            Vec::new()
        };
        self.note_moved(&all, &outcome.funnel);
        (by_policy(guards, &denied), self.funnel(all))
    }

    /// Leaves in `outcome` what was seen since the last call, and how much of it.
    fn keep_new(&mut self, outcome: &mut Outcome) {
        let since = self.last;
        let first = |one: Option<Timestamp>| one.max(since.filter(|_| one.is_some()));
        let mut rest = Rest::new(
            outcome.edges.iter().map(|one| (one.key(), (one.count, one.observations))),
            &mut self.edges,
        );
        outcome.edges.retain_mut(|one| {
            (one.count, one.observations) = rest.take(one.key(), (one.count, one.observations));
            one.first = first(one.first);
            one.observations > 0
        });
        let mut rest = Rest::new(
            outcome.denials.iter().map(|one| (one.key(), (one.count, one.observations))),
            &mut self.denials,
        );
        outcome.denials.retain_mut(|one| {
            (one.count, one.observations) = rest.take(one.key(), (one.count, one.observations));
            one.first = first(one.first);
            one.observations > 0
        });
    }

    fn note_moved(&mut self, before: &Funnel, after: &Funnel) {
        self.moved.learned += before.learned - after.learned;
        self.moved.uncovered += before.uncovered - after.uncovered;
        self.moved.violations += after.violations - before.violations;
        for (reason, count) in &before.skipped {
            let left = after.skipped.get(reason).copied().unwrap_or_default();
            self.moved.skip(reason, count - left);
        }
    }

    /// The learner's funnel, with what was moved in it: what it learned of later may have moved by itself.
    fn funnel(&self, mut all: Funnel) -> Funnel {
        let mut violations = take(&mut all.learned, self.moved.learned);
        violations += take(&mut all.uncovered, self.moved.uncovered);
        for (reason, count) in &self.moved.skipped {
            if let Some(left) = all.skipped.get_mut(reason) {
                violations += take(left, *count);
            }
        }
        all.skipped.retain(|_, count| *count > 0);
        all.violations += violations;
        all
    }
}

fn take(from: &mut u64, count: u64) -> u64 {
    let taken = count.min(*from);
    *from -= taken;
    taken
}

fn by_policy(guards: &[Guard], denied: &[Denied]) -> HashMap<Name, Vec<Violation>> {
    let modes: HashMap<_, _> =
        guards.iter().map(|one| ((one.namespace.as_str(), one.name.as_str()), one.mode)).collect();
    let mut all: HashMap<Name, Vec<Violation>> = HashMap::new();
    for one in denied {
        let mode = modes.get(&(one.policy.0.as_str(), one.policy.1.as_str()));
        let found = mode.and_then(|mode| violation(one, *mode));
        // That a connection is reported again is not another one.
        let found = found.filter(|violation| violation.count > 0);
        all.entry(one.policy.clone()).or_default().extend(found);
    }
    all
}

/// How much of what there is by key is new. Several may have one key.
struct Rest(HashMap<u64, Seen>);

// === impl Rest ===

impl Rest {
    fn new(all: impl Iterator<Item = (u64, Seen)>, known: &mut HashMap<u64, Seen>) -> Self {
        let mut sums: HashMap<u64, Seen> = HashMap::new();
        for (key, seen) in all {
            let sum = sums.entry(key).or_default();
            *sum = (sum.0 + seen.0, sum.1 + seen.1);
        }
        let mut rest = HashMap::new();
        for (key, sum) in sums {
            let before = known.entry(key).or_default();
            let new = (sum.0.saturating_sub(before.0), sum.1.saturating_sub(before.1));
            if new.1 > 0 {
                rest.insert(key, new);
                *before = sum;
            }
        }
        Self(rest)
    }

    /// Takes for one of those with the key at most what it has itself.
    fn take(&mut self, key: u64, own: Seen) -> Seen {
        let Some(rest) = self.0.get_mut(&key) else { return (0, 0) };
        (take(&mut rest.0, own.0), take(&mut rest.1, own.1))
    }
}

#[cfg(test)]
mod tests;
