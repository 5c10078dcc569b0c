//! Which files of the folder may hold objects.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::is_temporary;
use super::name::shown;
use super::{STATE, place};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::StoreError;

/// What stands in a folder.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// YAML files, sorted; each once, however many links lead to it.
    pub(super) files: Vec<PathBuf>,
    /// What a writer that was killed left behind.
    pub(super) temporary: Vec<PathBuf>,
    /// What could not be looked into.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Finds the YAML files below `root`, which is `real` once links are resolved.
pub(super) fn walk(root: &Path, real: &Path) -> Result<Walk, StoreError> {
    let mut walk = Walk::default();
    let mut links = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        match entries(&folder) {
            Ok(entries) => {
                for (path, kind) in entries {
                    sort(path, kind, &mut walk, &mut folders, &mut links);
                }
            }
            Err(source) if folder == root => {
                return Err(StoreError::Read { place: shown(root), source });
            }
            Err(error) => walk.diagnostics.push(unreadable(&folder, &error)),
        }
    }
    let state = root.join(STATE);
    if place::check_state_folder(root, &state).is_ok() {
        let entries = entries(&state).unwrap_or_default().into_iter().map(|(path, _)| path);
        walk.temporary.extend(entries.filter(|path| is_temporary(path)));
    }
    follow(links, real, &mut walk);
    walk.files.sort_unstable();
    Ok(walk)
}

fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
    let kinds = |entry: DirEntry| Ok((entry.path(), entry.file_type()?));
    fs::read_dir(folder)?.map(|entry| entry.and_then(kinds)).collect()
}

fn sort(
    path: PathBuf,
    kind: FileType,
    walk: &mut Walk,
    folders: &mut Vec<PathBuf>,
    links: &mut Vec<PathBuf>,
) {
    if is_hidden(&path) {
        if is_temporary(&path) {
            walk.temporary.push(path);
        }
    } else if kind.is_dir() {
        folders.push(path);
    } else if kind.is_symlink() {
        links.push(path);
    } else if is_yaml(&path) {
        walk.files.push(path);
    }
}

/// A link to a file stands for it, unless the file is found without it; a link to a folder is not followed.
fn follow(mut links: Vec<PathBuf>, real: &Path, walk: &mut Walk) {
    links.sort_unstable();
    let mut seen = BTreeSet::new();
    for link in links {
        match link.canonicalize() {
            Ok(target) if target.is_dir() => walk.diagnostics.push(Diagnostic {
                severity: Severity::Note,
                place: shown(&link),
                line: None,
                cause: "a link to a folder is not followed".to_owned(),
                next_step: "put the folder itself there, where it holds objects".to_owned(),
                object: None,
            }),
            _ if !is_yaml(&link) => {}
            Ok(target) => {
                if !is_found(&target, real) && seen.insert(target) {
                    walk.files.push(link);
                }
            }
            Err(error) => walk.diagnostics.push(unreadable(&link, &error)),
        }
    }
}

/// Whether the walk finds the file `target` without any link.
pub(super) fn is_found(target: &Path, real: &Path) -> bool {
    let Ok(inside) = target.strip_prefix(real) else { return false };
    is_yaml(target) && !inside.ancestors().any(is_hidden)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        place: shown(path),
        line: None,
        cause: format!("cannot be read: {error}"),
        next_step: "make it readable, or remove it".to_owned(),
        object: None,
    }
}
