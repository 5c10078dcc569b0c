//! Every step of writing may fail, or be the last one of the process.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use netenf_k8s::lifecycle::{Key, Kind};
use rstest::rstest;

use super::support::*;
use crate::dir::DirStore;
use crate::dir::disk::{Hook, Step, is_temporary};
use crate::error::StoreError;
use crate::store::{Batch, BlobChange, Change, Scope, Store};

/// A folder that `batch` has something of every kind to do with.
pub(super) fn folder() -> Folder {
    Folder::with(&[
        ("shop/web.proposal.yaml", &text("shop", "web")),
        ("shop/api.proposal.yaml", &text("shop", "api")),
        ("shop/old.proposal.yaml", &text("shop", "old")),
    ])
}

/// Promotes one object, changes one, removes one, makes one in a new namespace, and keeps state.
pub(super) fn batch(store: &DirStore) -> Batch {
    let get = |name| store.get(&Key::proposal("shop", name)).unwrap().unwrap();
    let mut batch = promotion(store, "shop", "web");
    let api = get("api");
    batch.changes.push(api.replace(labelled(&api, "new")));
    batch.changes.push(get("old").delete());
    batch.changes.push(Change::Create(proposal("new", "first").into()));
    let text = Some("{}".to_owned());
    batch.blobs.push(BlobChange { name: "counters".into(), text, expected: None });
    batch
}

/// Calls `act` before the step number `fatal`.
fn at(fatal: usize, act: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Hook {
    let steps = AtomicUsize::new(0);
    Arc::new(
        move |_: Step, _: &Path| {
            if steps.fetch_add(1, Ordering::SeqCst) == fatal { act() } else { Ok(()) }
        },
    )
}

/// The files but for what is not of objects or history.
fn kept(folder: &Folder) -> BTreeMap<String, String> {
    let mut files = folder.everything();
    files.retain(|path, _| !path.ends_with("lock") && !path.ends_with(".gitignore"));
    files
}

/// As many new objects as make the store wait for the disk once, not for each.
fn large(store: &DirStore) -> Batch {
    let mut batch = batch(store);
    batch.changes.extend(
        (0..40).map(|number| Change::Create(proposal("many", &format!("web-{number}")).into())),
    );
    batch
}

#[rstest]
#[case::waiting_for_each_file(batch)]
#[case::waiting_for_all_files(large)]
fn a_step_that_fails_leaves_everything_as_it_was(#[case] batch: fn(&DirStore) -> Batch) {
    for fatal in 0.. {
        let folder = folder();
        let before = kept(&folder);
        let mut store = folder.lock();
        let batch = batch(&store);
        store.set_hook(at(fatal, || Err(io::ErrorKind::StorageFull.into())));
        match store.apply(&batch) {
            Ok(_) => {
                assert!(fatal > 15, "only {fatal} steps");
                return;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Write { .. }), "step {fatal}: {error}");
                assert_eq!(kept(&folder), before, "step {fatal}: {error}");
                assert!(!folder.join("new").exists(), "step {fatal}");
            }
        }
    }
}

#[test]
fn what_cannot_be_undone_is_named() {
    let folder = folder();
    let mut store = folder.lock();
    let batch = batch(&store);
    // Once the first file is in place nothing works any more.
    let broken = AtomicUsize::new(0);
    store.set_hook(Arc::new(move |step, path| {
        if step == Step::Rename && path.ends_with("web.policy.yaml") {
            broken.store(1, Ordering::SeqCst);
            return Ok(());
        }
        match broken.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }));
    let error = store.apply(&batch).unwrap_err();
    assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
    assert!(error.to_string().contains("shop/web.policy.yaml"), "{error}");
    assert!(error.next_step().contains("git status"));
    let listing = folder.open().list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 3, "{listing:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = folder();
    let before = kept(&folder);
    let mut store = folder.lock();
    let batch = batch(&store);
    store.set_hook(Arc::new(|_, _| Err(io::ErrorKind::ReadOnlyFilesystem.into())));
    let error = store.apply(&batch).unwrap_err();
    assert!(error.to_string().starts_with("cannot "), "{error}");
    assert!(error.next_step().contains("writable"), "{}", error.next_step());
    assert_eq!(kept(&folder), before);
}

