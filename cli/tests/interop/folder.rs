//! The command line at work in a folder of its own.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder of proposals and policies.
pub(crate) struct Folder(TempDir);

// === impl Folder ===

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// What a command prints; it must succeed.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-netenf"))
            .args(arguments)
            .env("NETENF_DIR", self.0.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {}\n{told}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// All proposals as they are stored, as one stream of YAML documents.
    pub(crate) fn proposals(&self) -> String {
        stream(self.0.path(), ".proposal.yaml")
    }

    /// All policies, the same way.
    pub(crate) fn policies(&self) -> String {
        stream(self.0.path(), ".policy.yaml")
    }
}

/// The files of that ending in the folders below, sorted.
fn stream(folder: &Path, ending: &str) -> String {
    let entries = |folder: &Path| {
        let mut found: Vec<_> =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    };
    let namespaces = entries(folder).into_iter().filter(|path| path.is_dir());
    let files = namespaces.flat_map(|namespace| entries(&namespace));
    files
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect::<Vec<_>>()
        .join("---\n")
}
