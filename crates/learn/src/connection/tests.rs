use std::collections::BTreeSet;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const WINDOW: i64 = 60 * SECOND;
const WITHIN: i64 = 30 * SECOND;
const SECOND: i64 = 1_000_000_000;

const CLIENT: Leg = Leg { hash: 1, host: 1, party: 10, rank: 10, port: 40_000 };
const SERVER: Leg = Leg { hash: 2, host: 2, party: 20, rank: 20, port: 5_432 };

fn open(edge: u32, weight: u32) -> Sign {
    Sign::Open(Opening { edge, weight, syn: true, taken: false, by_service: false })
}

/// Reports by second: `o` the client opens, `a` the server answers, `c` and `s` packets of unknown direction
/// from client and server, `r` refused, `R` and `S` reset by client and server.
fn table(reports: &[(char, i64)]) -> (Table, i64) {
    let mut table = Table::new(WINDOW, 1 << 10);
    let mut connections = 0;
    for &(sign, second) in reports {
        let (from, to, sign) = match sign {
            'o' => (CLIENT, SERVER, open(0, 1)),
            'a' => (SERVER, CLIENT, Sign::Answer),
            'c' => (CLIENT, SERVER, Sign::Candidate),
            's' => (SERVER, CLIENT, Sign::Candidate),
            'R' => (CLIENT, SERVER, Sign::Reset),
            'S' => (SERVER, CLIENT, Sign::Reset),
            _ => (CLIENT, SERVER, Sign::Refused),
        };
        connections += i64::from(table.report(from, to, Protocol::Tcp, second * SECOND, sign));
    }
    let twice: u64 = table.corrections.iter().map(|(_, twice)| *twice).sum();
    connections -= i64::try_from(twice).unwrap();
    (table, connections)
}

fn endings(table: &Table) -> Vec<Ending> {
    let errors = Errors::default();
    let mut endings = Vec::new();
    table.for_each(|interval| endings.push(interval.ending(0, WITHIN, &errors)));
    endings
}

#[rstest]
#[case::answered(&[('o', 0), ('a', 1)], Ending::Answered)]
#[case::answered_first(&[('a', 1), ('o', 0)], Ending::Answered)]
#[case::answered_late(&[('o', 0), ('a', 31)], Ending::Silent)]
#[case::clocks_differ(&[('o', 10), ('a', 9)], Ending::Answered)]
#[case::answered_after_a_refusal(&[('o', 0), ('r', 1), ('o', 2), ('a', 3)], Ending::Answered)]
#[case::refused(&[('o', 0), ('r', 1)], Ending::Refused)]
#[case::reset_by_the_server(&[('o', 0), ('S', 1)], Ending::Refused)]
#[case::given_up_by_the_client(&[('o', 0), ('R', 1)], Ending::Silent)]
#[case::silent(&[('o', 0)], Ending::Silent)]
#[case::repeated(&[('o', 0), ('o', 1), ('o', 3)], Ending::Repeated)]
#[case::repeated_in_one_second(&[('o', 0), ('o', 0), ('o', 0)], Ending::Silent)]
#[case::repeated_twice(&[('o', 0), ('o', 1)], Ending::Silent)]
#[case::repeated_over_a_long_time(&[('o', 0), ('o', 20), ('o', 40)], Ending::Silent)]
#[case::repeated_and_answered(&[('o', 0), ('o', 1), ('o', 3), ('a', 4)], Ending::Answered)]
#[case::the_client_goes_on(&[('o', 0), ('c', 1)], Ending::Answered)]
#[case::the_server_talks(&[('o', 0), ('s', 1)], Ending::Answered)]
fn an_attempt_ends(#[case] reports: &[(char, i64)], #[case] expected: Ending) {
    assert_eq!(endings(&table(reports).0), [expected]);
    let backwards: Vec<_> = reports.iter().rev().copied().collect();
    assert_eq!(endings(&table(&backwards).0), [expected], "in any order");
}

