//! What verbs need of a store, wherever it keeps its objects.

use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_k8s::lifecycle::{Key, Record, Resource, Revision};

use crate::diagnostic::Diagnostic;
use crate::error::StoreError;

/// Keeps proposals, policies, their history, and state of the tools.
pub trait Store {
    /// Every object in `scope`, sorted by namespace, name and kind.
    ///
    /// What cannot be read costs no other object: it is told in the diagnostics.
    fn list(&self, scope: Scope<'_>) -> Result<Listing, StoreError>;

    /// The object that `key` names, if there is one.
    fn get(&self, key: &Key) -> Result<Option<Stored>, StoreError>;

    /// Makes all changes of `batch`, or none if any of them cannot be made.
    fn apply(&self, batch: &Batch) -> Result<Applied, StoreError>;

    /// What was done to the objects of one name, oldest first.
    fn history(&self, namespace: &str, name: &str) -> Result<History, StoreError>;

    /// State of the tools that is kept under `name`, if there is any.
    fn blob(&self, name: &str) -> Result<Option<Blob>, StoreError>;
}

/// Which objects are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of every namespace.
    All,
    /// Those of one namespace.
    Namespace(&'a str),
}

/// Stands for the content that was read, so that a later write can tell whether it is still there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

/// An object as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The object.
    pub object: Resource,
    /// What a change of the object must expect.
    pub version: Version,
    /// Where the object is kept, for messages.
    pub place: String,
}

/// The objects that were asked for, and what could not be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The objects, sorted by namespace, name and kind.
    pub objects: Vec<Stored>,
    /// What could not be read or used as it stands, in the order of its places.
    pub diagnostics: Vec<Diagnostic>,
}

/// Changes that belong together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Changes of objects; each object once.
    pub changes: Vec<Change>,
    /// Entries for the history.
    pub records: Vec<Record>,
    /// Changes of state; each name once.
    pub blobs: Vec<BlobChange>,
}

/// A change of one object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Writes an object that is not there yet.
    Create(Resource),
    /// Writes an object in place of the one that was read.
    Replace {
        /// The object as it is to be.
        object: Resource,
        /// The version that was read.
        expected: Version,
    },
    /// Removes the object that was read.
    Delete {
        /// What names the object.
        key: Key,
        /// The version that was read.
        expected: Version,
    },
}

/// What was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// The objects that were written, with their new versions.
    pub written: Vec<(Key, Version)>,
    /// The revisions that were recorded.
    pub revisions: Vec<(Key, u64)>,
    /// Proposals that an interrupted promotion had left, and that are gone now.
    pub finished: Vec<Key>,
}

/// The history of one name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The revisions, oldest first.
    pub revisions: Vec<Revision>,
    /// Revisions that could not be read.
    pub diagnostics: Vec<Diagnostic>,
}

/// State of the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// What is kept: JSON.
    pub text: String,
    /// What a change of it must expect.
    pub version: Version,
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobChange {
    /// Name of the state: lower-case letters, digits and hyphens.
    pub name: String,
    /// What is to be kept; `None` removes it.
    pub text: Option<String>,
    /// The version that was read; `None` where there was nothing.
    pub expected: Option<Version>,
}

// === impl Version ===

impl Version {
    /// The version that `text` stands for.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// === impl Scope ===

impl Scope<'_> {
    /// Whether an object of `namespace` is meant.
    pub fn contains(self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(own) => own == namespace,
        }
    }
}

// === impl Listing ===

impl Listing {
    /// The proposals, sorted by namespace and name.
    pub fn proposals(&self) -> impl Iterator<Item = &WorkloadNetworkPolicyProposal> {
        self.objects.iter().filter_map(|stored| stored.object.as_proposal())
    }

    /// The policies, sorted by namespace and name.
    pub fn policies(&self) -> impl Iterator<Item = &WorkloadNetworkPolicy> {
        self.objects.iter().filter_map(|stored| stored.object.as_policy())
    }

    /// The object that `key` names.
    pub fn find(&self, key: &Key) -> Option<&Stored> {
        let at = self.objects.binary_search_by(|stored| stored.object.key().cmp(key)).ok()?;
        Some(&self.objects[at])
    }
}

// === impl Stored ===

impl Stored {
    /// The change that writes `object` in place of this one.
    pub fn replace(&self, object: impl Into<Resource>) -> Change {
        Change::Replace { object: object.into(), expected: self.version.clone() }
    }

    /// The change that removes this one.
    pub fn delete(&self) -> Change {
        Change::Delete { key: self.object.key(), expected: self.version.clone() }
    }
}

// === impl Change ===

impl Change {
    /// What names the object.
    pub fn key(&self) -> Key {
        match self {
            Self::Create(object) | Self::Replace { object, .. } => object.key(),
            Self::Delete { key, .. } => key.clone(),
        }
    }
}

// === impl Batch ===

impl Batch {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.records.is_empty() && self.blobs.is_empty()
    }
}
