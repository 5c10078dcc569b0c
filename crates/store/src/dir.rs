//! stub
use std::path::{Path, PathBuf};
use std::time::Duration;
use netenf_k8s::lifecycle::Key;
use crate::error::StoreError;
use crate::store::*;

/// The folder store.
#[derive(Debug)]
pub struct DirStore { dir: PathBuf }

/// Who writes, and how it takes the lock.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The command, for whoever finds the folder locked.
    pub command: &'a str,
    /// How long to wait for another writer; nothing to fail at once.
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

impl DirStore {
    /// Opens the folder for reading.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> { Ok(Self { dir: dir.as_ref().to_owned() }) }
    /// Opens the folder for reading and writing, and holds its lock until dropped.
    pub fn lock(dir: impl AsRef<Path>, _writer: Writer<'_>) -> Result<Self, StoreError> { Self::open(dir) }
    /// What `apply` would make of the files of objects; for `--dry-run`, and for showing a diff.
    pub fn plan(&self, _batch: &Batch) -> Result<Vec<FileChange>, StoreError> { Ok(Vec::new()) }
    /// The folder.
    pub fn folder(&self) -> &Path { &self.dir }
}

impl Store for DirStore {
    fn list(&self, _scope: Scope<'_>) -> Result<Listing, StoreError> { Ok(Listing::default()) }
    fn get(&self, _key: &Key) -> Result<Option<Stored>, StoreError> { Ok(None) }
    fn apply(&self, _batch: &Batch) -> Result<Applied, StoreError> { Ok(Applied::default()) }
    fn history(&self, _namespace: &str, _name: &str) -> Result<History, StoreError> { Ok(History::default()) }
    fn blob(&self, _name: &str) -> Result<Option<Blob>, StoreError> { Ok(None) }
}