#[rstest]
#[case::once(&[0], 1)]
#[case::many_points(&[0, 0, 0, 1], 1)]
#[case::within_the_window(&[0, 60, 120], 1)]
#[case::later(&[0, 61], 2)]
#[case::merged_by_one_between(&[0, 100, 50], 1)]
#[case::three(&[0, 100, 200], 3)]
#[case::all_merged_at_last(&[0, 100, 200, 150, 50], 1)]
fn reports_within_the_window_are_one_connection(#[case] seconds: &[i64], #[case] expected: i64) {
    let mut orders = vec![seconds.to_vec()];
    orders.push(seconds.iter().rev().copied().collect());
    let mut sorted = seconds.to_vec();
    sorted.sort_unstable();
    orders.push(sorted);
    for order in orders {
        let reports: Vec<(char, i64)> = order.iter().map(|second| ('o', *second)).collect();
        let (table, connections) = table(&reports);
        assert_eq!(connections, expected, "{order:?}");
        assert_eq!(i64::try_from(table.len()).unwrap(), expected, "{order:?}");
    }
}

proptest! {
    #[test]
    fn three_seconds_of_half_a_minute_are_a_repetition(seconds in prop::collection::vec(0_i64..60, 1..6)) {
        let reports: Vec<(char, i64)> = seconds.iter().map(|second| ('o', *second)).collect();
        let distinct: Vec<i64> = BTreeSet::from_iter(seconds).into_iter().collect();
        let repeated = distinct.get(2).is_some_and(|third| third - distinct[0] <= 30);
        let expected = if repeated { Ending::Repeated } else { Ending::Silent };
        prop_assert_eq!(endings(&table(&reports).0), [expected]);
    }

    /// Reports of three tuples at random times: nothing is lost or counted twice.
    #[test]
    fn connections_are_runs_of_reports(reports in prop::collection::vec((0_u64..3, 0_i64..1_000), 1..60)) {
        let mut table = Table::new(WINDOW, 1 << 10);
        let mut connections = 0;
        for (tuple, second) in &reports {
            let client = Leg { hash: 100 + tuple, ..CLIENT };
            connections += u64::from(table.report(client, SERVER, Protocol::Tcp, second * SECOND, open(0, 1)));
        }
        connections -= table.corrections.iter().map(|(_, twice)| twice).sum::<u64>();
        let sorted: Vec<(u64, i64)> = BTreeSet::from_iter(reports).into_iter().collect();
        let runs = sorted.chunk_by(|(one, before), (other, after)| one == other && after - before <= 60);
        let expected = runs.count();
        prop_assert_eq!((usize::try_from(connections).unwrap(), table.len()), (expected, expected));
        let mut out = 0;
        table.retire(|_| out += 1);
        table.drain(|_| out += 1);
        prop_assert_eq!((out, table.len()), (expected, 0));
    }
}

/// A window of an aggregate is reported by both ends: the larger sum counts, not both.
#[test]
fn of_several_weights_the_largest_counts() {
    for weights in [[3, 5], [5, 3]] {
        let mut table = Table::new(WINDOW, 1 << 10);
        let all =
            weights.map(|weight| table.report(CLIENT, SERVER, Protocol::Tcp, 0, open(0, weight)));
        assert_eq!(all.iter().sum::<u32>(), 5);
    }
}

/// Two nodes name one connection's ends differently, and a service leads to several workloads.
#[test]
fn a_connection_counts_for_each_of_its_edges_once() {
    let mut table = Table::new(WINDOW, 1 << 10);
    for _ in 0..2 {
        for edge in 0..9 {
            table.report(CLIENT, SERVER, Protocol::Tcp, 0, open(edge, 1));
        }
    }
    let mut edges = Vec::new();
    table.for_each(|interval| edges.extend(interval.slots().map(|slot| (slot.edge, slot.weight))));
    assert_eq!(edges, (0..9).map(|edge| (edge, 1)).collect::<Vec<_>>());
}

#[test]
fn protocols_and_directions_are_told_apart() {
    let mut table = Table::new(WINDOW, 1 << 10);
    table.report(CLIENT, SERVER, Protocol::Tcp, 0, open(0, 1));
    table.report(CLIENT, SERVER, Protocol::Udp, 0, open(1, 1));
    assert_eq!(table.len(), 2);
    table.report(SERVER, CLIENT, Protocol::Tcp, 0, Sign::Answer);
    assert_eq!(table.len(), 2, "both directions are one connection");
}

