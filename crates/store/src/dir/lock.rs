//! One writer at a time: a lock that the system gives back when its holder ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::name::shown;
use super::{STATE, place, regular};
use crate::error::StoreError;

/// Time between two attempts while waiting.
const PAUSE: Duration = Duration::from_millis(50);
/// No holder's name is longer.
const MAX_HOLDER: u64 = 4096;

/// Who writes, and how it takes the lock.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The command, for whoever finds the folder locked.
    pub command: &'a str,
    /// How long to wait for another writer; zero fails at once.
    pub wait: Duration,
    /// What to do where the folder is not there.
    pub missing: MissingFolder,
}

/// What to do where the folder is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingFolder {
    /// Refuse: the name may be wrong.
    #[default]
    Refuse,
    /// Make it.
    Create,
}

/// The lock of a folder; dropped, it is given back.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// Makes the folder where that was asked for.
pub(super) fn prepare(dir: &Path, missing: MissingFolder) -> Result<(), StoreError> {
    match missing {
        MissingFolder::Refuse => Ok(()),
        MissingFolder::Create => {
            fs::create_dir_all(dir).map_err(|source| write_error("make the folder", dir, source))
        }
    }
}

// === impl Lock ===

impl Lock {
    /// Takes the lock of the folder `root`, or says who holds it.
    pub(super) fn take(root: &Path, writer: Writer<'_>) -> Result<Self, StoreError> {
        let path = root.join(STATE).join("lock");
        let mut file = open(root, &path)?;
        let deadline = Instant::now().checked_add(writer.wait);
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(write_error("lock", &path, source)),
                Err(TryLockError::WouldBlock) => {}
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(StoreError::Locked { place: shown(&path), holder: holder(&mut file) });
            }
            std::thread::sleep(PAUSE.min(writer.wait));
        }
        let mut lock = Self { file };
        lock.sign(writer.command).map_err(|source| write_error("write", &path, source))?;
        Ok(lock)
    }

    /// Writes who holds the lock into it.
    fn sign(&mut self, command: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        let command: String = command.chars().filter(|character| !character.is_control()).collect();
        writeln!(self.file, "{} {command}", std::process::id())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The name of a holder that is gone would mislead; the lock itself is gone with the file.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

fn open(root: &Path, path: &Path) -> Result<File, StoreError> {
    let state = root.join(STATE);
    let ignored = state.join(".gitignore");
    match fs::create_dir(&state) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            place::check_state(root, path)?;
            place::check_state(root, &ignored)?;
        }
        Err(source) => return Err(write_error("make the folder", &state, source)),
    }
    // The rest of the state may go into Git; a lock is of this machine.
    if let Some(mut file) = regular::create(&ignored)? {
        file.write_all(b"lock\n").map_err(|source| write_error("write", &ignored, source))?;
    }
    match regular::create(path)? {
        Some(file) => Ok(file),
        None => regular::open(path, OpenOptions::new().read(true).write(true))
            .map_err(|source| write_error("lock", path, source)),
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_HOLDER).read_to_string(&mut text));
    match (read, text.trim().split_once(' ')) {
        (Ok(_), Some((process, command))) => format!("process {process} ({command})"),
        _ => "another netenf command".to_owned(),
    }
}

fn write_error(operation: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Write { operation, place: shown(path), source }
}
