use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::{collection, proptest};
use rstest::rstest;
use tokio::time::Instant;

use super::{Backlog, Fate, Full, Limits, Outcome};

const LIMITS: Limits = Limits {
    capacity: 3,
    attempts: 3,
    first_pause: Duration::from_secs(1),
    longest_pause: Duration::from_secs(3),
};

const SECOND: Duration = Duration::from_secs(1);

/// A backlog with that key in work, and the time.
fn running(key: u8) -> (Backlog<u8>, Instant) {
    let (mut backlog, now) = (Backlog::new(LIMITS), Instant::now());
    backlog.add(key, now).unwrap();
    assert_eq!(backlog.next(now), Some(key));
    (backlog, now)
}

#[test]
fn a_key_waits_once_and_in_its_turn() {
    let (mut backlog, now) = (Backlog::new(LIMITS), Instant::now());
    for key in [2, 1, 2] {
        backlog.add(key, now).unwrap();
    }
    assert_eq!([0; 3].map(|_| backlog.next(now)), [Some(2), Some(1), None]);
}

#[test]
fn a_full_backlog_takes_changes_of_what_it_knows_only() {
    let (mut backlog, now) = (Backlog::new(LIMITS), Instant::now());
    let added = [1, 2, 3, 4, 1].map(|key| backlog.add(key, now));
    assert_eq!(added, [Ok(()), Ok(()), Ok(()), Err(Full { capacity: 3 }), Ok(())]);
    backlog.forget(&2);
    assert_eq!(backlog.add(4, now), Ok(()));
}

#[test]
fn what_changes_during_the_work_is_due_again_after_it_and_not_before() {
    let (mut backlog, now) = running(1);
    backlog.add(1, now).unwrap();
    assert_eq!(backlog.next(now), None);
    assert_eq!(backlog.finish(&1, Outcome::Done, now), Fate::Again);
    assert_eq!(backlog.next(now), Some(1));
    assert_eq!(backlog.finish(&1, Outcome::Done, now), Fate::Done);
    assert_eq!(backlog.len(), 0);
}

const RETRIED: [Fate; 2] =
    [Fate::Retried { after: SECOND }, Fate::Retried { after: Duration::from_secs(2) }];
const BUSY: Outcome = Outcome::Interrupted { after: Duration::from_secs(7) };
const DOWN: Outcome = Outcome::Interrupted { after: Duration::ZERO };
const EARLY: Outcome = Outcome::Early { at_most: SECOND };

#[test]
fn what_awaits_a_change_is_due_with_it_and_without_it_after_a_while() {
    let (mut backlog, now) = running(1);
    assert_eq!(backlog.finish(&1, EARLY, now), Fate::Awaited);
    assert_eq!((backlog.next(now), backlog.due(), backlog.len()), (None, Some(now + SECOND), 1));
    backlog.add(1, now).unwrap();
    assert_eq!((backlog.next(now), backlog.due()), (Some(1), None));
    assert_eq!(backlog.finish(&1, EARLY, now), Fate::Awaited);
    assert_eq!(backlog.next(now + SECOND), Some(1));
    // The change came while it was looked at.
    backlog.add(1, now).unwrap();
    assert_eq!(backlog.finish(&1, EARLY, now), Fate::Again);
    assert_eq!(backlog.next(now), Some(1));
}

#[rstest]
#[case::refused_until_parked(
    &[Outcome::Refused; 3],
    &[RETRIED[0], RETRIED[1], Fate::Parked { attempts: 3 }],
)]
#[case::interrupted_never_parks(&[DOWN; 5], &[RETRIED[0], RETRIED[1], RETRIED[1], RETRIED[1], RETRIED[1]])]
#[case::the_server_asks_for_more(&[BUSY], &[Fate::Retried { after: Duration::from_secs(7) }])]
#[case::success_forgets_failures(
    &[Outcome::Refused, Outcome::Done],
    &[RETRIED[0], Fate::Done],
)]
fn failures_have_growing_pauses(#[case] outcomes: &[Outcome], #[case] expected: &[Fate]) {
    let (mut backlog, mut now) = running(1);
    let mut fates = Vec::new();
    for outcome in outcomes {
        let fate = backlog.finish(&1, *outcome, now);
        if let Fate::Retried { after } = fate {
            assert_eq!(backlog.next(now + after - Duration::from_millis(1)), None);
            now += after;
            assert_eq!((backlog.due(), backlog.next(now)), (Some(now), Some(1)));
        }
        fates.push(fate);
    }
    assert_eq!(fates, expected);
}

