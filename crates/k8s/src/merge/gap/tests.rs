use netenf_learn::Timestamp;
use serde_json::json;

use super::super::tests::learned;
use super::*;

fn time(second: i64) -> serde_json::Value {
    json!(render::time(Timestamp::from_seconds(second)))
}

fn silent(node: &str, since: i64, until: Option<i64>) -> Gap {
    let mut gap = json!({"node": node, "reason": "NodeUnavailable", "since": time(since)});
    if let Some(until) = until {
        gap["until"] = time(until);
    }
    serde_json::from_value(gap).unwrap()
}

fn lost(node: &str, count: i64) -> Gap {
    let reason = "LostEvents (ring buffer)";
    let gap = json!({"node": node, "reason": reason, "lost": count, "until": time(9)});
    serde_json::from_value(gap).unwrap()
}

fn reporting(node: &str, since: i64) -> Proposal {
    let since = Some(Timestamp::from_seconds(since));
    Proposal { reporting: [(node.into(), since)].into(), ..learned("db:5432") }
}

/// Whoever learns now never saw that the node did not report; the status says so.
#[test]
fn a_gap_is_over_when_the_node_reports_again() {
    let known = vec![silent("n1", 10, None), silent("n2", 10, None), lost("n1", 3)];
    let gaps = renewed(known, &reporting("n1", 30));
    let expected = [lost("n1", 3), silent("n1", 10, Some(30)), silent("n2", 10, None)];
    assert_eq!(gaps, expected);
    assert_eq!(renewed(gaps, &reporting("n1", 99)), expected, "it was over before");
}

#[test]
fn a_gap_of_before_may_begin_again() {
    let gaps = merged(vec![silent("n1", 10, Some(20))], vec![silent("n1", 30, None)]);
    assert_eq!(gaps, [silent("n1", 10, None)]);
    let gaps = merged(gaps, vec![silent("n1", 30, Some(40))]);
    assert_eq!(gaps, [silent("n1", 10, Some(40))]);
}

/// Nodes that come and go let no status grow towards what the API server stores.
#[test]
fn gaps_are_bounded_and_what_is_not_listed_is_told() {
    let node = |number: usize| format!("n{number:03}");
    let known = (0..LISTED).map(|number| lost(&node(number), 1)).collect();
    let lasting = silent("z", 10, None);
    let fresh: Vec<Gap> =
        (0..500).map(|number| lost(&node(number), 2)).chain([lasting.clone()]).collect();
    let gaps = merged(known, fresh.clone());
    assert_eq!(gaps.len(), LISTED + 1);
    assert_eq!(gaps[LISTED - 1], lasting, "what lasts is told before what was");
    assert_eq!(gaps[0], lost("n000", 2), "what was listed stays");
    let unlisted = &gaps[LISTED];
    assert_eq!((unlisted.node.as_deref(), &*unlisted.reason), (None, UNLISTED));
    assert_eq!(unlisted.lost, Some(2 * (500 - 19)));
    assert_eq!(merged(gaps.clone(), fresh), gaps, "the same once more is nothing new");
}

/// Whatever stood there before there was a limit.
#[test]
fn a_status_over_the_limit_shrinks() {
    let known = (0..300).map(|number| silent(&format!("n{number:03}"), 10, None)).collect();
    let gaps = merged(known, Vec::new());
    assert_eq!(gaps.len(), LISTED + 1);
    assert_eq!(merged(gaps.clone(), Vec::new()), gaps);
}
