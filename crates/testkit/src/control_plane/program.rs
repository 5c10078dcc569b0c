//! One program of a plane as a process: its log, and that it still runs.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::LIMIT;
use crate::deadline::within;

/// Of a log that explains a failure, as many lines are shown.
const TAIL: usize = 25;

/// A program that runs. It ends with this value.
pub(crate) struct Program {
    command: Command,
    child: Child,
    name: String,
    log: PathBuf,
}

// === impl Program ===

impl Program {
    /// Starts the program at `path` in the process group `group`; its log stands in `folder`.
    pub(crate) fn start(
        path: &Path,
        arguments: &[String],
        folder: &Path,
        group: Pid,
    ) -> anyhow::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log);
        let file = file.with_context(|| format!("cannot create {}", log.display()))?;
        let mut command = Command::new(path);
        command.args(arguments).env_clear().current_dir(folder);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        command.process_group(group.as_raw_nonzero().get());
        let child = spawn(&mut command)?;
        Ok(Self { command, child, name, log })
    }

    /// Kills the program and starts it anew with the same arguments; it goes on in its log.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.kill()?;
        self.child = spawn(&mut self.command)?;
        Ok(())
    }

    /// Kills the program, which may be started anew.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Returns once `look` is content with the running program.
    pub(crate) fn await_ready(
        &mut self,
        mut look: impl FnMut(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let what = format!("{} is ready", self.name);
        within(LIMIT, &what, || match self.child.try_wait()? {
            None => Ok(look(self).then_some(())),
            Some(status) => bail!("{} ended ({status})", self.name),
        })
        .map_err(|error| self.explained(&error))
    }

    /// An error with what the program logged last.
    pub(crate) fn explained(&self, error: &anyhow::Error) -> anyhow::Error {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(TAIL)..].join("\n");
        anyhow!("{error:#}; the last lines of the log of {}:\n{last}", self.name)
    }

    pub(crate) fn logged(&self, text: &str) -> bool {
        self.log().contains(text)
    }

    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("cannot send {signal:?} to {}", self.name))
    }

    pub(crate) fn log(&self) -> String {
        fs::read(&self.log)
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> anyhow::Result<Child> {
    command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))
}
