//! `cargo run -p xtask -- bench`: whole programs beside their peers, measured by public tools.
//!
//! ```text
//! generate-flows -> a synthetic recording -> learn | hubble observe, in turn, pinned to one core
//!                -> a pipe of any length  -> learn: peak memory
//! ```
//!
//! Progress goes to standard error, the figures to standard output as the tables of
//! docs/performance.md. Nothing is installed; a tool that is missing is named with its package.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use self::measure::{Measured, median};
use crate::root;

pub mod engine;
mod measure;

/// Programs that measure, and the Debian packages that hold them.
const TOOLS: [(&str, &str); 3] =
    [("/usr/bin/time", "time"), ("taskset", "util-linux"), ("hyperfine", "hyperfine")];

/// How often each command runs; the commands take turns.
const ROUNDS: usize = 5;

/// How many lines are compared to show that the recording has the genuine shape.
const COMPARED: usize = 5_000;

/// A cluster of 5,000 workloads.
const LARGE: &str = "--workloads 5000 --namespaces 100 --nodes 100";

/// Recordings of that cluster: how many pairs of workloads talk, and how many flows there are.
const RECORDINGS: [(u64, u64); 4] =
    [(50_000, 1_000_000), (50_000, 10_000_000), (100_000, 1_000_000), (100_000, 10_000_000)];

/// The programs that are measured.
struct Programs {
    netenf: PathBuf,
    generator: PathBuf,
    hubble: PathBuf,
}

/// Runs all of it.
pub fn run() -> anyhow::Result<()> {
    check_tools()?;
    let programs = Programs::build()?;
    let folder = target()?.join("bench");
    std::fs::create_dir_all(&folder)?;
    let flows = folder.join("flows.jsonl");
    programs.record(&flows)?;
    programs.check_shape(&flows)?;
    let mut report = machine()?;
    programs.compare(&flows, &mut report)?;
    programs.fill_memory(&mut report)?;
    programs.start(&folder, &mut report)?;
    let _ = writeln!(report, "\nLoad average at the end: {}.", load()?);
    std::io::stdout().write_all(report.as_bytes()).context("cannot print the figures")
}

fn check_tools() -> anyhow::Result<()> {
    let is_missing = |tool: &str| {
        let mut version = Command::new(tool);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        !version.status().is_ok_and(|status| status.success())
    };
    let missing: Vec<&str> =
        TOOLS.iter().filter(|(tool, _)| is_missing(tool)).map(|(_, package)| *package).collect();
    ensure!(missing.is_empty(), "missing tools: apt-get install {}", missing.join(" "));
    Ok(())
}

/// The folder that cargo builds into: this program stands in one of its profiles.
fn target() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("xtask was not built by cargo")?;
    Ok(target.to_owned())
}

fn tell(progress: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {progress}");
}

fn load() -> anyhow::Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg").context("cannot read the load average")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

/// What was measured on, and when.
fn machine() -> anyhow::Result<String> {
    let processors =
        std::fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
    let models = processors.lines().filter_map(|line| line.strip_prefix("model name"));
    let models: Vec<&str> =
        models.map(|model| model.trim_start_matches([':', ' ', '\t'])).collect();
    let model = models.first().unwrap_or(&"unknown");
    let date = output(Command::new("date").args(["-u", "+%F"]))?;
    let kernel = output(Command::new("uname").arg("-sr"))?;
    Ok(format!(
        "{}, {} × {model}, {}, load average {} at the start.\n",
        date.trim(),
        models.len(),
        kernel.trim(),
        load()?
    ))
}

fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot run {name}"))?;
    ensure!(output.status.success(), "{name} failed: {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed no text"))
}

// === impl Programs ===

impl Programs {
    fn build() -> anyhow::Result<Self> {
        tell("building kubectl-netenf and generate-flows (release)");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--locked", "--quiet", "--release"]).current_dir(root());
        build.args(["-p", "kubectl-netenf", "-p", "netenf-testkit", "--bins"]);
        output(build.env("CARGO_TARGET_DIR", target()?))?;
        let hubble = output(Command::new(root().join("tests/peers/build.sh")).arg("hubble"))?;
        let release = target()?.join("release");
        Ok(Self {
            netenf: release.join("kubectl-netenf"),
            generator: release.join("generate-flows"),
            hubble: PathBuf::from(hubble.trim()),
        })
    }

    /// Writes the recording that the programs are compared on.
    fn record(&self, flows: &Path) -> anyhow::Result<()> {
        tell(&format!("writing {}", flows.display()));
        let file =
            File::create(flows).with_context(|| format!("cannot write {}", flows.display()))?;
        let status = Command::new(&self.generator).stdout(file).status()?;
        ensure!(status.success(), "generate-flows failed: {status}");
        Ok(())
    }

