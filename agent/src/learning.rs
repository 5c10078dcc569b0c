//! Learning in the cluster: what a source reports becomes proposals and violations, written when they changed.
//!
//! Only the replica that leads learns. It begins where the one before it ended: the Lease says until when
//! everything that was observed is written ([`Ledger::written_until`]), and each object until when it counts
//! (`status.learnedUntil`), so that a flow is neither lost nor counted twice by whoever comes next. Reports of node
//! agents have no such time: one that is written and not acknowledged when the Lease is lost is counted again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use netenf_api::{Backend, Violation};
use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_cluster::queue::Queue;
use netenf_flows::Record;
use netenf_flows::node::{Delivery, Receipt};
use netenf_k8s::Index;
use netenf_learn::name::policy_name;
use netenf_learn::proposal::{Funnel, Outcome, Proposal};
use netenf_learn::{Config, Learner, Timestamp};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::board::Board;
use crate::clock::now;
use crate::counts::Counts;
use crate::judging::{Judging, guards};
use crate::ledger::{Ledger, Pace};
use crate::resume::{MARGIN, Resume, note, noted};
use crate::source::{Flows, Source, State};
use crate::stored::{Name, Shared};
use crate::tap::Tap;

/// As many records are taken at once.
const BATCH: usize = 256;

/// How often it is looked at the end whether more is written.
const TURN: Duration = Duration::from_millis(50);

/// What learning needs.
pub(crate) struct Learning {
    pub(crate) source: Source,
    pub(crate) config: Config,
    pub(crate) backend: Backend,
    pub(crate) flush_interval: Duration,
    pub(crate) status_interval: Duration,
    pub(crate) index: Arc<RwLock<Index>>,
    pub(crate) pending: watch::Receiver<BTreeSet<Kind>>,
    pub(crate) leadership: Leadership,
    pub(crate) stored: Shared,
    pub(crate) queue: Arc<Queue<Name>>,
    pub(crate) counts: Counts,
    pub(crate) tap: Tap,
    pub(crate) board: Board,
    pub(crate) states: watch::Sender<State>,
    /// What the Lease is to say of how far learning came.
    pub(crate) note: watch::Sender<Option<String>>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// From when this replica leads until it does so no more.
struct Term<'a> {
    learning: &'a Learning,
    learner: Learner<Arc<RwLock<Index>>>,
    judging: Judging,
    resume: Resume,
    /// Whether something was observed since the last flush.
    is_new: bool,
    /// Of reports that were taken since the last flush.
    taken: Vec<Receipt>,
    /// Of reports that are learned and may not be written yet, with after how many flushes they are.
    learned: VecDeque<(u64, Receipt)>,
    /// When violations were last handed out.
    synced: Instant,
}

// === impl Learning ===

