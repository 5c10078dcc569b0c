//! Executes the steps of a plan.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ObjectMeta;
use netenf_api::{AuthorizationPolicy, WorkloadNetworkPolicy};
use netenf_cluster::apply::{Cause, Verb, WriteError, Written};
use netenf_k8s::lifecycle::Resource;
use netenf_k8s::reconcile::{Document, Step};
use netenf_k8s::render::{Native, NativeKind};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::Reconciler;
use crate::awaited::{Left, Sort};
use crate::export;
use crate::stored::Name;

/// UID and resourceVersion of what the steps of a plan wrote, by kind.
type Versions = HashMap<&'static str, ObjectMeta>;

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Create,
    Replace,
    Status,
    Delete,
}

// === impl How ===

impl How {
    fn verb(self) -> Verb {
        match self {
            Self::Create => Verb::Create,
            Self::Replace => Verb::Replace,
            Self::Status => Verb::PatchStatus,
            Self::Delete => Verb::Delete,
        }
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// All of them in order, up to the first that is refused.
    pub(super) async fn execute(&self, name: &Name, steps: Vec<Step>) -> Result<(), WriteError> {
        let mut versions = Versions::new();
        for step in steps {
            let (document, how) = match step {
                Step::Create(document) => (document, How::Create),
                Step::Replace(document) => (document, How::Replace),
                Step::ReplaceStatus(resource) => (Document::Ours(resource), How::Status),
                Step::Delete(document) => (document, How::Delete),
                Step::Export(export) => {
                    export::acknowledged(&self.telemetry, &export);
                    continue;
                }
                Step::Event(event) => {
                    self.tell(event);
                    continue;
                }
            };
            let sort = Sort::of(&document);
            self.permit(name, &document, how).await?;
            let left = self.write(document, &mut versions, how).await?;
            self.wrote(name, sort, left);
        }
        Ok(())
    }

    /// Looks whether it is still this replica's to write, before each write. That the native object is gone may be
    /// known before that its policy is, which took the object with it: one made anew would block traffic in the name
    /// of nobody until the garbage collector comes by.
    async fn permit(&self, name: &Name, document: &Document, how: How) -> Result<(), WriteError> {
        let failed =
            |verb, cause| WriteError { verb, object: format!("{}/{}", name.0, name.1), cause };
        if !self.leadership.is_held() {
            return Err(failed(how.verb(), Cause::NotLeading));
        }
        if !matches!((document, how), (Document::Native(_), How::Create)) {
            return Ok(());
        }
        match self.policy(name) {
            Some(policy) => self.writer.confirm(&policy).await,
            None => Err(failed(Verb::Confirm, Cause::NotFound("its policy is gone".to_owned()))),
        }
    }

    pub(super) fn policy(&self, name: &Name) -> Option<WorkloadNetworkPolicy> {
        let stored = self.stored.lock();
        stored.policies.get(name).cloned()
    }

    /// The change that a write makes is awaited.
    fn wrote(&self, name: &Name, sort: Sort, left: Option<Left>) {
        if matches!(sort, Sort::Proposal | Sort::Policy) {
            let mut stored = self.stored.lock();
            stored.ledger.wrote(name, left.as_ref().and_then(Left::version));
        }
        if let Some(left) = left {
            self.awaited().note(name, sort, left, Instant::now());
        }
    }

    async fn write(
        &self,
        document: Document,
        versions: &mut Versions,
        how: How,
    ) -> Result<Option<Left>, WriteError> {
        match document {
            Document::Ours(Resource::Proposal(it)) => {
                self.write_one(Arc::unwrap_or_clone(it), versions, how).await
            }
            Document::Ours(Resource::Policy(it)) => {
                self.write_one(Arc::unwrap_or_clone(it), versions, how).await
            }
            Document::Native(native) => match native.kind {
                NativeKind::NetworkPolicy => {
                    self.write_one(typed::<NetworkPolicy>(&native)?, versions, how).await
                }
                NativeKind::AuthorizationPolicy => {
                    self.write_one(typed::<AuthorizationPolicy>(&native)?, versions, how).await
                }
            },
        }
    }

    /// Without a version of its own the object is what an earlier step wrote. Gives the version that it has now.
    async fn write_one<K: Written>(
        &self,
        mut object: K,
        versions: &mut Versions,
        how: How,
    ) -> Result<Option<Left>, WriteError> {
        let kind = std::any::type_name::<K>();
        // The API server keeps them; what is known here are only the agent's own.
        object.meta_mut().managed_fields = None;
        if let (None, Some(known), false) =
            (&object.meta().resource_version, versions.get(kind), how == How::Create)
        {
            let meta = object.meta_mut();
            meta.resource_version.clone_from(&known.resource_version);
            meta.uid.clone_from(&known.uid);
        }
        let written = match how {
            How::Create => self.writer.create(&object).await?,
            How::Replace => self.writer.replace(&object).await?,
            How::Status => self.writer.replace_status(&object).await?,
            How::Delete => {
                self.writer.delete(&object).await?;
                return Ok(object.meta().uid.clone().map(Left::Gone));
            }
        };
        versions.insert(kind, written.meta().clone());
        Ok(written.meta().resource_version.clone().map(Left::Version))
    }
}

/// The native object as its type has it.
fn typed<K: DeserializeOwned>(native: &Native) -> Result<K, WriteError> {
    let document = serde_json::to_value(native).and_then(serde_json::from_value);
    document.map_err(|error| {
        let (namespace, name) = (&native.metadata.namespace, &native.metadata.name);
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        WriteError {
            verb: Verb::Replace,
            object: format!("{} {}/{}", native.kind.as_str(), part(namespace), part(name)),
            cause: Cause::Invalid(error.to_string()),
        }
    })
}
