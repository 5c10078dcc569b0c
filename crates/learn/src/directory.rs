//! What the learner asks of the cluster's objects, wherever they come from.
//!
//! `netenf-k8s` answers from an index of Kubernetes objects; [`NoObjects`] stands for a recording
//! without any.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use netenf_policy::{Labels, Protocol, Selector};

use crate::identity::Workload;
use crate::observation::PodName;
use crate::time::Timestamp;

/// What the cluster's objects tell.
pub trait Directory {
    /// Whether there are objects at all. Without any, names and labels in flows are believed.
    fn is_empty(&self) -> bool;

    /// Whether any object of `namespace` is known.
    fn covers(&self, namespace: &str) -> bool;

    /// The pod of that name, or one of the pods with that `generateName`.
    fn pod(&self, namespace: &str, name: &PodName) -> Option<PodEntry>;

    /// Whether the workload has an object.
    fn has_workload(&self, workload: &Workload) -> bool;

    /// The topmost owner of a workload that a source named: a `ReplicaSet` is its `Deployment`'s,
    /// a `Job` its `CronJob`'s.
    fn owner(&self, workload: &Workload) -> Workload;

    /// The workload whose pods carry these labels, if exactly one does: for pods that are gone (case B31).
    fn workload_by_labels(&self, namespace: &str, labels: &Labels) -> Option<Workload>;

    /// Who holds, or at `time` held, an address.
    fn holder(&self, address: IpAddr, time: Option<Timestamp>) -> Option<Holder>;

    /// Whether more than one pod held the address, so that the answer depends on the time.
    fn is_reused(&self, address: IpAddr) -> bool;

    /// The ends behind a service's address and port, or a node's port.
    fn service(&self, address: IpAddr, port: u16, protocol: Protocol) -> Option<ServiceTarget>;

    /// The workload's selector, from its object.
    fn selector(&self, workload: &Workload) -> Option<Selector>;

    /// Whether the workload's containers or a service in front of it declare the port.
    fn declares(&self, workload: &Workload, port: u16, protocol: Protocol) -> bool;

    /// The node that a pod address runs on.
    fn node_of(&self, address: IpAddr) -> Option<Arc<str>>;

    /// The cluster's DNS.
    fn dns(&self) -> Option<DnsTarget>;

    /// The API server's endpoints.
    fn api_server(&self) -> Option<ApiServerTarget>;

    /// Addresses of a node, or of all nodes: in their status, of their routers and of their tunnels. Sorted.
    fn node_addresses(&self, _node: Option<&str>) -> Vec<IpAddr> {
        Vec::new()
    }

    /// Whether the workload's pods share their nodes' network: policies see the nodes then.
    fn is_host_network(&self, _workload: &Workload) -> bool {
        false
    }

    /// Other workloads that the workload's selector selects too, sorted.
    fn selected_too(&self, _workload: &Workload) -> Vec<Workload> {
        Vec::new()
    }

    /// The workloads whose pods run under a service account, sorted.
    fn running_as(&self, _namespace: &str, _account: &str) -> Vec<Workload> {
        Vec::new()
    }

    /// What the workload's containers call a port, sorted.
    fn port_names(&self, _workload: &Workload, _port: u16, _protocol: Protocol) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The nodes on which the workload has pods.
    fn nodes_of(&self, workload: &Workload) -> Vec<Arc<str>>;

    /// The labels that the workload's pods carry.
    fn labels(&self, workload: &Workload) -> Option<Labels>;
}

/// A pod, as far as the learner needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodEntry {
    /// Its topmost owner, or the pod itself.
    pub workload: Workload,
    /// Whether it shares its node's network.
    pub host_network: bool,
    /// The node it runs on.
    pub node: Option<Arc<str>>,
    /// Whether it is an Istio waypoint: the callers behind it are hidden (case B67).
    pub waypoint: bool,
}

