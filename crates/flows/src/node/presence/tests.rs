use super::*;

fn end(why: &str) -> End {
    End { time: Timestamp(1), why: why.into(), version: String::new() }
}

fn names(presence: &mut Presence, now: Instant) -> Vec<String> {
    std::iter::from_fn(|| presence.away(now)).map(|(name, _)| name).collect()
}

#[test]
fn a_node_is_away_once_it_had_no_stream_for_some_time() {
    let (mut presence, start) = (Presence::default(), Instant::now());
    presence.arrive("n1");
    presence.leave("n1", end("over"), start);
    assert_eq!(presence.away(start + AWAY / 2), None);
    assert_eq!(presence.away(start + AWAY), Some(("n1".into(), end("over"))));
    assert_eq!(presence.away(start + 2 * AWAY), None, "it is told once");
}

/// A connection ends after an hour, and the next one begins at once.
#[test]
fn a_node_that_returns_was_never_away() {
    let (mut presence, start) = (Presence::default(), Instant::now());
    presence.arrive("n1");
    presence.leave("n1", end("its hour is over"), start);
    presence.arrive("n1");
    assert_eq!(presence.away(start + 9 * AWAY), None);
}

/// The old stream is half open, and ends after the new one began.
#[test]
fn a_stream_that_ends_late_takes_no_node_away() {
    let (mut presence, start) = (Presence::default(), Instant::now());
    presence.arrive("n1");
    presence.arrive("n1");
    presence.leave("n1", end("half open"), start);
    assert_eq!(presence.away(start + 9 * AWAY), None);
    presence.leave("n1", end("over"), start);
    assert_eq!(presence.away(start + AWAY), Some(("n1".into(), end("over"))));
}

#[test]
fn what_is_remembered_is_bounded_and_told() {
    let (mut presence, start) = (Presence::default(), Instant::now());
    for number in 0..u64::try_from(NODES).unwrap() + 2 {
        let node = format!("n{number}");
        presence.arrive(&node);
        presence.leave(&node, end("hostile"), start + Duration::from_nanos(number));
    }
    assert_eq!(names(&mut presence, start), ["n0", "n1"]);
    assert_eq!(names(&mut presence, start + 2 * AWAY).len(), NODES);
    assert!(presence.nodes.is_empty());
}
