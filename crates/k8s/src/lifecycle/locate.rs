//! Which rule of a spec the evidence of a peer is for.
//!
//! Evidence names a workload, the spec its labels; nothing ties the two together. Where more than one
//! rule fits, none is touched.

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort};
use netenf_api::{Direction, PeerRef};

use super::choice::named_namespace;
use super::peer::{blocks, is_same};
use super::refusal::Reason;
use super::resource::Resource;
use super::rule::{self, Rule};

/// Positions of the rules that name all of `ports` and could be for `peer`.
pub(super) fn rules(
    object: &Resource,
    direction: Direction,
    peer: &PeerRef,
    ports: &[NetworkPolicyPort],
) -> Vec<usize> {
    let mut spec = object.kubernetes().cloned().unwrap_or_default();
    let rules = rule::take(&mut spec, direction);
    let fits =
        |rule: &Rule| could_be(object, rule, peer) && ports.iter().all(|port| names(rule, port));
    let fitting: Vec<usize> = positions(&rules, fits);
    let all = evidenced(object, peer);
    let exact =
        |rule: &Rule| rule.ports.len() == all.len() && all.iter().all(|port| names(rule, port));
    let labelled = |rule: &Rule| rule.peers.iter().any(|own| is_labelled(own, peer));
    narrow(narrow(fitting, |position| exact(&rules[position])), |position| {
        labelled(&rules[position])
    })
}

/// The one position, or why there is not one.
pub(super) fn only(positions: &[usize], rule: impl Fn() -> String) -> Result<usize, Reason> {
    match positions {
        [only] => Ok(*only),
        [] => Err(Reason::UnknownRule { rule: rule() }),
        several => Err(Reason::UnclearRule { rule: rule(), count: several.len() }),
    }
}

fn positions(rules: &[Rule], fits: impl Fn(&Rule) -> bool) -> Vec<usize> {
    rules.iter().enumerate().filter(|(_, rule)| fits(rule)).map(|(position, _)| position).collect()
}

/// The positions that fit better, where some do.
fn narrow(positions: Vec<usize>, better: impl Fn(usize) -> bool) -> Vec<usize> {
    if positions.len() < 2 {
        return positions;
    }
    let best: Vec<usize> = positions.iter().copied().filter(|position| better(*position)).collect();
    if best.is_empty() { positions } else { best }
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

/// Whether a label of the pods has the name of the peer as its value.
fn is_labelled(own: &NetworkPolicyPeer, peer: &PeerRef) -> bool {
    let labels = own.pod_selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
    let name = peer.name.as_deref();
    labels.is_some_and(|labels| labels.values().any(|value| Some(value.as_str()) == name))
}
