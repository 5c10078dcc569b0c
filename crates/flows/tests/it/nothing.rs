//! Inputs without flows: the error says what is there instead.

use netenf_flows::{Format, Input, Options, ReplayError, Seen};
use rstest::rstest;

use crate::recording::{GOLDMANE, HUBBLE, ZTUNNEL, fixture, input, replay, replay_text};

#[rstest]
#[case::empty("", "it is empty")]
#[case::blank("\n  \n", "it is empty")]
#[case::yaml("foo:\n  bar: 1\n", "it begins like YAML")]
#[case::manifest(
    "apiVersion: apps/v1\nkind: Deployment\n",
    "it begins like a Kubernetes object (kind: Deployment)"
)]
#[case::object_of_kubectl(
    "{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n",
    "it begins like a Kubernetes object (kind: List)"
)]
#[case::array("[1, 2]", "it begins like plain text: [1, 2]")]
#[case::array_of_objects("[{\"a\": 1}]", "it begins like a JSON array")]
#[case::object(r#"{"a":1,"b":2}"#, "it begins like a JSON object with the keys a, b")]
#[case::html("<html>", "it begins like HTML or XML")]
#[case::binary("\x01\0\0\n", "it begins like binary data")]
#[case::text("hello\n", "it begins like plain text: hello")]
fn the_error_says_what_is_there(#[case] text: &str, #[case] expected: &str) {
    let outcome = replay_text(text);
    let message = match &outcome.errors[..] {
        [error @ ReplayError::NothingDecodable { .. }] => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(message, format!("rec holds no flows: {expected}"));
}

#[rstest]
#[case::hubble(
    Format::Goldmane,
    HUBBLE,
    "rec holds no flows of Goldmane: it begins like a record of Hubble"
)]
#[case::goldmane(
    Format::Hubble,
    GOLDMANE,
    "rec holds no flows of Hubble: it begins like a record of Goldmane"
)]
#[case::ztunnel(
    Format::Hubble,
    ZTUNNEL,
    "rec holds no flows of Hubble: it begins like a record of ztunnel"
)]
#[case::broken(
    Format::Hubble,
    "{\"flow\":{\"IP\":7}}",
    "rec holds no flows of Hubble: it begins like a record of Hubble"
)]
#[case::empty(Format::Hubble, "", "rec holds no flows of Hubble: it is empty")]
fn the_wrong_provider(#[case] format: Format, #[case] text: &str, #[case] expected: &str) {
    let options = Options { provider: Some(format), ..Options::default() };
    let outcome = replay(vec![input("rec", text)], options);
    assert_eq!(outcome.errors.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[test]
fn the_first_broken_line_is_told_too() {
    let outcome = replay_text("{\"flow\":{\"IP\":7}}");
    match &outcome.errors[..] {
        [ReplayError::NothingDecodable { seen, first_broken: Some((place, reason)), .. }] => {
            assert_eq!(*seen, Seen::Record(Format::Hubble));
            assert_eq!(place.to_string(), "rec:1");
            assert_eq!(reason, "invalid type: integer `7`, expected an object at column 15");
        }
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::of_something_else("hello\n")]
#[case::of_another_object("{\"a\":1}\n")]
fn a_line_of_something_else_is_not_broken(#[case] text: &str) {
    let outcome = replay_text(text);
    assert!(
        matches!(&outcome.errors[..], [ReplayError::NothingDecodable { first_broken: None, .. }]),
        "{:?}",
        outcome.errors
    );
}

#[test]
fn several_inputs_are_counted() {
    let inputs = vec![input("a", "- x"), input("b", ""), input("c", "z")];
    let outcome = replay(inputs, Options::default());
    let message = outcome.errors[0].to_string();
    assert_eq!(message, "a and 2 more hold no flows: the first begins like YAML");
}

#[test]
fn one_good_input_is_enough() {
    let inputs = vec![input("bad", "hello"), Input::File(fixture("ztunnel.jsonl"))];
    let outcome = replay(inputs, Options::default());
    assert!(outcome.errors.is_empty());
    assert_eq!(outcome.summary.inputs[0].seen, Some(Seen::Text("hello".into())));
}

#[test]
fn lines_that_say_nothing_about_flows_are_enough() {
    let outcome = replay_text(r#"{"scope":"ztunnel::xds","message":"started"}"#);
    assert!(outcome.errors.is_empty() && outcome.records.is_empty());
    assert_eq!(outcome.summary.inputs[0].seen, None);
}

#[test]
fn no_inputs_are_no_error() {
    let outcome = replay(vec![], Options::default());
    assert!(outcome.errors.is_empty() && outcome.records.is_empty());
}
