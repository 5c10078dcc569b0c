use rstest::rstest;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

/// Observations so far, at seconds.
#[rstest]
#[case::nothing(&[], 100, 0.0)]
#[case::only_one(&[(100, 50)], 100, 0.0)]
#[case::steady(&[(100, 0), (110, 100), (120, 200)], 120, 10.0)]
#[case::silent_for_a_while(&[(100, 0), (110, 100)], 120, 5.0)]
#[case::silent_for_long(&[(100, 0), (110, 100)], 200, 0.0)]
#[case::what_is_old_does_not_count(&[(0, 0), (40, 1_000_000), (100, 1_000_060)], 100, 1.0)]
fn the_rate_is_that_of_the_last_minute(
    #[case] samples: &[(i64, u64)],
    #[case] now: i64,
    #[case] expected: f64,
) {
    let board = Board::default();
    for (time, received) in samples {
        let funnel = Funnel { received: *received, ..Funnel::default() };
        board.publish(&funnel, 0, None, at(*time));
    }
    let rate = board.read().rate(at(now));
    assert!((rate - expected).abs() < 0.001, "{rate}");
}

#[test]
fn a_state_holds_since_it_began_and_not_since_it_was_told_again() {
    let board = Board::new(None, at(1));
    board.source(SourceState::Streaming, "", at(2));
    board.source(SourceState::Streaming, "late", at(3));
    let state = board.read();
    assert_eq!((state.since, state.message.as_str()), (Some(at(2)), "late"));
}

#[test]
fn what_is_told_is_bounded() {
    let board = Board::default();
    for number in 0..10_000_i64 {
        let count = number.unsigned_abs();
        board.lost(&LostEvents { count, origin: "ring".into(), node: None, time: None });
        let nodes = vec![format!("n{number}").into()];
        let (state, version) = (NodeState::Connected, Some("1".into()));
        board.nodes(&NodeStatus { state, nodes, message: None, version, time: None });
        board.publish(&Funnel::default(), 0, None, at(number / 1000));
    }
    let state = board.read();
    assert_eq!((state.losses.len(), state.losses[0].count), (LOSSES, 9_999));
    assert_eq!(state.nodes.len(), NODES);
    assert_eq!(state.nodes["n0"].version.as_deref(), Some("1"));
    assert!(state.samples.len() <= SAMPLES);
}
