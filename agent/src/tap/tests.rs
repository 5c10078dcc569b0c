use std::time::Duration;

use netenf_learn::LostEvents;
use tokio::time::timeout;

use super::{Event, HELD, Reader, Tap};

fn put(tap: &Tap, numbers: std::ops::Range<u64>) {
    for count in numbers {
        tap.lost(LostEvents { count, origin: "test".into(), node: None, time: None });
    }
}

fn read(reader: &mut Reader, limit: usize) -> (u64, Vec<u64>) {
    let batch = reader.read(limit);
    let numbers = batch.events.iter().map(|event| match &**event {
        Event::Lost(lost) => lost.count,
        Event::Seen(..) => u64::MAX,
    });
    (batch.missed, numbers.collect())
}

#[test]
fn a_reader_gets_what_is_held_in_order_and_once() {
    let tap = Tap::default();
    put(&tap, 0..3);
    let mut reader = tap.reader();
    assert_eq!(read(&mut reader, 2), (0, vec![0, 1]));
    put(&tap, 3..4);
    assert_eq!(read(&mut reader, 9), (0, vec![2, 3]));
    assert_eq!(read(&mut reader, 9), (0, vec![]));
}

#[test]
fn a_reader_that_is_too_slow_is_told_how_much_it_missed() {
    let tap = Tap::default();
    put(&tap, 0..1);
    let mut reader = tap.reader();
    let held = HELD as u64;
    put(&tap, 1..held + 5);
    let (missed, numbers) = read(&mut reader, usize::MAX);
    assert_eq!((missed, numbers.len(), numbers[0]), (5, HELD, 5));
    assert_eq!(read(&mut reader, 9), (0, vec![]), "nothing is told twice");
}

#[test]
fn two_readers_do_not_disturb_each_other() {
    let tap = Tap::default();
    put(&tap, 0..2);
    let (mut one, mut other) = (tap.reader(), tap.reader());
    assert_eq!(read(&mut one, 9), (0, vec![0, 1]));
    assert_eq!(read(&mut other, 1), (0, vec![0]));
}

#[tokio::test]
async fn whoever_waits_is_woken() {
    let tap = Tap::default();
    let reader = tap.reader();
    let waiting = tokio::spawn(async move { reader.more().await });
    put(&tap, 0..1);
    timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap();
}
