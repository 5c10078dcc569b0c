//! What was learned and is not written yet: one account for each workload and direction.
//!
//! A learner's sums only grow, so every write adds what was counted since the one before ([`Counts`]). A proposal
//! that tells something new is written at once, mere counts after [`COUNTS`], violations when they are asked for.
//! Whatever could not be written stays, and is handed out again.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netenf_api::Violation;
use netenf_k8s::monitor::gathered;
use netenf_learn::proposal::{Counts, Proposal};
use netenf_learn::{Caps, Timestamp};

use crate::stored::Name;

/// How long counts wait that come with nothing new: a write of one for each interval of learning would cost the API
/// server more than they tell anybody.
const COUNTS: Duration = Duration::from_mins(10);

/// Violations of one policy that are kept apart, at most: twice what a status lists.
const VIOLATIONS: usize = 200;

/// Whether counts wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Until [`COUNTS`] have passed; this is the time.
    At(Instant),
    /// No more: nothing comes after.
    Last,
}

/// All accounts.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    accounts: HashMap<Name, Account>,
    /// Everything that was observed until then is in the accounts.
    flushed: Option<Timestamp>,
    /// How often everything was put into the accounts.
    flushes: u64,
    /// Violations beyond what is kept apart.
    dropped: u64,
}

/// All that was observed until then; nothing if there is no time. And all that as many flushes put into accounts.
#[derive(Debug, Clone, Copy)]
struct Before(Option<Timestamp>, u64);

#[derive(Debug, Default)]
struct Account {
    /// What the proposal told when it was last compared with what is stored.
    meaning: Option<u64>,
    /// How much it had counted in all when it was last written.
    total: u64,
    counts: Counts,
    fresh: Option<Arc<Fresh>>,
    /// Since when counts alone wait.
    counted: Option<Instant>,
    /// Where something waits that is not only counts: all that was observed until then is written.
    waits: Option<Before>,
    violations: Vec<Violation>,
    /// Those that were handed out, and are not known to be written.
    sent: Vec<Violation>,
    /// Whether violations may be handed out.
    is_due: bool,
    /// Whether somebody else changed what is stored.
    is_stale: bool,
    /// Whether there is no object: what is seen next makes one.
    is_absent: bool,
    /// Whether it was given up, until everything is decided on again.
    is_given_up: bool,
    /// What is stored was written by us, in this version.
    version: Option<String>,
    /// Whether its last write was refused.
    is_refused: bool,
    /// A write whose answer did not come.
    doubt: Option<Doubt>,
}

/// What may be written or not.
#[derive(Debug)]
struct Doubt {
    fresh: Option<Arc<Fresh>>,
    last: Option<Timestamp>,
}

/// What was learned of a workload and direction, in all.
#[derive(Debug)]
pub(crate) struct Fresh {
    pub(crate) proposal: Proposal,
    pub(crate) caps: Caps,
    last: Option<Timestamp>,
    is_due: bool,
    meaning: u64,
    total: u64,
    counts: Counts,
}

/// What may be written of an account now.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What was learned; the proposal tells what is not written yet.
    pub(crate) fresh: Option<(Arc<Fresh>, Proposal)>,
    pub(crate) violations: Vec<Violation>,
    /// All that was observed until then is in both.
    pub(crate) last: Option<Timestamp>,
    /// The same of what is stored, when this was handed out.
    before: Option<Timestamp>,
}

/// What became of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is written.
    All,
    /// There was nothing to write; `counts` says whether its counts wait.
    Nothing { counts: bool, is_absent: bool },
}

// === impl Ledger ===

impl Ledger {
    /// Everything until `since` is known to be written, by whoever learned before.
    pub(crate) fn new(since: Option<Timestamp>) -> Self {
        Self { flushed: since, ..Self::default() }
    }

    /// Takes in what a proposal is by now, seen until `last`. Whether there is something to write.
    pub(crate) fn take(
        &mut self,
        name: Name,
        proposal: Proposal,
        (caps, last): (Caps, Option<Timestamp>),
        pace: Pace,
    ) -> bool {
        let before = Before(self.flushed, self.flushes);
        let account = self.accounts.entry(name).or_default();
        let (meaning, total) = (proposal.meaning(), proposal.total());
        let is_more = total != account.total;
        let is_news =
            account.meaning != Some(meaning) || account.is_stale || (account.is_absent && is_more);
        if is_more {
            account.counted.get_or_insert_with(|| pace.time());
        }
        let is_due = account.counted.is_some_and(|since| pace.is_over(since));
        if !is_news && !is_due && account.fresh.is_none() {
            return false;
        }
        if is_news || is_due {
            account.waits.get_or_insert(before);
        }
        let counts = proposal.counts();
        let fresh = Fresh { proposal, caps, last, is_due, meaning, total, counts };
        account.fresh = Some(Arc::new(fresh));
        true
    }

