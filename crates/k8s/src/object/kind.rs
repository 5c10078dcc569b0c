//! Kinds of objects.

use std::sync::Arc;

use serde_json::Value;

use super::{ClusterKind, Object};

/// The kind of an object. What this crate has no type for is told apart by name only, so that a Service of
/// Knative is no core Service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A pod.
    Pod,
    /// A `ReplicaSet`.
    ReplicaSet,
    /// A Deployment.
    Deployment,
    /// A `StatefulSet`.
    StatefulSet,
    /// A `DaemonSet`.
    DaemonSet,
    /// A Job.
    Job,
    /// A `CronJob`.
    CronJob,
    /// A core Service.
    Service,
    /// An `EndpointSlice`.
    EndpointSlice,
    /// Endpoints.
    Endpoints,
    /// A node.
    Node,
    /// A namespace.
    Namespace,
    /// A native policy.
    NetworkPolicy,
    /// A cluster-wide policy.
    ClusterPolicy(ClusterKind),
    /// A proposal of ours.
    Proposal,
    /// A policy of ours.
    Policy,
    /// Another kind, by its name.
    Other(Arc<str>),
}

// === impl Kind ===

impl Kind {
    /// Its name, as in the Kubernetes API.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Pod => "Pod",
            Self::ReplicaSet => "ReplicaSet",
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            Self::Service => "Service",
            Self::EndpointSlice => "EndpointSlice",
            Self::Endpoints => "Endpoints",
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::ClusterPolicy(kind) => kind.name(),
            Self::Proposal => "WorkloadNetworkPolicyProposal",
            Self::Policy => "WorkloadNetworkPolicy",
            Self::Other(name) => name,
        }
    }
}

// === impl Object ===

impl Object {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::ReplicaSet(_) => Kind::ReplicaSet,
            Self::Deployment(_) => Kind::Deployment,
            Self::StatefulSet(_) => Kind::StatefulSet,
            Self::DaemonSet(_) => Kind::DaemonSet,
            Self::Job(_) => Kind::Job,
            Self::CronJob(_) => Kind::CronJob,
            Self::Service(_) => Kind::Service,
            Self::EndpointSlice(_) => Kind::EndpointSlice,
            Self::Endpoints(_) => Kind::Endpoints,
            Self::Node(_) => Kind::Node,
            Self::Namespace(_) => Kind::Namespace,
            Self::NetworkPolicy(_) => Kind::NetworkPolicy,
            Self::ClusterPolicy(policy) => Kind::ClusterPolicy(policy.kind),
            Self::Proposal(_) => Kind::Proposal,
            Self::Policy(_) => Kind::Policy,
            Self::Other(document) => Kind::Other(text(document, "/kind").into()),
            Self::Broken { kind, .. } => Kind::Other(kind.as_str().into()),
        }
    }

    /// Its namespace, if it says one, and its name.
    pub(crate) fn place(&self) -> (Option<&str>, &str) {
        let metadata = match self {
            Self::Pod(it) => &it.metadata,
            Self::ReplicaSet(it) => &it.metadata,
            Self::Deployment(it) => &it.metadata,
            Self::StatefulSet(it) => &it.metadata,
            Self::DaemonSet(it) => &it.metadata,
            Self::Job(it) => &it.metadata,
            Self::CronJob(it) => &it.metadata,
            Self::Service(it) => &it.metadata,
            Self::EndpointSlice(it) => &it.metadata,
            Self::Endpoints(it) => &it.metadata,
            Self::Node(it) => &it.metadata,
            Self::Namespace(it) => &it.metadata,
            Self::NetworkPolicy(it) => &it.metadata,
            Self::Proposal(it) => &it.metadata,
            Self::Policy(it) => &it.metadata,
            Self::ClusterPolicy(policy) => return (None, policy.name()),
            Self::Other(document) => {
                let namespace = document.pointer("/metadata/namespace").and_then(Value::as_str);
                return (namespace, text(document, "/metadata/name"));
            }
            Self::Broken { name, .. } => return (None, name),
        };
        (metadata.namespace.as_deref(), metadata.name.as_deref().unwrap_or_default())
    }
}

fn text<'a>(document: &'a Value, path: &str) -> &'a str {
    document.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
