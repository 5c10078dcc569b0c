//! Opens regular files and nothing else: no link at the end of a path is followed, no pipe is waited for.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::name::shown;
use super::place;
use crate::error::StoreError;

/// Opens the regular file `path`, which must be there.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if path.symlink_metadata()?.is_file() {
        follow_nothing(options);
        let file = options.open(path)?;
        if file.metadata()?.is_file() {
            return Ok(file);
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// Makes the file `path`, for reading and writing; `None` where a regular file is there already.
pub(super) fn create(path: &Path) -> Result<Option<File>, StoreError> {
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            place::check_file(path).map(|()| None)
        }
        Err(source) => Err(StoreError::Write { operation: "write", place: shown(path), source }),
    }
}

/// The file may have become something else since it was looked at.
#[cfg(unix)]
fn follow_nothing(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
}

#[cfg(not(unix))]
fn follow_nothing(_: &mut OpenOptions) {}
