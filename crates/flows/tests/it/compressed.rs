//! Compressed recordings, known by their first bytes.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use netenf_flows::{Input, Options, ReplayError};
use rstest::rstest;

use crate::recording::{HUBBLE, Trickle, fixture, input, reader, replay, replay_text};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

/// A frame that says nothing, which parallel compressors begin with.
fn skippable() -> Vec<u8> {
    vec![0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]
}

#[rstest]
#[case::gzip(gzip(&format!("{HUBBLE}\n{HUBBLE}\n")))]
#[case::gzip_members([gzip(&format!("{HUBBLE}\n")), gzip(HUBBLE)].concat())]
#[case::member_ends_inside_a_line([gzip(&format!("{HUBBLE}\n{}", &HUBBLE[..9])), gzip(&HUBBLE[9..])].concat())]
#[case::zstd(zstd(&format!("{HUBBLE}\n{HUBBLE}\n")))]
#[case::zstd_frames([zstd(&format!("{HUBBLE}\n")), zstd(HUBBLE)].concat())]
#[case::zstd_skippable_frame([skippable(), zstd(&format!("{HUBBLE}\n{HUBBLE}"))].concat())]
fn the_first_bytes_tell(#[case] bytes: Vec<u8>) {
    let outcome = replay_text(bytes);
    assert_eq!(outcome.texts, [HUBBLE, HUBBLE]);
    assert_eq!(outcome.places, ["rec:1", "rec:2"]);
}

#[rstest]
#[case::gzip(gzip(HUBBLE))]
#[case::zstd(zstd(HUBBLE))]
fn a_slow_pipe_may_be_packed(#[case] bytes: Vec<u8>) {
    let outcome = replay(vec![reader("pipe", Trickle::new(bytes))], Options::default());
    assert_eq!(outcome.texts, [HUBBLE]);
}

#[test]
fn the_name_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("plain.gz"), folder.path().join("packed.jsonl"));
    std::fs::write(&plain, HUBBLE).unwrap();
    std::fs::write(&packed, gzip(HUBBLE)).unwrap();
    let outcome = replay(vec![Input::File(plain), Input::File(packed)], Options::default());
    assert_eq!(outcome.texts, [HUBBLE, HUBBLE]);
}

#[test]
fn a_big_recording_is_the_same_packed_or_not() {
    let text = std::fs::read_to_string(fixture("hubble.jsonl")).unwrap().repeat(20);
    let plain = replay_text(text.clone());
    assert_eq!(plain.records.len(), 1200);
    assert_eq!(replay_text(gzip(&text)).records, plain.records);
    assert_eq!(replay_text(zstd(&text)).records, plain.records);
}

#[rstest]
#[case::gzip(gzip(&format!("{HUBBLE}\n").repeat(20_000)))]
#[case::zstd(zstd(&format!("{HUBBLE}\n").repeat(20_000)))]
fn a_file_that_is_cut_off_gives_what_it_has(#[case] mut bytes: Vec<u8>) {
    bytes.truncate(bytes.len() - 20);
    let good = input("good", HUBBLE);
    let outcome = replay(vec![input("cut", bytes), good], Options::default());
    assert!(outcome.records.len() > 1);
    assert_eq!(outcome.places.last().map(String::as_str), Some("good:1"));
    match &outcome.errors[..] {
        [error @ ReplayError::Read { input, line, .. }] => {
            assert_eq!(&**input, "cut");
            assert!(*line > 0);
            assert!(error.to_string().starts_with("cannot read the recording cut after line "));
        }
        other => panic!("{other:?}"),
    }
}
