//! An API server for objects of one name: versions, UIDs, preconditions and garbage collection.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use netenf_api::{AcknowledgedViolation, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};

use super::{Document, Kind, Native, Resource, Step, now};

/// Under what an object is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sort {
    Proposal,
    Policy,
    Native,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Server {
    objects: BTreeMap<Sort, Document>,
    /// Counts up with each write; UIDs are made of it too.
    version: u64,
    pub(super) exported: Vec<AcknowledgedViolation>,
    /// Seconds that have passed; a write takes one.
    seconds: i64,
}

/// The server refused a write.
struct Refused;

impl Server {
    pub(super) fn now(&self) -> Time {
        Time(now().0 + SignedDuration::from_secs(self.seconds))
    }

    pub(super) fn wait_for_an_hour(&mut self) {
        self.seconds += 3_600;
    }

    pub(super) fn proposal(&self) -> Option<WorkloadNetworkPolicyProposal> {
        match self.objects.get(&Sort::Proposal) {
            Some(Document::Ours(Resource::Proposal(proposal))) => Some((**proposal).clone()),
            _ => None,
        }
    }

    pub(super) fn policy(&self) -> Option<WorkloadNetworkPolicy> {
        match self.objects.get(&Sort::Policy) {
            Some(Document::Ours(Resource::Policy(policy))) => Some((**policy).clone()),
            _ => None,
        }
    }

    pub(super) fn native(&self) -> Option<Native> {
        match self.objects.get(&Sort::Native) {
            Some(Document::Native(native)) => Some((**native).clone()),
            _ => None,
        }
    }

    /// The native object, if nothing owns it.
    pub(super) fn foreign(&self) -> Option<Native> {
        self.native().filter(|native| native.metadata.owner_references.is_none())
    }

    /// Does the first steps, as far as none is refused; returns how many were done.
    pub(super) fn execute(&mut self, steps: &[Step], limit: usize) -> usize {
        let steps = steps.iter().take(limit);
        steps.map_while(|step| self.step(step).ok()).count()
    }

    pub(super) fn create(&mut self, document: Document) {
        let _ = self.step(&Step::Create(document));
    }

    pub(super) fn remove(&mut self, sort: Sort) {
        if let Some(document) = self.objects.get(&sort).cloned() {
            let _ = self.step(&Step::Delete(document));
        }
    }

    pub(super) fn change_proposal(
        &mut self,
        change: impl FnOnce(&mut WorkloadNetworkPolicyProposal),
    ) {
        let Some(mut proposal) = self.proposal() else { return };
        change(&mut proposal);
        let _ = self.step(&Step::Replace(Document::Ours(proposal.into())));
    }

    pub(super) fn change_policy(&mut self, change: impl FnOnce(&mut WorkloadNetworkPolicy)) {
        let Some(mut policy) = self.policy() else { return };
        change(&mut policy);
        let _ = self.step(&Step::Replace(Document::Ours(policy.into())));
    }

    pub(super) fn change_native(&mut self, change: impl FnOnce(&mut Native)) {
        let Some(mut native) = self.native() else { return };
        change(&mut native);
        let _ = self.step(&Step::Replace(Document::Native(Box::new(native))));
    }

    fn step(&mut self, step: &Step) -> Result<(), Refused> {
        match step {
            Step::Create(document) => self.insert(document.clone()),
            Step::Replace(document) => {
                let stored = self.expected(document)?;
                let mut document = with_status(document.clone(), &stored);
                let metadata = metadata_mut(&mut document);
                metadata.uid.clone_from(&metadata_of(&stored).uid);
                metadata.creation_timestamp.clone_from(&metadata_of(&stored).creation_timestamp);
                let has_spec = spec(&document) == spec(&stored);
                let generation = metadata_of(&stored).generation.unwrap_or_default();
                metadata_mut(&mut document).generation = Some(generation + i64::from(!has_spec));
                self.write(document);
                Ok(())
            }
            Step::ReplaceStatus(resource) => {
                let document = Document::Ours(resource.clone());
                let stored = self.expected(&document)?;
                self.write(with_status(stored, &document));
                Ok(())
            }
            Step::Delete(document) => {
                self.expected(document)?;
                self.objects.remove(&sort(document));
                self.collect();
                Ok(())
            }
            Step::Export(export) => {
                self.exported.extend(export.acknowledged.iter().cloned());
                Ok(())
            }
            Step::Event(_) => Ok(()),
        }
    }

