//! Counting, places, formats and limits of a replay.

use std::io::{self, Read};

use netenf_flows::{Format, Input, Options, Progress, Replay, ReplayError};
use rstest::rstest;

use crate::recording::{
    GOLDMANE, HUBBLE, Outcome, Trickle, ZTUNNEL, fixture, input, reader, replay, replay_text,
};

const AGENT_EVENT: &str = r#"{"agent_event":{},"node_name":"n1"}"#;

fn counts(outcome: &Outcome) -> (u64, u64, u64, u64) {
    let summary = &outcome.summary;
    (summary.records, summary.blank, summary.ignored, summary.bad)
}

#[test]
fn every_line_counts_once() {
    let outcome = replay_text(format!("\n{HUBBLE}\n  \r\nnonsense\n{AGENT_EVENT}\r\n{{\n{HUBBLE}"));
    assert_eq!(counts(&outcome), (2, 2, 1, 2));
    assert_eq!(outcome.places, ["rec:2", "rec:7"]);
    assert_eq!(outcome.texts, [HUBBLE, HUBBLE]);
    let (place, reason) = outcome.summary.first_bad.unwrap();
    assert_eq!(place.to_string(), "rec:4");
    assert_eq!(reason, "no record of Hubble: it looks like plain text: nonsense");
}

#[test]
fn a_strict_replay_ends_at_a_bad_line() {
    let options = Options { strict: true, ..Options::default() };
    let outcome = replay(vec![input("rec", format!("{HUBBLE}\n{{\"flow\":5}}\n"))], options);
    assert_eq!(outcome.records.len(), 1);
    match &outcome.errors[..] {
        [error @ ReplayError::Parse { .. }] => assert_eq!(
            error.to_string(),
            "rec:2: invalid type: integer `5`, expected an object at column 9"
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_input_has_its_own_format() {
    let inputs =
        vec![input("a", HUBBLE), input("b", ZTUNNEL), input("c", GOLDMANE), input("d", HUBBLE)];
    let outcome = replay(inputs, Options::default());
    assert_eq!(outcome.places, ["a:1", "b:1", "c:1", "d:1"]);
    let formats: Vec<_> = outcome.summary.inputs.iter().map(|input| input.format).collect();
    let expected = [Format::Hubble, Format::Ztunnel, Format::Goldmane, Format::Hubble];
    assert_eq!(formats, expected.map(Some));
}

#[test]
fn a_forced_format_decides() {
    let options = Options { provider: Some(Format::Goldmane), ..Options::default() };
    let outcome = replay(vec![input("rec", format!("{HUBBLE}\n{GOLDMANE}\n{HUBBLE}"))], options);
    assert_eq!(outcome.places, ["rec:2"]);
    assert_eq!(counts(&outcome), (1, 0, 0, 2));
}

#[test]
fn lines_before_the_first_flow_are_bad_and_do_not_hide_it() {
    let outcome = replay_text(format!("{}{HUBBLE}", "starting\n".repeat(63)));
    assert_eq!(counts(&outcome), (1, 0, 0, 63));
    let reason = outcome.summary.first_bad.unwrap().1;
    assert_eq!(reason, "of no known source: it looks like plain text: starting");
}

#[test]
fn an_input_without_flows_is_given_up_and_the_next_is_read() {
    let endless = io::repeat(b'\n').take(100).chain(io::Cursor::new("x\n")).chain(Noise);
    let inputs = vec![reader("noise", endless), input("good", HUBBLE)];
    let outcome = replay(inputs, Options::default());
    assert_eq!(counts(&outcome), (1, 100, 0, 64));
    let [noise, good] = &outcome.summary.inputs[..] else { panic!("{:?}", outcome.summary) };
    assert!(noise.is_abandoned && !good.is_abandoned);
    assert_eq!(noise.seen.as_ref().map(ToString::to_string).as_deref(), Some("plain text: x"));
    assert_eq!((noise.format, good.format, &good.seen), (None, Some(Format::Hubble), &None));
}

/// Lines of `x` without end.
struct Noise;

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for pair in buffer.chunks_mut(2) {
            pair.copy_from_slice(&b"x\n"[..pair.len()]);
        }
        Ok(buffer.len() / 2 * 2)
    }
}

#[rstest]
#[case::mark(format!("\u{feff}{HUBBLE}\n{HUBBLE}\n"))]
#[case::blanks(format!("\r\n\n \t{HUBBLE}\r\n{HUBBLE}   \n\n"))]
#[case::split_by_the_runtime(format!(
    "2026-11-30T01:51:53.1Z stdout P {}\n2026-11-30T01:51:53.1Z stderr F \n2026-11-30T01:51:53.1Z stdout F {}\n\
     2026-11-30T01:51:53.1Z stdout F {HUBBLE}\n",
    &HUBBLE[..30], &HUBBLE[30..]
))]
fn texts_are_cleaned(#[case] text: String) {
    let outcome = replay_text(text);
    assert_eq!(outcome.summary.bad, 0);
    let texts: Vec<_> = outcome.texts.iter().map(|text| text.trim_start()).collect();
    assert_eq!(texts, [HUBBLE, HUBBLE]);
}

