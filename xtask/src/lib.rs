//! Generators of committed files, and checks on the repository itself.
//!
//! Every generator returns the files it would write. `cargo run -p xtask -- codegen` (`make generate`)
//! writes them; a test compares them with what is committed and names that command.

use std::path::{Path, PathBuf};

pub mod bench;
pub mod crds;
pub mod protos;
pub mod tidy;

/// A file that a generator would write, with its path from the repository root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Path from the repository root.
    pub path: PathBuf,
    /// The whole content.
    pub content: String,
}

/// The repository root.
///
/// # Panics
/// Never: this crate stands in a folder below the root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands below the root")
}

/// Runs every generator.
pub fn generate() -> anyhow::Result<Vec<Generated>> {
    let mut files = crds::generate()?;
    files.extend(protos::generate()?);
    Ok(files)
}

/// The generated files that differ from what is committed.
pub fn stale() -> anyhow::Result<Vec<PathBuf>> {
    let files = generate()?;
    Ok(files
        .into_iter()
        .filter(|file| {
            std::fs::read_to_string(root().join(&file.path)).ok().as_ref() != Some(&file.content)
        })
        .map(|file| file.path)
        .collect())
}

#[cfg(test)]
mod tests;
