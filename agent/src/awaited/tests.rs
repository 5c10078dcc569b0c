use rstest::rstest;
use serde_json::json;

use super::*;
use crate::packed::Packed;

fn stored(version: Option<(&str, &str)>) -> Stored {
    let mut stored = Stored::default();
    if let Some((uid, version)) = version {
        let proposal = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": uid, "resourceVersion": version},
            "spec": {"backend": "kubernetes"},
        });
        let proposal = serde_json::from_value(proposal).unwrap();
        stored.proposals.insert(name(), Packed::new(&proposal).unwrap());
    }
    stored
}

fn name() -> Name {
    ("shop".to_owned(), "web".to_owned())
}

fn version(text: &str) -> Left {
    Left::Version(text.to_owned())
}

#[rstest]
#[case::not_there_yet(version("7"), None, true)]
#[case::older(version("10"), Some(("a", "9")), true)]
#[case::read(version("10"), Some(("a", "10")), false)]
#[case::changed_since(version("10"), Some(("a", "11")), false)]
#[case::no_number(version("x"), Some(("a", "9")), false)]
#[case::still_there(Left::Gone("a".to_owned()), Some(("a", "9")), true)]
#[case::gone(Left::Gone("a".to_owned()), None, false)]
#[case::another_of_its_name(Left::Gone("a".to_owned()), Some(("b", "12")), false)]
fn what_is_known_is_behind_until_it_holds_what_was_written(
    #[case] left: Left,
    #[case] known: Option<(&str, &str)>,
    #[case] expected: bool,
) {
    let (mut awaited, now) = (Awaited::default(), Instant::now());
    assert!(!awaited.is_behind(&name(), &stored(known), now));
    awaited.note(&name(), Sort::Proposal, left, now);
    assert_eq!(awaited.is_behind(&name(), &stored(known), now), expected);
    assert!(
        !awaited.is_behind(&name(), &stored(known), now + LIMIT),
        "nothing is awaited for ever"
    );
    assert!(awaited.writes.is_empty());
}
