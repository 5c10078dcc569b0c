//! What is known of the rules and of what has none, from before and from now.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{
    Gap, PeerRef, Protocol, Provenance, RuleEvidence, Suggestion, UncoveredPeer, UncoveredReason,
    WorkloadNetworkPolicyProposal,
};
use netenf_learn::Direction;
use netenf_learn::proposal::RulePeer;
use netenf_policy::{End, NetworkPolicy};

use super::cover;
use crate::lower;
use crate::render::{RuleKey, rule_key};

/// Ports from here on may be a range that a server hands out.
const FIRST_HIGH_PORT: u16 = 1024;

pub(super) fn evidence(
    known: Vec<RuleEvidence>,
    fresh: Vec<RuleEvidence>,
    refused: &BTreeSet<RuleKey>,
) -> Vec<RuleEvidence> {
    let mut merged = known;
    for rule in fresh {
        let key = rule_key(&rule);
        match merged.iter_mut().find(|one| rule_key(one) == key) {
            Some(one) => add(one, rule),
            None => merged.push(rule),
        }
    }
    for rule in &mut merged {
        rule.refused = refused.contains(&rule_key(rule));
    }
    merged.sort_by_cached_key(rule_key);
    merged
}

fn add(known: &mut RuleEvidence, fresh: RuleEvidence) {
    known.count = known.count.saturating_add(fresh.count);
    known.first_seen = earlier(known.first_seen.take(), fresh.first_seen);
    known.last_seen = later(known.last_seen.take(), fresh.last_seen);
    // What was inferred or declared and is now seen is seen; what a person wrote stays theirs.
    if !matches!(known.provenance, Provenance::Manual | Provenance::Infrastructure) {
        known.provenance = known.provenance.min(fresh.provenance);
    }
    union(&mut known.services, fresh.services);
    add_notes(&mut known.notes, fresh.notes);
    add_names(&mut known.peer.names, fresh.peer.names);
    known.example = match (known.example.take(), fresh.example) {
        (Some(one), Some(other)) => {
            let order = |example: &netenf_api::Example| {
                (example.source.clone(), example.destination.clone())
            };
            Some(if order(&other) < order(&one) { other } else { one })
        }
        (one, other) => one.or(other),
    };
}

