use crate::observation::Observation;
use crate::proposal::{Outcome, Proposal};
use crate::sample::packet;
use crate::{Config, Direction, Learner, NoObjects};

fn see(learner: &mut Learner<NoObjects>, packets: &[&str]) -> Outcome {
    let packets: Vec<Observation> = packets.iter().map(|text| packet(text)).collect();
    for packet in &packets {
        learner.observe(packet);
    }
    learner.outcome()
}

fn web(outcome: &Outcome) -> &Proposal {
    let is_own =
        |one: &&Proposal| &*one.subject.name == "web" && one.direction == Direction::Egress;
    outcome.proposals.iter().find(is_own).unwrap()
}

/// Peers and ports with their counts, and what is uncovered.
fn told(proposal: &Proposal) -> Vec<(String, u64)> {
    let rules = proposal.evidence.iter();
    let rules =
        rules.map(|one| (format!("{}:{}", one.peer.name.as_deref().unwrap(), one.port), one.count));
    let items = proposal.uncovered.iter().map(|one| (one.reason.name().to_owned(), one.count));
    rules.chain(items).collect()
}

fn pairs(all: &[(&str, u64)]) -> Vec<(String, u64)> {
    all.iter().map(|(text, count)| ((*text).to_owned(), *count)).collect()
}

#[test]
fn only_what_was_counted_since_is_told() {
    let mut learner = Learner::new(Config::default(), NoObjects);
    let before =
        see(&mut learner, &["web:40000 > db:5432 SYN new @1", "web:40001 > world:443 SYN new @2"]);
    let counts = web(&before).counts();
    let after =
        see(&mut learner, &["web:40002 > db:5432 SYN new @3", "web:40003 > cache:6379 SYN new @4"]);
    let since = web(&after).since(&counts);
    assert_eq!(told(&since), pairs(&[("cache:6379", 1), ("db:5432", 1), ("External", 0)]));
    assert_eq!((web(&after).total(), since.total()), (4, 2));
    let seen = since.seen().unwrap();
    assert_eq!(told(&seen), pairs(&[("cache:6379", 1), ("db:5432", 1)]));
    assert_eq!(seen.rules.len(), 2);
    let again = web(&after).since(&web(&after).counts());
    assert_eq!((again.total(), again.seen()), (0, None));
}

/// A rule of which nothing was seen since is not in what was seen since.
#[test]
fn a_rule_goes_with_its_evidence() {
    let mut learner = Learner::new(Config::default(), NoObjects);
    let before =
        see(&mut learner, &["web:40000 > db:5433 SYN new @1", "web:40001 > db:5432 SYN new @2"]);
    let counts = web(&before).counts();
    let after = see(&mut learner, &["web:40002 > db:5433 SYN new @3"]);
    let first = |proposal: &Proposal, port| {
        proposal.evidence.iter().find(|one| one.port == port).unwrap().first
    };
    assert_eq!(web(&after).last_new_rule, first(web(&before), 5432));
    let seen = web(&after).since(&counts).seen().unwrap();
    assert_eq!(told(&seen), pairs(&[("db:5433", 1)]));
    let ports: Vec<u16> = seen.rules.values().flatten().map(|(_, port)| *port).collect();
    assert_eq!(ports, [5433]);
    assert_eq!(seen.last_new_rule, first(web(&before), 5433));
}

/// The meaning changes with what is told, not with how often it was seen.
#[test]
fn a_repetition_means_the_same() {
    let mut learner = Learner::new(Config::default(), NoObjects);
    let first = web(&see(&mut learner, &["web:40000 > db:5432 SYN new @1"])).meaning();
    let second = web(&see(&mut learner, &["web:40001 > db:5432 SYN new @2"])).meaning();
    let third = web(&see(&mut learner, &["web:40002 > cache:6379 SYN new @3"])).meaning();
    assert_eq!(first, second);
    assert_ne!(second, third);
}

/// What becomes known of an end does not make the edge another; another port does.
#[test]
fn edges_keep_their_keys() {
    let mut learner = Learner::new(Config::default(), NoObjects);
    let key =
        |outcome: &Outcome| outcome.edges.iter().map(super::SeenEdge::key).collect::<Vec<_>>();
    let first = key(&see(&mut learner, &["web:40000 > db:5432 SYN new @1"]));
    let again = key(&see(&mut learner, &["web:40001 > db:5432 SYN new @2"]));
    assert_eq!(first, again);
    let both = key(&see(&mut learner, &["web:40002 > db:5433 SYN new @3"]));
    assert!(both.len() == 2 && both.contains(&first[0]) && both[0] != both[1]);
}
