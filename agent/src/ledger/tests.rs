use std::time::{Duration, Instant};

use netenf_learn::{Config, Learner, NoObjects};

use super::*;
use crate::sample::opened;

/// A ledger, and the learner whose proposals it gets.
struct Books {
    learner: Learner<NoObjects>,
    ledger: Ledger,
    start: Instant,
    second: i64,
}

fn name() -> Name {
    ("shop".to_owned(), "deployment-web-egress".to_owned())
}

impl Books {
    fn new() -> Self {
        let learner = Learner::new(Config::default(), NoObjects);
        Self { learner, ledger: Ledger::default(), start: Instant::now(), second: 1000 }
    }

    fn see(&mut self, to: &str) {
        self.second += 1;
        self.learner.observe(&opened("web", to, 80, self.second));
    }

    /// A flush so many minutes after the start; whether there is something to write of the Deployment web.
    fn flush(&mut self, minutes: u64) -> bool {
        let outcome = self.learner.outcome();
        let last = outcome.window.map(|(_, last)| last);
        let pace = Pace::At(self.start + Duration::from_mins(minutes));
        let mut own = outcome.proposals.into_iter().filter(|one| &*one.subject.name == "web");
        let is_news = self.ledger.take(name(), own.next().unwrap(), (Caps::default(), last), pace);
        self.ledger.flushed(last);
        is_news
    }

    /// How many connections the draft adds.
    fn draft(&mut self) -> Option<(Draft, u64)> {
        let draft = self.ledger.draft(&name(), None);
        let count = draft.fresh.as_ref()?.1.total();
        Some((draft, count))
    }

    fn write(&mut self) -> Option<u64> {
        let (draft, count) = self.draft()?;
        self.ledger.settle(&name(), &draft, Written::All);
        Some(count)
    }
}

#[test]
fn a_new_rule_is_written_at_once_and_a_repetition_waits() {
    let mut books = Books::new();
    books.see("db");
    assert!(books.flush(0));
    assert_eq!(books.write(), Some(1));
    books.see("db");
    books.see("db");
    assert!(!books.flush(1) && !books.flush(10));
    assert!(books.flush(11), "ten minutes after they were first told");
    assert!(books.draft().unwrap().0.is_due());
    assert_eq!(books.write(), Some(2));
    books.see("cache");
    assert!(books.flush(11));
    assert_eq!(books.write(), Some(1));
}

/// A refused write is handed out again, with what came in the meantime, and holds back the time until which everything
/// is written.
#[test]
fn what_was_not_written_is_handed_out_again() {
    let mut books = Books::new();
    books.see("db");
    books.flush(0);
    books.write();
    let written = books.ledger.written_until();
    assert_eq!(written, Some(Timestamp::from_seconds(1001)));
    books.see("cache");
    books.flush(0);
    assert_eq!(books.draft().unwrap().1, 1);
    books.see("queue");
    books.flush(0);
    assert_eq!((books.ledger.written_until(), books.write()), (written, Some(2)));
    assert_eq!(books.ledger.written_until(), Some(Timestamp::from_seconds(1003)));
}

/// What is learned while a draft is being written is none of it.
#[test]
fn a_draft_takes_only_what_it_holds() {
    let mut books = Books::new();
    books.see("db");
    books.flush(0);
    let (draft, _) = books.draft().unwrap();
    books.see("cache");
    books.flush(0);
    books.ledger.settle(&name(), &draft, Written::All);
    assert_eq!(books.ledger.written_until(), None);
    assert_eq!(books.write(), Some(1));
    assert_eq!(books.ledger.written_until(), Some(Timestamp::from_seconds(1002)));
}

/// What is deleted comes back with the next flow, and only with what was seen since.
#[test]
fn a_deleted_object_is_made_anew_by_what_is_seen_next() {
    let mut books = Books::new();
    books.see("db");
    books.flush(0);
    books.write();
    books.ledger.changed(&name(), None);
    assert!(books.flush(0));
    let (draft, count) = books.draft().unwrap();
    assert_eq!(count, 0);
    books.ledger.settle(&name(), &draft, Written::Nothing { counts: false, is_absent: true });
    assert!(!books.flush(0));
    books.see("db");
    assert!(books.flush(0));
    assert_eq!(books.write(), Some(1));
}

