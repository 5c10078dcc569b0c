//! Prints what an engine and its snapshot take, and the quantiles of single verdicts and of each kind of change:
//! `cargo run --release --example memory -- 100000 1000 1000 1300 100` (pods, ClusterNetworkPolicies of 25 rules
//! for each direction, NetworkPolicies, names that are known, addresses of each name).

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for measuring"
)]
#![allow(clippy::disallowed_methods, reason = "measuring needs a clock and the process's state")]

#[path = "../benches/engine/world.rs"]
#[allow(unreachable_pub, reason = "shared with the benchmarks")]
mod world;

#[path = "../benches/engine/update.rs"]
#[allow(unreachable_pub, reason = "shared with the benchmarks")]
mod update;

use std::hint::black_box;
use std::time::{Duration, Instant};

use netenf_policy::{Packet, Protocol};
use update::{Names, UPDATES};
use world::{Shape, Size, address};

/// Resident memory in MB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1_024
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() - 1) * part / 1_000];
    format!("p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999))
}

fn timed(count: u32, mut work: impl FnMut(u32)) -> Vec<Duration> {
    (0..count)
        .map(|index| {
            let start = Instant::now();
            work(index);
            start.elapsed()
        })
        .collect()
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let pods = arguments.next().unwrap_or(100_000);
    let cluster_policies = arguments.next().unwrap_or(1_000);
    let network_policies = arguments.next().unwrap_or(1_000);
    let names = arguments.next().unwrap_or(1_300);
    let addresses = arguments.next().unwrap_or(100);
    let known = Names { names, addresses };
    for shape in [Shape::Never, Shape::Mixed] {
        measure(Size { pods, cluster_policies, network_policies }, shape, known);
    }
}

fn measure(size: Size, shape: Shape, known: Names) {
    let Size { pods, cluster_policies, network_policies } = size;
    let start = Instant::now();
    let mut engine = update::engine(size, shape, known);
    let mut snapshot = engine.publish();
    let policies = format!("{cluster_policies} CNPs, {network_policies} NetworkPolicies");
    let Names { names, addresses } = known;
    let names = format!("{names} names of {addresses} addresses");
    println!("{shape:?}, {pods} pods, {policies}, {names}: {} MB", resident());
    println!("  built in {:?}", start.elapsed());
    let packet = |index: u32| {
        let end = |index: u32| address(index.wrapping_mul(2_654_435_761) % pods);
        let port = if index.is_multiple_of(2) { 8_080 } else { 10_000 + (index % 50_000) as u16 };
        Packet::new(end(index), end(index + 77), Protocol::Tcp, port)
    };
    let clock = quantiles(timed(200_000, |index| {
        black_box(index);
    }));
    println!("  clock alone: {clock}");
    let times = timed(200_000, |index| {
        black_box(snapshot.verdict(black_box(&packet(index)), Duration::ZERO));
    });
    println!("  verdict: {}", quantiles(times));
    for (name, change) in UPDATES {
        let times = timed(100, |index| {
            change(&mut engine, size, index);
            snapshot = engine.publish();
        });
        println!("  {name}: {}", quantiles(times));
    }
    println!("  at the end {} MB", resident());
}
