//! How fast recordings are read: `cargo bench -p netenf-flows`.
#![expect(clippy::unwrap_used, reason = "a bench fails as tests do")]

use std::io::Cursor;
use std::path::Path;

use criterion::{BatchSize, Criterion, Throughput};
use netenf_flows::{Input, Options, Replay};

/// How much is read in one round.
const SIZE: usize = 32 << 20;

/// A recording of at least [`SIZE`] bytes in the shape of a fixture: other pods, times and ports on
/// every line, as a cluster of some hundred pods writes it.
fn recording(fixture: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata").join(fixture);
    let text = std::fs::read_to_string(path).unwrap();
    let mut recording = String::new();
    for (number, line) in text.lines().cycle().enumerate() {
        let line = line
            .replace("-x2k9q", &format!("-{:05}", number % 601))
            .replace("01:54:03.6", &format!("01:{:02}:{:02}.6", number / 60 % 60, number % 60))
            .replace(":40000", &format!(":{}", 32_768 + number % 28_000));
        recording.push_str(&line);
        recording.push('\n');
        if recording.len() >= SIZE {
            return recording.into_bytes();
        }
    }
    recording.into_bytes()
}

/// Replays a recording; gives the number of its records.
fn replay(recording: Vec<u8>) -> u64 {
    let reader = Box::new(Cursor::new(recording));
    let input = Input::Reader { name: "recording".to_owned(), reader };
    let mut replay = Replay::new(vec![input], Options::default()).unwrap();
    while replay.next().unwrap().is_some() {}
    assert_eq!(replay.summary().bad, 0);
    replay.summary().records
}

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group("replay");
    for fixture in ["hubble.jsonl", "goldmane.jsonl", "ztunnel.jsonl"] {
        let recording = recording(fixture);
        group.throughput(Throughput::Bytes(recording.len() as u64));
        group.bench_function(fixture, |bencher| {
            bencher.iter_batched(|| recording.clone(), replay, BatchSize::PerIteration);
        });
    }
    group.finish();
    criterion.final_summary();
}