/// Our own writes come back as changes; others' are looked at.
#[test]
fn only_what_others_wrote_is_compared_again() {
    let mut books = Books::new();
    books.see("db");
    books.flush(0);
    books.write();
    books.ledger.wrote(&name(), Some("7".to_owned()));
    books.ledger.changed(&name(), Some("7"));
    assert!(!books.flush(0));
    books.ledger.changed(&name(), Some("8"));
    assert!(books.flush(0));
}

/// What the API server refuses for good keeps nobody waiting, and is tried again when all is.
#[test]
fn what_is_given_up_waits_for_news() {
    let mut books = Books::new();
    books.see("db");
    books.flush(0);
    books.draft();
    books.ledger.give_up(&name());
    assert_eq!(books.ledger.written_until(), Some(Timestamp::from_seconds(1001)));
    assert!(books.draft().is_none() && !books.flush(0));
    books.ledger.retry();
    assert!(books.flush(0));
    assert_eq!(books.write(), Some(1));
}

fn violation(id: u64, count: i64) -> Violation {
    serde_json::from_value(serde_json::json!({
        "id": format!("v{id}"), "direction": "Egress", "source": {}, "dest": {}, "protocol": "TCP", "dstPort": 1,
        "action": "monitor", "reason": "NoRule", "count": count, "firstSeen": "2026-09-01T10:00:00Z",
        "lastSeen": "2026-09-01T10:00:00Z",
    }))
    .unwrap()
}

/// Violations wait until they are due. A failed write puts them back (W22), and what is beyond the limit is counted.
#[test]
fn violations_are_kept_until_they_are_written() {
    let mut ledger = Ledger::default();
    ledger.deny(name(), vec![violation(1, 2)]);
    assert!(ledger.draft(&name(), None).is_empty());
    assert_eq!(ledger.due(), [name()]);
    assert_eq!(ledger.draft(&name(), None).violations, [violation(1, 2)]);
    ledger.deny(name(), vec![violation(1, 3), violation(2, 1)]);
    assert_eq!(
        ledger.draft(&name(), None).violations,
        [violation(1, 2)],
        "the same that is being written"
    );
    assert_eq!(ledger.due(), [name()]);
    let draft = ledger.draft(&name(), None);
    assert_eq!(draft.violations, [violation(1, 5), violation(2, 1)]);
    assert_eq!(ledger.settle(&name(), &draft, Written::All), draft.violations);
    assert!(ledger.due().is_empty());

    ledger.deny(name(), (0..250).map(|id| violation(id, 1)).collect());
    assert_eq!(ledger.dropped(), 50);
}

/// A flush is written once nothing waits that it put in, whatever came later; counts that wait are none of it.
#[test]
fn a_flush_is_written_once_nothing_of_it_waits() {
    let mut books = Books::new();
    let told = |books: &Books| (books.ledger.flushes(), books.ledger.flushes_written());
    assert_eq!(told(&books), (0, 0));
    books.see("db");
    books.flush(0);
    assert_eq!(told(&books), (1, 0));
    books.write();
    assert_eq!(told(&books), (1, 1));
    // A repetition waits for long, and is only counts.
    books.see("db");
    books.flush(1);
    assert_eq!(told(&books), (2, 2));
    books.see("cache");
    books.flush(2);
    books.see("db");
    books.flush(3);
    assert_eq!(told(&books), (4, 2));
    books.write();
    assert_eq!(told(&books), (4, 4));
    books.ledger.deny(("shop".to_owned(), "other".to_owned()), vec![violation(1, 1)]);
    books.see("db");
    books.flush(4);
    assert_eq!(told(&books), (5, 4));
}
