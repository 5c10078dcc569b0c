//! What the agent wrote and has not read back yet. What is known is older than what was written until the change
//! comes, and to decide by it would be to write the same again, which the server refuses.

use std::collections::HashMap;
use std::time::Duration;

use kube::api::ObjectMeta;
use netenf_k8s::lifecycle::Resource;
use netenf_k8s::reconcile::Document;
use netenf_k8s::render::NativeKind;
use tokio::time::Instant;

use crate::stored::{Name, Stored};

/// A change that did not come by then does not come, for instance because the object is gone.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);

/// An object of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Proposal,
    Policy,
    Native(NativeKind),
}

/// How an object is after a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Left {
    /// Of this version.
    Version(String),
    /// The one of this UID is gone.
    Gone(String),
}

/// The last writes of each name.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    writes: HashMap<Name, Vec<(Sort, Left, Instant)>>,
}

// === impl Awaited ===

impl Awaited {
    /// An object was written.
    pub(crate) fn note(&mut self, name: &Name, sort: Sort, left: Left, now: Instant) {
        let writes = self.writes.entry(name.clone()).or_default();
        writes.retain(|(other, ..)| *other != sort);
        writes.push((sort, left, now));
    }

    /// Whether the change of a write is still to come.
    pub(crate) fn is_behind(&mut self, name: &Name, stored: &Stored, now: Instant) -> bool {
        let Some(writes) = self.writes.get_mut(name) else { return false };
        writes.retain(|(sort, left, at)| {
            now < *at + LIMIT && !left.is_read(stored.metadata(*sort, name))
        });
        let is_behind = !writes.is_empty();
        if !is_behind {
            self.writes.remove(name);
        }
        is_behind
    }
}

// === impl Sort ===

impl Sort {
    /// What a document is.
    pub(crate) fn of(document: &Document) -> Self {
        match document {
            Document::Ours(Resource::Proposal(_)) => Self::Proposal,
            Document::Ours(Resource::Policy(_)) => Self::Policy,
            Document::Native(native) => Self::Native(native.kind),
        }
    }
}

// === impl Left ===

impl Left {
    /// The version, if there still is an object.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Self::Version(version) => Some(version.clone()),
            Self::Gone(_) => None,
        }
    }

    /// Whether what is known is of that version or a later one. Versions grow (Kubernetes API concepts, resource
    /// versions); of one that is no number nothing is awaited.
    fn is_read(&self, known: Option<&ObjectMeta>) -> bool {
        match self {
            Self::Version(written) => {
                let number = |version: &str| version.parse::<u64>().ok();
                let Some(written) = number(written) else { return true };
                let known = known.and_then(|known| known.resource_version.as_deref());
                known.is_some_and(|known| number(known).is_none_or(|known| known >= written))
            }
            Self::Gone(uid) => known.is_none_or(|known| known.uid.as_ref() != Some(uid)),
        }
    }
}

// === impl Stored ===

impl Stored {
    fn metadata(&self, sort: Sort, name: &Name) -> Option<&ObjectMeta> {
        match sort {
            Sort::Proposal => self.proposals.get(name).map(|it| &it.metadata),
            Sort::Policy => self.policies.get(name).map(|it| &it.metadata),
            Sort::Native(kind) => self.native(kind, name).map(|it| &it.metadata),
        }
    }
}

#[cfg(test)]
mod tests;
