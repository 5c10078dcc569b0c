use proptest::prelude::*;

use super::*;

/// What is handed on of a run of n1: how many reports never came before it, `None` where it was handed on before.
fn hand(intake: &mut Intake, run: &str, sequence: u64) -> Option<u64> {
    match intake.hand("n1", run, sequence) {
        Turn::Again => None,
        Turn::Next { missing, .. } => Some(missing),
    }
}

#[test]
fn a_report_is_handed_on_once() {
    let mut intake = Intake::default();
    let all = [1, 2, 2, 1, 3].map(|sequence| hand(&mut intake, "a", sequence));
    assert_eq!(all, [Some(0), Some(0), None, None, Some(0)]);
}

#[test]
fn what_never_came_is_told() {
    let mut intake = Intake::default();
    let all = [1, 5, 3].map(|sequence| hand(&mut intake, "a", sequence));
    assert_eq!(all, [Some(0), Some(3), None]);
}

/// Another replica acknowledged what came before.
#[test]
fn a_run_that_is_not_known_begins_anywhere() {
    assert_eq!(hand(&mut Intake::default(), "a", 700), Some(0));
    assert_eq!(hand(&mut Intake::default(), "a", u64::MAX), Some(0));
}

/// A report of before the agent's restart that comes late does not make the new run unknown.
#[test]
fn runs_are_told_apart() {
    let mut intake = Intake::default();
    let asked = [("a", 1), ("b", 1), ("a", 2), ("b", 1), ("b", 2)];
    let all = asked.map(|(run, sequence)| hand(&mut intake, run, sequence));
    assert_eq!(all, [Some(0), Some(0), Some(0), None, Some(0)]);
}

#[test]
fn what_is_taken_is_known_to_every_stream_of_the_run() {
    let mut intake = Intake::default();
    let (one, other) = (intake.taken("n1", "a"), intake.taken("n1", "b"));
    let Turn::Next { receipt, .. } = intake.hand("n1", "a", 3) else { panic!("it is new") };
    assert_eq!(*one.borrow(), 0);
    receipt.confirm();
    assert_eq!((*one.borrow(), *other.borrow()), (3, 0));
    assert_eq!(*intake.taken("n1", "a").borrow(), 3, "who comes again hears of it");
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut intake = Intake::default();
    for number in 0..NODES + 10 {
        intake.taken(&format!("n{number}"), "a");
    }
    for number in 0..100 {
        intake.taken("last", &format!("run {number}"));
    }
    assert_eq!(intake.nodes.len(), NODES);
    assert_eq!(intake.nodes["last"].runs.len(), RUNS);
    assert!(!intake.nodes.contains_key("n0"), "the one that was silent longest goes");
}

proptest! {
    /// In whatever order and however often reports come: each is handed on once at most, in order, and those that are
    /// not are told as missing.
    #[test]
    fn every_report_is_handed_on_once_or_told(sequences in prop::collection::vec(1_u64..30, 1..60)) {
        let mut intake = Intake::default();
        let (mut handed, mut told) = (Vec::new(), 0);
        for sequence in &sequences {
            if let Some(missing) = hand(&mut intake, "a", *sequence) {
                handed.push(*sequence);
                told += missing;
            }
        }
        prop_assert!(handed.is_sorted_by(|one, next| one < next), "{handed:?}");
        let (first, last) = (handed[0], handed[handed.len() - 1]);
        prop_assert_eq!(told + u64::try_from(handed.len()).unwrap(), last - first + 1);
        prop_assert_eq!(last, *sequences.iter().max().unwrap().max(&first));
    }
}
