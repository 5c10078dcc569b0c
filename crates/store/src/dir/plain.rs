//! A folder of files for others to read, among which may be files of a person.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::disk::{Disk, Waiting};
use super::name::shown;
use super::{place, read};
use crate::error::StoreError;

/// Regular files of one folder. Each is written as a whole, and no link is followed to any of them.
#[derive(Debug)]
pub struct PlainFolder {
    root: PathBuf,
    disk: Disk,
}

// === impl PlainFolder ===

impl PlainFolder {
    /// The folder `root`, which need not be there.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        match root.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err(StoreError::NotFolder { place: shown(&root) }),
            Err(_) if root.is_symlink() => return Err(place::link(&root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Read { place: shown(&root), source }),
        }
        Ok(Self { root, disk: Disk::default() })
    }

    /// The names of everything in it that are text, sorted; none where the folder is not there.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        read::names(&self.root)
    }

    /// The text of the file `name`, if it is there.
    pub fn read(&self, name: &str) -> Result<Option<String>, StoreError> {
        read::optional_text(&self.file(name)?)
    }

    /// Writes the file `name`, and makes the folder where it is not there.
    pub fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.file(name)?;
        fs::create_dir_all(&self.root).map_err(|source| StoreError::Write {
            operation: "make the folder",
            place: shown(&self.root),
            source,
        })?;
        let old: Option<Metadata> = path.symlink_metadata().ok();
        // What is lost with the machine can be written again.
        let waiting = Waiting::Together;
        let staged = self.disk.stage(&self.root, &path, text.as_bytes(), old.as_ref(), waiting)?;
        self.disk.rename(staged, &path)
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.disk.remove(&self.file(name)?)
    }

    /// The path of a file that is regular or missing.
    fn file(&self, name: &str) -> Result<PathBuf, StoreError> {
        let mut components = Path::new(name).components();
        let is_name = matches!(components.next(), Some(Component::Normal(own)) if own == name);
        if !is_name || components.next().is_some() {
            return Err(StoreError::InvalidName { what: "name of a file", name: name.to_owned() });
        }
        let path = self.root.join(name);
        place::check_file(&path)?;
        Ok(path)
    }
}
