//! Writes a plan: all of it, or nothing where that can still be had.
//!
//! Everything is first written beside its place, state at the top of its folder. Then history, new and
//! changed objects are put in place, then what is removed goes, then state is put in place. Where the
//! process is killed, each file is old or new, and no object is in neither. Where a step fails, the steps
//! before it are undone.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::disk::{Disk, Waiting, remove_folders};
use super::name::shown;
use super::write::{FileWrite, Plan};
use super::{DirStore, STATE, read};
use crate::error::StoreError;
use crate::store::Applied;

/// Writes `plan`.
pub(super) fn execute(store: &DirStore, plan: Plan) -> Result<Applied, StoreError> {
    let state = store.real.join(STATE);
    let mut writer = Writer {
        disk: &store.disk,
        state: &state,
        waiting: Waiting::of(plan.history.len() + plan.objects.len() + plan.blobs.len()),
        folders: BTreeSet::new(),
        done: Vec::new(),
    };
    if let Err(error) = writer.write(&plan) {
        return Err(writer.undo(error));
    }
    for path in plan.litter {
        // Litter is looked for again by the next writer.
        let _ = fs::remove_file(path);
    }
    Ok(plan.applied)
}

/// A file with its new content, if it is to have any.
type Staged<'a> = (&'a FileWrite, Option<TempPath>);

struct Writer<'a> {
    disk: &'a Disk,
    /// Folder of the state.
    state: &'a Path,
    waiting: Waiting,
    /// Folders that were made.
    folders: BTreeSet<PathBuf>,
    /// Files that were written or removed, with what was known of the old one.
    done: Vec<(&'a FileWrite, Option<Metadata>)>,
}

// === impl Writer ===

impl<'a> Writer<'a> {
    fn write(&mut self, plan: &'a Plan) -> Result<(), StoreError> {
        let history = self.stage(&plan.history)?;
        let objects = self.stage(&plan.objects)?;
        let blobs = self.stage(&plan.blobs)?;
        self.wait(&[&history, &objects, &blobs])?;
        for write in plan.history.iter().chain(&plan.objects).chain(&plan.blobs) {
            check_unchanged(write)?;
        }
        self.commit(history)?;
        let (written, removed): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|(write, _)| write.after.is_some());
        self.commit(written)?;
        self.commit(removed)?;
        self.commit(blobs)
    }

    /// Writes the new content of each file beside it.
    fn stage(&mut self, writes: &'a [FileWrite]) -> Result<Vec<Staged<'a>>, StoreError> {
        let mut staged = Vec::with_capacity(writes.len());
        for write in writes {
            let Some(text) = &write.after else {
                staged.push((write, None));
                continue;
            };
            let made = self.disk.make_folders(folder(&write.target))?;
            self.folders.extend(made);
            let old = metadata(write);
            let beside = self.beside(&write.target);
            let text = text.as_bytes();
            let temporary =
                self.disk.stage(beside, &write.target, text, old.as_ref(), self.waiting)?;
            staged.push((write, Some(temporary)));
        }
        Ok(staged)
    }

    /// Waits until the disk has what was staged, unless that was waited for file by file.
    fn wait(&self, staged: &[&Vec<Staged<'a>>]) -> Result<(), StoreError> {
        match self.waiting {
            Waiting::Each => Ok(()),
            Waiting::Together => {
                let writes = staged.iter().copied().flatten();
                let folders: BTreeSet<&Path> =
                    writes.map(|(write, _)| self.beside(&write.target)).collect();
                self.disk.sync_together(folders)
            }
        }
    }

    /// Puts each file in place, or removes it, and waits until the disk has it.
    fn commit(&mut self, staged: Vec<Staged<'a>>) -> Result<(), StoreError> {
        let mut folders = BTreeSet::new();
        for (write, temporary) in staged {
            let old = metadata(write);
            match temporary {
                Some(temporary) => self.disk.rename(temporary, &write.target)?,
                None => self.disk.remove(&write.target)?,
            }
            self.done.push((write, old));
            let mut folder = folder(&write.target);
            folders.insert(folder);
            // A new folder is an entry of the one above it.
            while self.folders.contains(folder) {
                folder = self::folder(folder);
                folders.insert(folder);
            }
        }
        self.disk.sync_folders(folders, self.waiting)
    }

    /// Where the new content of `target` is written first. The many folders of the history are not looked
    /// through for what a killed process left, the top of the state is.
    fn beside<'b>(&'b self, target: &'b Path) -> &'b Path {
        if target.starts_with(self.state) { self.state } else { folder(target) }
    }

    /// Puts everything back as it was.
    fn undo(self, cause: StoreError) -> StoreError {
        let mut written = Vec::new();
        for (write, old) in self.done.iter().rev() {
            if self.put_back(write, old.as_ref()).is_err() {
                written.push(shown(&write.path));
            }
        }
        remove_folders(self.folders.iter());
        if written.is_empty() {
            cause
        } else {
            StoreError::Unfinished { cause: Box::new(cause), written }
        }
    }

    fn put_back(&self, write: &FileWrite, old: Option<&Metadata>) -> Result<(), StoreError> {
        let Some(before) = &write.before else { return self.disk.remove(&write.target) };
        let beside = self.beside(&write.target);
        let temporary = self.disk.stage(beside, &write.target, before, old, Waiting::Each)?;
        self.disk.rename(temporary, &write.target)
    }
}

fn metadata(write: &FileWrite) -> Option<Metadata> {
    write.before.as_ref().and_then(|_| fs::metadata(&write.target).ok())
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A person's editor does not take our lock.
fn check_unchanged(write: &FileWrite) -> Result<(), StoreError> {
    if read::optional(&write.target)? == write.before {
        Ok(())
    } else {
        Err(StoreError::Changed { place: shown(&write.path) })
    }
}
