//! Workloads: their selectors, and the labels and ports of their pods.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use netenf_learn::{Workload, label::is_volatile};
use netenf_policy::{Labels, Selector};
use serde_json::Value;

use super::{Index, Origin, Pod, WorkloadEntry, apply};
use crate::lower;
use crate::object::{Object, labels};

impl Index {
    pub(super) fn apply_workload(&mut self, object: Object) {
        match object {
            Object::Deployment(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add("Deployment", &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::StatefulSet(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add("StatefulSet", &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::DaemonSet(it) => {
                let spec = it.spec.unwrap_or_default();
                self.add("DaemonSet", &it.metadata, Some(&spec.selector), &spec.template);
            }
            Object::ReplicaSet(it) => {
                let spec = it.spec.unwrap_or_default();
                let template = spec.template.unwrap_or_default();
                self.add("ReplicaSet", &it.metadata, Some(&spec.selector), &template);
            }
            Object::Job(it) => {
                self.add("Job", &it.metadata, None, &it.spec.unwrap_or_default().template);
            }
            Object::CronJob(it) => {
                let job = it.spec.unwrap_or_default().job_template.spec.unwrap_or_default();
                self.add("CronJob", &it.metadata, None, &job.template);
            }
            Object::Other(document) => self.add_other(&document),
            _ => {}
        }
    }

    fn add(
        &mut self,
        kind: &str,
        metadata: &ObjectMeta,
        selector: Option<&LabelSelector>,
        template: &PodTemplateSpec,
    ) {
        let (namespace, name) = self.cover(metadata);
        let workload = Workload::new(namespace, kind, name);
        let pods = labels(template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref()));
        let own =
            selector.map(|selector| lower::selector(selector).0).filter(|own| !own.is_empty());
        // A Job's selector is its own UID: the pods of its next run would not be selected (case B19).
        let selector = own.clone().unwrap_or_else(|| lasting(&pods));
        let ports = template.spec.as_ref().map(apply::ports).unwrap_or_default();
        let labels = if pods.is_empty() { selector.labels.clone() } else { pods };
        let host_network =
            template.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        if let Some(owner) = self.own(&workload, metadata) {
            // An owner of a kind that we do not know selects what its ReplicaSets select, of all revisions.
            let revision = own.unwrap_or_default();
            let selector = Selector {
                labels: revision.labels.filtered(|key| !is_volatile(key)),
                requirements: revision.requirements,
            };
            let selector = if selector.is_empty() { lasting(&labels) } else { selector };
            let known = self.workloads.entry(owner).or_default();
            let (labels, ports, origin) = (labels.clone(), ports.clone(), Origin::Owned);
            known.learn(WorkloadEntry { selector, labels, ports, host_network, origin });
        }
        let origin = Origin::Object;
        let entry = WorkloadEntry { selector, labels, ports, host_network, origin };
        self.workloads.insert(workload, entry);
    }

    /// Kinds that we do not know but that select pods like those we do (Rollouts and the like).
    fn add_other(&mut self, document: &Value) {
        let metadata = document.get("metadata").cloned().unwrap_or_default();
        let Ok(metadata) = serde_json::from_value::<ObjectMeta>(metadata) else { return };
        let Some(kind) = document.get("kind").and_then(Value::as_str) else { return };
        let at = |path: &str| document.pointer(path).cloned();
        let template = at("/spec/template").and_then(|value| serde_json::from_value(value).ok());
        let Some(template) = template else { return };
        let selector = at("/spec/selector").and_then(|value| serde_json::from_value(value).ok());
        self.add(kind, &metadata, selector.as_ref(), &template);
    }

    /// A pod tells of owners whose objects were not given.
    pub(super) fn note_owner_of(&mut self, pod: &Pod) {
        let known = self.workloads.entry(pod.owner.clone()).or_default();
        known.learn(WorkloadEntry {
            selector: lasting(&pod.labels),
            labels: pod.labels.clone(),
            ports: pod.ports.clone(),
            host_network: pod.host_network,
            origin: Origin::Pods,
        });
    }
}

// === impl WorkloadEntry ===

impl WorkloadEntry {
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
