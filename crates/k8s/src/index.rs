//! An index of the cluster's objects: who a pod belongs to, who holds an address, what is behind a service.
//!
//! Objects are applied one by one, in any order, each in place of its older version, and deleted again; what
//! is known is what an index of those that are left knows, and for a while which pods are gone. Nothing is
//! looked up in names. Owners are walked through `ownerReferences` to the top: a `ReplicaSet` is its Deployment's, a Job its `CronJob`'s,
//! and a kind that we do not know (`Rollout`) is named as it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use netenf_learn::{Timestamp, Workload};
use netenf_policy::cluster::{self, Phase};
use netenf_policy::{Labels, Protocol, Selector};

use crate::enforcer::Sighting;
use crate::object::{Diagnostic, Kind, Object};
use crate::render::NAMESPACE_NAME;

mod apply;
mod directory;
mod endpoint;
mod model;
mod native;
mod node;
mod place;
mod pod;
mod policy;
mod service;
mod tombstone;
mod workload;

use tombstone::Tombstones;

/// The namespace of objects that say none.
const DEFAULT_NAMESPACE: &str = "default";

/// Owners deeper than this are a loop.
const DEEPEST: usize = 8;

/// The cluster's objects, indexed.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub struct Index {
    namespaces: BTreeMap<Arc<str>, Labels>,
    /// Kinds and names of the objects of each namespace that has any.
    covered: BTreeMap<Arc<str>, BTreeSet<Listing>>,
    pods: HashMap<Key, Pod>,
    tombstones: Tombstones,
    by_generate_name: HashMap<Key, BTreeSet<Key>>,
    by_address: HashMap<IpAddr, BTreeSet<Key>>,
    /// Controllers of objects that are controlled themselves.
    owners: HashMap<Workload, Owner>,
    /// What a controller controls.
    controlled: HashMap<Workload, BTreeSet<Workload>>,
    /// Pods by their direct controllers.
    pods_of: HashMap<Workload, BTreeSet<Key>>,
    /// Pods by the service account under which they run.
    pods_as: HashMap<Key, BTreeSet<Key>>,
    workloads: BTreeMap<Workload, WorkloadEntry>,
    services: BTreeMap<Key, Service>,
    services_at: HashMap<IpAddr, BTreeSet<Key>>,
    node_ports: HashMap<(u16, Protocol), BTreeSet<Key>>,
    /// Endpoints of services by the object that lists them, ready or not: what is behind a service does
    /// not change with that.
    endpoints: BTreeMap<Key, BTreeMap<Listing, Vec<Endpoint>>>,
    /// The service whose endpoints an object lists.
    listed_for: HashMap<(Kind, Key), Arc<str>>,
    nodes: BTreeMap<Arc<str>, Node>,
    node_addresses: HashMap<IpAddr, BTreeSet<(NodeAddress, Arc<str>)>>,
    /// Ports and addresses of the API server by the object that lists them.
    api_server: BTreeMap<Listing, Vec<PortsAt>>,
    /// Sorted by namespace and name.
    policies: Vec<netenf_policy::NetworkPolicy>,
    /// What objects say of the network plugin, by kind and name.
    dataplanes: BTreeMap<(Kind, Key), Sighting>,
    /// Native policies that one of ours of the same name controls.
    controlled_by_ours: BTreeSet<Key>,
    diagnostics: BTreeMap<Key, Vec<Diagnostic>>,
    /// Sorted by kind and name.
    cluster_policies: Vec<Arc<netenf_policy::ClusterPolicy>>,
    /// By kind and name.
    cluster_diagnostics: BTreeMap<Key, Vec<Diagnostic>>,
}

/// What kind of address of a node it is, the better claims first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeAddress {
    /// In its status.
    Own,
    /// Of its router or tunnel, as the network plugin wrote it down.
    Router,
    /// One of the first of its range of pod addresses, which bridges and tunnels take.
    Likely,
}

/// Namespace and name.
type Key = (Arc<str>, Arc<str>);
/// An object of a namespace: its kind and its name.
type Listing = (Kind, Arc<str>);
/// TCP ports and the addresses that have them.
type PortsAt = (Vec<u16>, Vec<IpAddr>);

#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
struct Node {
    model: cluster::Node,
    /// All addresses that are its.
    claims: Vec<(IpAddr, NodeAddress)>,
}

