use netenf_learn::NodeState;
use netenf_learn::proposal::{self, Reason, Uncovered};

use super::*;

const SMALL: Limits = Limits { edges: 2, unplaced: 2, nodes: 2 };

fn outcome() -> Outcome {
    Outcome {
        unlisted: BTreeMap::new(),
        proposals: Vec::new(),
        proposal_count: 0,
        uncovered_count: 0,
        unplaced: Vec::new(),
        over_limit: 0,
        funnel: Funnel::default(),
        edges: Vec::new(),
        denials: Vec::new(),
        nodes: BTreeMap::new(),
        window: None,
    }
}

/// Something of every kind for each name.
fn seen(names: &[&str], count: u64) -> Outcome {
    let peer = |name: &str| Peer { name: Some(name.into()), ..Peer::default() };
    let end = |name: &str| Arc::new(SeenEnd { peer: peer(name), labels: None });
    let edge = |name: &&str| SeenEdge {
        port_names: Vec::new(),
        source: end(name),
        destination: end("db"),
        protocol: netenf_policy::Protocol::Tcp,
        port: 5432,
        count,
        observations: count,
        learned: true,
        skipped: None,
        first: None,
        last: None,
    };
    let unplaced = |name: &&str| proposal::Unplaced {
        subject: peer("web"),
        direction: netenf_learn::Direction::Egress,
        uncovered: Uncovered {
            id: String::new(),
            peer: peer(name),
            protocol: "TCP".into(),
            port: Some(443),
            reason: Reason::External,
            rule: None,
            count,
            first: None,
            last: None,
            notes: Vec::new(),
        },
    };
    Outcome {
        edges: names.iter().map(edge).collect(),
        unplaced: names.iter().map(unplaced).collect(),
        nodes: names.iter().map(|name| (Arc::from(*name), NodeState::Connected)).collect(),
        ..outcome()
    }
}

/// Names and counts of what is kept.
fn kept(state: &State) -> (Vec<String>, Vec<String>, Vec<String>) {
    let named = |peer: &PeerRef, count| format!("{} x{count}", peer.name.as_deref().unwrap());
    (
        state.edges.iter().map(|edge| named(&edge.source.peer, edge.count)).collect(),
        state.unplaced.iter().map(|one| named(&one.peer, one.count)).collect(),
        state.nodes.keys().cloned().collect(),
    )
}

#[test]
fn what_is_seen_again_is_the_same_entry() {
    let mut state = State::default();
    state.add(&seen(&["b", "a"], 2));
    state.add(&seen(&["c", "a"], 3));
    let counted = ["a x5", "b x2", "c x3"].map(str::to_owned).to_vec();
    assert_eq!(
        kept(&state),
        (counted.clone(), counted, ["a", "b", "c"].map(str::to_owned).to_vec())
    );
    assert_eq!(state.cut, Cut::default());
}

#[test]
fn what_is_kept_does_not_depend_on_the_order() {
    let orders = [[["d", "a"], ["c", "b"]], [["c", "b"], ["d", "a"]]].map(|order| {
        let mut state = State::default();
        for names in order {
            state.add_within(&seen(&names, 1), SMALL);
        }
        assert_eq!(state.cut, Cut { edges: 2, unplaced: 2, nodes: 2 });
        kept(&state)
    });
    let counted = ["a x1", "b x1"].map(str::to_owned).to_vec();
    let expected = (counted.clone(), counted, ["a", "b"].map(str::to_owned).to_vec());
    assert_eq!(orders, [expected.clone(), expected]);
}

#[test]
fn what_is_not_kept_is_counted_and_counted_again() {
    let mut state = State::default();
    for _ in 0..3 {
        state.add_within(&seen(&["a", "b", "c"], 1), SMALL);
    }
    assert_eq!(state.cut, Cut { edges: 3, unplaced: 3, nodes: 3 });
    assert_eq!(kept(&state).0, ["a x3", "b x3"]);
    let warning = state.warning().unwrap();
    assert!(warning.contains("3 more edges were seen and are not judged"), "{warning}");
    assert_eq!(State::default().warning(), None);
}

#[test]
fn counters_stay_at_the_largest_number() {
    let largest = Outcome {
        funnel: Funnel {
            received: u64::MAX,
            learned: u64::MAX,
            skipped: [("Reply", u64::MAX)].into(),
            uncovered: u64::MAX,
            violations: u64::MAX,
            errors: u64::MAX,
            lost: u64::MAX,
        },
        ..seen(&["a"], u64::MAX)
    };
    let mut state = State { cut: Cut { edges: u64::MAX, ..Cut::default() }, ..State::default() };
    state.add_within(&largest, Limits { edges: 1, ..SMALL });
    state.add_within(&seen(&["b"], 1), Limits { edges: 1, ..SMALL });
    state.add_within(&largest, SMALL);
    assert_eq!(state.funnel(), largest.funnel);
    assert_eq!(state.cut.edges, u64::MAX);
    let (edges, unplaced, _) = kept(&state);
    assert_eq!((edges, unplaced.len()), (vec![format!("a x{}", u64::MAX)], 2));
}

#[test]
fn a_folder_of_an_earlier_version_is_read() {
    let state: State = serde_json::from_str("{\"received\": 7, \"later\": true}").unwrap();
    assert_eq!((state.received, state.cut), (7, Cut::default()));
}

#[test]
fn many_entries_are_added_to_many() {
    let names: Vec<String> = (0..20_000).map(|number| format!("n{number}")).collect();
    let outcome = seen(&names.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    let mut state = State::default();
    state.add(&outcome);
    state.add(&outcome);
    assert_eq!(
        (state.edges.len(), state.unplaced.len(), state.nodes.len()),
        (20_000, 10_000, 10_000)
    );
    assert_eq!(state.cut, Cut { edges: 0, unplaced: 20_000, nodes: 20_000 });
}
