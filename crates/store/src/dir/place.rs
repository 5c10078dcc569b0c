//! Where a write really goes: never out of the folder, whatever links there are.

use std::io;
use std::path::{Path, PathBuf};

use netenf_k8s::lifecycle::Key;

use super::DirStore;
use super::name::{self, shown};
use crate::error::StoreError;

/// The file of a new object: as it is shown, and as it is written.
pub(super) fn of_new(store: &DirStore, key: &Key) -> Result<(PathBuf, PathBuf), StoreError> {
    name::check(key)?;
    let path = store.root.join(&key.namespace).join(name::file(key));
    let target = inside(store, &path)?;
    match path.symlink_metadata() {
        Ok(_) => Err(StoreError::Occupied { key: key.clone(), place: shown(&path) }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path, target)),
        Err(source) => Err(StoreError::Read { place: shown(&path), source }),
    }
}

/// The file that `path`, which is there, really is.
pub(super) fn of_existing(store: &DirStore, path: &Path) -> Result<PathBuf, StoreError> {
    let real =
        path.canonicalize().map_err(|source| StoreError::Read { place: shown(path), source })?;
    check(store, path, real)
}

/// The file that `path`, which need not be there, will be.
pub(super) fn inside(store: &DirStore, path: &Path) -> Result<PathBuf, StoreError> {
    let mut missing = Vec::new();
    let mut parent = path;
    loop {
        let (Some(up), Some(own)) = (parent.parent(), parent.file_name()) else {
            let source = io::Error::from(io::ErrorKind::InvalidFilename);
            return Err(StoreError::Read { place: shown(path), source });
        };
        missing.push(own);
        parent = up;
        match parent.canonicalize() {
            Ok(real) if !real.is_dir() => {
                return Err(StoreError::NotFolder { place: shown(parent) });
            }
            Ok(real) => {
                let target = missing.iter().rev().fold(real, |real, own| real.join(own));
                return check(store, path, target);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(source) => return Err(StoreError::Read { place: shown(parent), source }),
        }
    }
}

fn check(store: &DirStore, path: &Path, real: PathBuf) -> Result<PathBuf, StoreError> {
    if real.starts_with(&store.real) {
        Ok(real)
    } else {
        Err(StoreError::Outside { place: shown(path), target: shown(&real) })
    }
}