/// Who holds an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A pod.
    Pod(PodEntry),
    /// A node: in its status addresses, or its router or tunnel address.
    Node {
        /// Name of the node.
        name: Arc<str>,
        /// Whether it is the node's router or tunnel address, behind which another client hides (case B38).
        router: bool,
    },
    /// The API server's endpoint.
    ApiServer,
}

/// What a service port leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceTarget {
    /// The service, as `namespace/name`.
    pub service: Arc<str>,
    /// Whether it was addressed by a node's port.
    pub node_port: bool,
    /// The workloads behind it with their pod ports.
    pub backends: Vec<(Workload, u16)>,
}

/// The cluster's DNS pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsTarget {
    /// Namespace.
    pub namespace: Arc<str>,
    /// The pods.
    pub selector: Selector,
    /// The pod port that answers.
    pub port: u16,
}

/// The API server's endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiServerTarget {
    /// Addresses, sorted.
    pub addresses: Vec<IpAddr>,
    /// Port of the endpoints.
    pub port: u16,
}

impl<D: Directory + ?Sized> Directory for Arc<D> {
    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }
    fn covers(&self, namespace: &str) -> bool {
        (**self).covers(namespace)
    }
    fn pod(&self, namespace: &str, name: &PodName) -> Option<PodEntry> {
        (**self).pod(namespace, name)
    }
    fn has_workload(&self, workload: &Workload) -> bool {
        (**self).has_workload(workload)
    }
    fn owner(&self, workload: &Workload) -> Workload {
        (**self).owner(workload)
    }
    fn workload_by_labels(&self, namespace: &str, labels: &Labels) -> Option<Workload> {
        (**self).workload_by_labels(namespace, labels)
    }
    fn holder(&self, address: IpAddr, time: Option<Timestamp>) -> Option<Holder> {
        (**self).holder(address, time)
    }
    fn is_reused(&self, address: IpAddr) -> bool {
        (**self).is_reused(address)
    }
    fn service(&self, address: IpAddr, port: u16, protocol: Protocol) -> Option<ServiceTarget> {
        (**self).service(address, port, protocol)
    }
    fn selector(&self, workload: &Workload) -> Option<Selector> {
        (**self).selector(workload)
    }
    fn declares(&self, workload: &Workload, port: u16, protocol: Protocol) -> bool {
        (**self).declares(workload, port, protocol)
    }
    fn node_of(&self, address: IpAddr) -> Option<Arc<str>> {
        (**self).node_of(address)
    }
    fn dns(&self) -> Option<DnsTarget> {
        (**self).dns()
    }
    fn api_server(&self) -> Option<ApiServerTarget> {
        (**self).api_server()
    }
    fn node_addresses(&self, node: Option<&str>) -> Vec<IpAddr> {
        (**self).node_addresses(node)
    }
    fn is_host_network(&self, workload: &Workload) -> bool {
        (**self).is_host_network(workload)
    }
    fn running_as(&self, namespace: &str, account: &str) -> Vec<Workload> {
        (**self).running_as(namespace, account)
    }
    fn selected_too(&self, workload: &Workload) -> Vec<Workload> {
        (**self).selected_too(workload)
    }
    fn port_names(&self, workload: &Workload, port: u16, protocol: Protocol) -> Vec<Arc<str>> {
        (**self).port_names(workload, port, protocol)
    }
    fn nodes_of(&self, workload: &Workload) -> Vec<Arc<str>> {
        (**self).nodes_of(workload)
    }
    fn labels(&self, workload: &Workload) -> Option<Labels> {
        (**self).labels(workload)
    }
}

