//! Our objects and the native ones, as the watches last told them: what reconciling reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ObjectMeta;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_cluster::Kind;
use netenf_cluster::watch::{Change, Unreadable};
use netenf_k8s::Object;
use netenf_k8s::render::{Native, NativeKind};
use serde_json::Value;

use crate::ledger::Ledger;
use crate::packed::Packed;

/// Namespace and name. A proposal, its policy and the policy's native object share them.
pub(crate) type Name = (String, String);

/// What is known, shared by whoever takes changes in, learns, writes and answers. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Stored>>);

/// What is reconciled.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) proposals: BTreeMap<Name, Packed<WorkloadNetworkPolicyProposal>>,
    pub(crate) policies: BTreeMap<Name, WorkloadNetworkPolicy>,
    natives: BTreeMap<(NativeKind, Name), Native>,
    /// Proposals and policies that cannot be read, since a newer version of the agent wrote them.
    unreadable: BTreeMap<(Kind, Name), Unreadable>,
    /// What was learned and is not written yet.
    pub(crate) ledger: Ledger,
}

// === impl Shared ===

impl Shared {
    #[cfg(test)]
    pub(crate) fn new(stored: Stored) -> Self {
        Self(Arc::new(Mutex::new(stored)))
    }

    /// What is known is whole after each change, also of a thread that panicked later.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Stored ===

impl Stored {
    /// The native object of that kind and name, whoever wrote it.
    pub(crate) fn native(&self, kind: NativeKind, name: &Name) -> Option<&Native> {
        self.natives.get(&(kind, name.clone()))
    }

    /// The proposal of that name.
    pub(crate) fn proposal(&self, name: &Name) -> Option<WorkloadNetworkPolicyProposal> {
        self.proposals.get(name)?.get()
    }

    /// Everything that there is something to decide about.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        self.proposals.keys().chain(self.policies.keys()).cloned().collect()
    }

    /// Takes a change in. Gives the names that it is about, none where it is about nothing of ours.
    pub(crate) fn take(&mut self, change: &Change) -> BTreeSet<Name> {
        match change {
            Change::Applied(object) => self.put(object).into_iter().collect(),
            Change::Deleted(object) => self.remove(object).into_iter().collect(),
            Change::Replaced(kind, objects) => {
                let mut touched = self.clear(*kind);
                touched.extend(objects.iter().filter_map(|object| self.put(object)));
                touched
            }
            Change::Unreadable(it) => self.note(it).into_iter().collect(),
        }
    }

    /// The proposal or the policy of that name, if there is one that cannot be read. Nothing is decided about the name
    /// then: what is not known would be taken for absent.
    pub(crate) fn unreadable(&self, name: &Name) -> Option<&Unreadable> {
        let of = |kind| self.unreadable.get(&(kind, name.clone()));
        of(Kind::Policy).or_else(|| of(Kind::Proposal))
    }

    /// An object cannot be read, or one that could not is gone.
    fn note(&mut self, it: &Unreadable) -> Option<Name> {
        let name = (it.namespace.clone(), it.name.clone());
        match it.kind {
            Kind::Proposal => drop(self.proposals.remove(&name)),
            Kind::Policy => drop(self.policies.remove(&name)),
            _ => return None,
        }
        self.ledger.changed(&name, None);
        if it.is_gone {
            self.unreadable.remove(&(it.kind, name.clone()));
        } else {
            self.unreadable.insert((it.kind, name.clone()), it.clone());
        }
        Some(name)
    }

    fn put(&mut self, object: &Object) -> Option<Name> {
        match object {
            Object::Proposal(it) => {
                let name = name(&it.metadata)?;
                self.ledger.changed(&name, it.metadata.resource_version.as_deref());
                self.unreadable.remove(&(Kind::Proposal, name.clone()));
                self.proposals.insert(name.clone(), Packed::new(it)?);
                Some(name)
            }
            Object::Policy(it) => {
                let name = name(&it.metadata)?;
                self.ledger.changed(&name, it.metadata.resource_version.as_deref());
                self.unreadable.remove(&(Kind::Policy, name.clone()));
                self.policies.insert(name.clone(), it.clone());
                Some(name)
            }
            other => {
                let native = native(other)?;
                let name = name(&native.metadata)?;
                self.natives.insert((native.kind, name.clone()), native);
                Some(name)
            }
        }
    }

    fn remove(&mut self, object: &Object) -> Option<Name> {
        match object {
            Object::Proposal(it) => {
                let name = name(&it.metadata)?;
                self.ledger.changed(&name, None);
                self.proposals.remove(&name);
                Some(name)
            }
            Object::Policy(it) => {
                let name = name(&it.metadata)?;
                self.ledger.changed(&name, None);
                self.policies.remove(&name);
                Some(name)
            }
            other => {
                let native = native(other)?;
                let name = name(&native.metadata)?;
                self.natives.remove(&(native.kind, name.clone()));
                Some(name)
            }
        }
    }

    /// Lets go of a kind; gives what it held.
    fn clear(&mut self, kind: Kind) -> BTreeSet<Name> {
        self.unreadable.retain(|(known, _), _| *known != kind);
        let native = match kind {
            Kind::Proposal => {
                let gone = std::mem::take(&mut self.proposals).into_keys();
                return gone.inspect(|name| self.ledger.changed(name, None)).collect();
            }
            Kind::Policy => {
                let gone = std::mem::take(&mut self.policies).into_keys();
                return gone.inspect(|name| self.ledger.changed(name, None)).collect();
            }
            Kind::NetworkPolicy => NativeKind::NetworkPolicy,
            Kind::AuthorizationPolicy => NativeKind::AuthorizationPolicy,
            _ => return BTreeSet::new(),
        };
        let gone = self.natives.extract_if(.., |(kind, _), _| *kind == native);
        gone.map(|((_, name), _)| name).collect()
    }
}

fn name(metadata: &ObjectMeta) -> Option<Name> {
    Some((metadata.namespace.clone()?, metadata.name.clone()?))
}

/// The object as a native one, if it is of such a kind.
fn native(object: &Object) -> Option<Native> {
    match object {
        Object::NetworkPolicy(NetworkPolicy { metadata, spec }) => Some(Native {
            kind: NativeKind::NetworkPolicy,
            metadata: metadata.clone(),
            spec: serde_json::to_value(spec).ok()?,
        }),
        Object::Other(document) if document["kind"] == "AuthorizationPolicy" => Some(Native {
            kind: NativeKind::AuthorizationPolicy,
            metadata: serde_json::from_value(document["metadata"].clone()).ok()?,
            spec: document.get("spec").cloned().unwrap_or(Value::Null),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
