//! A folder that somebody else made: whatever stands where we write, nothing elsewhere changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::Command;

use rstest::rstest;

use super::crash::{batch, folder};
use super::support::*;
use crate::dir::DirStore;
use crate::error::StoreError;
use crate::store::{Batch, Change, Scope, Store};

/// What stands where the store writes a file or looks for a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// A link to the same thing elsewhere.
    LinkOutside,
    /// A link to a file elsewhere.
    LinkToFile,
    /// A link to a folder elsewhere.
    LinkToFolder,
    /// A link to what is not there, elsewhere.
    LinkToNothing,
    /// A named pipe that nobody writes to or reads from.
    Pipe,
    /// A folder for a file, and a file for a folder.
    Other,
}

/// Everything below `root`: what it is, and what a file holds.
pub(super) fn entries(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let (path, kind) =
                entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
            let what = if kind.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if kind.is_symlink() {
                format!("link to {}", path.read_link().unwrap().display())
            } else if kind.is_fifo() {
                "pipe".to_owned()
            } else {
                format!("file: {}", fs::read_to_string(&path).unwrap())
            };
            found.insert(path.strip_prefix(root).unwrap().display().to_string(), what);
        }
    }
    found
}

/// A folder after the work of the table, and every path that it found or left.
fn worked() -> (Folder, BTreeMap<String, String>) {
    let folder = folder();
    let mut paths = entries(folder.path());
    let store = folder.lock();
    store.apply(&batch(&store)).unwrap();
    paths.extend(entries(folder.path()));
    drop(store);
    (folder, paths)
}

/// Everything but the state.
fn objects(root: &Path) -> BTreeMap<String, String> {
    let mut entries = entries(root);
    entries.retain(|path, _| !path.starts_with(".netenf"));
    entries
}

pub(super) fn plant(obstacle: Obstacle, path: &Path, is_folder: bool, outside: &Path, twin: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match obstacle {
        Obstacle::LinkOutside => symlink(twin, path).unwrap(),
        Obstacle::LinkToFile => symlink(outside.join("shop/api.proposal.yaml"), path).unwrap(),
        Obstacle::LinkToFolder => symlink(outside, path).unwrap(),
        Obstacle::LinkToNothing => symlink(outside.join("gone"), path).unwrap(),
        Obstacle::Pipe => {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        Obstacle::Other if is_folder => fs::write(path, "x").unwrap(),
        Obstacle::Other => fs::create_dir(path).unwrap(),
    }
}

#[rstest]
fn whatever_stands_where_we_write_is_refused_and_nothing_elsewhere_changes(
    #[values(
        Obstacle::LinkOutside,
        Obstacle::LinkToFile,
        Obstacle::LinkToFolder,
        Obstacle::LinkToNothing,
        Obstacle::Pipe,
        Obstacle::Other
    )]
    obstacle: Obstacle,
) {
    let (outside, paths) = worked();
    // What is not there after the work is removed by it.
    outside.write("shop/web.proposal.yaml", text("shop", "web"));
    outside.write("shop/old.proposal.yaml", text("shop", "old"));
    let elsewhere = entries(outside.path());
    for (path, what) in &paths {
        let folder = folder();
        let batch = batch(&folder.open());
        plant(obstacle, &folder.join(path), what == "folder", outside.path(), &outside.join(path));
        let (planted, before) = (entries(folder.path())[path].clone(), objects(folder.path()));

        let outcome = DirStore::lock(folder.path(), writer())
            .and_then(|store| store.apply(&batch))
            .map_err(|error| error.to_string());

        let case = format!("{obstacle:?} at {path}: {outcome:?}");
        match outcome {
            // What could not be read is not what the batch was made for.
            Err(said) => {
                assert!(
                    said.contains(path) || said.ends_with("changed since it was read"),
                    "{case}"
                );
                assert_eq!(objects(folder.path()), before, "{case}");
            }
            // A number that is taken is not used, whatever took it.
            Ok(_) => assert_eq!(path, ".netenf/history/shop/web/1.yaml", "{case}"),
        }
        assert_eq!(entries(folder.path())[path], planted, "{case}");
        assert_eq!(entries(outside.path()), elsewhere, "{case}");
    }
}