    /// The genuine program prints back every byte of the recording: no field is unknown to it, out of
    /// its order or written in another way.
    fn check_shape(&self, flows: &Path) -> anyhow::Result<()> {
        tell("checking the recording's shape against hubble's own");
        let mut expected = Vec::new();
        let mut reader = BufReader::new(File::open(flows)?);
        for _ in 0..COMPARED {
            reader.read_until(b'\n', &mut expected)?;
        }
        let part = flows.with_extension("part.jsonl");
        std::fs::write(&part, &expected)?;
        let mut observe = Command::new(&self.hubble);
        observe.args(["observe", "-o", "json", "--input-file"]).arg(&part);
        let printed = output(&mut observe)?;
        ensure!(printed.as_bytes() == expected, "hubble prints the recording in another way");
        Ok(())
    }

    /// The same file through our program and through the peer, in turn.
    fn compare(&self, flows: &Path, report: &mut String) -> anyhow::Result<()> {
        let size = std::fs::metadata(flows)?.len();
        let lines = measure::lines(flows)?;
        let netenf: [&[&str]; 2] = [&["learn", "-o", "json"], &["learn"]];
        let hubble: [&[&str]; 2] = [&["observe", "-o", "json"], &["observe"]];
        let commands: Vec<(&Path, &[&str])> = netenf
            .iter()
            .map(|arguments| (self.netenf.as_path(), *arguments))
            .chain(hubble.iter().map(|arguments| (self.hubble.as_path(), *arguments)))
            .collect();
        let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); commands.len()];
        for round in 1..=ROUNDS {
            tell(&format!("round {round} of {ROUNDS}, load average {}", load()?));
            for (runs, (program, arguments)) in runs.iter_mut().zip(&commands) {
                runs.push(measure::pinned(program, arguments, flows)?);
            }
        }
        let medians: Vec<Measured> = runs.iter().map(|runs| median(runs)).collect();
        let _ = write!(
            report,
            "\n{:.0} MB, {lines} flows, one core, medians of {ROUNDS} interleaved runs:\n\n\
             | program | wall s (range) | user s | MB/s | flows/s | peak RSS MB | × json | × compact |\n\
             |---|---|---|---|---|---|---|---|\n",
            measure::megabytes(size)
        );
        for ((runs, median), (program, arguments)) in runs.iter().zip(&medians).zip(&commands) {
            let name = program.file_name().unwrap_or_default().to_string_lossy();
            let _ = writeln!(
                report,
                "| `{name} {}` | {} | {:.2} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} |",
                arguments.join(" "),
                measure::range(runs, median),
                median.user,
                measure::megabytes(size) / median.wall,
                measure::count(lines) / median.wall,
                median.peak,
                medians[2].wall / median.wall,
                medians[3].wall / median.wall,
            );
        }
        Ok(())
    }

    /// Memory must follow the edges, not the flows.
    fn fill_memory(&self, report: &mut String) -> anyhow::Result<()> {
        let _ = write!(
            report,
            "\n`generate-flows {LARGE} --edges E --flows N | kubectl-netenf learn --input-file - -o json`:\n\n\
             | edges | flows | GB | wall s | user s | MB/s | peak RSS MB |\n|---|---|---|---|---|---|---|\n"
        );
        for (edges, flows) in RECORDINGS {
            tell(&format!("piping {flows} flows of a cluster with {edges} edges"));
            let mut generate = Command::new(&self.generator);
            generate.args(LARGE.split(' ')).args(["--edges", &edges.to_string()]);
            generate.args(["--flows", &flows.to_string()]);
            let mut generator = generate.stdout(Stdio::piped()).spawn()?;
            let mut pipe = generator.stdout.take().context("generate-flows has no output")?;
            let (measured, size) = measure::fed(&self.netenf, &mut pipe)?;
            ensure!(generator.wait()?.success(), "generate-flows failed");
            let megabytes = measure::megabytes(size);
            let _ = writeln!(
                report,
                "| {edges} | {flows} | {:.2} | {:.1} | {:.1} | {:.0} | {:.0} |",
                megabytes / 1000.0,
                measured.wall,
                measured.user,
                megabytes / measured.wall,
                measured.peak
            );
        }
        Ok(())
    }

    /// How long the command line takes to start.
    fn start(&self, folder: &Path, report: &mut String) -> anyhow::Result<()> {
        tell("starting the command line");
        let table = folder.join("start.md");
        let mut hyperfine = Command::new("hyperfine");
        hyperfine.args([
            "--shell=none",
            "--warmup=20",
            "--runs=200",
            "--style=none",
            "--export-markdown",
        ]);
        hyperfine.arg(&table).args(["--command-name", "kubectl-netenf version"]);
        hyperfine.arg(format!("{} version", self.netenf.display()));
        hyperfine.args(["--command-name", "hubble version"]);
        hyperfine.arg(format!("{} version", self.hubble.display()));
        output(&mut hyperfine)?;
        let mut text = String::new();
        File::open(&table)?.read_to_string(&mut text)?;
        if text.is_empty() {
            bail!("hyperfine wrote no table");
        }
        let _ = write!(report, "\n`hyperfine --shell=none`:\n\n{text}");
        Ok(())
    }
}
