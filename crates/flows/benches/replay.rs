//! How fast recordings are read, and learned from: `cargo bench -p netenf-flows`.
#![expect(clippy::unwrap_used, reason = "a bench fails as tests do")]

use std::io::Cursor;

use criterion::{BatchSize, Criterion, Throughput};
use netenf_flows::{Input, Options, Record, Replay};
use netenf_learn::{Backend, Config, Learner, NoObjects};
use netenf_testkit::generate::{self, Form, Traffic};

/// How many flows are read in one round.
const FLOWS: u64 = 25_000;

/// Each format, and what its flows become.
const FORMS: [(&str, Form, Backend); 3] = [
    ("hubble", Form::Hubble, Backend::Kubernetes),
    ("goldmane", Form::Goldmane, Backend::Kubernetes),
    ("ztunnel", Form::Ztunnel, Backend::Istio),
];

fn recording(form: Form) -> Vec<u8> {
    let mut recording = Vec::new();
    let traffic = Traffic { flows: FLOWS, ..Traffic::default() };
    generate::write(form, &traffic, &mut recording).unwrap();
    recording
}

/// Replays a recording; gives the number of its records.
fn replay(recording: Vec<u8>, mut take: impl FnMut(&Record)) -> u64 {
    let reader = Box::new(Cursor::new(recording));
    let input = Input::Reader { name: "recording".to_owned(), reader };
    let mut replay = Replay::new(vec![input], Options::default()).unwrap();
    while let Some(item) = replay.next().unwrap() {
        take(&item.record);
    }
    assert_eq!(replay.summary().bad, 0);
    replay.summary().records
}

/// Takes in what was read.
fn take(learner: &mut Learner<NoObjects>, record: &Record) {
    match record {
        Record::Flow(observation) => learner.observe(observation),
        Record::Lost(lost) => learner.lost(lost),
        Record::NodeStatus(status) => learner.node_status(status),
    }
}

fn take_all(learner: &mut Learner<NoObjects>, records: &[Record]) {
    for record in records {
        take(learner, record);
    }
}

/// From a recording to proposals; gives their number.
fn learn(recording: Vec<u8>, backend: Backend) -> usize {
    let mut learner = Learner::new(Config { backend, ..Config::default() }, NoObjects);
    replay(recording, |record| take(&mut learner, record));
    learner.outcome().proposals.len()
}

fn main() {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    let recordings = FORMS.map(|(name, form, backend)| (name, recording(form), backend));
    let mut group = criterion.benchmark_group("replay");
    for (name, recording, _) in &recordings {
        group.throughput(Throughput::Bytes(recording.len() as u64));
        group.bench_function(*name, |bencher| {
            let replay = |recording| replay(recording, |_| {});
            bencher.iter_batched(|| recording.clone(), replay, BatchSize::PerIteration);
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("replay and learn");
    for (name, recording, backend) in &recordings {
        group.throughput(Throughput::Bytes(recording.len() as u64));
        group.bench_function(*name, |bencher| {
            let learn = |recording| learn(recording, *backend);
            bencher.iter_batched(|| recording.clone(), learn, BatchSize::PerIteration);
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("learn again");
    for (name, recording, backend) in recordings {
        let mut learner = Learner::new(Config { backend, ..Config::default() }, NoObjects);
        let mut records = Vec::new();
        replay(recording, |record| records.push(record.clone()));
        take_all(&mut learner, &records);
        group.throughput(Throughput::Elements(FLOWS));
        group.bench_function(name, |bencher| {
            bencher.iter(|| take_all(&mut learner, &records));
        });
    }
    group.finish();
    criterion.final_summary();
}