#[rstest]
#[case::link_to_nothing(Obstacle::LinkToNothing)]
#[case::link_to_a_file(Obstacle::LinkToFile)]
#[case::link_to_a_folder(Obstacle::LinkToFolder)]
#[case::pipe(Obstacle::Pipe)]
#[case::folder(Obstacle::Other)]
fn what_looks_like_a_temporary_file_goes_by_itself_at_most(#[case] obstacle: Obstacle) {
    let (outside, _) = worked();
    let elsewhere = entries(outside.path());
    let folder = folder();
    for place in [".netenf/.netenf-1.tmp", "shop/.netenf-2.tmp", ".netenf-3.tmp"] {
        plant(obstacle, &folder.join(place), false, outside.path(), outside.path());
    }
    let store = folder.lock();
    store.apply(&batch(&store)).unwrap();
    assert_eq!(entries(outside.path()), elsewhere);
}

#[rstest]
#[case::in_the_folder("kept")]
#[case::elsewhere("/tmp")]
fn the_state_is_no_link_wherever_it_leads(#[case] target: &str) {
    let folder = folder();
    fs::create_dir(folder.join("kept")).unwrap();
    symlink(target, folder.join(".netenf")).unwrap();
    let error = DirStore::lock(folder.path(), writer()).unwrap_err();
    assert!(matches!(error, StoreError::Link { .. }), "{error}");
    assert!(error.next_step().contains("remove the link"), "{}", error.next_step());
    assert_eq!(fs::read_dir(folder.join("kept")).unwrap().count(), 0);
}

#[test]
fn a_reader_follows_no_link_of_the_state() {
    let (outside, _) = worked();
    let folder = folder();
    symlink(outside.join(".netenf"), folder.join(".netenf")).unwrap();
    let store = folder.open();
    assert_eq!(store.list(Scope::All).unwrap().objects.len(), 3);
    for error in [store.blob("counters").unwrap_err(), store.history("shop", "web").unwrap_err()] {
        assert!(matches!(error, StoreError::Link { .. }), "{error}");
    }
}

#[test]
fn a_revision_that_is_a_link_is_told_and_not_read() {
    let (outside, _) = worked();
    let folder = folder();
    let revisions = ".netenf/history/shop/web";
    fs::create_dir_all(folder.join(revisions)).unwrap();
    symlink(outside.join(revisions).join("1.yaml"), folder.join(revisions).join("1.yaml")).unwrap();
    let history = folder.open().history("shop", "web").unwrap();
    assert_eq!((history.revisions.len(), history.diagnostics.len()), (0, 1));
    assert_eq!(history.diagnostics[0].cause, "is no regular file");
}

#[test]
fn an_object_is_not_written_where_it_would_not_be_found() {
    let folder = folder();
    fs::create_dir_all(folder.join(".git/hooks")).unwrap();
    symlink(".git/hooks", folder.join("new")).unwrap();
    let create = changes([Change::Create(proposal("new", "web").into())]);
    let error = folder.lock().apply(&create).unwrap_err();
    assert!(matches!(error, StoreError::Link { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.join(".git/hooks")).unwrap().count(), 0);
}

#[test]
fn the_last_of_all_numbers_is_no_revision() {
    let folder = folder();
    folder.write(&format!(".netenf/history/shop/web/{}.yaml", u64::MAX), "x");
    let records = vec![record(policy("shop", "web").into(), "")];
    let applied = folder.lock().apply(&Batch { records, ..Batch::default() }).unwrap();
    assert_eq!(applied.revisions[0].1, 1);
}