impl Learning {
    /// Learns whenever this replica leads, until it is to stop.
    pub(crate) async fn run(mut self) {
        // Who is who is told by objects: flows that come before them would be taken for strangers'.
        let mut stop = self.stop.clone();
        tokio::select! {
            known = self.pending.wait_for(BTreeSet::is_empty) => if known.is_err() { return },
            _ = stop.wait_for(|stop| *stop) => return,
        }
        loop {
            let mut leadership = self.leadership.clone();
            tokio::select! {
                () = leadership.changed_from(false) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            self.lead(&mut leadership, &mut stop).await;
            if *stop.borrow() {
                return;
            }
            self.states.send_replace(State::Idle);
        }
    }

    /// Learns as long as this replica leads.
    async fn lead(&self, leadership: &mut Leadership, stop: &mut watch::Receiver<bool>) {
        let source = self.source.to_string();
        let until = leadership.note().and_then(|text| noted(&text, &source));
        let until = until.filter(|_| self.source.tells_again());
        // What this replica noted when it led before may be older by now.
        self.note.send_replace(until.map(|until| note(&source, until)));
        let resume = self.resume(until);
        tracing::info!(source, since = ?until, "learning begins");
        let mut flows =
            self.source.start(until.map(|time| time.minus(MARGIN)), self.states.clone());
        let mut term = Term::new(self, resume);
        let mut flush = interval(self.flush_interval);
        flush.reset();
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_open, mut records) = (true, Vec::with_capacity(BATCH));
        loop {
            tokio::select! {
                count = flows.records.recv_many(&mut records, BATCH), if is_open => {
                    is_open = count > 0;
                    records.drain(..).for_each(|delivery| term.take_in(delivery));
                    if !is_open {
                        // Nothing comes that it could wait for.
                        flush.reset_immediately();
                    }
                }
                _ = flush.tick() => {
                    tokio::task::block_in_place(|| term.flush(!is_open, Pace::At(Instant::now())));
                    self.tell(&source, &flows);
                    if !is_open {
                        // Only now: what was reported is learned and waits to be written.
                        self.states.send_replace(flows.end.borrow().clone());
                    }
                }
                () = leadership.changed_from(true) => return,
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        tokio::task::block_in_place(|| term.finish());
        self.tell(&source, &flows);
        self.confirm_rest(&mut term).await;
    }

    /// Has those who sent reports hear that they are written as soon as they are, so that they send them to nobody else:
    /// one object that waits for its turn keeps none of the others waiting, and the process ends in a few seconds.
    async fn confirm_rest(&self, term: &mut Term<'_>) {
        let mut turns = interval(TURN);
        let idle = self.queue.until_idle();
        tokio::pin!(idle);
        let mut is_idle = false;
        while !term.learned.is_empty() && !is_idle {
            tokio::select! {
                () = &mut idle => is_idle = true,
                _ = turns.tick() => {}
            }
            term.confirm();
        }
    }

    /// Makes the ledger anew, and tells what has to be known to go on from `until`.
    fn resume(&self, until: Option<Timestamp>) -> Resume {
        let mut stored = self.stored.lock();
        stored.ledger = Ledger::new(until);
        Resume::new(until, &stored)
    }

    fn tell(&self, source: &str, flows: &Flows) {
        self.counts.before(*flows.before.borrow());
        let stored = self.stored.lock();
        self.counts.dropped(stored.ledger.dropped());
        if let Some(until) = stored.ledger.written_until() {
            self.note.send_replace(Some(note(source, until)));
        }
    }

    fn enqueue(&self, name: Name) {
        if let Err(full) = self.queue.add(name) {
            tracing::warn!(%full, "what was learned is written later");
        }
    }
}

// === impl Term ===

impl<'a> Term<'a> {
    fn new(learning: &'a Learning, resume: Resume) -> Self {
        let learner = Learner::new(learning.config.clone(), Arc::clone(&learning.index));
        let (judging, synced) = (Judging::default(), Instant::now());
        let (taken, learned) = (Vec::new(), VecDeque::new());
        Self { learning, learner, judging, resume, is_new: false, taken, learned, synced }
    }

    fn take_in(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Record(record) => self.take(record),
            Delivery::Receipt(receipt) => self.taken.push(receipt),
        }
    }

    fn take(&mut self, record: Record) {
        self.is_new = true;
        match record {
            Record::Flow(observation) => {
                while let Some(point) = self.resume.passed(observation.time) {
                    tokio::task::block_in_place(|| self.pass(point));
                }
                let skipped = self.learner.try_observe(&observation).err();
                self.learning.tap.seen(observation, skipped);
            }
            Record::Lost(lost) => {
                self.learner.lost(&lost);
                self.learning.board.lost(&lost);
                self.learning.tap.lost(lost);
            }
            Record::NodeStatus(status) => {
                self.learner.node_status(&status);
                self.learning.board.nodes(&status);
            }
        }
    }

    /// All that was observed until now was observed by whoever learned before, until `point`.
    fn pass(&mut self, point: Timestamp) {
        let mut outcome = self.learner.outcome();
        let proposals = std::mem::take(&mut outcome.proposals);
        let (violations, _) = self.judge(outcome);
        let mut stored = self.learning.stored.lock();
        for proposal in proposals {
            let name = name(&proposal);
            if self.resume.is_counted(&name, point) {
                stored.ledger.assume(name, &proposal);
            }
        }
        for (name, found) in violations {
            if !self.resume.is_judged(&name, point) {
                stored.ledger.deny(name, found);
            }
        }
    }

    /// Has written what changed since the last flush. While flows still come that were learned from before nothing is
    /// written, since nothing could tell until when it counts; that no more of them come shows by a pause, or by the
    /// end.
    fn flush(&mut self, is_over: bool, pace: Pace) {
        let mut is_new = std::mem::take(&mut self.is_new);
        if is_over || !is_new {
            while let Some(point) = self.resume.rest() {
                self.pass(point);
                is_new = true;
            }
        }
        if !self.resume.is_over() {
            return;
        }
        if is_new {
            self.learn(pace);
        }
        self.sync();
        self.note_learned();
        self.confirm();
    }

    /// What was taken is in the ledger.
    fn note_learned(&mut self) {
        let stored = self.learning.stored.lock();
        let flushes = stored.ledger.flushes();
        drop(stored);
        self.learned.extend(self.taken.drain(..).map(|receipt| (flushes, receipt)));
    }

    /// Tells those who sent reports which of them need not be sent again: what they told is written, but for counts
    /// that wait.
    fn confirm(&mut self) {
        let stored = self.learning.stored.lock();
        let written = stored.ledger.flushes_written();
        drop(stored);
        while self.learned.front().is_some_and(|(flushes, _)| *flushes <= written)
            && let Some((_, receipt)) = self.learned.pop_front()
        {
            receipt.confirm();
        }
    }

    /// Puts into the ledger what is known by now.
    fn learn(&mut self, pace: Pace) {
        let (learning, started) = (self.learning, Instant::now());
        let mut news = Vec::new();
        let mut proposals = self.learner.proposals();
        let last = proposals.window().map(|(_, last)| last);
        for proposal in proposals.by_ref() {
            let name = name(&proposal);
            let mut stored = learning.stored.lock();
            let caps = learning.config.caps;
            if stored.ledger.take(name.clone(), proposal, (caps, last), pace) {
                news.push(name);
            }
        }
        let outcome = proposals.finish();
        let (edges, proposals) = (outcome.edges.len(), outcome.proposal_count);
        let (violations, funnel) = self.judge(outcome);
        let mut stored = learning.stored.lock();
        for (name, found) in violations {
            stored.ledger.deny(name, found);
        }
        stored.ledger.flushed(last);
        drop(stored);
        for name in news {
            learning.enqueue(name);
        }
        learning.board.publish(&funnel, edges, last, now());
        learning.counts.set(learning.source.name(), &funnel, edges, proposals);
        learning.counts.flushed(started.elapsed());
    }

    fn judge(&mut self, outcome: Outcome) -> (HashMap<Name, Vec<Violation>>, Funnel) {
        let stored = self.learning.stored.lock();
        let guards = guards(&stored, self.learning.backend);
        drop(stored);
        let index = self.learning.index.read().unwrap_or_else(PoisonError::into_inner);
        self.judging.judge(&index, &guards, outcome)
    }

    /// Has violations written, once an interval.
    fn sync(&mut self) {
        if self.synced.elapsed() < self.learning.status_interval {
            return;
        }
        self.synced = Instant::now();
        let mut stored = self.learning.stored.lock();
        let due = stored.ledger.due();
        drop(stored);
        for name in due {
            self.learning.enqueue(name);
        }
    }

    /// Has everything written that waits, counts too.
    fn finish(&mut self) {
        if !self.resume.is_over() {
            return;
        }
        self.learn(Pace::Last);
        self.note_learned();
        let mut stored = self.learning.stored.lock();
        let due = stored.ledger.all_due();
        drop(stored);
        for name in due {
            self.learning.enqueue(name);
        }
    }
}

fn name(proposal: &Proposal) -> Name {
    let subject = &proposal.subject;
    (subject.namespace.to_string(), policy_name(subject, proposal.direction))
}

#[cfg(test)]
mod tests;
