//! JSON that is not one text on a line.

use netenf_flows::{Options, Record};
use rstest::rstest;
use serde_json::Value;

use crate::recording::{GOLDMANE, HUBBLE, fixture, input, lines, replay, replay_text};

/// The documents of a recording, as `write` writes them together.
fn rewritten(recording: &str, write: impl Fn(&[Value]) -> String) -> String {
    let documents: Vec<Value> =
        lines(recording).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    write(&documents)
}

fn pretty(documents: &[Value]) -> String {
    let texts: Vec<_> = documents.iter().map(|value| format!("{value:#}")).collect();
    texts.join("\n")
}

fn one_line_array(documents: &[Value]) -> String {
    Value::Array(documents.to_vec()).to_string()
}

fn pretty_array(documents: &[Value]) -> String {
    format!("{:#}\n", Value::Array(documents.to_vec()))
}

fn lines_in_an_array(documents: &[Value]) -> String {
    let lines: Vec<_> = documents.iter().map(Value::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn without_indent(documents: &[Value]) -> String {
    pretty(documents).lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
}

fn with_carriage_returns(documents: &[Value]) -> String {
    pretty_array(documents).replace('\n', "\r\n")
}

#[rstest]
#[case::pretty(pretty)]
#[case::one_line_array(one_line_array)]
#[case::pretty_array(pretty_array)]
#[case::lines_in_an_array(lines_in_an_array)]
#[case::without_indent(without_indent)]
#[case::with_carriage_returns(with_carriage_returns)]
fn documents_are_found(
    #[values("hubble.jsonl", "goldmane.jsonl", "ztunnel.jsonl")] recording: &str,
    #[case] write: fn(&[Value]) -> String,
) {
    let by_line =
        replay(vec![input("rec", std::fs::read(fixture(recording)).unwrap())], Options::default());
    let outcome = replay_text(rewritten(recording, write));
    assert_eq!(outcome.summary.bad, 0, "{:?}", outcome.summary.first_bad);
    assert_eq!(outcome.records, by_line.records);
    for (text, expected) in outcome.texts.iter().zip(&by_line.texts) {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(expected).unwrap());
        assert!(!text.contains('\n'), "{text}");
    }
}

#[test]
fn a_place_is_the_line_on_which_a_document_begins() {
    let text = "{\n  \"flow\": {\"verdict\": 1}\n}\n\n{\"flow\":\n{\"verdict\": 2}}";
    assert_eq!(replay_text(text).places, ["rec:1", "rec:5"]);
}

#[test]
fn brackets_in_strings_do_not_count() {
    let text = "[\n{\"flow\": {\"verdict\": 1, \"node_name\": \"}]\\\"{ \\\\\"}}\n]";
    let outcome = replay_text(text);
    match &outcome.records[..] {
        [Record::Flow(flow)] => assert_eq!(flow.node.as_deref(), Some("}]\"{ \\")),
        other => panic!("{other:?}"),
    }
    assert_eq!(outcome.texts, [r#"{"flow":{"verdict":1,"node_name":"}]\"{ \\"}}"#]);
}

#[rstest]
#[case::between_fields("{\n  \"flow\": {\n    \"verdict\": 1\n")]
#[case::inside_a_string("{\n  \"flow\": {\n    \"verdict\": \"FORW\n")]
fn a_document_that_is_cut_off_does_not_hide_the_next(#[case] cut: &str) {
    let outcome = replay_text(format!("{cut}{{\n\"flow\": {{\"verdict\": 2}}\n}}\n{HUBBLE}"));
    assert_eq!((outcome.records.len(), outcome.summary.bad), (2, 1));
    let (place, reason) = outcome.summary.first_bad.unwrap();
    assert_eq!(place.to_string(), "rec:1");
    assert!(reason.starts_with("the JSON text is cut off after "), "{reason}");
}

#[test]
fn what_is_no_object_is_bad() {
    let outcome = replay_text(format!("[ {GOLDMANE}, 5, \"x\"\n, null, {GOLDMANE} ] nonsense"));
    assert_eq!((outcome.records.len(), outcome.summary.bad), (2, 3));
}

#[test]
fn a_document_that_is_too_long_is_bad() {
    let long = format!("{{\n\"flow\": {{\"node_name\": \"{}\"}}\n}}\n", "x".repeat(1000));
    let options = Options { max_line: 500, ..Options::default() };
    let outcome = replay(vec![input("rec", format!("{long}{HUBBLE}\n"))], options);
    assert_eq!(outcome.texts, [HUBBLE]);
    assert_eq!(outcome.summary.first_bad.unwrap().1, "longer than 500 bytes");
}

#[test]
fn pretty_documents_behind_lines_say_how_to_write_them() {
    let outcome = replay_text(format!("{HUBBLE}\n{{\n\"flow\": {{}}\n}}\n"));
    let reason = outcome.summary.first_bad.unwrap().1;
    assert_eq!(
        reason,
        "the JSON text is cut off after 1 bytes (`jq -c .` writes whole texts, one a line)"
    );
}