#[test]
fn the_best_name_of_an_end_counts_whichever_came_first() {
    let better = Leg { party: 11, rank: 1, ..CLIENT };
    for order in [[CLIENT, better], [better, CLIENT]] {
        let mut table = Table::new(WINDOW, 1 << 10);
        for client in order {
            table.report(client, SERVER, Protocol::Tcp, 0, Sign::Candidate);
        }
        table.for_each(|interval| assert_eq!(interval.party, [11, 20]));
    }
}

#[test]
fn a_full_table_gives_up_what_was_seen_longest_ago() {
    let mut table = Table::new(WINDOW, 100);
    let mut out = 0;
    for number in 0..1_000_u16 {
        let client = Leg { hash: 100 + u64::from(number), port: number, ..CLIENT };
        table.report(client, SERVER, Protocol::Tcp, i64::from(number) * SECOND, open(0, 1));
        if table.is_full() {
            table.retire(|interval| {
                out += 1;
                assert!(interval.span().1 < i64::from(number) * SECOND, "the newest stays");
            });
        }
        assert!(table.len() <= 101);
    }
    assert_eq!(out + table.len(), 1_000, "nothing is lost");
}

#[test]
fn a_table_full_of_simultaneous_connections_is_emptied() {
    let mut table = Table::new(WINDOW, 2);
    for hash in 10..20 {
        table.report(Leg { hash, ..CLIENT }, SERVER, Protocol::Tcp, 0, open(0, 1));
        if table.is_full() {
            table.retire(|_| {});
        }
    }
    assert!(table.len() <= 3);
}

/// An ICMP error answers attempts between its ends in time, whichever came first; what was answered
/// otherwise stays so.
#[rstest]
#[case::in_time(&[('o', 100)], &[101], Ending::Refused)]
#[case::clocks_differ(&[('o', 100)], &[99], Ending::Refused)]
#[case::too_late(&[('o', 100)], &[131], Ending::Silent)]
#[case::long_before(&[('o', 100)], &[69], Ending::Silent)]
#[case::one_of_many(&[('o', 1_000)], &[10, 2_000, 1_001, 500], Ending::Refused)]
#[case::none_of_many(&[('o', 1_500)], &[10, 2_000, 1_001, 500], Ending::Silent)]
#[case::answered(&[('o', 100), ('a', 101)], &[101], Ending::Answered)]
#[case::never_opened(&[('a', 100)], &[100], Ending::Silent)]
fn an_icmp_error_is_an_answer(
    #[case] reports: &[(char, i64)],
    #[case] seconds: &[i64],
    #[case] expected: Ending,
) {
    for backwards in [false, true] {
        let mut seconds = seconds.to_vec();
        if backwards {
            seconds.reverse();
        }
        let mut errors = Errors::default();
        for second in seconds {
            assert!(errors.note(hosts(SERVER, CLIENT), second * SECOND, WITHIN));
        }
        table(reports).0.for_each(|interval| {
            assert_eq!(interval.ending(0, WITHIN, &errors), expected);
            assert_ne!(interval.ending(0, WITHIN, &Errors::default()), Ending::Refused);
        });
    }
}

#[test]
fn errors_close_to_each_other_are_held_as_one() {
    let mut errors = Errors::default();
    for second in (0..10_000).rev().chain(0..10_000) {
        assert!(errors.note(1, second * SECOND, WITHIN));
    }
    assert_eq!(errors.held, 1);
    for number in 0..2 * u64::try_from(ERRORS_LIMIT).unwrap() {
        errors.note(number, 0, WITHIN);
    }
    assert_eq!(errors.held, ERRORS_LIMIT);
}

/// One tuple over a long time, in any order, costs no more for each report than a search.
#[test]
fn a_tuple_that_is_used_for_ever_stays_quick() {
    for step in [1, 7_919] {
        let mut table = Table::new(WINDOW, 1 << 20);
        for number in 0..50_000_i64 {
            let second = (number * step % 50_000) * 100;
            let time = second * SECOND;
            assert_eq!(table.report(CLIENT, SERVER, Protocol::Tcp, time, open(0, 1)), 1);
        }
        assert_eq!(table.len(), 50_000);
    }
}
