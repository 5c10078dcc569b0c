//! Workloads: their selectors, and the labels and ports of their pods.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use netenf_learn::{Timestamp, Workload, label::is_volatile};
use netenf_policy::{Labels, Selector};
use serde_json::Value;

use super::apply::unlink;
use super::{
    Index, Key, NamedPort, Origin, Owner, Pod, Teller, WorkloadEntry, controller, key, pod,
};
use crate::lower;
use crate::object::{Kind, Object, labels};

impl Index {
    pub(super) fn apply_workload(&mut self, object: Object) {
        let kind = object.kind();
        match object {
            Object::Deployment(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add(&kind, &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::StatefulSet(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add(&kind, &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::DaemonSet(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add(&kind, &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::ReplicaSet(it) => {
                let spec = it.spec.unwrap_or_default();
                let template = spec.template.unwrap_or_default();
                self.add(&kind, &it.metadata, Some(&spec.selector), &template);
            }
            Object::Job(it) => {
                self.add(&kind, &it.metadata, None, &it.spec.unwrap_or_default().template);
            }
            Object::CronJob(it) => {
                let job = it.spec.unwrap_or_default().job_template.spec.unwrap_or_default();
                self.add(&kind, &it.metadata, None, &job.template);
            }
            Object::Other(document) => self.add_other(&kind, &document),
            _ => {}
        }
    }

    fn add(
        &mut self,
        kind: &Kind,
        metadata: &ObjectMeta,
        selector: Option<&LabelSelector>,
        template: &PodTemplateSpec,
    ) {
        let workload = workload(kind, &self.cover(kind.clone(), metadata));
        let pods = labels(template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref()));
        let own =
            selector.map(|selector| lower::selector(selector).0).filter(|own| !own.is_empty());
        // A Job's selector is its own UID: the pods of its next run would not be selected (case B19).
        let selector = own.clone().unwrap_or_else(|| lasting(&pods));
        let ports = template.spec.as_ref().map(pod::ports).unwrap_or_default();
        let labels = if pods.is_empty() { selector.labels.clone() } else { pods };
        let host_network =
            template.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let origin = Origin::Object;
        let entry = WorkloadEntry { selector, labels, ports, host_network, origin };
        let owner = controller(metadata).map(|owner| Owner {
            workload: Workload::new(workload.namespace.clone(), &*owner.kind, &*owner.name),
            teller: Teller::There(entry.told(own)),
        });
        self.own(&workload, owner);
        self.workloads.insert(workload, entry);
    }

    /// Kinds that we do not know but that make pods like those we do (Rollouts and the like). That a
    /// template is of pods shows in labels or containers: a `TrainingRuntime` of Kubeflow has one of `JobSets`.
    fn add_other(&mut self, kind: &Kind, document: &Value) {
        let metadata = document.get("metadata").cloned().unwrap_or_default();
        let Ok(metadata) = serde_json::from_value::<ObjectMeta>(metadata) else { return };
        let at = |path: &str| document.pointer(path).cloned();
        let template = at("/spec/template").and_then(|value| serde_json::from_value(value).ok());
        let is_of_pods = |template: &PodTemplateSpec| {
            let labelled = template.metadata.as_ref().is_some_and(|own| own.labels.is_some());
            labelled || template.spec.as_ref().is_some_and(|spec| !spec.containers.is_empty())
        };
        let Some(template) = template.filter(is_of_pods) else {
            let workload = self.drop_entry(kind, &key(&metadata));
            return self.own(&workload, None);
        };
        let selector = at("/spec/selector").and_then(|value| serde_json::from_value(value).ok());
        self.add(kind, &metadata, selector.as_ref(), &template);
    }

    /// Lets go of a workload, but not of whom it belonged to.
    pub(super) fn remove_workload(&mut self, kind: &Kind, key: &Key, at: Timestamp) {
        let workload = self.drop_entry(kind, key);
        if let Some(owner) = self.owners.get_mut(&workload) {
            owner.teller = Teller::Gone(at);
            let owner = owner.workload.clone();
            self.retell(&owner);
        }
    }

    /// Drops what the object of a workload told of it.
    fn drop_entry(&mut self, kind: &Kind, key: &Key) -> Workload {
        let workload = workload(kind, key);
        self.uncover(kind, key);
        self.workloads.remove(&workload);
        self.retell(&workload);
        workload
    }

    /// Drops the owners of objects that went before `first`.
    pub(super) fn forget_owners(&mut self, first: Timestamp) {
        let all = self.owners.iter();
        let gone = all.filter(|(_, owner)| match owner.teller {
            Teller::There(_) => false,
            Teller::Gone(at) => at < first,
        });
        let gone: Vec<Workload> = gone.map(|(workload, _)| workload.clone()).collect();
        for workload in gone {
            self.own(&workload, None);
        }
    }

    /// Notes who controls the object `this`, in place of who did.
    fn own(&mut self, this: &Workload, owner: Option<Owner>) {
        // Most versions of an object differ in their status only.
        if self.owners.get(this) == owner.as_ref() {
            return;
        }
        if let Some(old) = self.owners.remove(this) {
            unlink(&mut self.controlled, &old.workload, this);
            self.retell(&old.workload);
        }
        if let Some(owner) = owner {
            let workload = owner.workload.clone();
            self.controlled.entry(workload.clone()).or_default().insert(this.clone());
            self.owners.insert(this.clone(), owner);
            self.retell(&workload);
        }
    }

    /// A pod tells of owners whose objects were not given.
    pub(super) fn note_owner_of(&mut self, pod: &Pod) {
        self.workloads.entry(pod.owner.clone()).or_default().learn(pod.told());
    }

    /// Finds out again about the owner of a pod that is not there any more as it was.
    pub(super) fn untell(&mut self, old: &Pod) {
        let pods = self.pods_of.get(&old.owner).into_iter().flatten();
        let mut pods = pods.filter_map(|key| self.pods.get(key));
        // Most pods of a workload tell the same, so that there is nothing to find out.
        if !pods.any(|pod| pod.tells_as(old)) {
            self.retell(&old.owner);
        }
    }

    /// Finds out again what is known of a workload of which others tell. Its own object needs none.
    fn retell(&mut self, workload: &Workload) {
        if self.workloads.get(workload).is_some_and(|entry| entry.origin == Origin::Object) {
            return;
        }
        let owned = self.controlled.get(workload).into_iter().flatten();
        let owned = owned.filter_map(|own| match &self.owners.get(own)?.teller {
            Teller::There(told) => Some(told.clone()),
            Teller::Gone(_) => None,
        });
        let pods = self.pods_of.get(workload).into_iter().flatten();
        let pods = pods.filter_map(|key| self.pods.get(key)).map(Pod::told);
        let mut entry = WorkloadEntry::default();
        owned.chain(pods).for_each(|told| entry.learn(told));
        match entry.origin {
            Origin::Nothing => self.workloads.remove(workload),
            Origin::Pods | Origin::Owned | Origin::Object => {
                self.workloads.insert(workload.clone(), entry)
            }
        };
    }
}

// === impl Pod ===

impl Pod {
    /// What it tells of its owner.
    fn told(&self) -> WorkloadEntry {
        WorkloadEntry {
            selector: lasting(&self.labels),
            labels: self.labels.clone(),
            ports: distinct(&self.ports),
            host_network: self.host_network,
            origin: Origin::Pods,
        }
    }

    /// Whether it tells of the same owner the same.
    fn tells_as(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.ports == other.ports
            && self.host_network == other.host_network
            && self.owner == other.owner
    }
}

// === impl WorkloadEntry ===

impl WorkloadEntry {
    /// What the object of this entry, whose own selector is `revision`, tells of its owner: one of a kind that we
    /// do not know selects what its `ReplicaSets` select, of all revisions.
    fn told(&self, revision: Option<Selector>) -> Self {
        let revision = revision.unwrap_or_default();
        let selector = Selector {
            labels: revision.labels.filtered(|key| !is_volatile(key)),
            requirements: revision.requirements,
        };
        let selector = if selector.is_empty() { lasting(&self.labels) } else { selector };
        let (labels, ports) = (self.labels.clone(), distinct(&self.ports));
        Self { selector, labels, ports, origin: Origin::Owned, ..*self }
    }

    /// Takes in what something of the workload tells. Of several equally good tellers counts what they
    /// have in common, in whatever order they come (case B25).
    fn learn(&mut self, told: Self) {
        if self.origin > told.origin {
            return;
        }
        if self.origin < told.origin {
            *self = told;
            return;
        }
        self.labels = self.labels.intersection(&told.labels);
        self.selector.labels = self.selector.labels.intersection(&told.selector.labels);
        self.selector.requirements.retain(|one| told.selector.requirements.contains(one));
        // A selector that means some pods on the host's network would not mean all of them.
        self.host_network |= told.host_network;
        for port in told.ports {
            if !self.ports.contains(&port) {
                self.ports.push(port);
            }
        }
        self.ports.sort();
    }
}

/// A selector of labels without those that change from rollout to rollout.
fn lasting(labels: &Labels) -> Selector {
    Selector::of_labels(labels.filtered(|key| !is_volatile(key)))
}

fn workload(kind: &Kind, (namespace, name): &Key) -> Workload {
    Workload::new(namespace.clone(), kind.name(), name.clone())
}

/// Ports, each once and in an order that does not depend on who tells of them first.
fn distinct(ports: &[NamedPort]) -> Vec<NamedPort> {
    let distinct: BTreeSet<&NamedPort> = ports.iter().collect();
    distinct.into_iter().cloned().collect()
}
