//! Reads files that may be anything.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::name::shown;
use super::parse::{mentions_ours, no_yaml};
use super::regular;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::StoreError;
use crate::store::Version;

/// No file with objects is larger.
pub(super) const MAX_FILE: u64 = 4 << 20;
/// No file of the state is larger.
pub(super) const MAX_STATE: u64 = 256 << 20;
/// No file of something else is looked into if it is larger.
const MAX_FOREIGN: usize = 256 << 10;
/// How far a larger file is looked through for objects before it is taken to hold some.
const MAX_SEARCH: u64 = 64 << 20;

/// The text of a file that may hold objects; `None` if it does not.
pub(super) fn text(path: &Path) -> Result<Option<String>, Box<Diagnostic>> {
    let io = |error: io::Error| {
        let next_step = "make it readable, or remove it";
        trouble(path, None, format!("cannot be read: {error}"), next_step)
    };
    // A pipe would be waited for, and a device may have no end.
    let metadata = path.metadata().map_err(io)?;
    if !metadata.is_file() {
        let next_step = "put a file there, or give it another ending";
        return Err(trouble(path, None, "is no regular file".to_owned(), next_step));
    }
    let file = File::open(path).map_err(io)?;
    if metadata.len() > MAX_FILE {
        return if search(file).map_err(io)? { Err(too_large(path)) } else { Ok(None) };
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(io)?;
    if !mentions_ours(&bytes) {
        return foreign(path, &bytes).map_or(Ok(None), Err);
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(path));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = memchr::memchr_iter(b'\n', valid).count() + 1;
        trouble(path, Some(line), "is not UTF-8".to_owned(), "save the file as UTF-8")
    })
}

/// A file of something else is left alone. One that is no YAML at all may have been meant to be one of ours,
/// and is told.
fn foreign(path: &Path, bytes: &[u8]) -> Option<Box<Diagnostic>> {
    // A template becomes YAML elsewhere.
    let is_wanted = |text: &&str| text.len() <= MAX_FOREIGN && !text.contains("{{");
    let text = std::str::from_utf8(bytes).ok().filter(is_wanted)?;
    let (line, cause) = no_yaml(text)?;
    let next_step = "correct it if it is meant to hold an object; it is left alone";
    let diagnostic = trouble(path, Some(line), format!("is no YAML: {cause}"), next_step);
    Some(Box::new(Diagnostic { severity: Severity::Warning, ..*diagnostic }))
}

/// The bytes of a regular file, if it is there.
pub(super) fn optional(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let error = |source| StoreError::Read { place: shown(path), source };
    let file = match regular::open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(error(source)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_STATE + 1).read_to_end(&mut bytes).map_err(error)?;
    if bytes.len() as u64 > MAX_STATE {
        return Err(error(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(Some(bytes))
}

/// The text of a regular file, if it is there.
pub(super) fn optional_text(path: &Path) -> Result<Option<String>, StoreError> {
    let Some(bytes) = optional(path)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|error| StoreError::Read {
        place: shown(path),
        source: io::Error::new(io::ErrorKind::InvalidData, error),
    })
}

/// The names of everything in a folder that are text; none where the folder is not there.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let error = |source| StoreError::Read { place: shown(folder), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(error(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(error)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// What stands for these bytes.
pub(super) fn version(bytes: &[u8]) -> Version {
    use std::fmt::Write;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    Version::new(text)
}

/// Whether a large file mentions objects of ours, as far as it is looked through.
fn search(file: File) -> io::Result<bool> {
    let mut rest = file.take(MAX_SEARCH);
    let mut window = Vec::new();
    loop {
        let read = rest.by_ref().take(1 << 20).read_to_end(&mut window)?;
        if mentions_ours(&window) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(rest.limit() == 0);
        }
        // What is searched for may begin in one piece and end in the next.
        window.drain(..window.len().saturating_sub(netenf_api::GROUP.len()));
    }
}

fn too_large(path: &Path) -> Box<Diagnostic> {
    let cause = format!("is larger than {} MiB", MAX_FILE >> 20);
    trouble(path, None, cause, "write its objects into files of their own")
}

fn trouble(path: &Path, line: Option<usize>, cause: String, next_step: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic {
        severity: Severity::Error,
        place: shown(path),
        line,
        cause,
        next_step: next_step.to_owned(),
        object: None,
    })
}
