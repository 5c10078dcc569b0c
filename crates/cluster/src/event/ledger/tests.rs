use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::super::{Event, EventType};
use super::{Full, Ledger, REMEMBERED, REPEAT, Telling, WAITING};

fn telling(note: &str) -> Telling {
    let event = Event {
        type_: EventType::Warning,
        reason: "Refused".to_owned(),
        action: "Reconcile".to_owned(),
        note: note.to_owned(),
    };
    Telling::new(event, ObjectReference::default(), "one")
}

/// Which is next, and how often it happened.
fn next(ledger: &mut Ledger, now: Instant) -> Option<(Telling, u32)> {
    ledger.next(now).map(|entry| (entry.telling, entry.times))
}

#[test]
fn what_waits_is_counted_and_told_in_the_order_in_which_it_came() {
    let (mut ledger, now) = (Ledger::default(), Instant::now());
    for note in ["a", "b", "a", "a"] {
        ledger.add(telling(note), now).unwrap();
    }
    assert_eq!(next(&mut ledger, now), Some((telling("a"), 3)));
    assert_eq!(next(&mut ledger, now), Some((telling("b"), 1)));
    assert_eq!((next(&mut ledger, now), ledger.due()), (None, None));
}

#[test]
fn a_repeat_waits_and_holds_up_no_other() {
    let (mut ledger, now) = (Ledger::default(), Instant::now());
    ledger.remember(telling("a").id, 7, now);
    ledger.add(telling("a"), now).unwrap();
    ledger.add(telling("b"), now).unwrap();
    assert_eq!(next(&mut ledger, now), Some((telling("b"), 1)));
    assert_eq!((next(&mut ledger, now), ledger.due()), (None, Some(now + REPEAT)));
    ledger.add(telling("a"), now).unwrap();
    assert_eq!(next(&mut ledger, now + REPEAT), Some((telling("a"), 2)));
    assert_eq!(ledger.told(&telling("a").id), Some(7));
}

#[test]
fn what_waits_and_what_is_remembered_has_a_limit() {
    let (mut ledger, now) = (Ledger::default(), Instant::now());
    for number in 0..WAITING {
        ledger.add(telling(&number.to_string()), now).unwrap();
    }
    assert_eq!(ledger.add(telling("another"), now), Err(Full));
    assert_eq!(ledger.add(telling("0"), now), Ok(()), "it waits already");

    for number in 0..=REMEMBERED {
        let at = now + REPEAT * u32::try_from(number).unwrap();
        ledger.remember(telling(&number.to_string()).id, 1, at);
    }
    assert_eq!(ledger.told.len(), REMEMBERED);
    assert_eq!(ledger.told(&telling("0").id), None, "the oldest is forgotten");
}