/// A directory that changes while it is asked. A writer that panicked leaves it as it was: each object is taken in
/// or not.
impl<D: Directory> Directory for RwLock<D> {
    fn is_empty(&self) -> bool {
        read(self).is_empty()
    }
    fn covers(&self, namespace: &str) -> bool {
        read(self).covers(namespace)
    }
    fn pod(&self, namespace: &str, name: &PodName) -> Option<PodEntry> {
        read(self).pod(namespace, name)
    }
    fn has_workload(&self, workload: &Workload) -> bool {
        read(self).has_workload(workload)
    }
    fn owner(&self, workload: &Workload) -> Workload {
        read(self).owner(workload)
    }
    fn workload_by_labels(&self, namespace: &str, labels: &Labels) -> Option<Workload> {
        read(self).workload_by_labels(namespace, labels)
    }
    fn holder(&self, address: IpAddr, time: Option<Timestamp>) -> Option<Holder> {
        read(self).holder(address, time)
    }
    fn is_reused(&self, address: IpAddr) -> bool {
        read(self).is_reused(address)
    }
    fn service(&self, address: IpAddr, port: u16, protocol: Protocol) -> Option<ServiceTarget> {
        read(self).service(address, port, protocol)
    }
    fn selector(&self, workload: &Workload) -> Option<Selector> {
        read(self).selector(workload)
    }
    fn declares(&self, workload: &Workload, port: u16, protocol: Protocol) -> bool {
        read(self).declares(workload, port, protocol)
    }
    fn node_of(&self, address: IpAddr) -> Option<Arc<str>> {
        read(self).node_of(address)
    }
    fn dns(&self) -> Option<DnsTarget> {
        read(self).dns()
    }
    fn api_server(&self) -> Option<ApiServerTarget> {
        read(self).api_server()
    }
    fn node_addresses(&self, node: Option<&str>) -> Vec<IpAddr> {
        read(self).node_addresses(node)
    }
    fn is_host_network(&self, workload: &Workload) -> bool {
        read(self).is_host_network(workload)
    }
    fn running_as(&self, namespace: &str, account: &str) -> Vec<Workload> {
        read(self).running_as(namespace, account)
    }
    fn selected_too(&self, workload: &Workload) -> Vec<Workload> {
        read(self).selected_too(workload)
    }
    fn port_names(&self, workload: &Workload, port: u16, protocol: Protocol) -> Vec<Arc<str>> {
        read(self).port_names(workload, port, protocol)
    }
    fn nodes_of(&self, workload: &Workload) -> Vec<Arc<str>> {
        read(self).nodes_of(workload)
    }
    fn labels(&self, workload: &Workload) -> Option<Labels> {
        read(self).labels(workload)
    }
}

fn read<D>(lock: &RwLock<D>) -> RwLockReadGuard<'_, D> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// No objects: everything is inferred from flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObjects;

impl Directory for NoObjects {
    fn is_empty(&self) -> bool {
        true
    }
    fn covers(&self, _: &str) -> bool {
        false
    }
    fn pod(&self, _: &str, _: &PodName) -> Option<PodEntry> {
        None
    }
    fn has_workload(&self, _: &Workload) -> bool {
        false
    }
    fn owner(&self, workload: &Workload) -> Workload {
        workload.clone()
    }
    fn workload_by_labels(&self, _: &str, _: &Labels) -> Option<Workload> {
        None
    }
    fn holder(&self, _: IpAddr, _: Option<Timestamp>) -> Option<Holder> {
        None
    }
    fn is_reused(&self, _: IpAddr) -> bool {
        false
    }
    fn service(&self, _: IpAddr, _: u16, _: Protocol) -> Option<ServiceTarget> {
        None
    }
    fn selector(&self, _: &Workload) -> Option<Selector> {
        None
    }
    fn declares(&self, _: &Workload, _: u16, _: Protocol) -> bool {
        false
    }
    fn node_of(&self, _: IpAddr) -> Option<Arc<str>> {
        None
    }
    fn dns(&self) -> Option<DnsTarget> {
        None
    }
    fn api_server(&self) -> Option<ApiServerTarget> {
        None
    }
    fn nodes_of(&self, _: &Workload) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn labels(&self, _: &Workload) -> Option<Labels> {
        None
    }
}
