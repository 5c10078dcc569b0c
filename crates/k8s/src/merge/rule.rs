//! The rules of a stored proposal and those that are learned now.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::{
    NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::istio::{IstioFrom, IstioOperation, IstioRule, IstioSource, IstioTo};
use netenf_api::{
    IstioPolicySpec, Mode, WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalSpec,
    WorkloadNetworkPolicyProposalStatus,
};
use netenf_learn::proposal::{Proposal, RulePeer};
use netenf_learn::{Direction, SelectorOrigin};
use netenf_policy::Selector;

use super::cover;
use crate::render::{self, RuleKey, key_of, rule_key};

/// Adds the rules that are new; returns those that a person took out.
pub(super) fn merge(
    merged: &mut WorkloadNetworkPolicyProposal,
    fresh: &Proposal,
    known: &WorkloadNetworkPolicyProposalStatus,
) -> BTreeSet<RuleKey> {
    let namespace = merged.metadata.namespace.clone().unwrap_or_default();
    let learned: BTreeMap<RuleKey, bool> =
        known.rules.iter().map(|rule| (rule_key(rule), rule.refused)).collect();
    let mut refused: BTreeSet<RuleKey> =
        learned.iter().filter(|(_, refused)| **refused).map(|(key, _)| key.clone()).collect();
    let inferred = super::is_inferred(known);
    if inferred {
        take_selector(&mut merged.spec, fresh);
    }
    let mut stored = merged.spec.to_policy_spec(Mode::Monitor);
    // Several peers may be meant by one rule.
    let mut added = BTreeSet::new();
    for one in &fresh.evidence {
        let key = key_of(&render::peer(&one.peer), Some(one.port), render::protocol(one.protocol));
        let at = (one.protocol, one.port);
        let allows = |stored: &_| cover::allows(&namespace, stored, fresh.direction, &one.rule, at);
        if allows(&stored) {
            refused.remove(&key);
        } else if !learned.contains_key(&key) {
            if added.insert((&one.rule, at)) {
                add(&mut merged.spec, fresh.direction, &one.rule, at);
            }
        } else if inferred && widen(&mut merged.spec, &one.rule) {
            stored = merged.spec.to_policy_spec(Mode::Monitor);
            if !allows(&stored) {
                refused.insert(key);
            }
        } else {
            refused.insert(key);
        }
    }
    // What a person wrote stays in their order as long as nothing is added.
    if let Some(spec) = merged.spec.kubernetes.as_mut().filter(|_| !added.is_empty()) {
        crate::lifecycle::sort_rules(spec);
    }
    refused
}

/// A selector that was inferred from labels in flows is replaced by what is known better now: the object's,
/// or the labels that all pods seen since have in common.
fn take_selector(spec: &mut WorkloadNetworkPolicyProposalSpec, fresh: &Proposal) {
    let own = &fresh.selector.selector;
    let is_object = fresh.selector.origin == SelectorOrigin::Object;
    let bodies = [
        spec.kubernetes.as_mut().and_then(|spec| spec.pod_selector.as_mut()),
        spec.istio.as_mut().map(|spec| &mut spec.selector),
    ];
    for stored in bodies.into_iter().flatten() {
        if is_object || is_narrower(stored, own) {
            *stored = render::selector(own);
        }
    }
}

/// Peers whose selectors were inferred and mean the rule's pods with more labels take its selector.
fn widen(spec: &mut WorkloadNetworkPolicyProposalSpec, rule: &RulePeer) -> bool {
    let (RulePeer::Pods { selector, .. }, Some(meant), Some(spec)) =
        (rule, render::network_policy_peer(rule), &mut spec.kubernetes)
    else {
        return false;
    };
    let ingress = spec.ingress.iter_mut().flatten().filter_map(|rule| rule.from.as_mut());
    let egress = spec.egress.iter_mut().flatten().filter_map(|rule| rule.to.as_mut());
    let mut widened = false;
    for peer in ingress.chain(egress).flatten() {
        let here = peer.namespace_selector == meant.namespace_selector;
        if here && peer.pod_selector.as_ref().is_some_and(|stored| is_narrower(stored, selector)) {
            *peer = meant.clone();
            widened = true;
        }
    }
    widened
}

