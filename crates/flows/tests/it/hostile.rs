//! Input that was made to break us: it is bad, and costs little.

use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use netenf_flows::{DecodeError, Decoder, Format, Options, Seen, detect};
use proptest::prelude::*;
use rstest::rstest;

use crate::recording::{HUBBLE, input, lines, reader, replay, replay_text};

const FORMATS: [Format; 3] = [Format::Hubble, Format::Goldmane, Format::Ztunnel];

/// Decodes with every decoder; what is wrong must be safe to print.
fn decode(line: &[u8]) {
    let _ = detect(line);
    let _ = Seen::of(line).to_string();
    for format in FORMATS {
        if let Err(error) = Decoder::new(format).decode(line) {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message:?}");
            assert!(message.chars().count() < 250, "{message}");
        }
    }
}

#[rstest]
#[case::hubble("hubble.jsonl", Format::Hubble)]
#[case::goldmane("goldmane.jsonl", Format::Goldmane)]
#[case::ztunnel("ztunnel.jsonl", Format::Ztunnel)]
fn a_line_that_is_cut_anywhere_is_incomplete(#[case] recording: &str, #[case] format: Format) {
    let mut decoder = Decoder::new(format);
    for line in lines(recording).iter().step_by(7) {
        for length in 1..line.len() {
            let cut = &line.as_bytes()[..length];
            let error = decoder.decode(cut).unwrap_err();
            assert_eq!(error, DecodeError::Incomplete { length }, "{line}");
        }
    }
}

#[rstest]
#[case::passed_over(r#"{"flow":{"verdict":1,"x":"#, "[", Some(true))]
#[case::endpoint(r#"{"flow":{"verdict":1,"source":"#, "[", Some(false))]
#[case::layer7(r#"{"flow":{"l7":"#, r#"{"dns":"#, None)]
#[case::top("", "[", None)]
#[case::trigger(
    r#"{"Key":{"action":"Deny","policies":{"enforced_policies":[{"action":"Deny","trigger":"#,
    r#"{"trigger":"#,
    None
)]
#[case::labels(r#"{"Key":{"source_name":"a","source_type":1},"source_labels":"#, "[", None)]
#[case::source(r#"{"scope":"access","message":"connection complete","src":"#, "[", None)]
fn deep_nesting_does_not_use_up_the_stack(
    #[case] start: &str,
    #[case] bracket: &str,
    #[case] is_flow: Option<bool>,
) {
    const DEPTH: usize = 100_000;
    let open = format!("{start}{}", bracket.repeat(DEPTH));
    decode(open.as_bytes());
    let close = if bracket == "[" { "]" } else { "}" };
    let ends = "}".repeat(start.matches('{').count());
    let ends = if start.contains("enforced") { "}]}}}" } else { &ends };
    let line =
        format!("{open}{}{}{ends}", if bracket == "[" { "" } else { "null" }, close.repeat(DEPTH));
    decode(line.as_bytes());
    if let Some(is_flow) = is_flow {
        let decoded = Decoder::new(Format::Hubble).decode(line.as_bytes());
        assert_eq!(decoded.is_ok(), is_flow, "{decoded:?}");
    }
}

#[test]
fn deep_nesting_in_documents_is_only_counted() {
    let outcome = replay_text(format!("[\n{}\n", "{\"a\":\n".repeat(100_000)));
    assert_eq!((outcome.records.len(), outcome.summary.bad), (0, 1));
}

/// What the process holds in memory, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    let kilobytes: u64 = line.trim_end_matches("kB").trim().parse().unwrap_or_default();
    kilobytes << 10
}

/// Runs `test` in a process of its own, since other tests' memory is not told apart within one.
fn alone(test: impl FnOnce()) {
    const ALONE: &str = "NETENF_TEST_ALONE";
    let thread = std::thread::current();
    // A test harness of one thread runs tests in the main one: nothing else is under way then.
    match thread.name() {
        Some(name) if name != "main" && std::env::var_os(ALONE).is_none() => {
            let mut run = Command::new(std::env::current_exe().unwrap());
            run.args(["--exact", name, "--nocapture"]).env(ALONE, "1").stdin(Stdio::null());
            let output = run.output().unwrap();
            let stdout = String::from_utf8_lossy(&output.stdout);
            assert!(stdout.contains("1 passed"), "{output:?}");
        }
        _ => test(),
    }
}

