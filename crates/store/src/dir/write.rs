//! What is to be written.

use std::path::PathBuf;

use super::FileChange;
use super::name::shown;
use crate::error::StoreError;
use crate::store::Applied;

/// Everything that is to be written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// New revisions.
    pub(super) history: Vec<FileWrite>,
    /// Files of objects.
    pub(super) objects: Vec<FileWrite>,
    /// State of the tools.
    pub(super) blobs: Vec<FileWrite>,
    /// Files that are not needed any more, whether or not they can be removed.
    pub(super) litter: Vec<PathBuf>,
    /// What to answer.
    pub(super) applied: Applied,
}

/// A file that is written or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileWrite {
    /// The file, as it is shown.
    pub(super) path: PathBuf,
    /// The file that is written.
    pub(super) target: PathBuf,
    /// What it holds; `None` where it is not there.
    pub(super) before: Option<Vec<u8>>,
    /// What it is to hold; `None` where it is removed.
    pub(super) after: Option<String>,
}

// === impl FileWrite ===

impl FileWrite {
    /// What is written can be read again.
    pub(super) fn check_size(&self, limit: u64) -> Result<(), StoreError> {
        let size = self.after.as_ref().map_or(0, String::len);
        if size as u64 <= limit {
            return Ok(());
        }
        Err(StoreError::TooLarge { place: shown(&self.path), limit: limit >> 20 })
    }

    /// Whether anything changes.
    pub(super) fn is_change(&self) -> bool {
        self.before.as_deref() != self.after.as_ref().map(String::as_bytes)
    }

    pub(super) fn into_change(self) -> FileChange {
        let before = self.before.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        FileChange { path: self.path, before, after: self.after }
    }
}
