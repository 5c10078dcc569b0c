//! What was learned before and what is learned now, and what a person changed in between.
//!
//! A person's edits stay: a rule that they removed is not added again but marked refused, and a rule that
//! they widened already allows what was learned, so nothing is added beside it (DESIGN §5).

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::{
    NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::istio::{IstioFrom, IstioOperation, IstioRule, IstioSource, IstioTo};
use netenf_api::{
    IstioPolicySpec, Mode, PeerRef, Protocol, Provenance, RuleEvidence, UncoveredPeer,
    WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyProposalSpec,
    WorkloadNetworkPolicyProposalStatus,
};
use netenf_learn::Direction;
use netenf_learn::proposal::{Proposal, RulePeer};

use crate::render;

mod cover;

pub use cover::{allows, istio_allows, network_policy_allows};

/// Merges what is learned now into the stored proposal; `last` is the time of the newest observation.
pub fn merge(
    stored: &WorkloadNetworkPolicyProposal,
    fresh: &Proposal,
    last: Option<netenf_learn::Timestamp>,
) -> WorkloadNetworkPolicyProposal {
    let mut merged = stored.clone();
    let rendered = render::proposal(fresh, last);
    let known = stored.status.clone().unwrap_or_default();
    let mut status = rendered.status.unwrap_or_default();
    merged.spec.target_ref = merged.spec.target_ref.or(rendered.spec.target_ref);
    merged.spec.direction = merged.spec.direction.or(rendered.spec.direction);
    let refused = merge_rules(&mut merged, fresh, &known);
    status.rules = merge_evidence(known.rules, status.rules, &refused);
    status.uncovered = merge_uncovered(known.uncovered, status.uncovered);
    status.learned_since = earlier(known.learned_since, status.learned_since);
    status.last_new_rule = later(known.last_new_rule, status.last_new_rule);
    for gap in known.gaps {
        if !status.gaps.contains(&gap) {
            status.gaps.push(gap);
        }
    }
    let told = |type_: &str| status.conditions.iter().any(|condition| condition.type_ == type_);
    let kept: Vec<_> = known.conditions.into_iter().filter(|one| !told(&one.type_)).collect();
    status.conditions.extend(kept);
    status.conditions.sort_by(|a, b| a.type_.cmp(&b.type_));
    status.recount();
    merged.status = Some(status);
    merged
}

/// Peer, port and protocol of a rule: what makes it one.
type RuleKey = (PeerRef, Option<u16>, Protocol);

fn rule_key(evidence: &RuleEvidence) -> RuleKey {
    key_of(&evidence.peer, evidence.port, evidence.protocol)
}

/// Names and services of a peer may become known later; they do not make it another.
fn key_of(peer: &PeerRef, port: Option<u16>, protocol: Protocol) -> RuleKey {
    let peer = PeerRef { names: Vec::new(), addresses: Vec::new(), service: None, ..peer.clone() };
    (peer, port, protocol)
}

/// Adds the rules that are new; returns those that a person took out.
fn merge_rules(
    merged: &mut WorkloadNetworkPolicyProposal,
    fresh: &Proposal,
    known: &WorkloadNetworkPolicyProposalStatus,
) -> BTreeSet<RuleKey> {
    let stored = merged.clone();
    let namespace = stored.metadata.namespace.clone().unwrap_or_default();
    let learned: BTreeMap<RuleKey, bool> =
        known.rules.iter().map(|rule| (rule_key(rule), rule.refused)).collect();
    let mut refused: BTreeSet<RuleKey> =
        learned.iter().filter(|(_, refused)| **refused).map(|(key, _)| key.clone()).collect();
    for one in &fresh.evidence {
        let protocol = render::protocol(one.protocol);
        let key = key_of(&render::peer(&one.peer), Some(one.port), protocol);
        let at = (one.protocol, one.port);
        let allowed = cover::allows(
            &namespace,
            &stored.spec.to_policy_spec(Mode::Monitor),
            fresh.direction,
            &one.rule,
            at,
        );
        if !allowed && learned.contains_key(&key) {
            refused.insert(key);
        } else if !allowed {
            add(&mut merged.spec, fresh.direction, &one.rule, at);
        }
    }
    if let Some(spec) = &mut merged.spec.kubernetes {
        crate::lifecycle::sort_rules(spec);
    }
    refused
}

fn merge_evidence(
    known: Vec<RuleEvidence>,
    fresh: Vec<RuleEvidence>,
    refused: &BTreeSet<RuleKey>,
) -> Vec<RuleEvidence> {
    let mut merged = known;
    for rule in fresh {
        let key = rule_key(&rule);
        match merged.iter_mut().find(|one| rule_key(one) == key) {
            Some(one) => add_evidence(one, rule),
            None => merged.push(rule),
        }
    }
    for rule in &mut merged {
        rule.refused = refused.contains(&rule_key(rule));
    }
    merged.sort_by_cached_key(rule_key);
    merged
}

fn add_evidence(known: &mut RuleEvidence, fresh: RuleEvidence) {
    known.count = known.count.saturating_add(fresh.count);
    known.first_seen = earlier(known.first_seen.take(), fresh.first_seen);
    known.last_seen = later(known.last_seen.take(), fresh.last_seen);
    // What was inferred or declared and is now seen is seen; what a person wrote stays theirs.
    if !matches!(known.provenance, Provenance::Manual | Provenance::Infrastructure) {
        known.provenance = known.provenance.min(fresh.provenance);
    }
    union(&mut known.services, fresh.services);
    union(&mut known.notes, fresh.notes);
    union(&mut known.peer.names, fresh.peer.names);
    known.example = known.example.take().or(fresh.example);
}

fn merge_uncovered(known: Vec<UncoveredPeer>, fresh: Vec<UncoveredPeer>) -> Vec<UncoveredPeer> {
    let mut merged = known;
    for item in fresh {
        match merged.iter_mut().find(|one| one.id == item.id) {
            Some(one) => {
                one.count = one.count.saturating_add(item.count);
                one.first_seen = earlier(one.first_seen.take(), item.first_seen);
                one.last_seen = later(one.last_seen.take(), item.last_seen);
                union(&mut one.notes, item.notes);
                union(&mut one.peer.names, item.peer.names);
                union(&mut one.peer.addresses, item.peer.addresses);
            }
            None => merged.push(item),
        }
    }
    merged.sort_by(|a, b| {
        (a.reason, &a.peer, a.port, &a.id).cmp(&(b.reason, &b.peer, b.port, &b.id))
    });
    merged
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

fn union(known: &mut Vec<String>, fresh: Vec<String>) {
    for one in fresh {
        if !known.contains(&one) {
            known.push(one);
        }
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    [a, b].into_iter().flatten().min_by_key(|time| time.0)
}

fn later(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    [a, b].into_iter().flatten().max_by_key(|time| time.0)
}
