//! Recorded ends, as ends of connections that policies are asked about.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use netenf_learn::proposal::{Peer, SeenEdge, SeenEnd};
use netenf_learn::{Directory as _, Workload};
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{End, Labels, Pod, Policies, Protocol};

use crate::index::Index;

/// A name of a port with what it stands for.
pub(super) type NamedPort = (Arc<str>, Protocol, u16);

/// What is known of recorded ends.
pub(super) struct Ends<'a> {
    index: &'a Index,
    /// All addresses, in ranges that no policy tells apart.
    ranges: Vec<AddressRange>,
    /// Addresses of the pods of a workload that carry labels, one of each range, looked up once.
    addresses: HashMap<(Workload, Labels), Vec<IpAddr>>,
}

// === impl Ends ===

impl<'a> Ends<'a> {
    /// Ends as `policies` tell them apart.
    pub(super) fn new(index: &'a Index, policies: &Policies<'_>) -> Self {
        Self { index, ranges: space::divide(&policies.blocks()), addresses: HashMap::new() }
    }

    /// The end by its labels, if it was seen as a pod.
    pub(super) fn pod(&self, end: &SeenEnd, ports: Vec<NamedPort>) -> Option<Pod> {
        let (namespace, labels) = (end.peer.namespace.as_ref()?, end.labels.clone()?);
        Some(Pod { labels, ports, ..self.index.pod_in(namespace) })
    }

    /// All that the end may have been. Of several addresses (the pods of a workload, a node, the API server) any
    /// may have been used, and policies match the addresses of pods too (tiers reference, 1.4.10).
    pub(super) fn all(&mut self, end: &SeenEnd, ports: Vec<NamedPort>) -> Vec<End> {
        let Some(pod) = self.pod(end, ports) else { return self.outside(&end.peer) };
        let addresses = self.addresses(&end.peer, &pod);
        if addresses.is_empty() {
            return vec![End::Pod(pod)];
        }
        let at = |address: &IpAddr| End::Pod(Pod { addresses: vec![*address], ..pod.clone() });
        addresses.iter().map(at).collect()
    }

    /// Addresses of the running pods that the end may have been, one of each range.
    fn addresses(&mut self, peer: &Peer, pod: &Pod) -> &[IpAddr] {
        let (kind, name) = (peer.kind.as_deref(), peer.name.as_deref());
        let (kind, name) = (kind.unwrap_or_default(), name.unwrap_or_default());
        let workload = Workload::new(pod.namespace.clone(), kind, name);
        let (index, ranges) = (self.index, &self.ranges);
        let known = self.addresses.entry((workload, pod.labels.clone()));
        known.or_insert_with_key(|(workload, labels)| {
            let ends = index.ends_of(workload).unwrap_or_default();
            // A pod on the host's network is its node, of which no labels are seen.
            let pods = ends.into_iter().filter_map(|end| match end {
                End::Pod(own) => Some(own).filter(|own| own.labels.contains_all(labels)),
                End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => None,
            });
            let mut addresses: Vec<IpAddr> = pods.flat_map(|own| own.addresses).collect();
            let mut seen = BTreeSet::new();
            let range = |address: &IpAddr| ranges.partition_point(|range| range.last < *address);
            addresses.retain(|address| seen.insert(range(address)));
            addresses
        })
    }

    /// All that an end may have been that was not seen as a pod.
    fn outside(&self, peer: &Peer) -> Vec<End> {
        let mut addresses: Vec<IpAddr> = peer.address.into_iter().collect();
        addresses.extend(&peer.addresses);
        let found: Vec<End> = match (peer.kind.as_deref(), &peer.name) {
            (Some("ApiServer"), _) => {
                let known = self.index.api_server().into_iter().flat_map(|it| it.addresses);
                addresses.extend(known);
                addresses.into_iter().map(|address| self.index.end_at(address)).collect()
            }
            (Some("Node"), Some(name)) => self.node(name, addresses),
            _ => addresses.into_iter().map(End::Address).collect(),
        };
        if found.is_empty() { vec![End::Unknown] } else { found }
    }

    /// A node by each of its addresses, also by those of its routers and tunnels that were seen.
    fn node(&self, name: &str, mut addresses: Vec<IpAddr>) -> Vec<End> {
        let Some(End::Node { name, labels, addresses: known }) = self.index.end_of_node(name)
        else {
            return addresses.into_iter().map(|address| self.index.end_at(address)).collect();
        };
        addresses.extend(known);
        let at = |addresses| End::Node { name: name.clone(), labels: labels.clone(), addresses };
        if addresses.is_empty() {
            return vec![at(Vec::new())];
        }
        addresses.into_iter().map(|address| at(vec![address])).collect()
    }
}

/// What the destination calls the port.
pub(super) fn named_ports(edge: &SeenEdge) -> Vec<NamedPort> {
    edge.port_names.iter().map(|name| (name.clone(), edge.protocol, edge.port)).collect()
}

#[cfg(test)]
mod tests;
