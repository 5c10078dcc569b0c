//! Test support: where other people's data stands, and what a test needs to run.

use std::path::{Path, PathBuf};

pub mod collector;
pub mod control_plane;
pub mod deadline;
pub mod generate;
pub mod peer;

/// The folder of shared test data (`../shared` beside the checkout), if it is there.
///
/// A clone without it may skip the tests that read it; under `CI` a missing folder is a failure,
/// so that a green run never hides a skipped test.
///
/// # Panics
/// Under `CI` without the folder.
#[must_use]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if folder.join("corpora").is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "CI needs the shared test data at {}",
        folder.display()
    );
    eprintln!("SKIPPED: needs the shared test data at {}", folder.display());
    None
}