#[test]
fn a_line_that_the_runtime_split_must_end() {
    let text = format!("{ZTUNNEL}\n2026-11-30T01:51:53.1Z stdout P {{\"scope\"");
    let outcome = replay_text(text);
    let (place, reason) = outcome.summary.first_bad.unwrap();
    assert_eq!(place.to_string(), "rec:2");
    assert_eq!(reason, "the last line was split by the container runtime and never ends");
}

#[test]
fn a_slow_pipe_is_read_to_its_end() {
    let text = format!("{HUBBLE}\n\n{HUBBLE}\n{HUBBLE}");
    let outcome = replay(vec![reader("pipe", Trickle::new(text))], Options::default());
    assert_eq!(outcome.places, ["pipe:1", "pipe:3", "pipe:4"]);
}

#[test]
fn long_lines_of_any_length_cross_blocks() {
    let pad = |length| format!("{}{}", &HUBBLE[..HUBBLE.len() - 1], " ".repeat(length) + "}");
    let lines: Vec<_> = (0..40).map(|number| pad(number * 20_011)).collect();
    let outcome = replay_text(lines.join("\n"));
    assert_eq!(outcome.texts, lines);
}

#[rstest]
#[case::at_the_limit(HUBBLE.len(), 0)]
#[case::over_the_limit(HUBBLE.len() - 1, 1)]
fn the_limit_is_exact(#[case] max_line: usize, #[case] bad: u64) {
    let text = format!("{ZTUNNEL}\n{HUBBLE}\n{HUBBLE}");
    for text in [text.clone(), text + "\n"] {
        let options = Options { max_line, provider: Some(Format::Hubble), ..Options::default() };
        let outcome = replay(vec![input("rec", text)], options);
        assert_eq!(counts(&outcome), (2 - 2 * bad, 0, 0, 1 + 2 * bad));
    }
}

#[test]
fn progress_counts_the_bytes_of_files() {
    let size = fixture("hubble.jsonl").metadata().unwrap().len();
    let files = || vec![Input::File(fixture("hubble.jsonl")), Input::File(fixture("hubble.jsonl"))];
    let mut replay = Replay::new(files(), Options::default()).unwrap();
    assert_eq!(replay.progress(), Progress { read: 0, total: Some(2 * size) });
    while replay.next().unwrap().is_some() {}
    assert_eq!(replay.progress(), Progress { read: 2 * size, total: Some(2 * size) });
    let mut inputs = files();
    inputs.push(input("pipe", HUBBLE));
    let replay = Replay::new(inputs, Options::default()).unwrap();
    assert_eq!(replay.progress().total, None);
}

#[test]
fn the_end_stays_the_end() {
    let mut replay = Replay::new(vec![input("rec", HUBBLE)], Options::default()).unwrap();
    assert!(replay.next().unwrap().is_some());
    for _ in 0..3 {
        assert!(replay.next().unwrap().is_none());
    }
}

#[rstest]
#[case::missing("no/such/file")]
#[case::folder("src")]
fn an_input_must_be_a_file(#[case] path: &str) {
    let inputs = vec![Input::File(fixture("hubble.jsonl")), Input::from_argument(path)];
    match Replay::new(inputs, Options::default()).map(|_| ()) {
        Err(error @ ReplayError::Open { .. }) => {
            assert_eq!(error.to_string(), format!("cannot open the recording {path}"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dash_is_standard_input() {
    assert!(matches!(Input::from_argument("-"), Input::Stdin));
    assert_eq!(Input::from_argument("-").name(), "standard input");
    assert_eq!(Input::from_argument("./-").name(), "./-");
}