#[derive(Debug)]
#[cfg_attr(test, derive(PartialEq))]
struct Pod {
    uid: Option<Arc<str>>,
    created: Option<Timestamp>,
    labels: Labels,
    /// The direct controller, or the pod itself.
    owner: Workload,
    host_network: bool,
    node: Option<Arc<str>>,
    phase: Phase,
    addresses: Vec<IpAddr>,
    ports: Vec<NamedPort>,
    generate_name: Option<Arc<str>>,
    account: Arc<str>,
    /// When it got its addresses, and when it gave them back.
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct NamedPort {
    name: Option<Arc<str>>,
    protocol: Protocol,
    number: u16,
}

/// The controller of an object.
#[derive(Debug, PartialEq)]
struct Owner {
    workload: Workload,
    teller: Teller,
}

/// The object that is controlled.
#[derive(Debug, PartialEq)]
enum Teller {
    /// It is there, and tells this of its controller.
    There(WorkloadEntry),
    /// It went then. Its pods may go after it, and are its controller's still.
    Gone(Timestamp),
}

#[derive(Debug, Clone, Default, PartialEq)]
struct WorkloadEntry {
    selector: Selector,
    /// Labels that its pods get.
    labels: Labels,
    ports: Vec<NamedPort>,
    host_network: bool,
    origin: Origin,
}

/// What is known of a workload; what tells more replaces what tells less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    #[default]
    Nothing,
    /// Its pods.
    Pods,
    /// What it owns, such as a Rollout's `ReplicaSets`.
    Owned,
    /// Its object.
    Object,
}

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
struct Service {
    selector: Labels,
    addresses: BTreeSet<IpAddr>,
    ports: Vec<ServicePort>,
}

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
struct ServicePort {
    name: Option<Arc<str>>,
    protocol: Protocol,
    port: u16,
    target: Target,
    node_port: Option<u16>,
}

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
enum Target {
    Number(u16),
    Name(Arc<str>),
}

#[derive(Debug, Clone)]
#[cfg_attr(test, derive(PartialEq))]
struct Endpoint {
    pod: Key,
    ports: Vec<NamedPort>,
}

// === impl Index ===

impl Index {
    /// An index of `objects`.
    pub fn of(objects: impl IntoIterator<Item = Object>) -> Self {
        let mut index = Self::default();
        for object in objects {
            index.apply(object);
        }
        index
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        !self.covered.values().any(has_more_than_policies)
            && self.nodes.is_empty()
            && self.namespaces.is_empty()
    }

    /// Native policies that were among the objects, sorted by namespace and name.
    pub fn policies(&self) -> &[netenf_policy::NetworkPolicy] {
        &self.policies
    }

    /// What could not be understood.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.values().chain(self.cluster_diagnostics.values()).flatten()
    }

    /// What its objects say of the network plugin, in the order of their names.
    pub(crate) fn dataplanes(&self) -> impl Iterator<Item = Sighting> {
        self.dataplanes.values().copied()
    }

    /// Labels of a namespace; every namespace carries its own name (Kubernetes sets it).
    pub fn namespace_labels(&self, namespace: &str) -> Labels {
        let own = (NAMESPACE_NAME, namespace);
        let known = self.namespaces.get(namespace);
        known.into_iter().flat_map(Labels::iter).chain([own]).collect()
    }

    /// Every workload that is known by its object, sorted.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads
            .iter()
            .filter(|(_, entry)| entry.origin == Origin::Object)
            .map(|(workload, _)| workload)
    }

    /// Kinds of owners that objects name and that no object is of, so that what is above them is not known.
    pub fn missing_owners(&self) -> BTreeSet<Arc<str>> {
        const KINDS: [&str; 6] =
            ["CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"];
        let tops = self.pods.values().map(|pod| self.top(&pod.owner));
        let missing = tops.filter(|top| {
            let entry = self.workloads.get(top);
            KINDS.contains(&&*top.kind) && entry.is_none_or(|entry| entry.origin != Origin::Object)
        });
        missing.map(|top| top.kind).collect()
    }

    /// Addresses of a node from its status, sorted.
    pub fn addresses_of_node(&self, name: &str) -> Vec<IpAddr> {
        self.addresses_of_nodes(|node, kind| node == name && kind == NodeAddress::Own)
    }

    /// The topmost owner of `workload`.
    pub fn top(&self, workload: &Workload) -> Workload {
        let mut top = workload;
        for _ in 0..DEEPEST {
            let Some(owner) = self.owners.get(top) else { break };
            top = &owner.workload;
        }
        top.clone()
    }

    fn workloads_in(
        &self,
        namespace: &Arc<str>,
    ) -> impl Iterator<Item = (&Workload, &WorkloadEntry)> {
        let first = Workload::new(namespace.clone(), "", "");
        let near = self.workloads.range(first..);
        near.take_while(move |(workload, _)| workload.namespace == *namespace)
    }

    /// Workloads that nothing else controls.
    fn tops_in(&self, namespace: &Arc<str>) -> impl Iterator<Item = (&Workload, &WorkloadEntry)> {
        self.workloads_in(namespace).filter(|(workload, _)| !self.owners.contains_key(*workload))
    }
}

/// Whether there is more than policies, which say nothing of who is in their namespace.
fn has_more_than_policies(objects: &BTreeSet<Listing>) -> bool {
    objects.iter().any(|(kind, _)| *kind != Kind::NetworkPolicy)
}

fn key(metadata: &ObjectMeta) -> Key {
    let namespace = metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    (namespace.into(), metadata.name.as_deref().unwrap_or_default().into())
}

fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    // The API requires a kind; without one nothing could be found or named by it.
    owners.iter().find(|owner| owner.controller == Some(true) && !owner.kind.is_empty())
}

#[cfg(test)]
mod tests;
