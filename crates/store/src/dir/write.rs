//! What is to be written.

use std::path::PathBuf;
use std::sync::Arc;

use netenf_k8s::lifecycle::{Key, Resource, Revision};

use super::edit::{Edit, edited, new_text};
use super::name::shown;
use super::parse::Document;
use super::{FileChange, read};
use crate::error::StoreError;
use crate::store::{Applied, Version};
use crate::yaml::revision_yaml;

/// Everything that is to be written.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// New revisions.
    pub(super) history: Vec<Draft>,
    /// Files of objects.
    pub(super) objects: Vec<Draft>,
    /// State of the tools.
    pub(super) blobs: Vec<FileWrite>,
    /// Files that are not needed any more, whether or not they can be removed.
    pub(super) litter: Vec<PathBuf>,
    /// Where the objects that are written will stand.
    pub(super) homes: Vec<Home>,
    /// What to answer, but for what is written.
    pub(super) applied: Applied,
}

/// Where an object that is written will stand.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) key: Key,
    pub(super) path: PathBuf,
    /// What the file holds now, if it is there. A file that stays as it is keeps its version.
    pub(super) version: Option<Version>,
}

/// A file whose text is made when it is written: the texts of a large batch never stand side by side.
#[derive(Debug)]
pub(super) struct Draft {
    /// The file, as it is shown.
    pub(super) path: PathBuf,
    /// The file that is written.
    pub(super) target: PathBuf,
    /// What it holds; `None` where it is not there.
    pub(super) before: Option<Vec<u8>>,
    /// What it is to hold.
    pub(super) after: After,
}

/// What a file is to hold.
#[derive(Debug)]
pub(super) enum After {
    /// An object, with the comments of the text that it replaces elsewhere.
    New { object: Resource, old: Option<String> },
    /// What it holds now, with changes at the positions of documents.
    Edited { documents: Arc<Vec<Document>>, edits: Vec<(usize, Edit)> },
    /// An entry of the history.
    Revision(Box<Revision>),
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

// === impl Draft ===

impl Draft {
    /// The file with its text; `None` where it stays as it is.
    pub(super) fn render(self) -> Result<Option<FileWrite>, StoreError> {
        let Self { path, target, before, after } = self;
        let after = match after {
            After::New { object, old } => Some(new_text(&object, old.as_deref())?),
            After::Edited { documents, edits } => {
                let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default());
                edited(&text, &documents, &edits)?
            }
            After::Revision(revision) => Some(revision_yaml(&revision)?),
        };
        let write = FileWrite { path, target, before, after };
        write.check_size(read::MAX_FILE)?;
        Ok(write.is_change().then_some(write))
    }
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
