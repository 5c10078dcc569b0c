//! Who an end of a connection is, once resolved.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::{Labels, Selector};

use crate::observation::Network;

/// A workload: the topmost controller of a pod, or the pod itself where it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Workload {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Kind, as in the Kubernetes API; may be one that we do not know (`Rollout`).
    pub kind: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// An end of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Party {
    /// Pods of a workload.
    Workload(Workload),
    /// Pods with these (lasting) labels, whose workload the source did not name.
    Pods {
        /// Namespace.
        namespace: Arc<str>,
        /// Labels of the pods without those that change from rollout to rollout.
        labels: Labels,
    },
    /// A pod of which only the name is known.
    Pod {
        /// Namespace.
        namespace: Arc<str>,
        /// Name, or `generateName` with an asterisk.
        name: Arc<str>,
    },
    /// A mesh identity without `spiffe://`.
    Account(Arc<str>),
    /// A node, or a host-network pod, which is its node as far as policies can tell.
    Node {
        /// Name of the node, or its address where the name is not known.
        name: Arc<str>,
        /// The host-network workload, where known.
        workload: Option<Workload>,
    },
    /// A node's router or tunnel address, behind which another client hides (case B38).
    Router {
        /// Name of the node.
        node: Arc<str>,
    },
    /// A node's port of a Service of type `NodePort` or `LoadBalancer`.
    NodePort {
        /// The service, as `namespace/name`.
        service: Arc<str>,
    },
    /// The Kubernetes API server.
    ApiServer,
    /// An address outside the cluster.
    External(IpAddr),
    /// A name outside the cluster, where the source gave no address.
    Name(Arc<str>),
    /// An end without an address (Goldmane's networks).
    Network(Network),
    /// Pods that Cilium does not manage, and whose pod is not known.
    Unmanaged(IpAddr),
    /// A pod of another cluster of the mesh, which no NetworkPolicy here selects.
    Remote {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// Namespace there.
        namespace: Option<Arc<str>>,
        /// The workload, or else the pod.
        name: Option<Arc<str>>,
    },
    /// Cilium's ingress proxy.
    IngressProxy,
    /// Nothing to go by.
    Unknown,
}

/// A workload's selector and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkloadSelector {
    /// The selector; never empty.
    pub selector: Selector,
    /// Where it comes from.
    pub origin: SelectorOrigin,
    /// Other workloads that it selects too, sorted: what a rule with it admits besides those meant.
    pub also: Vec<Workload>,
}

/// Where a selector comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectorOrigin {
    /// The workload's object.
    Object,
    /// Labels in flows, without those that change from rollout to rollout.
    Inferred,
}

// === impl Workload ===

impl Workload {
    /// A workload by its parts.
    pub fn new(
        namespace: impl Into<Arc<str>>,
        kind: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
    ) -> Self {
        Self { namespace: namespace.into(), kind: kind.into(), name: name.into() }
    }
}

// === impl Party ===

impl Party {
    /// The namespace it lives in, if any.
    pub fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Self::Workload(workload) => Some(&workload.namespace),
            Self::Pods { namespace, .. } | Self::Pod { namespace, .. } => Some(namespace),
            Self::Account(_)
            | Self::Node { .. }
            | Self::Router { .. }
            | Self::NodePort { .. }
            | Self::ApiServer
            | Self::External(_)
            | Self::Name(_)
            | Self::Network(_)
            | Self::Unmanaged(_)
            | Self::Remote { .. }
            | Self::IngressProxy
            | Self::Unknown => None,
        }
    }

    /// The workload, where it is one.
    pub fn workload(&self) -> Option<&Workload> {
        match self {
            Self::Workload(workload) => Some(workload),
            _ => None,
        }
    }
}
