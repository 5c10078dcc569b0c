//! Files that are broken, huge, unreadable, or lead elsewhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use netenf_k8s::lifecycle::Key;
use rstest::rstest;

use super::support::*;
use crate::diagnostic::Severity;
use crate::dir::DirStore;
use crate::error::StoreError;
use crate::store::{Batch, BlobChange, Change, Scope, Store};

/// What reading says of `path`, beside an object that is read all the same.
fn told(folder: &Folder, path: &str) -> String {
    folder.write("shop/api.proposal.yaml", text("shop", "api"));
    let listing = folder.open().list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 1);
    let [diagnostic] = &listing.diagnostics[..] else { panic!("{listing:?}") };
    assert_eq!(diagnostic.severity, Severity::Error);
    assert!(!diagnostic.next_step.is_empty());
    let said = diagnostic.to_string();
    assert!(said.contains(path), "{said}");
    said
}

#[test]
fn a_broken_file_costs_no_other_object() {
    let broken = text("shop", "web").replace("kind:", "kind: [");
    let folder = Folder::with(&[("shop/web.proposal.yaml", &broken)]);
    assert!(told(&folder, "shop/web.proposal.yaml:2: ").contains("line 2"));
    let store = folder.lock();
    let error = store.get(&Key::proposal("shop", "web")).unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    for object in [proposal("shop", "web").into(), policy("shop", "web").into()] {
        let error = store.apply(&changes([Change::Create(object)])).unwrap_err();
        assert!(matches!(error, StoreError::Broken(_)), "{error}");
    }
    store.apply(&promotion(&store, "shop", "api")).unwrap();
    assert_eq!(folder.read("shop/web.proposal.yaml"), broken);
}

#[test]
fn a_file_with_a_broken_document_is_not_written() {
    let all =
        format!("{}---\n{}", text("shop", "web"), text("shop", "x").replace("spec:", "spec: ["));
    let folder = Folder::with(&[("all.yaml", &all)]);
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    let error = store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap_err();
    assert!(matches!(error, StoreError::Broken(_)), "{error}");
    assert_eq!(folder.read("all.yaml"), all);
}

#[test]
fn a_file_that_is_too_large_is_told() {
    let folder = Folder::new();
    let large = format!("{}# {}\n", text("shop", "web"), "x".repeat(4 << 20));
    folder.write("large.yaml", large);
    assert!(told(&folder, "large.yaml").contains("larger than 4 MiB"));
}

#[test]
fn nothing_is_written_that_could_not_be_read_again() {
    let folder = Folder::new();
    let mut own = proposal("shop", "web");
    let annotations = own.metadata.annotations.get_or_insert_default();
    annotations.insert("note".to_owned(), "x".repeat(4 << 20));
    let error = folder.lock().apply(&changes([Change::Create(own.into())])).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    assert!(folder.objects().is_empty());
}

#[test]
fn a_large_file_of_others_is_nothing_to_tell() {
    let folder = Folder::new();
    folder.write("large.yaml", "x".repeat(5 << 20));
    assert_eq!(folder.open().list(Scope::All).unwrap().diagnostics, []);
}

#[test]
fn what_is_not_utf_8_is_told_with_its_line() {
    let folder = Folder::new();
    let mut bytes = text("shop", "web").into_bytes();
    bytes.extend(b"# caf\xe9\n");
    folder.write("latin.yaml", bytes);
    assert!(told(&folder, "latin.yaml:23").contains("is not UTF-8"));
}

#[test]
fn a_pipe_is_not_waited_for() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.join("pipe.yaml")).status().unwrap();
    assert!(made.success());
    // A pipe is no file, and no link that leads to one.
    symlink(folder.join("pipe.yaml"), folder.join("link.yaml")).unwrap();
    folder.write("shop/api.proposal.yaml", text("shop", "api"));
    let listing = folder.open().list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 1);
    assert!(listing.diagnostics.iter().all(|told| told.cause == "is no regular file"));
}

#[test]
fn a_folder_with_the_name_of_a_file_is_a_folder() {
    let folder = Folder::new();
    folder.write("shop/web.policy.yaml/web.yaml", text("shop", "web"));
    let store = folder.lock();
    assert_eq!(store.list(Scope::All).unwrap().objects.len(), 1);
    let error = store.apply(&promotion(&store, "shop", "web")).unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    assert!(folder.join("shop/web.policy.yaml/web.yaml").exists());
}

#[test]
fn a_file_with_the_name_of_a_folder_is_in_the_way() {
    let folder = Folder::with(&[("shop", "x")]);
    let error = folder
        .lock()
        .apply(&changes([Change::Create(proposal("shop", "web").into())]))
        .unwrap_err();
    assert!(matches!(error, StoreError::NotFolder { .. }), "{error}");
}

#[test]
fn a_file_that_holds_something_else_is_in_the_way() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", "kind: X\n")]);
    let error = folder
        .lock()
        .apply(&changes([Change::Create(proposal("shop", "web").into())]))
        .unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
    assert_eq!(folder.read("shop/web.proposal.yaml"), "kind: X\n");
}

