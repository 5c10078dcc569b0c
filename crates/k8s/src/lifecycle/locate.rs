//! Which rule of a spec the evidence of a peer is for.
//!
//! Evidence names a workload, the spec its labels. Evidence that tells how the peer was selected finds its
//! rule by that; else the one rule that fits is it, and where more than one does, none is touched: a label
//! may well carry the name of another workload. A peer with many ports has several rules with the same peers, which are one here.

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};
use netenf_api::{Direction, PeerRef};

use super::choice::named_namespace;
use super::peer::{blocks, is_same};
use super::refusal::Reason;
use super::resource::Resource;
use super::rule::{self, Rule};
use crate::render::pods_of;

/// Positions of rules with the same peers.
pub(super) type Positions = Vec<usize>;

/// The rules that name all of `ports` and could be for `peer`.
pub(super) fn rules(
    object: &Resource,
    direction: Direction,
    peer: &PeerRef,
    ports: &[NetworkPolicyPort],
) -> Vec<Positions> {
    let mut spec = object.kubernetes().cloned().unwrap_or_default();
    let groups = grouped(rule::take(&mut spec, direction));
    let names_all = |(rule, _): &&Group| ports.iter().all(|port| names(rule, port));
    let naming: Vec<&Group> = groups.iter().filter(names_all).collect();
    let written = written(object, peer);
    let as_written: Vec<&Group> = naming
        .iter()
        .copied()
        .filter(|(rule, _)| written.iter().any(|own| rule.peers == std::slice::from_ref(own)))
        .collect();
    if !as_written.is_empty() {
        return positions(as_written);
    }
    let fitting: Vec<&Group> =
        naming.into_iter().filter(|(rule, _)| could_be(object, rule, peer)).collect();
    let all = evidenced(object, peer);
    let exact =
        |rule: &Rule| rule.ports.len() == all.len() && all.iter().all(|port| names(rule, port));
    positions(narrow(fitting, exact))
}

/// The one rule, or why there is not one.
pub(super) fn only(found: &[Positions], rule: impl Fn() -> String) -> Result<&Positions, Reason> {
    match found {
        [only] => Ok(only),
        [] => Err(Reason::UnknownRule { rule: rule() }),
        several => Err(Reason::UnclearRule { rule: rule(), count: several.len() }),
    }
}

/// A rule with the ports of all that have its peers, and where they stand.
type Group = (Rule, Positions);

fn grouped(rules: Vec<Rule>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (position, rule) in rules.into_iter().enumerate() {
        match groups.iter_mut().find(|(known, _)| known.peers == rule.peers) {
            Some((known, positions)) => {
                known.ports.extend(rule.ports);
                positions.push(position);
            }
            None => groups.push((rule, vec![position])),
        }
    }
    groups
}

fn positions(groups: Vec<&Group>) -> Vec<Positions> {
    groups.into_iter().map(|(_, positions)| positions.clone()).collect()
}

/// The rules that fit better, where some do.
fn narrow(groups: Vec<&Group>, better: impl Fn(&Rule) -> bool) -> Vec<&Group> {
    if groups.len() < 2 {
        return groups;
    }
    let best: Vec<&Group> = groups.iter().copied().filter(|(rule, _)| better(rule)).collect();
    if best.is_empty() { groups } else { best }
}

/// The peer as rules were written to name it.
fn written(object: &Resource, peer: &PeerRef) -> Vec<NetworkPolicyPeer> {
    let own = object.evidence().iter().filter(|rule| is_same(&rule.peer, peer));
    own.filter_map(|rule| Some(pods_of(rule.peer.namespace.as_deref()?, rule.selector.clone()?)))
        .collect()
}

fn could_be(object: &Resource, rule: &Rule, peer: &PeerRef) -> bool {
    let [own] = rule.peers.as_slice() else { return false };
    if let Some(block) = &own.ip_block {
        return block.cidr.parse().is_ok_and(|cidr| blocks(peer).contains(&cidr));
    }
    let Some(namespace) = &peer.namespace else {
        return peer.address.is_none() || peer.name.is_some();
    };
    match &own.namespace_selector {
        Some(selector) => named_namespace(selector).is_none_or(|named| named == namespace),
        None => object.metadata().namespace.as_ref() == Some(namespace),
    }
}

/// Every port that evidence has for the peer.
fn evidenced(object: &Resource, peer: &PeerRef) -> Vec<NetworkPolicyPort> {
    let own = object.evidence().iter().filter(|rule| !rule.refused && is_same(&rule.peer, peer));
    own.map(|rule| rule::port(rule.protocol, rule.port, rule.end_port)).collect()
}

fn names(rule: &Rule, port: &NetworkPolicyPort) -> bool {
    rule.ports.iter().any(|own| rule::is_equal(own, port))
}
