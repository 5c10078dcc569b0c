//! Where a write really goes: never out of the folder, whatever links there are.
//!
//! A person may lay objects out with links, as long as these stay in the folder. The state is laid out by
//! nobody but us, and nothing of it is a link. The folder may be a checkout that somebody else made; it is
//! not defended against another process that changes it meanwhile.

use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

use netenf_k8s::lifecycle::Key;

use super::name::{self, shown};
use super::{DirStore, walk};
use crate::error::StoreError;

/// The file of a new object: as it is shown, and as it is written.
pub(super) fn of_new(store: &DirStore, key: &Key) -> Result<(PathBuf, PathBuf), StoreError> {
    name::check(key)?;
    let path = store.root.join(&key.namespace).join(name::file(key));
    let target = inside(store, &path)?;
    if !walk::is_found(&target, &store.real) {
        return Err(link(path.parent().unwrap_or(&path)));
    }
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if parent.is_symlink() {
                    return Err(link(parent));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(source) => return Err(StoreError::Read { place: shown(parent), source }),
        }
    }
}

/// The file of the state at `path`, which need not be there.
pub(super) fn of_state(store: &DirStore, path: &Path) -> Result<PathBuf, StoreError> {
    check_state(&store.root, path)?;
    inside(store, path)
}

/// Checks that the file of the state at `path` is a regular one or missing, and that no link leads there.
pub(super) fn check_state(root: &Path, path: &Path) -> Result<(), StoreError> {
    check_state_folder(root, path.parent().unwrap_or(root))?;
    check_file(path)
}

/// Checks that `folder`, which is of the state, and each one above it is a folder or missing, and no link.
pub(super) fn check_state_folder(root: &Path, folder: &Path) -> Result<(), StoreError> {
    let mut folders: Vec<&Path> = folder.ancestors().take_while(|path| *path != root).collect();
    folders.reverse();
    folders.into_iter().try_for_each(|path| {
        check_kind(path, FileType::is_dir, |place| StoreError::NotFolder { place })
    })
}

/// Checks that `path` is a regular file or missing.
pub(super) fn check_file(path: &Path) -> Result<(), StoreError> {
    check_kind(path, FileType::is_file, |place| StoreError::NotFile { place })
}

/// The error of a link that is not followed.
pub(super) fn link(path: &Path) -> StoreError {
    let target = path.read_link().unwrap_or_default();
    StoreError::Link { place: shown(path), target: shown(&target) }
}

fn check_kind(
    path: &Path,
    expected: impl Fn(&FileType) -> bool,
    otherwise: impl Fn(String) -> StoreError,
) -> Result<(), StoreError> {
    match path.symlink_metadata() {
        Ok(metadata) if expected(&metadata.file_type()) => Ok(()),
        Ok(metadata) if metadata.is_symlink() => Err(link(path)),
        Ok(_) => Err(otherwise(shown(path))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(StoreError::Read { place: shown(path), source }),
    }
}

fn check(store: &DirStore, path: &Path, real: PathBuf) -> Result<PathBuf, StoreError> {
    if real.starts_with(&store.real) {
        Ok(real)
    } else {
        Err(StoreError::Outside { place: shown(path), target: shown(&real) })
    }
}
