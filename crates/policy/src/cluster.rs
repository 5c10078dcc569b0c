//! What a cluster holds, as far as policies depend on it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::cluster_policy::ClusterPolicy;
use crate::domain::{Asker, DomainCache};
use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Protocol};

/// Namespace and name.
pub type Key = (Arc<str>, Arc<str>);

/// Pods, namespaces, nodes, policies and what names were resolved to.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// Labels of namespaces; `kubernetes.io/metadata.name` is among them.
    pub namespaces: BTreeMap<Arc<str>, Labels>,
    /// Pods by namespace and name.
    pub pods: BTreeMap<Key, Pod>,
    /// Nodes by name.
    pub nodes: BTreeMap<Arc<str>, Node>,
    /// NetworkPolicies by namespace and name.
    pub network_policies: BTreeMap<Key, Arc<NetworkPolicy>>,
    /// Cluster-wide policies by kind and name.
    pub cluster_policies: BTreeMap<Key, Arc<ClusterPolicy>>,
    /// Names and their addresses.
    pub domains: DomainCache,
}

/// A pod of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Where it stands in its life.
    pub phase: Phase,
    /// Whether it uses its node's network: then it is its node and no pod.
    pub host_network: bool,
    /// Its labels.
    pub labels: Labels,
    /// All of its addresses.
    pub addresses: Vec<IpAddr>,
    /// Its named container ports.
    pub ports: Arc<[NamedPort]>,
    /// The node that it runs on.
    pub node: Option<Arc<str>>,
}

/// A container port that has a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamedPort {
    /// Its name.
    pub name: Arc<str>,
    /// Its protocol.
    pub protocol: Protocol,
    /// Its number.
    pub number: u16,
}

/// Phase of a pod. Where two pods claim an address, the first phase in this order has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Running; a terminating pod runs until its phase ends.
    #[default]
    Running,
    /// Not started, or not known: the address may be in use.
    Pending,
    /// Succeeded or failed: "no longer owns its address".
    Finished,
}

/// A node of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: Arc<str>,
    /// Its labels.
    pub labels: Labels,
    /// The addresses of its status.
    pub addresses: Vec<IpAddr>,
}

// === impl Pod ===

impl Pod {
    /// Whether the pod has its addresses for itself.
    pub fn owns_addresses(&self) -> bool {
        !self.host_network && self.phase != Phase::Finished
    }

    /// The pod as one that asks for names.
    pub fn asker(&self) -> Asker {
        Asker::Pod(self.namespace.clone(), self.name.clone())
    }
}

// === impl Cluster ===

impl Cluster {
    /// The pod that has `address`: of several the running one, then the first by namespace and name.
    pub fn owner(&self, address: IpAddr) -> Option<&Pod> {
        let claims = |pod: &&Pod| pod.owns_addresses() && pod.addresses.contains(&address);
        let rank = |pod: &&Pod| (pod.phase, pod.namespace.clone(), pod.name.clone());
        self.pods.values().filter(claims).min_by_key(rank)
    }

    /// The nodes that have `address`.
    pub fn nodes_at(&self, address: IpAddr) -> impl Iterator<Item = &Node> {
        self.nodes.values().filter(move |node| node.addresses.contains(&address))
    }

    /// The labels of a namespace. One that is not known yet has the label that every namespace has.
    pub fn namespace_labels(&self, namespace: &str) -> Labels {
        match self.namespaces.get(namespace) {
            Some(labels) => labels.clone(),
            None => default_labels(namespace),
        }
    }
}

/// The label that the API server gives every namespace.
fn default_labels(namespace: &str) -> Labels {
    [("kubernetes.io/metadata.name", namespace)].into_iter().collect()
}