#[test]
fn a_change_ends_parking_at_once_and_a_pause_soon() {
    let (mut backlog, mut now) = running(1);
    for _ in 0..2 {
        backlog.finish(&1, Outcome::Refused, now);
        now += LIMITS.longest_pause;
        assert_eq!(backlog.next(now), Some(1));
    }
    assert_eq!(backlog.finish(&1, Outcome::Refused, now), Fate::Parked { attempts: 3 });
    assert_eq!((backlog.parked(), backlog.due(), backlog.next(now)), (1, None, None));

    backlog.add(1, now).unwrap();
    assert_eq!((backlog.parked(), backlog.next(now)), (0, Some(1)));

    assert_eq!(backlog.finish(&1, Outcome::Refused, now), Fate::Retried { after: SECOND });
    now += SECOND;
    assert_eq!(backlog.next(now), Some(1));
    assert_eq!(backlog.finish(&1, DOWN, now), RETRIED[1]);
    backlog.add(1, now).unwrap();
    assert_eq!(backlog.due(), Some(now + SECOND));
}

#[test]
fn a_change_ends_no_pause_that_the_server_asked_for() {
    let (mut backlog, now) = running(1);
    assert_eq!(backlog.finish(&1, BUSY, now), Fate::Retried { after: Duration::from_secs(7) });
    for _ in 0..2 {
        backlog.add(1, now).unwrap();
        assert_eq!(backlog.due(), Some(now + Duration::from_secs(7)));
    }
}

#[test]
fn whatever_waits_after_a_failure_can_be_hurried() {
    let (mut backlog, mut now) = (Backlog::new(LIMITS), Instant::now());
    for key in [1, 2] {
        backlog.add(key, now).unwrap();
    }
    for _ in 0..3 {
        for _ in 0..2 {
            let key = backlog.next(now).unwrap();
            backlog.finish(&key, DOWN, now);
        }
        now += LIMITS.longest_pause;
    }
    now -= LIMITS.longest_pause;
    assert_eq!(backlog.due(), Some(now + 2 * SECOND));
    backlog.hurry(now);
    assert_eq!((backlog.next(now), backlog.due()), (None, Some(now + SECOND)));
    assert_eq!([0; 3].map(|_| backlog.next(now + SECOND)), [Some(1), Some(2), None]);
}

#[derive(Debug, Clone)]
enum Step {
    Add(u8),
    Forget(u8),
    Take,
    Finish(usize, Outcome),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![Just(Outcome::Done), Just(Outcome::Refused), Just(DOWN), Just(EARLY)];
    prop_oneof![
        (0..5_u8).prop_map(Step::Add),
        (0..5_u8).prop_map(Step::Forget),
        Just(Step::Take),
        (0..3_usize, outcome).prop_map(|(worker, outcome)| Step::Finish(worker, outcome)),
        (0..5_u64).prop_map(Step::Wait),
    ]
}

/// What anybody may suppose of a backlog, told without its phases.
#[derive(Default)]
struct Model {
    running: Vec<u8>,
    /// Changed since somebody last took them, and neither forgotten nor refused.
    owed: BTreeSet<u8>,
}

proptest! {
    /// Nobody works at a key twice at once, the bound holds, no more than the allowed number of attempts is
    /// made in a row, and every change is followed by an attempt.
    #[test]
    fn no_change_is_lost_and_nothing_runs_twice(steps in collection::vec(step(), 0..200)) {
        let (mut backlog, mut now) = (Backlog::new(LIMITS), Instant::now());
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Add(key) => if backlog.add(key, now).is_ok() {
                    model.owed.insert(key);
                },
                Step::Forget(key) => {
                    backlog.forget(&key);
                    if !model.running.contains(&key) {
                        model.owed.remove(&key);
                    }
                }
                Step::Take => if let Some(key) = backlog.next(now) {
                    assert!(!model.running.contains(&key));
                    model.owed.remove(&key);
                    model.running.push(key);
                },
                Step::Finish(worker, outcome) => if worker < model.running.len() {
                    let key = model.running.remove(worker);
                    let fate = backlog.finish(&key, outcome, now);
                    match fate {
                        Fate::Done => assert!(!model.owed.contains(&key)),
                        Fate::Parked { attempts } => {
                            assert_eq!(attempts, LIMITS.attempts);
                            assert!(!model.owed.contains(&key));
                        }
                        // It may be early again, but is not forgotten.
                        Fate::Awaited => assert_eq!(outcome, EARLY),
                        Fate::Again => assert!(model.owed.contains(&key)),
                        Fate::Retried { after } => assert!(after >= SECOND && after <= LIMITS.longest_pause),
                    }
                },
                Step::Wait(seconds) => now += Duration::from_secs(seconds),
            }
            assert!(backlog.len() <= LIMITS.capacity);
        }
        // Workers that succeed get to everything that changed.
        for key in std::mem::take(&mut model.running) {
            backlog.finish(&key, Outcome::Done, now);
        }
        now += LIMITS.longest_pause;
        while let Some(key) = backlog.next(now) {
            model.owed.remove(&key);
            backlog.finish(&key, Outcome::Done, now);
        }
        assert_eq!(model.owed, BTreeSet::new());
    }
}
