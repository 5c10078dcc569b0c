//! What a store could not do, and what a person can do about it.

use std::io;

use netenf_k8s::lifecycle::Key;

use crate::diagnostic::Diagnostic;

/// Something that a store could not do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder is not there.
    #[error("there is no folder {place}")]
    NoFolder {
        /// The folder.
        place: String,
    },
    /// Something else has the name of a folder.
    #[error("{place} is no folder")]
    NotFolder {
        /// What should be a folder.
        place: String,
    },
    /// Another writer holds the lock.
    #[error("{place} is locked by {holder}")]
    Locked {
        /// The lock.
        place: String,
        /// Who holds it.
        holder: String,
    },
    /// The store was opened for reading.
    #[error("{place} was opened for reading only")]
    OpenedForReading {
        /// The folder.
        place: String,
    },
    /// Something could not be read.
    #[error("cannot read {place}")]
    Read {
        /// What could not be read.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// Something could not be written; nothing of the batch was.
    #[error("cannot {operation} {place}")]
    Write {
        /// What was tried.
        operation: &'static str,
        /// What could not be written.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// A write failed, and what had been written before could not be undone.
    #[error("{cause}, and these could not be put back: {}", written.join(", "))]
    Unfinished {
        /// What failed.
        cause: Box<StoreError>,
        /// What was written and stays so.
        written: Vec<String>,
    },
    /// The content is not what was read.
    #[error("{place} changed since it was read")]
    Changed {
        /// What changed.
        place: String,
    },
    /// The object to be created is there.
    #[error("the {key} exists already in {place}")]
    Exists {
        /// The object.
        key: Key,
        /// Where it is.
        place: String,
    },
    /// The file for a new object is there and holds something else.
    #[error("{place} is in the way of the {key}")]
    Occupied {
        /// The object.
        key: Key,
        /// What is in the way.
        place: String,
    },
    /// The object is there twice.
    #[error("the {key} is in {first} and in {second}")]
    Duplicate {
        /// The object.
        key: Key,
        /// One place.
        first: String,
        /// The other.
        second: String,
    },
    /// The object is, or may be, in something that cannot be read.
    #[error("{0}")]
    Broken(Box<Diagnostic>),
    /// A write would lose fields that this version does not know.
    #[error("writing {place} would lose {}", fields.join(", "))]
    UnknownFields {
        /// Where the fields are.
        place: String,
        /// The fields.
        fields: Vec<String>,
    },
    /// A name that names no object.
    #[error("{name:?} is no valid {what}")]
    InvalidName {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A symbolic link leads out of the folder.
    #[error("{place} leads out of the folder, to {target}")]
    Outside {
        /// The link.
        place: String,
        /// Where it leads.
        target: String,
    },
    /// A symbolic link stands where none is followed.
    #[error("{place} is a symbolic link to {target}, and is not followed")]
    Link {
        /// The link.
        place: String,
        /// What it names.
        target: String,
    },
    /// Something else has the name of a file.
    #[error("{place} is no regular file")]
    NotFile {
        /// What should be a file.
        place: String,
    },
    /// A batch changes something twice.
    #[error("{what} is changed twice at once")]
    Twice {
        /// What is changed.
        what: String,
    },
    /// A file would be larger than what is read.
    #[error("{place} would be larger than {limit} MiB, and could not be read again")]
    TooLarge {
        /// The file.
        place: String,
        /// The most that is read, in MiB.
        limit: u64,
    },
    /// An object could not be put into YAML.
    #[error("cannot put the {key} into YAML: {cause}")]
    Format {
        /// The object.
        key: Key,
        /// Why.
        cause: String,
    },
}

// === impl StoreError ===

impl StoreError {
    /// What a person can do next.
    pub fn next_step(&self) -> String {
        let step = match self {
            Self::NoFolder { .. } => "check --dir and NETENF_DIR; `learn --dir` makes a new folder",
            Self::NotFolder { .. } => "give the name of a folder, or move away what has that name",
            Self::Locked { .. } => "wait for that command to end, and run this one again",
            Self::OpenedForReading { .. } => "open the folder with a lock to write to it",
            Self::Read { source, .. } | Self::Write { source, .. } => io_step(source),
            Self::Unfinished { .. } => {
                "see `git status` for what changed, and run the command again"
            }
            Self::Changed { .. } => "look at what changed, and run the command again",
            Self::Exists { .. } => "see it with `get`, and delete or demote it first",
            Self::Occupied { .. } | Self::NotFile { .. } => {
                "move it away, and run the command again"
            }
            Self::Link { .. } => "put there what it leads to, or remove the link",
            Self::Duplicate { .. } => "delete one of the two",
            Self::Broken(diagnostic) => return diagnostic.next_step.clone(),
            Self::UnknownFields { .. } => "remove those fields, or use a newer netenf",
            Self::InvalidName { .. } => {
                "use lower-case letters, digits and hyphens, as Kubernetes does"
            }
            Self::TooLarge { .. } => "write its objects into files of their own, or learn less",
            Self::Outside { .. } => "put the file itself into the folder",
            Self::Twice { .. } | Self::Format { .. } => {
                "this is a defect of netenf; please report it"
            }
        };
        step.to_owned()
    }
}

fn io_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the folder and its files readable and writable for you, or work on a copy"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on the disk",
        _ => "check the file and its folder",
    }
}
