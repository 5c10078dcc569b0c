//! Programs that tests talk to: genuine ones, built from Go modules once (`tests/peers`), and our own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program of the test peer `tests/peers/NAME`, built if this is its first use.
///
/// A first build takes minutes and says so on standard error. A machine without the tools fails: a
/// test that needs a peer and runs without it would prove nothing.
///
/// # Panics
/// If the program cannot be built.
#[must_use]
pub fn peer(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/build.sh");
    let build = Command::new(&script).arg(name).stderr(Stdio::inherit()).output();
    let build = build.expect("tests/peers/build.sh can be run");
    assert!(
        build.status.success(),
        "the test peer {name} cannot be built ({}); what its build said stands above",
        build.status
    );
    let path = String::from_utf8_lossy(&build.stdout);
    PathBuf::from(path.trim_end())
}

/// A program of this workspace, as it was built last.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a path");
    let built = test.ancestors().nth(2).unwrap_or(&test).join(name);
    assert!(built.exists(), "{} is missing; run `cargo build -p {name}`", built.display());
    built
}