#[test]
fn a_folder_that_is_read_only_is_told_and_left_alone() {
    let folder = folder();
    let program = tempfile::tempdir().unwrap();
    let copy = program.path().join("writer");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let before = folder.everything();
    for (path, mode) in [
        (folder.join("shop"), 0o555),
        (folder.path().to_owned(), 0o555),
        (program.path().to_owned(), 0o755),
    ] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new(copy);
    // Root may write everywhere.
    if std::fs::metadata(folder.path()).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    let output = command
        .args(["--ignored", "--exact", "--nocapture", "dir::tests::crash::writer_that_is_refused"])
        .env("NETENF_TEST_FOLDER", folder.path())
        .env_remove("RUST_BACKTRACE")
        .current_dir("/")
        .output()
        .unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(folder.join("shop"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("told: cannot make the folder"), "{output:?}");
    assert!(said.contains("writable for you"), "{said}");
    assert_eq!(folder.everything(), before);
}

/// Says what it is told; run by the test above.
#[test]
#[ignore = "only run by a_folder_that_is_read_only_is_told_and_left_alone"]
fn writer_that_is_refused() {
    let Some(folder) = std::env::var_os("NETENF_TEST_FOLDER") else { return };
    assert_eq!(DirStore::open(&folder).unwrap().list(Scope::All).unwrap().objects.len(), 3);
    let error = DirStore::lock(folder, writer()).unwrap_err();
    println!("told: {error}; {}", error.next_step());
}

/// What a reader may see after a crash: each object old or new, and none in neither.
fn check_nothing_lost(folder: &Folder, fatal: usize) {
    let listing = folder.open().list(Scope::All).unwrap();
    let errors = listing.diagnostics.iter().filter(|told| told.severity > crate::Severity::Note);
    assert_eq!(errors.count(), 0, "step {fatal}: {:?}", listing.diagnostics);
    let find = |key: &Key| listing.find(key).map(|stored| &stored.object);
    let web = Key::proposal("shop", "web");
    match (find(&web), find(&web.with_kind(Kind::Policy))) {
        (Some(own), None) => assert_eq!(*own, proposal("shop", "web").into()),
        (None, Some(own)) => assert_eq!(*own, policy("shop", "web").into()),
        both => panic!("step {fatal}: {both:?}"),
    }
    let api = find(&Key::proposal("shop", "api")).unwrap().metadata().labels.as_ref();
    assert!(api.is_none_or(|labels| labels["test"] == "new"), "step {fatal}");
    for (path, text) in folder.objects() {
        if !is_temporary(Path::new(&path)) {
            assert!(text.ends_with('\n'), "step {fatal}: {path} is cut");
        }
    }
}

#[test]
fn a_crash_at_any_step_loses_nothing() {
    for fatal in 0.. {
        let folder = folder();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "dir::tests::crash::writer_that_dies"])
            .env("NETENF_TEST_FOLDER", folder.path())
            .env("NETENF_TEST_STEP", fatal.to_string())
            .output()
            .unwrap()
            .status;
        check_nothing_lost(&folder, fatal);
        if status.success() {
            assert!(fatal > 15, "only {fatal} steps");
            return;
        }
        // The next command that writes finishes what was begun, and cleans up.
        let store = folder.lock();
        store.apply(&changes([Change::Create(proposal("shop", "next").into())])).unwrap();
        let files = folder.everything();
        let litter = files.keys().any(|path| is_temporary(Path::new(path)));
        assert!(!litter, "step {fatal}: {files:?}");
        let both = ["shop/web.proposal.yaml", "shop/web.policy.yaml"];
        assert!(!both.iter().all(|path| files.contains_key(*path)), "step {fatal}");
        assert_eq!(store.history("shop", "web").unwrap().diagnostics, []);
    }
}

/// Dies before the step that it is told; run by the test above.
#[test]
#[ignore = "only run by a_crash_at_any_step_loses_nothing"]
fn writer_that_dies() {
    let Some(folder) = std::env::var_os("NETENF_TEST_FOLDER") else { return };
    let fatal = std::env::var("NETENF_TEST_STEP").unwrap().parse().unwrap();
    let mut store = DirStore::lock(folder, writer()).unwrap();
    let batch = batch(&store);
    store.set_hook(at(fatal, || std::process::abort()));
    store.apply(&batch).unwrap();
}
