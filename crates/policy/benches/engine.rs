//! Verdicts and updates of the engine at the sizes of the targets (DESIGN, 13).

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a benchmark"
)]

#[allow(unreachable_pub, reason = "shared with the example")]
#[path = "engine/world.rs"]
mod world;

#[allow(unreachable_pub, reason = "shared with the example")]
#[path = "engine/update.rs"]
mod update;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use netenf_policy::{Engine, Packet, Protocol};
use update::{Names, UPDATES};
use world::{Shape, Size, address, cluster};

fn packets(pods: u32) -> Vec<Packet> {
    let end = |index: u32| address(index.wrapping_mul(2_654_435_761) % pods);
    let port =
        |index: u32| if index.is_multiple_of(2) { 8_080 } else { 10_000 + (index % 8_192) as u16 };
    (0..4_096).map(|at| Packet::new(end(at), end(at + 77), Protocol::Tcp, port(at))).collect()
}

fn verdicts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("verdict");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    let sizes = [
        (1_000, 0, 0),
        (1_000, 0, 1_000),
        (100_000, 10, 100),
        (100_000, 100, 100),
        (100_000, 1_000, 100),
    ];
    for (pods, cluster_policies, network_policies) in sizes {
        let size = Size { pods, cluster_policies, network_policies };
        for shape in [Shape::Never, Shape::Mixed] {
            let snapshot = Engine::new(cluster(size, shape)).publish();
            let packets = packets(pods);
            let name =
                format!("{pods} pods, {network_policies} NP, {cluster_policies} CNP, {shape:?}");
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
                let mut at = 0;
                bencher.iter(|| {
                    at = (at + 1) % packets.len();
                    black_box(snapshot.verdict(&packets[at], Duration::ZERO))
                });
            });
        }
    }
}

fn updates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("update");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    let known = Names { names: 1_300, addresses: 100 };
    for pods in [15_000, 100_000] {
        let size = Size { pods, cluster_policies: 1_000, network_policies: 1_000 };
        let mut engine = update::engine(size, Shape::Mixed, known);
        let mut snapshot = engine.publish();
        for (name, change) in UPDATES {
            let mut at = 0;
            group.bench_function(BenchmarkId::new(name, format!("{pods} pods")), |bencher| {
                bencher.iter(|| {
                    change(&mut engine, size, at);
                    snapshot = engine.publish();
                    at += 1;
                });
            });
        }
        black_box(snapshot);
    }
}

criterion_group!(benches, verdicts, updates);
criterion_main!(benches);
