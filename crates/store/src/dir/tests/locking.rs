//! One writer at a time, and nobody's change is written over.

use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use netenf_k8s::lifecycle::Key;

use super::support::*;
use crate::dir::{DirStore, MissingFolder, Writer};
use crate::error::StoreError;
use crate::store::{Change, Scope, Store};

#[test]
fn a_second_writer_is_told_who_is_the_first() {
    let folder = Folder::new();
    let first = folder.lock();
    let error = DirStore::lock(folder.path(), writer()).unwrap_err();
    let said = error.to_string();
    let expected = format!("is locked by process {} (kubectl netenf test)", std::process::id());
    assert!(said.contains(".netenf/lock") && said.ends_with(&expected), "{said}");
    assert!(error.next_step().contains("wait"));
    drop(first);
    folder.lock();
    assert_eq!(folder.read(".netenf/lock"), "", "nobody holds it");
}

#[test]
fn readers_need_no_lock() {
    let folder = Folder::with(&[("a.yaml", &text("shop", "web"))]);
    let _writer = folder.lock();
    assert_eq!(folder.open().list(Scope::All).unwrap().objects.len(), 1);
}

#[test]
fn a_reader_does_not_write() {
    let folder = Folder::new();
    let error = folder
        .open()
        .apply(&changes([Change::Create(proposal("shop", "web").into())]))
        .unwrap_err();
    assert!(matches!(error, StoreError::OpenedForReading { .. }), "{error}");
    assert!(folder.everything().is_empty(), "not even a lock");
}

#[test]
fn a_writer_may_wait() {
    let folder = Arc::new(Folder::new());
    let first = folder.lock();
    let barrier = Arc::new(Barrier::new(2));
    let second = thread::spawn({
        let (folder, barrier) = (Arc::clone(&folder), Arc::clone(&barrier));
        move || {
            barrier.wait();
            let patient = Writer { wait: Duration::from_mins(1), ..writer() };
            DirStore::lock(folder.path(), patient).map(drop)
        }
    });
    barrier.wait();
    drop(first);
    second.join().unwrap().unwrap();
}

#[test]
fn waiting_ends() {
    let folder = Folder::new();
    let _first = folder.lock();
    let patient = Writer { wait: Duration::from_millis(120), ..writer() };
    let error = DirStore::lock(folder.path(), patient).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
}

#[test]
fn of_many_writers_one_wins_at_a_time() {
    let folder = Arc::new(Folder::new());
    let barrier = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let (folder, barrier) = (Arc::clone(&folder), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                let store = match DirStore::lock(folder.path(), writer()) {
                    Ok(store) => store,
                    Err(StoreError::Locked { .. }) => return 0,
                    Err(error) => panic!("{error}"),
                };
                let name = format!("web-{number}");
                store.apply(&changes([Change::Create(proposal("shop", &name).into())])).unwrap();
                1
            })
        })
        .collect();
    let written: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(written > 0);
    assert_eq!(folder.open().list(Scope::All).unwrap().objects.len(), written);
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let folder = Folder::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "dir::tests::locking::holder"])
        .env("NETENF_TEST_FOLDER", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.stdout.take().unwrap();
    let held = std::io::BufRead::lines(std::io::BufReader::new(output))
        .map_while(Result::ok)
        .any(|line| line.contains("held"));
    assert!(held);
    let error = DirStore::lock(folder.path(), writer()).unwrap_err();
    assert!(error.to_string().contains(&format!("process {} ", child.id())), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    folder.lock();
}

/// Holds the lock until it is killed; run by the test above.
#[test]
#[ignore = "only run by the_lock_of_a_killed_process_is_free"]
fn holder() {
    let Some(folder) = std::env::var_os("NETENF_TEST_FOLDER") else { return };
    let _store = DirStore::lock(folder, writer()).unwrap();
    println!("held");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn a_folder_is_made_where_that_was_asked_for() {
    let folder = Folder::new();
    let create = Writer { missing: MissingFolder::Create, ..writer() };
    let store = DirStore::lock(folder.join("a/b"), create).unwrap();
    store.apply(&changes([Change::Create(proposal("shop", "web").into())])).unwrap();
    assert!(folder.join("a/b/shop/web.proposal.yaml").exists());
}

#[test]
fn what_changed_since_it_was_read_is_not_written_over() {
    let folder = Folder::with(&[
        ("shop/web.proposal.yaml", &text("shop", "web")),
        ("shop/api.proposal.yaml", &text("shop", "api")),
    ]);
    let store = folder.lock();
    let listing = store.list(Scope::All).unwrap();
    let edited = text("shop", "web").replace("5432", "5433");
    folder.write("shop/web.proposal.yaml", &edited);
    let both: Vec<Change> =
        listing.objects.iter().map(|stored| stored.replace(labelled(stored, "new"))).collect();
    let error = store.apply(&changes(both)).unwrap_err();
    assert!(
        matches!(&error, StoreError::Changed { place } if place.ends_with("web.proposal.yaml"))
    );
    assert_eq!(folder.read("shop/web.proposal.yaml"), edited);
    assert_eq!(folder.read("shop/api.proposal.yaml"), text("shop", "api"), "nothing of the batch");
}

#[test]
fn what_is_gone_since_it_was_read_is_not_written_again() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    std::fs::remove_file(folder.join("shop/web.proposal.yaml")).unwrap();
    for change in [stored.replace(stored.object.clone()), stored.delete()] {
        let error = store.apply(&changes([change])).unwrap_err();
        assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    }
}

#[test]
fn what_changes_while_it_is_written_is_not_written_over() {
    let folder = Arc::new(Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]));
    let mut store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    let editor = Arc::clone(&folder);
    store.set_hook(Arc::new(move |step, _| {
        if step == crate::dir::disk::Step::Sync {
            editor.write("shop/web.proposal.yaml", "# edited\n");
        }
        Ok(())
    }));
    let error = store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap_err();
    assert!(matches!(error, StoreError::Changed { .. }), "{error}");
    assert_eq!(
        folder.objects().into_iter().collect::<Vec<_>>(),
        [("shop/web.proposal.yaml".to_owned(), "# edited\n".to_owned())]
    );
}
