//! Writes a plan: all of it, or nothing where that can still be had.
//!
//! Everything is first written beside its place, one text after the other, state at the top of its folder.
//! Then history, new and changed objects are put in place, then what is removed goes, then state is put in
//! place. Where the process is killed, each file is old or new, and no object is in neither. Where a step
//! fails, the steps before it are undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use netenf_k8s::lifecycle::Key;
use tempfile::TempPath;

use super::disk::{Disk, Waiting, remove_folders};
use super::name::shown;
use super::write::{Draft, FileWrite, Home, Plan};
use super::{DirStore, STATE, read};
use crate::error::StoreError;
use crate::store::{Applied, Version};

/// Writes `plan`.
pub(super) fn execute(store: &DirStore, mut plan: Plan) -> Result<Applied, StoreError> {
    let state = store.real.join(STATE);
    let mut writer = Writer {
        disk: &store.disk,
        state: &state,
        waiting: Waiting::of(plan.history.len() + plan.objects.len() + plan.blobs.len()),
        folders: BTreeSet::new(),
        done: Vec::new(),
        versions: BTreeMap::new(),
    };
    if let Err(error) = writer.write(plan.history, plan.objects, plan.blobs) {
        return Err(writer.undo(error));
    }
    plan.applied.written = writer.written(plan.homes);
    for path in plan.litter {
        // Litter is looked for again by the next writer.
        let _ = fs::remove_file(path);
    }
    Ok(plan.applied)
}

/// A file whose new content is beside it.
struct Staged {
    /// The file, as it is shown.
    path: PathBuf,
    /// The file that is written.
    target: PathBuf,
    /// What it holds; `None` where it is not there.
    before: Option<Vec<u8>>,
    /// The new content; `None` where it is removed.
    after: Option<TempPath>,
}

struct Writer<'a> {
    disk: &'a Disk,
    /// Folder of the state.
    state: &'a Path,
    waiting: Waiting,
    /// Folders that were made.
    folders: BTreeSet<PathBuf>,
    /// Files that were written or removed, with what was known of the old one.
    done: Vec<(Staged, Option<Metadata>)>,
    /// What the files of objects hold then.
    versions: BTreeMap<PathBuf, Version>,
}

// === impl Writer ===

impl Writer<'_> {
    fn write(
        &mut self,
        history: Vec<Draft>,
        objects: Vec<Draft>,
        blobs: Vec<FileWrite>,
    ) -> Result<(), StoreError> {
        let history = self.stage_drafts(history)?;
        let objects = self.stage_drafts(objects)?;
        let blobs: Vec<Staged> =
            blobs.into_iter().map(|write| self.stage(write)).collect::<Result<_, _>>()?;
        let all = || history.iter().chain(&objects).chain(&blobs);
        self.wait(all())?;
        all().try_for_each(check_unchanged)?;
        self.commit(history)?;
        // What is new is written first, and what is removed goes last: nothing is lost in between.
        let (written, removed): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|staged| staged.after.is_some());
        self.commit(written)?;
        self.commit(removed)?;
        self.commit(blobs)
    }

    /// Makes the text of each file and writes it beside the file, one after the other.
    fn stage_drafts(&mut self, drafts: Vec<Draft>) -> Result<Vec<Staged>, StoreError> {
        let mut staged = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let Some(write) = draft.render()? else { continue };
            staged.push(self.stage(write)?);
        }
        Ok(staged)
    }

    /// Writes the new content of a file beside it.
    fn stage(&mut self, write: FileWrite) -> Result<Staged, StoreError> {
        let FileWrite { path, target, before, after } = write;
        let mut staged = Staged { path, target, before, after: None };
        let Some(text) = after else { return Ok(staged) };
        let made = self.disk.make_folders(folder(&staged.target))?;
        self.folders.extend(made);
        let old = metadata(&staged);
        let (beside, text) = (self.beside(&staged.target), text.as_bytes());
        let temporary =
            self.disk.stage(beside, &staged.target, text, old.as_ref(), self.waiting)?;
        staged.after = Some(temporary);
        if !staged.target.starts_with(self.state) {
            self.versions.insert(staged.path.clone(), read::version(text));
        }
        Ok(staged)
    }

    /// Waits until the disk has what was staged, unless that was waited for file by file.
    fn wait<'b>(&'b self, staged: impl Iterator<Item = &'b Staged>) -> Result<(), StoreError> {
        match self.waiting {
            Waiting::Each => Ok(()),
            Waiting::Together => {
                self.disk.sync_together(staged.map(|one| self.beside(&one.target)).collect())
            }
        }
    }

    /// Puts each file in place, or removes it, and waits until the disk has it.
    fn commit(&mut self, staged: Vec<Staged>) -> Result<(), StoreError> {
        let first = self.done.len();
        for mut staged in staged {
            let old = metadata(&staged);
            match staged.after.take() {
                Some(temporary) => self.disk.rename(temporary, &staged.target)?,
                None => self.disk.remove(&staged.target)?,
            }
            self.done.push((staged, old));
        }
        let mut folders = BTreeSet::new();
        for (staged, _) in &self.done[first..] {
            let mut folder = folder(&staged.target);
            folders.insert(folder);
            // A new folder is an entry of the one above it.
            while self.folders.contains(folder) {
                folder = self::folder(folder);
                folders.insert(folder);
            }
        }
        self.disk.sync_folders(folders, self.waiting)
    }

    /// The objects that were written, with their new versions.
    fn written(&self, homes: Vec<Home>) -> Vec<(Key, Version)> {
        let written = homes.into_iter().filter_map(|home| {
            let new = self.versions.get(&home.path).cloned();
            Some((home.key, new.or(home.version)?))
        });
        written.collect()
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

    fn put_back(&self, write: &Staged, old: Option<&Metadata>) -> Result<(), StoreError> {
        let Some(before) = &write.before else { return self.disk.remove(&write.target) };
        let beside = self.beside(&write.target);
        let temporary = self.disk.stage(beside, &write.target, before, old, Waiting::Each)?;
        self.disk.rename(temporary, &write.target)
    }
}

fn metadata(write: &Staged) -> Option<Metadata> {
    write.before.as_ref().and_then(|_| fs::metadata(&write.target).ok())
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A person's editor does not take our lock.
fn check_unchanged(write: &Staged) -> Result<(), StoreError> {
    if read::optional(&write.target)? == write.before {
        Ok(())
    } else {
        Err(StoreError::Changed { place: shown(&write.path) })
    }
}
