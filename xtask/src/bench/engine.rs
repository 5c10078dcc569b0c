//! `cargo run --release -p xtask -- bench engine`: the policy engine beside that of kube-network-policies.
//!
//! ```text
//! world -> objects, packets and changes, a line each ─┬─ crates/k8s/examples/measure ─┐
//!                                                     └─ tests/peers/knp-oracle ──────┴─ in turn -> tables
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::Deserialize;

use self::world::Size;
use super::measure::megabytes;
use super::{load, machine, output, target, tell};
use crate::root;

mod world;

/// How often each program runs on each cluster; they take turns.
const ROUNDS: usize = 3;

/// Pods, policies of namespaces, cluster-wide policies.
const SIZES: [(u32, u32, u32); 11] = [
    (1_000, 0, 0),
    (1_000, 1, 0),
    (1_000, 100, 0),
    (1_000, 1_000, 0),
    (1_000, 0, 1),
    (1_000, 0, 10),
    (1_000, 0, 100),
    (1_000, 0, 1_000),
    (15_000, 10, 10),
    (100_000, 10, 10),
    (100_000, 100, 1_000),
];

/// From how many pods on memory and updates are told.
const LARGE: u32 = 15_000;

/// What a program prints; times are in nanoseconds, memory in bytes.
#[derive(Debug, Clone, Deserialize)]
struct Measured {
    resident: u64,
    verdicts: Vec<String>,
    verdict: Times,
    updates: BTreeMap<String, Times>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Times {
    least: u64,
    median: u64,
    p99: u64,
}

/// The figures of one cluster.
struct Row {
    size: Size,
    ours: Measured,
    reference: Measured,
}

/// Runs all of it.
pub fn run() -> anyhow::Result<()> {
    let ours = build()?;
    let reference = output(Command::new(root().join("tests/peers/build.sh")).arg("knp-oracle"))?;
    let reference = PathBuf::from(reference.trim());
    let mut report = machine()?;
    let rows: Vec<Row> = SIZES
        .into_iter()
        .map(|(pods, network_policies, cluster_policies)| {
            measure(&ours, &reference, Size { pods, network_policies, cluster_policies })
        })
        .collect::<anyhow::Result<_>>()?;
    verdicts(&rows, &mut report);
    memory(&rows, &mut report);
    updates(&rows, &mut report);
    let _ = writeln!(report, "\nLoad average at the end: {}.", load()?);
    std::io::stdout().write_all(report.as_bytes()).context("cannot print the figures")
}

fn build() -> anyhow::Result<PathBuf> {
    tell("building the example measure (release)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--quiet", "--release"]).current_dir(root());
    build.args(["-p", "netenf-k8s", "--example", "measure"]);
    output(build.env("CARGO_TARGET_DIR", target()?))?;
    Ok(target()?.join("release/examples/measure"))
}

fn measure(ours: &Path, reference: &Path, size: Size) -> anyhow::Result<Row> {
    let folder = target()?.join("bench");
    std::fs::create_dir_all(&folder)?;
    let cluster = folder.join("cluster.jsonl");
    let file = File::create(&cluster).context("cannot write the cluster")?;
    let mut file = BufWriter::new(file);
    world::write(size, &mut file)?;
    file.flush()?;
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        tell(&format!("{size:?}, round {round} of {ROUNDS}, load average {}", load()?));
        own.push(run_on(ours, &[], &cluster)?);
        others.push(run_on(reference, &["measure"], &cluster)?);
    }
    let (ours, reference) = (median(&own), median(&others));
    // The reference may have had no time for all of them.
    let judged = reference.verdicts.len();
    ensure!(ours.verdicts[..judged] == reference.verdicts, "{size:?}: the verdicts differ");
    Ok(Row { size, ours, reference })
}

/// Runs a program on the last core alone.
fn run_on(program: &Path, arguments: &[&str], cluster: &Path) -> anyhow::Result<Measured> {
    let cores = std::thread::available_parallelism()?.get();
    let mut taskset = Command::new("taskset");
    taskset.args(["--cpu-list", &(cores - 1).to_string()]).arg(program).args(arguments);
    let printed = output(taskset.stdin(File::open(cluster)?))?;
    serde_json::from_str(&printed)
        .with_context(|| format!("{} tells no figures", program.display()))
}

/// Each figure's median.
fn median(runs: &[Measured]) -> Measured {
    let figure = |of: &dyn Fn(&Measured) -> u64| {
        let mut all: Vec<u64> = runs.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    let times = |of: &dyn Fn(&Measured) -> Times| Times {
        least: figure(&|run| of(run).least),
        median: figure(&|run| of(run).median),
        p99: figure(&|run| of(run).p99),
    };
    let update = |what: &String| (what.clone(), times(&|run| run.updates[what]));
    Measured {
        resident: figure(&|run| run.resident),
        verdict: times(&|run| run.verdict),
        updates: runs[0].updates.keys().map(update).collect(),
        // The shortest list is one that all of them have.
        verdicts: runs
            .iter()
            .map(|run| run.verdicts.clone())
            .min_by_key(Vec::len)
            .unwrap_or_default(),
    }
}

fn verdicts(rows: &[Row], report: &mut String) {
    let _ = write!(
        report,
        "\nOne verdict, medians of {ROUNDS} interleaved runs:\n\n\
         | pods | NetworkPolicies | ClusterNetworkPolicies × 25 rules | ours p50 | ours p99 | reference least | reference p50 | × p50 |\n\
         |---|---|---|---|---|---|---|---|\n"
    );
    for Row { size, ours, reference } in rows {
        let _ = writeln!(
            report,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            size.pods,
            size.network_policies,
            size.cluster_policies,
            shown(ours.verdict.median),
            shown(ours.verdict.p99),
            shown(reference.verdict.least),
            shown(reference.verdict.median),
            reference.verdict.median / ours.verdict.median.max(1),
        );
    }
}

fn memory(rows: &[Row], report: &mut String) {
    let _ = write!(
        report,
        "\nResident memory with the whole cluster taken in, before the first packet:\n\n\
         | pods | NetworkPolicies | ClusterNetworkPolicies | ours MB | reference MB |\n|---|---|---|---|---|\n"
    );
    for Row { size, ours, reference } in rows.iter().filter(|row| row.size.pods >= LARGE) {
        let _ = writeln!(
            report,
            "| {} | {} | {} | {:.0} | {:.0} |",
            size.pods,
            size.network_policies,
            size.cluster_policies,
            megabytes(ours.resident),
            megabytes(reference.resident),
        );
    }
}

fn updates(rows: &[Row], report: &mut String) {
    let _ = write!(
        report,
        "\nOne change, until verdicts follow it (p50, p99):\n\n\
         | pods | NetworkPolicies | ClusterNetworkPolicies | change | ours | reference |\n|---|---|---|---|---|---|\n"
    );
    for Row { size, ours, reference } in rows.iter().filter(|row| row.size.pods >= LARGE) {
        for (change, own) in &ours.updates {
            let other = reference.updates[change];
            let _ = writeln!(
                report,
                "| {} | {} | {} | {change} | {}, {} | {}, {} |",
                size.pods,
                size.network_policies,
                size.cluster_policies,
                shown(own.median),
                shown(own.p99),
                shown(other.median),
                shown(other.p99),
            );
        }
    }
}

/// A time with three digits.
fn shown(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{}.{} µs", nanoseconds / 1_000, nanoseconds / 100 % 10),
        _ => format!("{}.{} ms", nanoseconds / 1_000_000, nanoseconds / 100_000 % 10),
    }
}
