//! The other end of a connection: who it is, and whether two of them are the same.

use std::net::IpAddr;

use ipnet::IpNet;
use netenf_api::{Direction, PeerRef, Violation};

/// The end that the workload of the policy talks to.
pub(crate) fn other_end(violation: &Violation) -> &PeerRef {
    match violation.direction {
        Direction::Ingress => &violation.source,
        Direction::Egress => &violation.dest,
    }
}

/// Whether both are the same peer: by kind and name, else by identity, else by address.
pub(crate) fn is_same(one: &PeerRef, other: &PeerRef) -> bool {
    let named = |peer: &PeerRef| peer.kind.is_some() && peer.name.is_some();
    if named(one) || named(other) {
        return (&one.kind, &one.namespace, &one.name)
            == (&other.kind, &other.namespace, &other.name);
    }
    if one.identity.is_some() || other.identity.is_some() {
        return one.identity == other.identity;
    }
    if one.address.is_some() || other.address.is_some() {
        return blocks(one) == blocks(other) && one.address.is_some() == other.address.is_some();
    }
    one == other
}

/// Whether the peer of a rule is the other one, or a network that holds all of its addresses.
pub(crate) fn stands_for(rule: &PeerRef, peer: &PeerRef) -> bool {
    let (ranges, addresses) = (blocks(rule), blocks(peer));
    let holds = |address| ranges.iter().any(|range: &IpNet| range.contains(address));
    let same_place = (&rule.namespace, &rule.name) == (&peer.namespace, &peer.name);
    is_same(rule, peer) || (same_place && !addresses.is_empty() && addresses.iter().all(holds))
}

/// Every address of the peer as a block, sorted.
pub(crate) fn blocks(peer: &PeerRef) -> Vec<IpNet> {
    let texts = peer.address.iter().chain(&peer.addresses);
    let addresses = texts.flat_map(|text| text.split([',', ' ']));
    let mut blocks: Vec<IpNet> = addresses.filter_map(|address| block(address.trim())).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// How a peer is named in messages.
pub(super) fn name(peer: &PeerRef) -> String {
    let place = peer.name.as_deref().or(peer.identity.as_deref()).or(peer.address.as_deref());
    let place = place.or_else(|| peer.names.first().map(String::as_str));
    [peer.kind.as_deref(), peer.namespace.as_deref(), place]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("/")
}

fn block(text: &str) -> Option<IpNet> {
    let address = text.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
    address.or_else(|_| text.parse::<IpNet>().map(|net| net.trunc())).ok()
}
