#[test]
fn generated_files_are_what_is_committed() {
    let stale = super::stale().unwrap();
    assert!(stale.is_empty(), "stale generated files, run `make generate`: {stale:?}");
}
