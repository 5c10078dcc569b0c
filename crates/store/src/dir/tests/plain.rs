//! Files for others: written whole, and never through a link.

use std::os::unix::fs::PermissionsExt;

use rstest::rstest;

use super::link::{Obstacle, entries, plant};
use super::support::*;
use crate::dir::PlainFolder;
use crate::error::StoreError;

#[test]
fn a_file_is_written_read_listed_and_removed() {
    let place = Folder::new();
    let folder = PlainFolder::new(place.join("deploy")).unwrap();
    assert_eq!(folder.names().unwrap(), [""; 0]);
    assert_eq!(folder.read("a.yaml").unwrap(), None);
    folder.write("b.yaml", "one").unwrap();
    folder.write("b.yaml", "two").unwrap();
    folder.write("a.yaml", "x").unwrap();
    assert_eq!(folder.names().unwrap(), ["a.yaml", "b.yaml"]);
    assert_eq!(folder.read("b.yaml").unwrap().as_deref(), Some("two"));
    folder.remove("a.yaml").unwrap();
    assert_eq!(folder.names().unwrap(), ["b.yaml"]);
}

#[test]
fn a_file_is_as_readable_as_any_other_and_stays_so() {
    let place = Folder::with(&[("other", "x")]);
    let folder = PlainFolder::new(place.path()).unwrap();
    let mode = |name| place.join(name).metadata().unwrap().permissions().mode();
    folder.write("a.yaml", "x").unwrap();
    assert_eq!(mode("a.yaml"), mode("other"));
    std::fs::set_permissions(place.join("a.yaml"), PermissionsExt::from_mode(0o640)).unwrap();
    folder.write("a.yaml", "y").unwrap();
    assert_eq!(mode("a.yaml") & 0o777, 0o640);
}

#[rstest]
fn whatever_has_the_name_of_a_file_stays_and_is_not_followed(
    #[values(
        Obstacle::LinkToFile,
        Obstacle::LinkToFolder,
        Obstacle::LinkToNothing,
        Obstacle::Pipe,
        Obstacle::Other
    )]
    obstacle: Obstacle,
) {
    let outside = Folder::with(&[("shop/api.proposal.yaml", "x")]);
    let place = Folder::new();
    plant(obstacle, &place.join("a.yaml"), false, outside.path(), outside.path());
    let (before, elsewhere) = (entries(place.path()), entries(outside.path()));
    let folder = PlainFolder::new(place.path()).unwrap();
    for error in [
        folder.read("a.yaml").unwrap_err(),
        folder.write("a.yaml", "new").unwrap_err(),
        folder.remove("a.yaml").unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Link { .. } | StoreError::NotFile { .. }), "{error}");
        assert!(error.to_string().contains("a.yaml"), "{error}");
    }
    assert_eq!((entries(place.path()), entries(outside.path())), (before, elsewhere));
}

#[rstest]
#[case::file(Obstacle::LinkToFile)]
#[case::nothing(Obstacle::LinkToNothing)]
#[case::pipe(Obstacle::Pipe)]
fn what_is_no_folder_is_refused(#[case] obstacle: Obstacle) {
    let outside = Folder::with(&[("shop/api.proposal.yaml", "x")]);
    let place = Folder::new();
    plant(obstacle, &place.join("deploy"), false, outside.path(), outside.path());
    let error = PlainFolder::new(place.join("deploy")).unwrap_err();
    assert!(matches!(error, StoreError::Link { .. } | StoreError::NotFolder { .. }), "{error}");
    assert_eq!(outside.everything().len(), 1);
}

#[rstest]
#[case::up("../a.yaml")]
#[case::below("b/a.yaml")]
#[case::absolute("/tmp/a.yaml")]
#[case::here(".")]
#[case::trailing("a.yaml/")]
#[case::nothing("")]
fn a_name_leads_nowhere_else(#[case] name: &str) {
    let place = Folder::new();
    let folder = PlainFolder::new(place.path()).unwrap();
    let error = folder.write(name, "x").unwrap_err();
    assert!(matches!(error, StoreError::InvalidName { .. }), "{error}");
}