    fn insert(&mut self, document: Document) -> Result<(), Refused> {
        if self.objects.contains_key(&sort(&document)) {
            return Err(Refused);
        }
        let (created, mut document) = (self.now(), without_status(document));
        let metadata = metadata_mut(&mut document);
        metadata.uid = Some(format!("uid-{}", self.version + 1));
        metadata.generation = Some(1);
        metadata.creation_timestamp = Some(created);
        self.write(document);
        self.collect();
        Ok(())
    }

    /// What is stored, if it is what the document was made from.
    fn expected(&self, document: &Document) -> Result<Document, Refused> {
        let stored = self.objects.get(&sort(document)).ok_or(Refused)?;
        let (own, known) = (metadata_of(document), metadata_of(stored));
        let is_same = own
            .resource_version
            .as_ref()
            .is_none_or(|own| Some(own) == known.resource_version.as_ref())
            && own.uid.as_ref().is_none_or(|own| Some(own) == known.uid.as_ref());
        is_same.then(|| stored.clone()).ok_or(Refused)
    }

    fn write(&mut self, mut document: Document) {
        self.version += 1;
        self.seconds += 1;
        metadata_mut(&mut document).resource_version = Some(self.version.to_string());
        self.objects.insert(sort(&document), document);
    }

    /// Deletes what a deleted policy owned.
    fn collect(&mut self) {
        let policy = self.policy().and_then(|policy| policy.metadata.uid);
        let owners = self.native().and_then(|native| native.metadata.owner_references);
        if owners
            .is_some_and(|owners| owners.iter().all(|owner| Some(&owner.uid) != policy.as_ref()))
        {
            self.objects.remove(&Sort::Native);
        }
    }
}

fn sort(document: &Document) -> Sort {
    match document {
        Document::Native(_) => Sort::Native,
        Document::Ours(resource) => match resource.kind() {
            Kind::Proposal => Sort::Proposal,
            Kind::Policy => Sort::Policy,
        },
    }
}

fn metadata_of(document: &Document) -> &ObjectMeta {
    match document {
        Document::Native(native) => &native.metadata,
        Document::Ours(resource) => resource.metadata(),
    }
}

fn metadata_mut(document: &mut Document) -> &mut ObjectMeta {
    use std::sync::Arc;
    match document {
        Document::Native(native) => &mut native.metadata,
        Document::Ours(Resource::Proposal(proposal)) => &mut Arc::make_mut(proposal).metadata,
        Document::Ours(Resource::Policy(policy)) => &mut Arc::make_mut(policy).metadata,
    }
}

fn spec(document: &Document) -> serde_json::Value {
    let value = match document {
        Document::Native(native) => serde_json::to_value(native),
        Document::Ours(resource) => serde_json::to_value(resource),
    };
    value.unwrap()["spec"].take()
}

fn without_status(document: Document) -> Document {
    match document {
        Document::Native(native) => Document::Native(native),
        Document::Ours(Resource::Proposal(proposal)) => {
            let proposal = WorkloadNetworkPolicyProposal { status: None, ..(*proposal).clone() };
            Document::Ours(proposal.into())
        }
        Document::Ours(Resource::Policy(policy)) => {
            Document::Ours(WorkloadNetworkPolicy { status: None, ..(*policy).clone() }.into())
        }
    }
}

/// `document` with the status of `other`.
fn with_status(document: Document, other: &Document) -> Document {
    match (document, other) {
        (Document::Ours(Resource::Proposal(own)), Document::Ours(Resource::Proposal(other))) => {
            let status = other.status.clone();
            Document::Ours(WorkloadNetworkPolicyProposal { status, ..(*own).clone() }.into())
        }
        (Document::Ours(Resource::Policy(own)), Document::Ours(Resource::Policy(other))) => {
            let status = other.status.clone();
            Document::Ours(WorkloadNetworkPolicy { status, ..(*own).clone() }.into())
        }
        (document, _) => document,
    }
}