#[rstest]
#[case::line("x")]
#[case::line_that_begins_well("{\"flow\":\"")]
#[case::document("[{\"flow\":\"")]
#[case::array("[1")]
fn a_huge_line_costs_neither_memory_nor_time(#[case] start: &'static str) {
    const GIBIBYTE: u64 = 1 << 30;
    alone(|| {
        let length = if start.starts_with("[{") { GIBIBYTE / 64 } else { GIBIBYTE };
        let line = io::Cursor::new(start).chain(io::repeat(b'x').take(length));
        let whole = line.chain(io::Cursor::new(format!("\n{HUBBLE}\n")));
        let before = resident();
        let started = Instant::now();
        let options = Options { max_line: 1 << 20, ..Options::default() };
        let outcome = replay(vec![reader("huge", whole)], options);
        assert_eq!((outcome.texts, outcome.places), (vec![HUBBLE.into()], vec!["huge:2".into()]));
        assert_eq!(outcome.summary.first_bad.unwrap().1, "longer than 1048576 bytes");
        assert!(resident() - before < GIBIBYTE / 4);
        assert!(started.elapsed() < Duration::from_mins(1));
    });
}

#[test]
fn a_line_of_control_bytes_is_shown_escaped() {
    let outcome = replay_text(b"\x1b[31m\x07{\"flow\"\n\xff\xfe\xfd\n".to_vec());
    let reason = outcome.summary.first_bad.unwrap().1;
    assert_eq!(reason, "of no known source: it looks like plain text: \\u{1b}[31m\\u{7}{\"flow\"");
}

#[rstest]
#[case::null_byte(b"{\"flow\":{\"node_name\":\"a\0b\"}}")]
#[case::line_separator(b"{\"flow\":{\"node_name\":\"a\x01b\"}}")]
#[case::invalid_utf8(b"{\"flow\":{\"node_name\":\"a\xc3\x28\"}}")]
#[case::lone_surrogate(b"{\"flow\":{\"node_name\":\"\\ud800\"}}")]
#[case::long_echo(b"{\"flow\":{\"IP\":{\"source\":\"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\\u001b[31m\"}}}")]
#[case::huge_number(b"{\"flow\":{\"l4\":{\"TCP\":{\"destination_port\":1e999}}}}")]
#[case::twice(b"{\"flow\":{\"verdict\":1,\"verdict\":2}}")]
fn hostile_values_are_bad(#[case] line: &[u8]) {
    decode(line);
    assert!(Decoder::new(Format::Hubble).decode(line).is_err());
}

