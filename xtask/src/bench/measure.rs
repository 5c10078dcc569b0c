//! Runs one program under GNU time, and reads what it says.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

/// How much is passed on at once.
const CHUNK: usize = 1 << 20;

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Seconds from start to end.
    pub(super) wall: f64,
    /// Seconds of processor time outside of the kernel.
    pub(super) user: f64,
    /// The most memory it held, in MB.
    pub(super) peak: f64,
}

/// Runs `program` on the recording at `input`, on the last core alone.
pub(super) fn pinned(program: &Path, arguments: &[&str], input: &Path) -> anyhow::Result<Measured> {
    let cores = std::thread::available_parallelism()?.get();
    let mut taskset = Command::new("taskset");
    taskset.args(["--cpu-list", &(cores - 1).to_string()]);
    let mut command = timed(taskset, program)?;
    command.args(arguments).arg("--input-file").arg(input);
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    finish(child, program)
}

/// Runs `program` on what comes out of `pipe`; gives its length too.
pub(super) fn fed(program: &Path, pipe: &mut impl Read) -> anyhow::Result<(Measured, u64)> {
    let mut command = timed(Command::new("env"), program)?;
    command.args(["learn", "-o", "json", "--input-file", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("the program has no input")?;
    let mut buffer = vec![0; CHUNK];
    let mut size = 0;
    loop {
        let length = pipe.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        size += u64::try_from(length)?;
        input.write_all(&buffer[..length]).context("the program stopped reading")?;
    }
    drop(input);
    Ok((finish(child, program)?, size))
}

/// `launcher`, running `program` under GNU time.
fn timed(mut launcher: Command, program: &Path) -> anyhow::Result<Command> {
    ensure!(program.is_file(), "there is no program {}", program.display());
    launcher.args(["/usr/bin/time", "--format", "%e %U %M"]).arg(program);
    Ok(launcher)
}

/// Waits; the last line that the program and GNU time wrote holds the figures.
fn finish(child: Child, program: &Path) -> anyhow::Result<Measured> {
    let output = child.wait_with_output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {told}", program.display());
    let figures: Vec<f64> = told
        .lines()
        .last()
        .unwrap_or_default()
        .split(' ')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("GNU time told no figures: {told}"))?;
    match figures[..] {
        [wall, user, peak] => Ok(Measured { wall, user, peak: peak * 1024.0 / 1e6 }),
        _ => Err(anyhow::anyhow!("GNU time told other figures: {told}")),
    }
}

/// Each figure's median.
pub(super) fn median(runs: &[Measured]) -> Measured {
    let of = |figure: fn(&Measured) -> f64| {
        let mut all: Vec<f64> = runs.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or_default()
    };
    Measured { wall: of(|run| run.wall), user: of(|run| run.user), peak: of(|run| run.peak) }
}

/// The median time, with the shortest and the longest.
pub(super) fn range(runs: &[Measured], median: &Measured) -> String {
    let walls = || runs.iter().map(|run| run.wall);
    let shortest = walls().fold(f64::INFINITY, f64::min);
    let longest = walls().fold(0.0, f64::max);
    format!("{:.2} ({shortest:.2} to {longest:.2})", median.wall)
}

/// How many lines a file has.
pub(super) fn lines(path: &Path) -> anyhow::Result<u64> {
    let reader = BufReader::with_capacity(CHUNK, File::open(path)?);
    Ok(u64::try_from(reader.split(b'\n').count())?)
}

/// Bytes as MB.
pub(super) fn megabytes(bytes: u64) -> f64 {
    count(bytes) / 1e6
}

/// A count as a figure to divide.
#[expect(clippy::cast_precision_loss, reason = "figures are printed with three digits")]
pub(super) fn count(number: u64) -> f64 {
    number as f64
}