/// Whether `stored` asks for the labels of `other` and for more.
fn is_narrower(stored: &LabelSelector, other: &Selector) -> bool {
    let labels = stored.match_labels.as_ref();
    let count = labels.map_or(0, std::collections::BTreeMap::len);
    stored.match_expressions.is_none()
        && other.requirements.is_empty()
        && !other.labels.is_empty()
        && count > other.labels.iter().len()
        && other.labels.iter().all(|(key, value)| {
            labels.and_then(|labels| labels.get(key)).is_some_and(|v| v == value)
        })
}

fn add(
    spec: &mut WorkloadNetworkPolicyProposalSpec,
    direction: Direction,
    rule: &RulePeer,
    at: (netenf_policy::Protocol, u16),
) {
    if let (RulePeer::Account(account), Some(spec)) = (rule, &mut spec.istio) {
        add_istio(spec, account, &at.1.to_string());
    }
    let (Some(peer), Some(spec)) = (render::network_policy_peer(rule), &mut spec.kubernetes) else {
        return;
    };
    let port = NetworkPolicyPort {
        protocol: Some(render::protocol(at.0).to_string()),
        port: Some(IntOrString::Int(i32::from(at.1))),
        end_port: None,
    };
    add_port(spec, direction, &peer, port);
}

/// Adds a port to the peer's own rule, or makes it one.
fn add_port(
    spec: &mut NetworkPolicySpec,
    direction: Direction,
    peer: &NetworkPolicyPeer,
    port: NetworkPolicyPort,
) {
    let only = |peers: &Option<Vec<NetworkPolicyPeer>>| {
        peers.as_deref() == Some(std::slice::from_ref(peer))
    };
    // A rule without ports already allows all of them, and Cilium refuses more than so many.
    let room = |ports: &Option<Vec<NetworkPolicyPort>>| {
        ports.as_ref().is_some_and(|ports| !ports.is_empty() && ports.len() < render::PORTS_IN_RULE)
    };
    let (from, ports) = (Some(vec![peer.clone()]), Some(vec![port.clone()]));
    match direction {
        Direction::Ingress => {
            let rules = spec.ingress.get_or_insert_default();
            match rules.iter_mut().find(|rule| only(&rule.from) && room(&rule.ports)) {
                Some(rule) => rule.ports.get_or_insert_default().push(port),
                None => rules.push(NetworkPolicyIngressRule { from, ports }),
            }
        }
        Direction::Egress => {
            let rules = spec.egress.get_or_insert_default();
            match rules.iter_mut().find(|rule| only(&rule.to) && room(&rule.ports)) {
                Some(rule) => rule.ports.get_or_insert_default().push(port),
                None => rules.push(NetworkPolicyEgressRule { to: from, ports }),
            }
        }
    }
}

fn add_istio(spec: &mut IstioPolicySpec, principal: &str, port: &str) {
    let own = |rule: &&mut IstioRule| {
        let principals: Vec<&String> =
            rule.from.iter().flat_map(|from| &from.source.principals).collect();
        principals == [principal] && rule.to.len() == 1 && !rule.to[0].operation.ports.is_empty()
    };
    if let Some(rule) = spec.rules.iter_mut().find(own) {
        let ports = &mut rule.to[0].operation.ports;
        ports.push(port.to_owned());
        ports.sort_by_key(|port| port.parse::<u16>().unwrap_or(u16::MAX));
        return;
    }
    spec.rules.push(IstioRule {
        from: vec![IstioFrom { source: IstioSource { principals: vec![principal.to_owned()] } }],
        to: vec![IstioTo { operation: IstioOperation { ports: vec![port.to_owned()] } }],
    });
    spec.rules.sort_by_cached_key(|rule| {
        rule.from.iter().flat_map(|from| from.source.principals.clone()).collect::<Vec<_>>()
    });
}