#[rstest]
#[case::up("../shop", "web")]
#[case::here(".", "web")]
#[case::state(".netenf", "web")]
#[case::absolute("/etc", "web")]
#[case::up_by_name("shop", "../../web")]
#[case::nothing("shop", "")]
#[case::upper_case("shop", "Web")]
#[case::long("shop", &"a".repeat(254))]
fn names_lead_nowhere_else(#[case] namespace: &str, #[case] name: &str) {
    let folder = Folder::new();
    let store = folder.lock();
    let mut own = proposal("shop", "web");
    own.metadata.namespace = Some(namespace.to_owned());
    own.metadata.name = Some(name.to_owned());
    let batch = changes([Change::Create(own.clone().into())]);
    let recorded = Batch { records: vec![record(own.into(), "")], ..Batch::default() };
    for batch in [batch, recorded] {
        let error = store.apply(&batch).unwrap_err();
        assert!(matches!(error, StoreError::InvalidName { .. }), "{error}");
    }
    assert!(store.get(&Key::proposal(namespace, name)).is_err());
    assert!(store.history(namespace, name).is_err());
    assert!(store.blob(namespace).is_err() || namespace == "shop");
}

#[test]
fn a_link_is_written_through_to_its_file() {
    let folder = Folder::with(&[("base/.store/web", &text("shop", "web"))]);
    fs::create_dir(folder.join("shop")).unwrap();
    symlink("../base/.store/web", folder.join("shop/web.proposal.yaml")).unwrap();
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    assert!(folder.join("shop/web.proposal.yaml").is_symlink());
    assert!(folder.read("base/.store/web").contains("test: new"));
}

#[test]
fn a_file_and_a_link_to_it_are_one() {
    let folder = Folder::with(&[("shop/web.yaml", &text("shop", "web"))]);
    symlink("web.yaml", folder.join("shop/again.yaml")).unwrap();
    symlink(".", folder.join("shop/around")).unwrap();
    let listing = folder.open().list(Scope::All).unwrap();
    assert_eq!(listing.objects.len(), 1);
    assert_eq!(listing.diagnostics.len(), 1);
    assert_eq!(listing.diagnostics[0].severity, Severity::Note);
}

#[test]
fn a_link_out_of_the_folder_is_read_and_not_written() {
    let outside = Folder::with(&[("web.yaml", &text("shop", "web"))]);
    let folder = Folder::new();
    symlink(outside.join("web.yaml"), folder.join("web.yaml")).unwrap();
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    let error = store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap_err();
    assert!(matches!(error, StoreError::Outside { .. }), "{error}");
    let error = store.apply(&promotion(&store, "shop", "web")).unwrap_err();
    assert!(matches!(error, StoreError::Outside { .. }), "{error}");
    assert_eq!(outside.read("web.yaml"), text("shop", "web"));
    assert_eq!(folder.objects().len(), 1, "nothing of the batch was written");
}

#[test]
fn a_namespace_that_is_a_link_out_of_the_folder_is_not_written_to() {
    let outside = Folder::new();
    let folder = Folder::new();
    symlink(outside.path(), folder.join("shop")).unwrap();
    let error = folder
        .lock()
        .apply(&changes([Change::Create(proposal("shop", "web").into())]))
        .unwrap_err();
    assert!(matches!(error, StoreError::Outside { .. }), "{error}");
    assert!(outside.everything().is_empty());
}

#[test]
fn a_link_to_nowhere_is_told_and_not_written_over() {
    let folder = Folder::new();
    fs::create_dir(folder.join("shop")).unwrap();
    symlink("gone.yaml", folder.join("shop/web.proposal.yaml")).unwrap();
    assert!(told(&folder, "shop/web.proposal.yaml").contains("cannot be read"));
    let error = folder
        .lock()
        .apply(&changes([Change::Create(proposal("shop", "web").into())]))
        .unwrap_err();
    assert!(matches!(error, StoreError::Occupied { .. }), "{error}");
}

#[test]
fn permissions_stay() {
    let folder = Folder::with(&[("shop/web.proposal.yaml", &text("shop", "web"))]);
    let path = folder.join("shop/web.proposal.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let store = folder.lock();
    let stored = store.get(&Key::proposal("shop", "web")).unwrap().unwrap();
    store.apply(&changes([stored.replace(labelled(&stored, "new"))])).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_new_file_is_as_readable_as_any_other() {
    let folder = Folder::new();
    folder.lock().apply(&changes([Change::Create(proposal("shop", "web").into())])).unwrap();
    folder.write("shop/other", "x");
    let mode = |path| fs::metadata(folder.join(path)).unwrap().permissions().mode();
    assert_eq!(mode("shop/web.proposal.yaml"), mode("shop/other"));
}

#[test]
fn control_characters_of_names_are_not_shown() {
    let folder = Folder::new();
    folder.write("a\u{1b}[31m.yaml", text("shop", "web").replace("spec:", "spec: ["));
    let listing = folder.open().list(Scope::All).unwrap();
    assert!(!listing.diagnostics[0].to_string().contains('\u{1b}'));
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = Folder::with(&[("file", "x")]);
    let error = DirStore::open(folder.join("none")).unwrap_err();
    assert!(matches!(error, StoreError::NoFolder { .. }), "{error}");
    let error = DirStore::lock(folder.join("none"), writer()).unwrap_err();
    assert!(matches!(error, StoreError::NoFolder { .. }), "{error}");
    assert!(!folder.join("none").exists());
    let error = DirStore::open(folder.join("file")).unwrap_err();
    assert!(matches!(error, StoreError::NotFolder { .. }), "{error}");
}

#[test]
fn every_error_has_a_next_step() {
    let folder = Folder::new();
    let error = DirStore::open(folder.join("none")).unwrap_err();
    assert!(error.next_step().contains("--dir"), "{}", error.next_step());
}

#[test]
fn no_state_is_written_that_could_not_be_read_again() {
    let folder = Folder::new();
    let text = Some("x".repeat((256 << 20) + 1));
    let blob = BlobChange { name: "counters".into(), text, expected: None };
    let error = folder.lock().apply(&Batch { blobs: vec![blob], ..Batch::default() }).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { limit: 256, .. }), "{error}");
}
