//! Objects as `kubectl get -o yaml` and `-o json` print them: one, several documents, or Lists.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Endpoints, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use serde_json::Value;

mod cluster_policy;
mod kind;
mod stranger;

pub use cluster_policy::{ClusterKind, ClusterPolicy};
pub use kind::Kind;

/// An object that this crate knows what to do with.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "objects are handled one by one and never kept in bulk"
)]
pub enum Object {
    /// A pod.
    Pod(Pod),
    /// A `ReplicaSet`.
    ReplicaSet(ReplicaSet),
    /// A Deployment.
    Deployment(Deployment),
    /// A `StatefulSet`.
    StatefulSet(StatefulSet),
    /// A `DaemonSet`.
    DaemonSet(DaemonSet),
    /// A Job.
    Job(Job),
    /// A `CronJob`.
    CronJob(CronJob),
    /// A Service.
    Service(Service),
    /// An `EndpointSlice`.
    EndpointSlice(EndpointSlice),
    /// Endpoints, which older exports have in place of slices.
    Endpoints(Endpoints),
    /// A node.
    Node(Node),
    /// A namespace.
    Namespace(Namespace),
    /// A native policy.
    NetworkPolicy(NetworkPolicy),
    /// A cluster-wide policy.
    ClusterPolicy(ClusterPolicy),
    /// A proposal of ours.
    Proposal(WorkloadNetworkPolicyProposal),
    /// A policy of ours.
    Policy(WorkloadNetworkPolicy),
    /// Another kind: only its identity, owners and selector are of interest.
    Other(Value),
    /// What could not be read, of which a diagnostic tells: its kind and name as far as they are known.
    Broken {
        /// Its kind; empty if not even that is known.
        kind: String,
        /// Its name, or the place of the text.
        name: String,
    },
}

/// Something in an input that could not be used, and what follows from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where: file, document or object.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

/// Reads all objects of a text; what is no object or cannot be read is told, and costs no other object.
pub fn read(place: &str, text: &str) -> (Vec<Object>, Vec<Diagnostic>) {
    let mut objects = Vec::new();
    let mut diagnostics = Vec::new();
    match documents(text) {
        Ok(documents) => {
            for (number, document) in documents.iter().enumerate() {
                let place = format!("{place}, document {}", number + 1);
                take(&place, document, &mut objects, &mut diagnostics);
            }
        }
        Err(message) => {
            objects.push(Object::Broken { kind: String::new(), name: place.to_owned() });
            diagnostics.push(Diagnostic { place: place.to_owned(), message });
        }
    }
    (objects, diagnostics)
}

fn documents(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with('{') {
        let stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let values: Result<Vec<Value>, _> = stream.collect();
        // What begins with a brace may still be YAML in flow style.
        if let Ok(values) = values {
            return Ok(values);
        }
    }
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_multiple_with_options::<Value>(text, options)
        .map_err(|error| error.to_string())
}

fn take(
    place: &str,
    document: &Value,
    objects: &mut Vec<Object>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    if let Some(kind) = kind.strip_suffix("List")
        && let Some(items) = document.get("items")
    {
        let version = document.get("apiVersion");
        for (number, item) in items.as_array().into_iter().flatten().enumerate() {
            let item = item_of(kind, version, item);
            take(&format!("{place}, item {}", number + 1), &item, objects, diagnostics);
        }
        return;
    }
    if kind.is_empty() {
        let message = "no Kubernetes object: it has no kind; it was left out".to_owned();
        diagnostics.push(Diagnostic { place: place.to_owned(), message });
        return;
    }
    match typed(kind, document.clone()) {
        Ok(object) => {
            if let Object::NetworkPolicy(policy) = &object {
                diagnostics.extend(stranger::of_policy(place, document, policy));
            }
            objects.push(object);
        }
        Err(error) => {
            let name = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?");
            let message = format!("{kind}/{name} cannot be read and was left out: {error}");
            objects.push(Object::Broken { kind: kind.to_owned(), name: name.to_owned() });
            diagnostics.push(Diagnostic { place: place.to_owned(), message });
        }
    }
}

/// An item of a list: those of a typed one carry no kind and version of their own.
fn item_of(kind: &str, version: Option<&Value>, item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut().filter(|_| !kind.is_empty()) {
        fields.entry("kind").or_insert_with(|| kind.into());
        if let Some(version) = version {
            fields.entry("apiVersion").or_insert_with(|| version.clone());
        }
    }
    item
}

fn typed(kind: &str, document: Value) -> Result<Object, String> {
    if let Some(policy) = ClusterPolicy::read(kind, &document) {
        return policy.map(Object::ClusterPolicy);
    }
    known(kind, document).map_err(|error| error.to_string())
}

fn known(kind: &str, document: Value) -> Result<Object, serde_json::Error> {
    use serde_json::from_value;
    Ok(match kind {
        "Pod" => Object::Pod(from_value(document)?),
        "ReplicaSet" => Object::ReplicaSet(from_value(document)?),
        "Deployment" => Object::Deployment(from_value(document)?),
        "StatefulSet" => Object::StatefulSet(from_value(document)?),
        "DaemonSet" => Object::DaemonSet(from_value(document)?),
        "Job" => Object::Job(from_value(document)?),
        "CronJob" => Object::CronJob(from_value(document)?),
        "Service" if is_core(&document) => Object::Service(from_value(document)?),
        "EndpointSlice" => Object::EndpointSlice(from_value(document)?),
        "Endpoints" => Object::Endpoints(from_value(document)?),
        "Node" => Object::Node(from_value(document)?),
        "Namespace" => Object::Namespace(from_value(document)?),
        "NetworkPolicy" if is_native_policy(&document) => {
            Object::NetworkPolicy(from_value(document)?)
        }
        "WorkloadNetworkPolicyProposal" => Object::Proposal(from_value(document)?),
        "WorkloadNetworkPolicy" => Object::Policy(from_value(document)?),
        _ => Object::Other(document),
    })
}

/// Knative has a Service of its own.
fn is_core(document: &Value) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str);
    version.is_none_or(|version| version == "v1")
}

/// Calico has a `NetworkPolicy` of its own.
fn is_native_policy(document: &Value) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str);
    version.is_none_or(|version| version.starts_with("networking.k8s.io/"))
}

/// Whether policies of a kind that is no [`Object`] of its own decide about connections all the same: those of
/// network plugins and meshes, and NetworkPolicies of versions that no cluster serves any more.
pub fn is_foreign_policy(kind: &str) -> bool {
    kind.ends_with("NetworkPolicy") || kind == "AuthorizationPolicy"
}

/// Labels of an object's metadata.
pub(crate) fn labels(labels: Option<&BTreeMap<String, String>>) -> netenf_policy::Labels {
    labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests;
