//! Writing objects. Every request has a time limit, is counted, and fails with the object's name and a
//! cause that tells the caller what to do: look again, give up until the object changes, or wait.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt as _};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

mod error;

pub use error::{Cause, Verb, WriteError};
pub use netenf_k8s::reconcile::FIELD_MANAGER;

#[cfg(test)]
mod tests;

/// A request that takes longer has an unknown outcome.
const LIMIT: Duration = Duration::from_secs(10);

/// What is set by the server or by somebody else, and must not become a field of ours.
const FOREIGN_METADATA: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// Who may have the last word on a field that two want to set (Kubernetes' documentation, "Server-Side
/// Apply", conflicts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The object is ours: what others set is taken back.
    Sole,
    /// A person edits it too: what they set is a conflict.
    Shared,
}

/// A kind of namespaced objects that is written.
pub trait Written:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
{
}

impl<K> Written for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
{
}

/// Writes objects in our name.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    requests: Family<Labels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    verb: &'static str,
    kind: String,
    outcome: &'static str,
}

// === impl Writer ===

impl Writer {
    /// A writer whose requests are counted in `registry`.
    pub fn new(client: Client, registry: &mut Registry) -> Self {
        let requests = Family::default();
        registry.register(
            "api_writes",
            "Requests that write to the API server, by verb, kind and outcome",
            requests.clone(),
        );
        Self { client, requests }
    }

    /// Applies metadata and spec; a status is left alone.
    pub async fn apply<K: Written>(
        &self,
        object: &K,
        ownership: Ownership,
    ) -> Result<K, WriteError> {
        let params = PatchParams::apply(FIELD_MANAGER);
        let params = match ownership {
            Ownership::Sole => params.force(),
            Ownership::Shared => params,
        };
        let (name, patch) = (object.name_any(), Patch::Apply(applied(object)));
        let request = async { self.api(object).patch(&name, &params, &patch).await };
        self.send(Verb::Apply, object, request).await
    }

    /// Writes the status. If `object` has a resource version, then only over that version.
    pub async fn patch_status<K: Written>(&self, object: &K) -> Result<K, WriteError> {
        let whole = serde_json::to_value(object).unwrap_or_default();
        let mut patch = json!({ "status": whole["status"] });
        if let Some(version) = object.resource_version() {
            patch["metadata"] = json!({ "resourceVersion": version });
        }
        let (name, params) = (object.name_any(), of_manager());
        let patch = Patch::Merge(patch);
        let request = async { self.api(object).patch_status(&name, &params, &patch).await };
        self.send(Verb::PatchStatus, object, request).await
    }

    /// Writes the whole status over the version that the object says it is of.
    pub async fn replace_status<K: Written>(&self, object: &K) -> Result<K, WriteError> {
        let name = object.name_any();
        let request = async { self.api(object).replace_status(&name, &posted(), object).await };
        self.send(Verb::PatchStatus, object, request).await
    }

    /// Creates an object that must not be there yet.
    pub async fn create<K: Written>(&self, object: &K) -> Result<K, WriteError> {
        let request = async { self.api(object).create(&posted(), object).await };
        self.send(Verb::Create, object, request).await
    }

    /// Writes the whole object over the version that it says it is of.
    pub async fn replace<K: Written>(&self, object: &K) -> Result<K, WriteError> {
        let name = object.name_any();
        let request = async { self.api(object).replace(&name, &posted(), object).await };
        self.send(Verb::Replace, object, request).await
    }

    /// Deletes this very object, as it is known here: not one of the same name, and not what somebody
    /// changed since.
    pub async fn delete<K: Written>(&self, object: &K) -> Result<(), WriteError> {
        let preconditions =
            Preconditions { uid: object.uid(), resource_version: object.resource_version() };
        let params = DeleteParams::background().preconditions(preconditions);
        let name = object.name_any();
        let request = async { self.api(object).delete(&name, &params).await };
        self.send(Verb::Delete, object, request).await.map(|_| ())
    }

    /// Sets annotations, and removes those that are given without a value.
    pub async fn annotate<K: Written>(
        &self,
        object: &K,
        annotations: &BTreeMap<String, Option<String>>,
    ) -> Result<(), WriteError> {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        let (name, params) = (object.name_any(), of_manager());
        let request = async { self.api(object).patch_metadata(&name, &params, &patch).await };
        self.send(Verb::Annotate, object, request).await.map(|_| ())
    }

    /// Looks whether this very object is there and stays: what a watch tells may be some moments old.
    ///
    /// # Errors
    /// If it is not, or the server does not say.
    pub async fn confirm<K: Written>(&self, object: &K) -> Result<(), WriteError> {
        let name = object.name_any();
        let request = async { self.api(object).get_metadata(&name).await };
        let found = limited(request).await.map_err(|cause| failed(Verb::Confirm, object, cause))?;
        let stays = found.metadata.deletion_timestamp.is_none();
        if stays && found.metadata.uid == object.uid() {
            return Ok(());
        }
        let cause = Cause::NotFound("it is being deleted, or was made anew".to_owned());
        Err(failed(Verb::Confirm, object, cause))
    }

    fn api<K: Written>(&self, object: &K) -> Api<K> {
        Api::namespaced(self.client.clone(), &object.namespace().unwrap_or_default())
    }

    async fn send<K: Written, T>(
        &self,
        verb: Verb,
        object: &K,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let answer = limited(request).await;
        let kind = K::kind(&()).into_owned();
        let outcome = answer.as_ref().err().map_or("Done", Cause::name);
        self.requests.get_or_create(&Labels { verb: verb.name(), kind, outcome }).inc();
        answer.map_err(|cause| failed(verb, object, cause))
    }
}

async fn limited<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Cause> {
    match timeout(LIMIT, request).await {
        Ok(answer) => answer.map_err(Cause::of),
        Err(_) => Err(Cause::Unreachable(format!("no answer in {} s", LIMIT.as_secs()).into())),
    }
}

fn failed<K: Written>(verb: Verb, object: &K, cause: Cause) -> WriteError {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    WriteError { verb, object: format!("{} {namespace}/{name}", K::kind(&())), cause }
}

/// What of the object is applied.
fn applied<K: Written>(object: &K) -> Value {
    let mut whole = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = whole.as_object_mut() {
        fields.retain(|field, _| field != "status");
        fields.insert("apiVersion".to_owned(), K::api_version(&()).into());
        fields.insert("kind".to_owned(), K::kind(&()).into());
    }
    if let Some(metadata) = whole["metadata"].as_object_mut() {
        metadata.retain(|field, _| !FOREIGN_METADATA.contains(&field.as_str()));
    }
    whole
}

fn of_manager() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

fn posted() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