    /// What is counted by now is known to be stored, by whoever learned before.
    pub(crate) fn assume(&mut self, name: Name, proposal: &Proposal) {
        let account = self.accounts.entry(name).or_default();
        (account.total, account.counts) = (proposal.total(), proposal.counts());
    }

    /// Takes in what a policy was found to deny.
    pub(crate) fn deny(&mut self, name: Name, violations: Vec<Violation>) {
        let before = Before(self.flushed, self.flushes);
        let account = self.accounts.entry(name).or_default();
        account.waits.get_or_insert(before);
        account.violations.extend(violations);
        account.violations = gathered(mem::take(&mut account.violations));
        let over = account.violations.len().saturating_sub(VIOLATIONS);
        account.violations.truncate(VIOLATIONS);
        self.dropped = self.dropped.saturating_add(over.try_into().unwrap_or(u64::MAX));
    }

    /// All that was observed until `last` is in the accounts.
    pub(crate) fn flushed(&mut self, last: Option<Timestamp>) {
        self.flushed = self.flushed.max(last);
        self.flushes += 1;
    }

    /// How often everything was put into the accounts.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes
    }

    /// What as many flushes put into the accounts is written, but for counts that wait.
    pub(crate) fn flushes_written(&self) -> u64 {
        let waiting = self.accounts.values().filter_map(|account| account.waits);
        waiting.fold(self.flushes, |written, Before(_, flushes)| written.min(flushes))
    }

    /// Until when everything is written; `None` if nothing is known to be.
    pub(crate) fn written_until(&self) -> Option<Timestamp> {
        let waiting = self.accounts.values().filter_map(|account| account.waits);
        waiting.fold(self.flushed, |until, Before(time, _)| until.min(time))
    }

    /// Has the violations handed out that wait; gives the names.
    pub(crate) fn due(&mut self) -> Vec<Name> {
        let waiting = self.accounts.iter_mut().filter(|(_, one)| !one.violations.is_empty());
        let due = waiting.map(|(name, account)| {
            account.is_due = true;
            name.clone()
        });
        due.collect()
    }

    /// Has everything handed out that waits, since nothing comes after; gives the names.
    pub(crate) fn all_due(&mut self) -> Vec<Name> {
        drop(self.due());
        let waits = |one: &Account| one.waits.is_some() || one.fresh.is_some();
        self.accounts.iter().filter(|(_, one)| waits(one)).map(|(name, _)| name.clone()).collect()
    }

    /// What there is to write of a name: an object says until when it counts, so what was learned goes with what was
    /// denied in that time.
    pub(crate) fn draft(&mut self, name: &Name, before: Option<Timestamp>) -> Draft {
        let Some(account) = self.accounts.get_mut(name) else { return Draft::default() };
        let fresh = account.fresh.clone().filter(|fresh| fresh.last <= self.flushed);
        if account.is_due || fresh.is_some() {
            account.is_due = false;
            account.sent.append(&mut account.violations);
            account.sent = gathered(mem::take(&mut account.sent));
            let over = account.sent.len().saturating_sub(VIOLATIONS);
            account.sent.truncate(VIOLATIONS);
            self.dropped = self.dropped.saturating_add(over.try_into().unwrap_or(u64::MAX));
        }
        let fresh = fresh.map(|fresh| {
            let proposal = fresh.proposal.since(&account.counts);
            (fresh, proposal)
        });
        Draft { fresh, violations: account.sent.clone(), last: self.flushed, before }
    }

    /// What became of the draft that was last handed out for the name; gives the violations that are written.
    pub(crate) fn settle(
        &mut self,
        name: &Name,
        draft: &Draft,
        written: Written,
    ) -> Vec<Violation> {
        let Some(account) = self.accounts.get_mut(name) else { return Vec::new() };
        if let Some((fresh, _)) = &draft.fresh {
            account.settle(fresh, written);
        }
        account.is_refused &= written != Written::All;
        account.doubt = None;
        let sent = mem::take(&mut account.sent);
        if account.fresh.is_none() && account.violations.is_empty() {
            account.waits = None;
        }
        if written == Written::All { sent } else { Vec::new() }
    }

    /// The API server refused what there is to write of the name.
    pub(crate) fn refused(&mut self, name: &Name) {
        if let Some(account) = self.accounts.get_mut(name) {
            account.is_refused = true;
        }
    }

    /// Whether the last write of what was learned was refused.
    pub(crate) fn is_refused(&self, name: &Name) -> bool {
        self.accounts.get(name).is_some_and(|account| account.is_refused)
    }

    /// No answer came to the write of the draft: what is stored will tell whether it is written.
    pub(crate) fn doubt(&mut self, name: &Name, draft: &Draft) {
        // A time that was stored before tells nothing.
        if draft.before >= draft.last {
            return;
        }
        if let Some(account) = self.accounts.get_mut(name) {
            let fresh = draft.fresh.as_ref().map(|(fresh, _)| Arc::clone(fresh));
            account.doubt = Some(Doubt { fresh, last: draft.last });
        }
    }

    /// What is stored under the name counts until then: a write that nobody answered may be among it.
    pub(crate) fn resolve(&mut self, name: &Name, until: Option<Timestamp>) {
        let Some(account) = self.accounts.get_mut(name) else { return };
        let Some(doubt) = account.doubt.take_if(|doubt| until >= doubt.last) else { return };
        if let Some(fresh) = &doubt.fresh {
            account.settle(fresh, Written::All);
        }
        account.sent.clear();
        if account.fresh.is_none() && account.violations.is_empty() {
            account.waits = None;
        }
    }

    /// The API server refuses what there is to write of the name: it waits until it tells something new or all is
    /// decided on again, and keeps nobody else waiting.
    pub(crate) fn give_up(&mut self, name: &Name) {
        let Some(account) = self.accounts.get_mut(name) else { return };
        account.is_given_up = true;
        account.waits = None;
        if let Some(fresh) = account.fresh.take() {
            account.meaning = Some(fresh.meaning);
        }
    }

    /// Everything is decided on again.
    pub(crate) fn retry(&mut self) {
        for account in self.accounts.values_mut().filter(|one| one.is_given_up) {
            (account.is_given_up, account.is_stale) = (false, true);
        }
    }

    /// What is stored under the name is in this version by now, or gone.
    pub(crate) fn changed(&mut self, name: &Name, version: Option<&str>) {
        if let Some(account) = self.accounts.get_mut(name) {
            // What another changed stays so until it was looked at, whatever is written meanwhile.
            account.is_stale |= version.is_none() || account.version.as_deref() != version;
        }
    }

    /// What is stored under the name was written by us, in this version.
    pub(crate) fn wrote(&mut self, name: &Name, version: Option<String>) {
        if let Some(account) = self.accounts.get_mut(name) {
            account.version = version;
        }
    }

    /// Violations that were not kept, since a policy had too many.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}

