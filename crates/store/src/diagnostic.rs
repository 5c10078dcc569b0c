//! What a store could not read, or could not use as it stands.

use std::fmt;

use netenf_k8s::lifecycle::Key;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost; a person may want to know.
    Note,
    /// Something is not used; the object is.
    Warning,
    /// An object is not used.
    Error,
}

/// Something that could not be read, or not be used as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where: a file, or an object.
    pub place: String,
    /// Line of the file, counted from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub cause: String,
    /// What a person can do next.
    pub next_step: String,
    /// The object that it is about, where that could be told.
    pub object: Option<Key>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, line, cause, .. } = self;
        match line {
            Some(line) => write!(formatter, "{place}:{line}: {cause}"),
            None => write!(formatter, "{place}: {cause}"),
        }
    }
}
