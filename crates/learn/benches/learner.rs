//! Cost of an observation: repeated ones, those of new edges, and an outcome over many edges.
//!
//! The target is a million repeated observations a second on one core (DESIGN §13).

use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use netenf_learn::{
    Config, End, Endpoint, Event, Learner, NoObjects, Observation, PodName, Provider, TcpFlags,
    Timestamp, Transport, Verdict, WorkloadName,
};

/// Edges among which repeated observations are spread.
const EDGES: u32 = 1_000;
/// Distinct edges of a large cluster.
const MANY: u32 = 100_000;

fn end(number: u32) -> End {
    let name = format!("work-{number}");
    let endpoint = Endpoint {
        namespace: Some(format!("space-{}", number % 100).into()),
        pod: Some(PodName::Exact(format!("{name}-pod").into())),
        workload: Some(WorkloadName { kind: "Deployment".into(), name: name.as_str().into() }),
        labels: vec![("app".into(), name.as_str().into()), ("team".into(), "a".into())],
        ..Endpoint::default()
    };
    let address = Some(IpAddr::from((0x0a00_0000 + number).to_be_bytes()));
    End { endpoint: Arc::new(endpoint), address, names: Vec::new() }
}

/// Openings of connections on `edges` distinct edges among `workloads`.
fn observations(edges: u32, workloads: u32) -> Vec<Observation> {
    let ends: Vec<End> = (0..workloads).map(end).collect();
    let node: Arc<str> = "n1".into();
    let at = |number: u32| ends[usize::try_from(number % workloads).unwrap_or_default()].clone();
    let one = |number: u32| Observation {
        time: Some(Timestamp::from_seconds(1_800_000_000)),
        node: Some(node.clone()),
        transport: Transport::Tcp(TcpFlags::SYN),
        source_port: Some(40_000),
        destination_port: Some(8_080),
        verdict: Verdict::Forwarded,
        reply: Some(false),
        ..Observation::new(
            Provider::Hubble,
            Event::Packet,
            at(number),
            at(number / workloads + number + 1),
        )
    };
    (0..edges).map(one).collect()
}

fn learner() -> Learner<NoObjects> {
    Learner::new(Config::default(), NoObjects)
}

fn filled(observations: &[Observation]) -> Learner<NoObjects> {
    let mut learner = learner();
    for one in observations {
        learner.observe(one);
    }
    learner
}

/// The same connections again and again, and ever new connections on known edges.
fn repeated(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("repeated");
    group.throughput(Throughput::Elements(EDGES.into()));
    let mut all = observations(EDGES, 200);
    let mut known = filled(&all);
    group.bench_function("connections", |bencher| {
        bencher.iter(|| all.iter().for_each(|one| known.observe(black_box(one))));
    });
    let mut second = 1_800_000_000;
    group.bench_function("edges", |bencher| {
        bencher.iter(|| {
            second += 1;
            for one in &mut all {
                one.time = Some(Timestamp::from_seconds(second));
                one.source_port = one.source_port.map(|port| port.wrapping_add(7) | 0x8000);
                known.observe(black_box(one));
            }
        });
    });
    group.finish();
}

/// Observations of edges that are not known yet, and what is proposed from all of them.
fn new_edges(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("new-edges");
    group.sample_size(10);
    for edges in [EDGES, MANY] {
        let all = observations(edges, (edges / 20).max(100));
        group.throughput(Throughput::Elements(edges.into()));
        group.bench_function(format!("observe-{edges}"), |bencher| {
            let take = |mut learner: Learner<NoObjects>| {
                for one in &all {
                    learner.observe(black_box(one));
                }
                learner
            };
            bencher.iter_batched(learner, take, BatchSize::LargeInput);
        });
        let known = filled(&all);
        group.bench_function(format!("outcome-{edges}"), |bencher| {
            bencher.iter(|| black_box(known.outcome()));
        });
    }
    group.finish();
}

criterion_group!(benches, repeated, new_edges);
criterion_main!(benches);
