//! Nodes and the addresses that are theirs.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use k8s_openapi::api::core::v1 as core;
use netenf_policy::cluster;

use super::apply::unlink;
use super::{Index, Node, NodeAddress};
use crate::object::labels;

/// Annotations in which network plugins write a node's further addresses: routers and tunnels (case B38).
const NODE_ADDRESSES: [&str; 9] = [
    "network.cilium.io/ipv4-cilium-host",
    "network.cilium.io/ipv6-cilium-host",
    "io.cilium.network.ipv4-cilium-host",
    "io.cilium.network.ipv6-cilium-host",
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
    "projectcalico.org/IPv6VXLANTunnelAddr",
    "flannel.alpha.coreos.com/public-ip",
];

impl Index {
    pub(super) fn apply_node(&mut self, node: core::Node) {
        let name: Arc<str> = node.metadata.name.as_deref().unwrap_or_default().into();
        self.remove_node(&name);
        let node = Node::read(name.clone(), node);
        for (address, kind) in &node.claims {
            let claims = self.node_addresses.entry(*address).or_default();
            claims.insert((*kind, name.clone()));
        }
        self.nodes.insert(name, node);
    }

    pub(super) fn remove_node(&mut self, name: &Arc<str>) {
        let Some(old) = self.nodes.remove(name) else { return };
        for (address, kind) in old.claims {
            unlink(&mut self.node_addresses, &address, &(kind, name.clone()));
        }
    }

    /// Whose address it is: of several nodes that of the one with the better claim, then of the first by name.
    pub(super) fn node_at(&self, address: IpAddr) -> Option<(NodeAddress, &Arc<str>)> {
        let (kind, name) = self.node_addresses.get(&address)?.first()?;
        Some((*kind, name))
    }

    /// The addresses that a node has a wanted claim to, sorted.
    pub(super) fn addresses_of_nodes(
        &self,
        is_wanted: impl Fn(&str, NodeAddress) -> bool,
    ) -> Vec<IpAddr> {
        let all = self.node_addresses.iter();
        let wanted =
            all.filter(|(_, claims)| claims.iter().any(|(kind, node)| is_wanted(node, *kind)));
        let mut addresses: Vec<IpAddr> = wanted.map(|(address, _)| *address).collect();
        addresses.sort_unstable();
        addresses
    }
}

// === impl Node ===

impl Node {
    fn read(name: Arc<str>, node: core::Node) -> Self {
        let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
        let addresses: Vec<IpAddr> =
            addresses.filter_map(|address| address.address.parse().ok()).collect();
        let mut claims: Vec<_> =
            addresses.iter().map(|address| (*address, NodeAddress::Own)).collect();
        let annotations = node.metadata.annotations.iter().flatten();
        let routers = annotations.filter(|(key, _)| NODE_ADDRESSES.contains(&key.as_str()));
        let routers = routers.filter_map(|(_, value)| value.parse().ok());
        claims.extend(routers.map(|address| (address, NodeAddress::Router)));
        let spec = node.spec.unwrap_or_default();
        let ranges = spec.pod_cidrs.unwrap_or_default().into_iter().chain(spec.pod_cidr);
        // Bridges and tunnels take the first addresses of a node's range; pods never get them.
        let likely = ranges
            .filter_map(|range| range.parse::<IpNet>().ok())
            .flat_map(|range| [Some(range.network()), range.hosts().next()].into_iter().flatten());
        claims.extend(likely.map(|address| (address, NodeAddress::Likely)));
        let labels = labels(node.metadata.labels.as_ref());
        Self { model: cluster::Node { name, labels, addresses }, claims }
    }
}