pub(super) fn uncovered(
    known: Vec<UncoveredPeer>,
    fresh: Vec<UncoveredPeer>,
) -> Vec<UncoveredPeer> {
    let mut merged = known;
    for item in fresh {
        match merged.iter_mut().find(|one| one.id == item.id) {
            Some(one) => {
                one.count = one.count.saturating_add(item.count);
                one.first_seen = earlier(one.first_seen.take(), item.first_seen);
                one.last_seen = later(one.last_seen.take(), item.last_seen);
                // An attempt that was answered later is one that was answered.
                one.reason = one.reason.min(item.reason);
                one.selector = one.selector.take().or(item.selector);
                add_notes(&mut one.notes, item.notes);
                add_names(&mut one.peer.names, item.peer.names);
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

/// Takes out what the spec allows by now, because a person said so; what was seen of it counts for the rule.
pub(super) fn take_allowed(
    object: &WorkloadNetworkPolicyProposal,
    direction: Direction,
    uncovered: &mut Vec<UncoveredPeer>,
    rules: &mut Vec<RuleEvidence>,
) {
    let Some(spec) = &object.spec.kubernetes else { return };
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let (policy, _) = lower::network_policy("", namespace, "", spec);
    let (allowed, rest): (Vec<_>, Vec<_>) = std::mem::take(uncovered)
        .into_iter()
        .partition(|item| is_allowed(&policy, direction, item));
    *uncovered = rest;
    for item in allowed {
        note(rules, item);
    }
    rules.sort_by_cached_key(rule_key);
}

fn is_allowed(policy: &NetworkPolicy, direction: Direction, item: &UncoveredPeer) -> bool {
    // Of what has no direction, or stands for several, a rule cannot be said to allow it.
    let is_one = !matches!(
        item.reason,
        UncoveredReason::Ambiguous | UncoveredReason::Truncated | UncoveredReason::Protocol
    );
    let (Some(protocol), Some(port), true) = (protocol(item.protocol), item.port, is_one) else {
        return false;
    };
    let ends = ends(item);
    !ends.is_empty()
        && ends
            .iter()
            .all(|end| cover::network_policy_allows(policy, direction, end, (protocol, port)))
}

fn ends(item: &UncoveredPeer) -> Vec<End> {
    if let (Some(namespace), Some(selector)) = (&item.peer.namespace, &item.selector) {
        let selector = lower::selector(selector).0;
        return cover::ends_of(&RulePeer::Pods { namespace: namespace.as_str().into(), selector });
    }
    let addresses = item.peer.address.iter().chain(&item.peer.addresses);
    addresses.filter_map(|text| text.parse::<IpAddr>().ok()).map(End::Address).collect()
}

/// Adds what was seen of an item to the evidence of the rule that allows it.
fn note(rules: &mut Vec<RuleEvidence>, item: UncoveredPeer) {
    let fresh = RuleEvidence {
        peer: item.peer,
        port: item.port,
        end_port: None,
        protocol: item.protocol,
        provenance: Provenance::Manual,
        count: item.count,
        first_seen: item.first_seen,
        last_seen: item.last_seen,
        refused: false,
        services: Vec::new(),
        notes: item.notes,
        example: None,
    };
    let same = |one: &&mut RuleEvidence| {
        one.port == fresh.port
            && one.protocol == fresh.protocol
            && stands_for(&one.peer, &fresh.peer)
    };
    match rules.iter_mut().find(same) {
        Some(one) => add(one, fresh),
        None => rules.push(fresh),
    }
}

/// Whether the peer of a rule is the other one, or a range with its address.
fn stands_for(rule: &PeerRef, peer: &PeerRef) -> bool {
    if (&rule.namespace, &rule.name) != (&peer.namespace, &peer.name) {
        return false;
    }
    let addresses = |peer: &PeerRef| {
        let texts = peer.address.clone().into_iter().chain(peer.addresses.clone());
        texts.filter_map(|text| block(&text)).collect::<Vec<IpNet>>()
    };
    let (ranges, single) = (addresses(rule), addresses(peer));
    match single.first() {
        Some(first) => ranges.iter().any(|range| range.contains(first)),
        None => rule.kind == peer.kind && rule.names == peer.names,
    }
}

fn block(text: &str) -> Option<IpNet> {
    text.parse::<IpAddr>().map(IpNet::from).or_else(|_| text.parse::<IpNet>()).ok()
}

fn protocol(protocol: Protocol) -> Option<netenf_policy::Protocol> {
    match protocol {
        Protocol::Tcp => Some(netenf_policy::Protocol::Tcp),
        Protocol::Udp => Some(netenf_policy::Protocol::Udp),
        Protocol::Sctp => Some(netenf_policy::Protocol::Sctp),
        Protocol::Icmp | Protocol::Other => None,
    }
}

/// Suggestions of before stay, and grow with what is seen now.
pub(super) fn suggestions(
    known: Vec<Suggestion>,
    fresh: Vec<Suggestion>,
    rules: &[RuleEvidence],
) -> Vec<Suggestion> {
    let mut merged = known;
    for one in fresh {
        match merged.iter_mut().find(|known| known.id == one.id) {
            Some(known) => {
                known.port = known.port.min(one.port);
                known.end_port = known.end_port.max(one.end_port);
                known.port_count = known.port_count.max(one.port_count).max(ports(known, rules));
                known.reason = format!("suggested range from {} ports", known.port_count);
            }
            None => merged.push(one),
        }
    }
    merged.sort_by(|a, b| (&a.peer, a.protocol, &a.id).cmp(&(&b.peer, b.protocol, &b.id)));
    merged
}

/// How many ports within the range have rules.
fn ports(suggestion: &Suggestion, rules: &[RuleEvidence]) -> i64 {
    let within = |port: Option<u16>| {
        port >= suggestion.port.max(Some(FIRST_HIGH_PORT)) && port <= suggestion.end_port
    };
    let own = rules.iter().filter(|rule| {
        rule.peer == suggestion.peer && rule.protocol == suggestion.protocol && within(rule.port)
    });
    i64::try_from(own.count()).unwrap_or(i64::MAX)
}

/// Gaps of one node and reason are one.
pub(super) fn gaps(known: Vec<Gap>, fresh: Vec<Gap>) -> Vec<Gap> {
    let mut merged = known;
    for gap in fresh {
        match merged.iter_mut().find(|one| (&one.node, &one.reason) == (&gap.node, &gap.reason)) {
            Some(one) => {
                one.since = earlier(one.since.take(), gap.since);
                one.until = later(one.until.take(), gap.until);
                one.lost = one.lost.max(gap.lost);
            }
            None => merged.push(gap),
        }
    }
    merged.sort_by(|a, b| (&a.node, &a.reason).cmp(&(&b.node, &b.reason)));
    merged
}

/// Notes that differ in a number only are one; the newest counts.
fn add_notes(known: &mut Vec<String>, fresh: Vec<String>) {
    let shape = |note: &str| note.replace(|c: char| c.is_ascii_digit(), "");
    for note in fresh {
        known.retain(|one| shape(one) != shape(&note));
        known.push(note);
    }
    known.sort();
}

/// Names keep their order: as they were meant, then as they were asked for.
fn add_names(known: &mut Vec<String>, fresh: Vec<String>) {
    for name in fresh {
        if !known.contains(&name) {
            known.push(name);
        }
    }
}

fn union(known: &mut Vec<String>, fresh: Vec<String>) {
    known.extend(fresh);
    known.sort();
    known.dedup();
}

pub(super) fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    [a, b].into_iter().flatten().min_by_key(|time| time.0)
}

pub(super) fn later(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    [a, b].into_iter().flatten().max_by_key(|time| time.0)
}