#[test]
fn a_cache_does_not_grow_with_what_comes_once() {
    alone(|| {
        let mut decoder = Decoder::new(Format::Hubble);
        let before = resident();
        for number in 0..3000 {
            let label = "x".repeat(100_000);
            let line = format!(r#"{{"flow":{{"source":{{"labels":["{label}={number}"]}}}}}}"#);
            assert!(decoder.decode(line.as_bytes()).is_ok());
        }
        assert!(resident() - before < 128 << 20);
    });
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_or_bad(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode(&bytes);
    }

    #[test]
    fn any_fields_are_decoded_or_bad(fields in "[{}\\[\\]\":,a-z0-9\\\\ ]{0,80}") {
        for start in [r#"{"flow":{"verdict":1,"#, r#"{"Key":{"#, r#"{"scope":"access","message":"#] {
            decode(format!("{start}{fields}").as_bytes());
            decode(format!("{start}{fields}}}}}").as_bytes());
        }
    }

    #[test]
    fn a_recording_with_changed_bytes_is_read_to_its_end(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        recording in prop::sample::select(vec!["hubble.jsonl", "goldmane.jsonl", "ztunnel.jsonl"]),
    ) {
        let mut bytes = lines(recording)[..12].join("\n").into_bytes();
        for (index, byte) in changes {
            let length = bytes.len();
            bytes[index.index(length)] = byte;
        }
        let outcome = replay(vec![input("rec", bytes)], Options { max_line: 4096, ..Options::default() });
        prop_assert!(outcome.summary.lines >= 1);
    }

    /// Endpoints that were seen before are not read again: that must never show.
    #[test]
    fn what_was_read_before_changes_nothing(
        line in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        copied in proptest::option::of([any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()]),
    ) {
        let lines = lines("hubble.jsonl");
        let mut line = lines[line.index(lines.len())].clone().into_bytes();
        if let Some(places) = copied {
            let [from, to, at] = places.map(|place| place.index(line.len()));
            let part = line[from.min(to)..from.max(to)].to_vec();
            line.splice(at..at, part);
        }
        for (index, byte) in changes {
            let length = line.len();
            line[index.index(length)] = byte;
        }
        prop_assert_eq!(knowing().decode(&line), Decoder::new(Format::Hubble).decode(&line));
    }
}

/// A decoder that has read a whole recording before, and an endpoint besides.
fn knowing() -> Decoder {
    let mut decoder = Decoder::new(Format::Hubble);
    let known = format!(r#"{{"flow":{{"Type":1,"source":{KNOWN},"destination":{KNOWN}}}}}"#);
    for line in lines("hubble.jsonl").iter().chain([&known]) {
        assert!(decoder.decode(line.as_bytes()).is_ok());
    }
    decoder
}

const KNOWN: &str = r#"{"pod_name":"web-x","namespace":"shop"}"#;

#[rstest]
#[case::both(r#"{"flow":{"verdict":1,"source":KNOWN,"destination":KNOWN,"Type":1}}"#)]
#[case::bare(r#"{"verdict":1,"source":KNOWN,"destination":KNOWN,"Type":1}"#)]
#[case::one_of_them(r#"{"flow":{"source":KNOWN,"destination":{"pod_name":"x"},"Type":1}}"#)]
#[case::a_number(r#"{"flow":{"source":0,"destination":KNOWN,"Type":1}}"#)]
#[case::twice(r#"{"flow":{"source":KNOWN,"source":KNOWN,"destination":KNOWN,"Type":1}}"#)]
#[case::elsewhere(r#"{"flow":{"IP":{"source":KNOWN,"destination":KNOWN,"Type":1}}}"#)]
#[case::passed_over(r#"{"flow":{"verdict":1,"x":{"source":KNOWN,"destination":KNOWN,"Type":1}}}"#)]
#[case::in_an_endpoint(
    r#"{"flow":{"source":{"source":KNOWN,"destination":KNOWN,"Type":1},"verdict":1}}"#
)]
#[case::in_a_text(r#"{"flow":{"verdict":1,"x":""source":KNOWN,"destination":KNOWN,"Type":1"}}"#)]
#[case::in_a_key(r#"{"flow":{"verdict":1,"\"source":KNOWN,"destination":KNOWN,"Type":1}}"#)]
#[case::goes_on(r#"{"flow":{"source":KNOWN{},"destination":KNOWN}"Type":1}}"#)]
#[case::goes_on_behind(r#"{"flow":{"source":KNOWN,"destination":KNOWN,"Type":1}} {}"#)]
#[case::cut_off(r#"{"flow":{"source":KNOWN,"destination":KNOWN,"Type":1"#)]
#[case::bad_behind(r#"{"flow":{"source":KNOWN,"destination":KNOWN,"Type":1,"node_name":5}}"#)]
#[case::of_nobody(r#"{"source":KNOWN,"destination":KNOWN,"Type":{}}"#)]
fn an_endpoint_that_is_known_is_read_alike_everywhere(#[case] line: &str) {
    let line = line.replace("KNOWN", KNOWN);
    let mut decoder = knowing();
    for _ in 0..2 {
        let fresh = Decoder::new(Format::Hubble).decode(line.as_bytes());
        assert_eq!(decoder.decode(line.as_bytes()), fresh, "{line}");
    }
}
