//! The single steps of writing, each of which may fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
#[cfg(test)]
use std::sync::Arc;

use tempfile::{Builder, TempPath};

use super::name::shown;
use crate::error::StoreError;

const PREFIX: &str = ".netenf-";
const SUFFIX: &str = ".tmp";

/// Does the steps of writing; a test may let any of them fail.
#[derive(Default)]
pub(super) struct Disk {
    #[cfg(test)]
    hook: Option<Hook>,
}

/// Called before each step.
#[cfg(test)]
pub(crate) type Hook = Arc<dyn Fn(Step, &Path) -> io::Result<()> + Send + Sync>;

/// How to wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// For each file by itself.
    Each,
    /// For all that was written to the file system, at once.
    Together,
}

/// A step of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Makes a folder.
    MakeFolder,
    /// Writes the new content beside the old.
    Write,
    /// Waits until the new content is on the disk.
    Sync,
    /// Puts the new content in place of the old.
    Rename,
    /// Waits until the folder is on the disk.
    SyncFolder,
    /// Removes a file.
    Remove,
}

/// Whether a file of this name is what a writer that was killed left behind.
pub(super) fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

// === impl Waiting ===

impl Waiting {
    /// How to wait for so many files.
    pub(super) const fn of(files: usize) -> Self {
        // Waiting for others' writes too costs less than waiting so many times.
        if cfg!(target_os = "linux") && files > 32 { Self::Together } else { Self::Each }
    }
}

// === impl Step ===

impl Step {
    const fn operation(self) -> &'static str {
        match self {
            Self::MakeFolder => "make the folder",
            Self::Write | Self::Sync | Self::Rename => "write",
            Self::SyncFolder => "write the folder",
            Self::Remove => "remove",
        }
    }
}

// === impl Disk ===

impl Disk {
    #[cfg(test)]
    pub(super) fn hooked(hook: Hook) -> Self {
        Self { hook: Some(hook) }
    }

    /// Makes `folder` and what is missing above it, and gives what was made, topmost first.
    pub(super) fn make_folders(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|path| !path.is_dir()).collect();
        let mut made = Vec::new();
        for path in missing.into_iter().rev() {
            self.step(Step::MakeFolder, path, || fs::create_dir(path)).inspect_err(|_| {
                remove_folders(made.iter());
            })?;
            made.push(path.to_owned());
        }
        Ok(made)
    }

    /// Writes `text` for `target` into `folder`, with the permissions of what it replaces.
    pub(super) fn stage(
        &self,
        folder: &Path,
        target: &Path,
        text: &[u8],
        old: Option<&Metadata>,
        waiting: Waiting,
    ) -> Result<TempPath, StoreError> {
        let file = self.step(Step::Write, target, || {
            let mut file = new_file(folder)?;
            file.write_all(text)?;
            if let Some(old) = old {
                keep_owner(file.as_file(), old);
                file.as_file().set_permissions(old.permissions())?;
            }
            Ok(file)
        })?;
        match waiting {
            Waiting::Each => self.step(Step::Sync, target, || file.as_file().sync_all())?,
            Waiting::Together => {}
        }
        // The descriptor is not needed any more, and a batch may be large.
        Ok(file.into_temp_path())
    }

    /// Puts what was staged in the place of `target`.
    pub(super) fn rename(&self, staged: TempPath, target: &Path) -> Result<(), StoreError> {
        self.step(Step::Rename, target, || staged.persist(target).map_err(|error| error.error))
    }

    /// Waits until the entries of `folders` are on the disk.
    pub(super) fn sync_folders(
        &self,
        folders: BTreeSet<&Path>,
        waiting: Waiting,
    ) -> Result<(), StoreError> {
        match waiting {
            Waiting::Each => folders.into_iter().try_for_each(|folder| {
                self.step(Step::SyncFolder, folder, || File::open(folder)?.sync_all())
            }),
            Waiting::Together => self.sync_together(folders),
        }
    }

    /// Waits until everything that was written to the file systems of `folders` is on the disk.
    pub(super) fn sync_together(&self, folders: BTreeSet<&Path>) -> Result<(), StoreError> {
        let systems: BTreeMap<u64, &Path> =
            folders.into_iter().map(|folder| (file_system(folder), folder)).collect();
        systems.values().try_for_each(|folder| {
            self.step(Step::Sync, folder, || sync_file_system(&File::open(folder)?))
        })
    }

    /// Removes the file `path`.
    pub(super) fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Remove, path, || fs::remove_file(path))
    }

    fn step<T>(
        &self,
        step: Step,
        path: &Path,
        action: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, StoreError> {
        let (operation, place) = (step.operation(), shown(path));
        self.before(step, path).and_then(|()| action()).map_err(|source| StoreError::Write {
            operation,
            place,
            source,
        })
    }

    #[cfg(test)]
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step, path))
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "a test may let it fail")]
    fn before(&self, _: Step, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Disk")
    }
}

/// Removes folders that turned out not to be needed, deepest first; one that is used stays.
pub(super) fn remove_folders<'a>(made: impl DoubleEndedIterator<Item = &'a PathBuf>) {
    for folder in made.rev() {
        let _ = fs::remove_dir(folder);
    }
}

fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file; the process's mask takes away what it does not want.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(target_os = "linux")]
fn sync_file_system(folder: &File) -> io::Result<()> {
    match rustix::fs::syncfs(folder) {
        // Some sandboxes know only the older call, which waits for every file system.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => {
            rustix::fs::sync();
            Ok(())
        }
        outcome => outcome.map_err(Into::into),
    }
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(folder: &File) -> io::Result<()> {
    folder.sync_all()
}

#[cfg(unix)]
fn file_system(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    folder.metadata().map_or(0, |metadata| metadata.dev())
}

#[cfg(not(unix))]
fn file_system(_: &Path) -> u64 {
    0
}

/// The owner stays too where the writer may give files away, as root may.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_same = file.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
    if !is_same {
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}
