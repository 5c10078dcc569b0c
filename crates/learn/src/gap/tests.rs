use super::*;

fn said(nodes: &mut Nodes, state: NodeState, second: i64) {
    let message = (state != NodeState::Connected).then(|| "the stream ended".into());
    let time = Some(Timestamp::from_seconds(second));
    let status = NodeStatus { state, nodes: vec!["n1".into()], message, version: None, time };
    nodes.status(&status).unwrap();
}

/// Reason, since, until.
type Told = (String, Option<i64>, Option<i64>);

fn told(nodes: &Nodes) -> Vec<Told> {
    let seconds = |time: Option<Timestamp>| time.map(|time| time.0 / 1_000_000_000);
    let gaps = nodes.gaps(&Hosts::default()).into_iter();
    gaps.map(|gap| (gap.reason, seconds(gap.since), seconds(gap.until))).collect()
}

/// Of a node that reports again there is no gap to tell; one that was told before is over.
#[test]
fn a_node_that_reports_again_is_told_as_that() {
    let mut nodes = Nodes::default();
    said(&mut nodes, NodeState::Connected, 10);
    said(&mut nodes, NodeState::Unavailable, 20);
    assert_eq!(told(&nodes), [("NodeUnavailable: the stream ended".to_owned(), Some(20), None)]);
    assert!(nodes.reporting(&Hosts::default()).is_empty());
    said(&mut nodes, NodeState::Connected, 30);
    assert_eq!(told(&nodes), []);
    let since = Some(Timestamp::from_seconds(30));
    assert_eq!(&*nodes.reporting(&Hosts::default()), [("n1".into(), since)]);
    assert!(nodes.reporting(&["n2"].into_iter().collect()).is_empty(), "another one's");
}

/// A word that comes late says nothing about now.
#[test]
fn an_older_word_changes_nothing() {
    let mut nodes = Nodes::default();
    said(&mut nodes, NodeState::Connected, 30);
    said(&mut nodes, NodeState::Unavailable, 20);
    assert_eq!(told(&nodes), []);
}

/// A node's own words are hostile: as many as it has, a few are told apart.
#[test]
fn origins_of_losses_are_bounded_by_node() {
    let mut nodes = Nodes::default();
    let lost = |node: &str, origin: String| LostEvents {
        count: 1,
        origin: origin.into(),
        node: Some(node.into()),
        time: None,
    };
    for number in 0..1_000 {
        nodes.lost(&lost("n1", format!("reason {number}"))).unwrap();
    }
    nodes.lost(&lost("n2", "ring buffer".into())).unwrap();
    let gaps = nodes.gaps(&Hosts::default());
    assert_eq!(gaps.len(), ORIGINS + 2, "those of n1, all others of n1, that of n2");
    let others = gaps.iter().find(|gap| gap.reason == "LostEvents (other reasons)").unwrap();
    assert_eq!(others.lost, Some(1_000 - 16));
    assert_eq!(gaps.iter().filter_map(|gap| gap.lost).sum::<u64>(), 1_001);
}
