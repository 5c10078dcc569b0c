//! Ends a plane with its owner, however that ends.
//!
//! A process that is killed drops nothing, and neither does one that returns from `main` with a
//! plane in a static. A parent-death signal would not do: it follows the thread that started a
//! process, and tests are threads that end long before their shared plane. So the keeper, a shell,
//! reads a pipe whose other end only the owner has. The pipe ends with the owner; then the keeper
//! kills the process group that it leads, in which all programs of the plane are, and removes the
//! plane's folder.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// The killing is done from another session, since the keeper itself is in the group. A program
/// that is being killed may still write into the folder, therefore the repetition.
const SCRIPT: &str = r#"
read -r _
setsid sh -c '
  kill -s KILL -- "-$1"
  for _ in $(seq 100); do rm -rf -- "$2" && break; sleep 0.1; done
' keeper "$$" "$1"
"#;

/// A folder and a process group that end with this value, or with the process.
pub(crate) struct Keeper {
    leader: Child,
    folder: TempDir,
}

// === impl Keeper ===

impl Keeper {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("netenf-plane-")
            .tempdir()
            .context("cannot create a folder for the control plane")?;
        let leader = Command::new("sh")
            .args(["-c", SCRIPT, "netenf-plane-keeper"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start sh, which ends the control plane with its owner")?;
        Ok(Self { leader, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The group that each program of the plane is started in.
    pub(crate) fn group(&self) -> Pid {
        Pid::from_child(&self.leader)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The leader is not waited for yet, so that no other group can have its number.
        let _ = kill_process_group(self.group(), Signal::KILL);
        let _ = self.leader.wait();
    }
}