// === impl Pace ===

impl Pace {
    fn time(self) -> Instant {
        match self {
            Self::At(now) => now,
            Self::Last => Instant::now(),
        }
    }

    fn is_over(self, since: Instant) -> bool {
        match self {
            Self::At(now) => now.duration_since(since) >= COUNTS,
            Self::Last => true,
        }
    }
}

// === impl Draft ===

impl Draft {
    pub(crate) fn is_empty(&self) -> bool {
        self.fresh.is_none() && self.violations.is_empty()
    }

    /// Whether it is worth a write even if it tells nothing new.
    pub(crate) fn is_due(&self) -> bool {
        !self.violations.is_empty() || self.fresh.as_ref().is_some_and(|(fresh, _)| fresh.is_due)
    }
}

// === impl Account ===

impl Account {
    fn settle(&mut self, fresh: &Arc<Fresh>, written: Written) {
        self.meaning = Some(fresh.meaning);
        self.is_stale = false;
        self.is_absent = matches!(written, Written::Nothing { is_absent: true, .. });
        let keeps_counts = matches!(written, Written::Nothing { counts: true, .. });
        if !keeps_counts {
            (self.total, self.counts) = (fresh.total, fresh.counts.clone());
            self.counted = None;
        }
        // One that came in the meantime is newer.
        self.fresh.take_if(|one| Arc::ptr_eq(one, fresh));
    }
}

#[cfg(test)]
mod tests;
