//! The folder store: one YAML file an object, in a folder meant for Git.
//!
//! ```text
//! <dir>/<namespace>/<name>.proposal.yaml     one object a file, unless a person laid it out otherwise
//! <dir>/<namespace>/<name>.policy.yaml
//! <dir>/.netenf/lock                         held by the one command that writes
//! <dir>/.netenf/<state>.json
//! <dir>/.netenf/history/<namespace>/<name>/<revision>.yaml
//! ```
//!
//! Every YAML file below the folder is read, save hidden ones; what is not ours is left alone.

mod collect;
mod disk;
mod edit;
mod execute;
mod history;
mod lock;
mod name;
mod parse;
mod place;
mod plain;
mod plan;
mod read;
mod regular;
mod split;
mod walk;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use netenf_k8s::lifecycle::Key;

use crate::error::StoreError;
use crate::store::{Applied, Batch, Blob, History, Listing, Scope, Store, Stored};
use collect::Memory;
use disk::Disk;
use lock::Lock;

pub use lock::{MissingFolder, Writer};
pub use plain::PlainFolder;

/// Folder of everything that is no object.
const STATE: &str = ".netenf";

/// Proposals and policies as files of a folder.
#[derive(Debug)]
pub struct DirStore {
    /// The folder as it was given, for messages.
    root: PathBuf,
    /// The folder itself, links resolved.
    real: PathBuf,
    lock: Option<Lock>,
    memory: Memory,
    disk: Disk,
}

/// What a batch would make of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Its text now; `None` where it is not there.
    pub before: Option<String>,
    /// Its text then; `None` where it is removed.
    pub after: Option<String>,
}

// === impl DirStore ===

impl DirStore {
    /// Opens the folder for reading.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        let root = dir.as_ref().to_owned();
        let place = name::shown(&root);
        match root.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(StoreError::NotFolder { place }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::NoFolder { place });
            }
            Err(source) => return Err(StoreError::Read { place, source }),
        }
        let real = root.canonicalize().map_err(|source| StoreError::Read { place, source })?;
        Ok(Self { root, real, lock: None, memory: Memory::default(), disk: Disk::default() })
    }

    /// Opens the folder for reading and writing, and holds its lock until dropped.
    pub fn lock(dir: impl AsRef<Path>, writer: Writer<'_>) -> Result<Self, StoreError> {
        lock::prepare(dir.as_ref(), writer.missing)?;
        let mut store = Self::open(dir)?;
        store.lock = Some(Lock::take(&store.root, writer)?);
        Ok(store)
    }

    /// The folder, as it was given.
    pub fn folder(&self) -> &Path {
        &self.root
    }

    /// What [`Store::apply`] would make of the files of objects: for a dry run, or to show a diff.
    pub fn plan(&self, batch: &Batch) -> Result<Vec<FileChange>, StoreError> {
        let plan = plan::plan(self, batch)?;
        plan.history.into_iter().try_for_each(|draft| draft.render().map(drop))?;
        let writes = plan.objects.into_iter().map(write::Draft::render);
        let writes: Vec<_> = writes.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let (written, removed): (Vec<_>, Vec<_>) =
            writes.into_iter().partition(|write| write.after.is_some());
        Ok(written.into_iter().chain(removed).map(write::FileWrite::into_change).collect())
    }

    #[cfg(test)]
    pub(crate) fn set_hook(&mut self, hook: disk::Hook) {
        self.disk = Disk::hooked(hook);
    }
}

impl Store for DirStore {
    fn list(&self, scope: Scope<'_>) -> Result<Listing, StoreError> {
        Ok(collect::collect(self, None)?.into_listing(scope))
    }

    fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError> {
        name::check(key)?;
        collect::collect(self, Some(&key.name))?.into_stored(key)
    }

    fn apply(&self, batch: &Batch) -> Result<Applied, StoreError> {
        if self.lock.is_none() {
            return Err(StoreError::OpenedForReading { place: name::shown(&self.root) });
        }
        execute::execute(self, plan::plan(self, batch)?)
    }

    fn history(&self, namespace: &str, name: &str) -> Result<History, StoreError> {
        name::check_pair(namespace, name)?;
        history::read(self, namespace, name)
    }

    fn blob(&self, name: &str) -> Result<Option<Blob>, StoreError> {
        name::check_blob(name)?;
        let path = self.blob_path(name);
        place::check_state(&self.root, &path)?;
        let blob = |text: String| Blob { version: read::version(text.as_bytes()), text };
        Ok(read::optional_text(&path)?.map(blob))
    }
}

impl DirStore {
    fn blob_path(&self, name: &str) -> PathBuf {
        self.root.join(STATE).join(format!("{name}.json"))
    }
}

#[cfg(test)]
mod tests;
