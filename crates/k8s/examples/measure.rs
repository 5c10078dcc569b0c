//! Measures the engine on one cluster: what memory it takes, how long a verdict takes and how long a change.
//!
//! Reads from standard input what `tests/peers/knp-oracle measure` reads, and prints the same figures:
//! `cargo run -p xtask -- bench engine` runs both.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for measuring"
)]
#![allow(clippy::disallowed_methods, reason = "measuring needs a clock and the process's state")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::BufRead as _;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use netenf_k8s::{Index, object};
use netenf_policy::{Cluster, Engine, Packet, Protocol, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is done with the cluster once it is there; a line that is neither is an object.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Packets { packets: Vec<Sent> },
    Update { update: String, objects: Vec<Value> },
}

/// A packet of TCP.
#[derive(Deserialize)]
struct Sent {
    source: IpAddr,
    destination: IpAddr,
    port: u16,
}

#[derive(Serialize)]
struct Measured {
    /// In bytes.
    resident: u64,
    verdicts: Vec<&'static str>,
    verdict: Times,
    updates: BTreeMap<String, Times>,
}

/// Nanoseconds of one operation.
#[derive(Serialize)]
struct Times {
    least: u64,
    median: u64,
    p99: u64,
}

fn main() {
    let mut engine = Engine::default();
    let mut packets = Vec::new();
    let mut updates = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        match serde_json::from_str(&line) {
            Ok(Line::Packets { packets: sent }) => packets = sent,
            Ok(Line::Update { update, objects }) => updates.push((update, objects)),
            Err(_) => apply(&mut engine, read(&line)),
        }
    }
    let mut snapshot = engine.publish();
    let resident = resident();
    let (verdicts, verdict) = judge(&snapshot, &packets);
    let mut measured = Measured { resident, verdicts, verdict, updates: BTreeMap::new() };
    for (update, objects) in updates {
        let changes = objects.iter().map(|object| read(&object.to_string()));
        let change = |cluster| {
            timed(|| {
                apply(&mut engine, cluster);
                snapshot = engine.publish();
            })
        };
        let times = times(changes.map(change).collect());
        measured.updates.insert(update, times);
    }
    println!("{}", serde_json::to_string(&measured).unwrap());
}

/// The object of a line, as a cluster of nothing else.
fn read(line: &str) -> Cluster {
    let (objects, diagnostics) = object::read("standard input", line);
    assert_eq!(diagnostics, []);
    Index::of(objects).cluster()
}

fn apply(engine: &mut Engine, cluster: Cluster) {
    for (name, labels) in cluster.namespaces {
        engine.apply_namespace(&name, labels);
    }
    for node in cluster.nodes.into_values() {
        engine.apply_node(node);
    }
    for pod in cluster.pods.into_values() {
        engine.apply_pod(pod);
    }
    for policy in cluster.network_policies.into_values() {
        engine.apply_network_policy(policy);
    }
    for policy in cluster.cluster_policies.into_values() {
        engine.apply_cluster_policy(policy);
    }
}

fn judge(snapshot: &Snapshot, packets: &[Sent]) -> (Vec<&'static str>, Times) {
    let mut verdicts = Vec::with_capacity(packets.len());
    let each = packets.iter().map(|sent| {
        let packet = Packet::new(sent.source, sent.destination, Protocol::Tcp, sent.port);
        let mut ruling = None;
        let time = timed(|| ruling = Some(snapshot.verdict(black_box(&packet), Duration::ZERO)));
        verdicts.push(if ruling.unwrap().allowed() { "allow" } else { "deny" });
        time
    });
    let times = times(each.collect());
    (verdicts, times)
}

fn timed(work: impl FnOnce()) -> u64 {
    let start = Instant::now();
    work();
    u64::try_from(start.elapsed().as_nanos()).unwrap()
}

fn times(mut each: Vec<u64>) -> Times {
    each.sort_unstable();
    let last = each.len() - 1;
    Times { least: each[0], median: each[last / 2], p99: each[last * 99 / 100] }
}

/// Resident memory in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}
