//! Ends for people.

use std::net::IpAddr;
use std::sync::Arc;

use crate::directory::Directory;
use crate::identity::{Party, Workload};
use crate::learner::Learner;
use crate::name::without_search_domain;
use crate::observation::Network;
use crate::outcome::cast::Cast;
use crate::proposal::{Peer, RulePeer, SeenEnd};

/// Describes the end `id`.
pub(super) fn describe<D: Directory>(learner: &Learner<D>, cast: &Cast, id: u32) -> Peer {
    let mut peer = of_party(&learner.parties[id as usize].party);
    if peer.kind.as_deref() == Some("External") {
        peer.names = meant_names(learner, cast, id);
    }
    peer
}

/// The end `id` as policies see it.
pub(super) fn seen<D: Directory>(learner: &Learner<D>, cast: &Cast, id: u32) -> SeenEnd {
    SeenEnd { peer: addressed(learner, cast, id), labels: cast.labels(learner, id) }
}

/// Describes the end `id`, with the addresses by which policies see it where it is no pod.
pub(super) fn addressed<D: Directory>(learner: &Learner<D>, cast: &Cast, id: u32) -> Peer {
    let mut peer = describe(learner, cast, id);
    let directory = &learner.directory;
    match &learner.parties[id as usize].party {
        Party::ApiServer => {
            peer.addresses = directory.api_server().map(|it| it.addresses).unwrap_or_default();
        }
        Party::Router { node } => peer.addresses = directory.node_addresses(Some(node)),
        Party::Node { name, workload } if peer.address.is_none() => {
            peer.addresses = node_addresses(directory, name, workload.as_ref());
        }
        _ => {}
    }
    peer
}

/// Addresses of a node, or of all nodes on which the host-network workload has pods.
pub(super) fn node_addresses(
    directory: &impl Directory,
    name: &str,
    workload: Option<&Workload>,
) -> Vec<IpAddr> {
    let own = directory.node_addresses(Some(name));
    let Some(workload) = workload.filter(|_| own.is_empty()) else { return own };
    let nodes = directory.nodes_of(workload);
    let mut all: Vec<IpAddr> =
        nodes.iter().flat_map(|node| directory.node_addresses(Some(node))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The names of `id`: as they were meant, then as they were asked for where that differs (case B49).
pub(super) fn meant_names<D: Directory>(
    learner: &Learner<D>,
    cast: &Cast,
    id: u32,
) -> Vec<Arc<str>> {
    let asked = cast.names(id);
    let mut names: Vec<Arc<str>> = asked
        .iter()
        .map(|name| without_search_domain(name, &learner.config.cluster_domain).into())
        .collect();
    names.sort();
    names.dedup();
    let others = asked.iter().map(|name| Arc::from(name.trim_end_matches('.')));
    let others: Vec<Arc<str>> = others.filter(|name| !names.contains(name)).collect();
    names.extend(others);
    names
}

pub(super) fn of_party(party: &Party) -> Peer {
    let kind = |kind: &str| Peer { kind: Some(kind.into()), ..Peer::default() };
    match party {
        Party::Workload(workload) => of_workload(workload),
        Party::Pods { namespace, labels } => {
            let labels: Vec<String> =
                labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
            Peer {
                namespace: Some(namespace.clone()),
                name: Some(labels.join(",").into()),
                ..kind("Pods")
            }
        }
        Party::Pod { namespace, name } => {
            Peer { namespace: Some(namespace.clone()), name: Some(name.clone()), ..kind("Pod") }
        }
        Party::Account(identity) => of_account(identity),
        Party::Node { name, workload } => Peer {
            namespace: workload.as_ref().map(|workload| workload.namespace.clone()),
            name: Some(name.clone()),
            address: name.parse().ok(),
            service: workload.as_ref().map(|w| format!("{}/{}", w.kind, w.name).into()),
            ..kind("Node")
        },
        Party::Router { node } => Peer { name: Some(node.clone()), ..kind("Node") },
        Party::NodePort { service } => Peer { service: Some(service.clone()), ..kind("NodePort") },
        Party::ApiServer => kind("ApiServer"),
        Party::External(address) => Peer { address: Some(*address), ..kind("External") },
        Party::Name(name) => Peer { names: vec![name.clone()], ..kind("External") },
        Party::Network(network) => of_network(network),
        Party::Unmanaged(address) => Peer { address: Some(*address), ..kind("Unmanaged") },
        Party::Remote { cluster, namespace, name } => {
            let name = name.as_deref().unwrap_or_default();
            let name = Some(format!("{cluster}/{name}").into());
            Peer { namespace: namespace.clone(), name, ..kind("Remote") }
        }
        Party::IngressProxy => Peer { name: Some("ingress".into()), ..kind("Node") },
        Party::Unknown => kind("Unknown"),
    }
}

/// The API server behind several addresses has a rule for each: they are told apart by address.
pub(super) fn by_rule(peer: &Peer, rule: &RulePeer) -> Peer {
    match rule {
        RulePeer::Block(block) if peer.address.is_none() => {
            Peer { address: Some(block.addr()), ..peer.clone() }
        }
        _ => peer.clone(),
    }
}

/// Describes a workload.
pub(super) fn of_workload(workload: &Workload) -> Peer {
    Peer {
        kind: Some(workload.kind.clone()),
        namespace: Some(workload.namespace.clone()),
        name: Some(workload.name.clone()),
        ..Peer::default()
    }
}

/// Namespace and name of the service account that a mesh identity stands for.
pub(super) fn account_of(identity: &str) -> Option<(&str, &str)> {
    let mut parts = identity.split('/').skip(1);
    match [parts.next()?, parts.next()?, parts.next()?, parts.next()?] {
        ["ns", namespace, "sa", name] if parts.next().is_none() => Some((namespace, name)),
        _ => None,
    }
}

fn of_account(identity: &Arc<str>) -> Peer {
    let (namespace, name) = account_of(identity).unzip();
    let (namespace, name) = (namespace.map(Arc::from), name.map(Arc::from));
    let identity = Some(identity.clone());
    Peer { kind: Some("ServiceAccount".into()), namespace, name, identity, ..Peer::default() }
}

fn of_network(network: &Network) -> Peer {
    let (kind, namespace, name): (&str, Option<Arc<str>>, Arc<str>) = match network {
        Network::Public => ("Network", None, "pub".into()),
        Network::Private => ("Network", None, "pvt".into()),
        Network::Set { namespace, name } => ("NetworkSet", namespace.clone(), name.clone()),
        Network::Host(name) => ("Node", None, name.clone()),
    };
    Peer { kind: Some(kind.into()), namespace, name: Some(name), ..Peer::default() }
}

/// A rule's block for exactly one address.
pub(super) fn single(address: IpAddr) -> ipnet::IpNet {
    address.into()
}
