//! The rules of a stored proposal and those that are learned now.

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::NetworkPolicyPeer;
use netenf_api::{PeerRef, RuleEvidence, WorkloadNetworkPolicyProposalSpec};
use netenf_learn::proposal::{Evidence, Proposal, Provenance, RulePeer};

use super::cover::{self, Cover};
use super::limit::Room;
use super::meaning::Meaning;
use crate::lifecycle::rule::{self, Rule};
use crate::render::{self, is_one_peer};

/// What becomes of a rule that is learned.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fate {
    /// The spec allows it already.
    Present,
    /// A person took it out.
    Refused,
    /// It is new.
    New,
    /// The spec has it as it was written before, when fewer of its pods were known.
    Widened(NetworkPolicyPeer),
    /// It is new and over a limit.
    Cut,
}

// === impl Fate ===

impl Fate {
    /// Whether the spec gets the rule as it is learned.
    pub(super) fn is_written(&self) -> bool {
        matches!(self, Self::New | Self::Widened(_))
    }
}

/// Marks what a person took out of the body since it was learned, and what they put back.
pub(super) fn mark(rules: &mut [RuleEvidence], cover: &Cover) {
    for rule in rules {
        if let Some(stands) = Meaning::of(rule).and_then(|meaning| meaning.stands(cover)) {
            rule.refused = !stands;
        }
    }
}

/// Decides on everything that is learned, in its order. `known` is marked.
pub(super) fn fates(
    spec: &WorkloadNetworkPolicyProposalSpec,
    fresh: &Proposal,
    known: &[RuleEvidence],
    cover: &Cover,
) -> Vec<Fate> {
    let known: Vec<Known<'_>> = known.iter().map(Known::of).collect();
    fresh.evidence.iter().map(|one| fate(spec, one, &known, cover)).collect()
}

fn fate(
    spec: &WorkloadNetworkPolicyProposalSpec,
    one: &Evidence,
    known: &[Known<'_>],
    cover: &Cover,
) -> Fate {
    let (at, peer) = ((one.protocol, one.port), render::peer(&one.peer));
    // What a body cannot hold is not missing from it.
    if !cover.expresses(&one.rule) || cover.allows(&one.rule, at) {
        return Fate::Present;
    }
    let own: Vec<&Known<'_>> = known.iter().filter(|known| known.is_for(one, &peer)).collect();
    if !own.is_empty() && cover.may_allow(&one.rule, one.protocol, (one.port, one.port)) {
        return Fate::Present;
    }
    let is_refused = |known: &&Known<'_>| known.rule.refused;
    // What the cluster itself needs is no part of what a person decided about others.
    let is_part = |known: &Known<'_>| {
        one.provenance != Provenance::Infrastructure && known.is_refused_with(one)
    };
    if own.iter().any(is_refused) || known.iter().any(is_part) {
        return Fate::Refused;
    }
    match own.first().map(|known| &known.meaning) {
        None => Fate::New,
        // Nothing tells how it was written: it is known, and the spec has it no more.
        Some(None) => Fate::Refused,
        Some(Some(meaning)) => match meaning.peer().and_then(|peer| narrower(spec, peer, one)) {
            Some(peer) => Fate::Widened(peer),
            None => Fate::New,
        },
    }
}

/// The peer as it was written, where the spec has it and it selects some of the pods that are known now.
fn narrower(
    spec: &WorkloadNetworkPolicyProposalSpec,
    written: &RulePeer,
    one: &Evidence,
) -> Option<NetworkPolicyPeer> {
    let (
        RulePeer::Pods { namespace, selector },
        RulePeer::Pods { namespace: other, selector: wider },
    ) = (written, &one.rule)
    else {
        return None;
    };
    let is_narrower = namespace == other && cover::selects_all(wider, selector);
    let peer = render::network_policy_peer(written)?;
    let spec = spec.kubernetes.as_ref()?;
    let ingress = spec.ingress.iter().flatten().flat_map(|rule| rule.from.iter().flatten());
    let egress = spec.egress.iter().flatten().flat_map(|rule| rule.to.iter().flatten());
    (is_narrower && ingress.chain(egress).any(|own| *own == peer)).then_some(peer)
}

/// Cuts what is new to the limits: of it the rules with the most connections stay.
pub(super) fn limit(fresh: &Proposal, fates: &mut [Fate], room: &mut Room) {
    let mut new: Vec<usize> = (0..fates.len()).filter(|at| fates[*at] == Fate::New).collect();
    new.sort_by_key(|at| {
        let one = &fresh.evidence[*at];
        (one.provenance != Provenance::Infrastructure, std::cmp::Reverse(one.count))
    });
    for at in new {
        if !room.take(&fresh.evidence[at]) {
            fates[at] = Fate::Cut;
        }
    }
}

/// Writes what is decided into the spec.
pub(super) fn write(
    spec: &mut WorkloadNetworkPolicyProposalSpec,
    fresh: &Proposal,
    fates: &[Fate],
) {
    let decided = || fresh.evidence.iter().zip(fates);
    if let Some(policy) = &mut spec.istio {
        for (one, _) in decided().filter(|(_, fate)| **fate == Fate::New) {
            if let RulePeer::Account(account) = &one.rule {
                rule::add_principal(policy, account, one.port);
            }
        }
    }
    // What nothing is written into stays as it is, to the letter.
    let Some(policy) = spec.kubernetes.as_mut().filter(|_| fates.iter().any(Fate::is_written))
    else {
        return;
    };
    let direction = render::direction(fresh.direction);
    let mut rules = rule::take(policy, direction);
    let mut replaced = BTreeSet::new();
    for (one, fate) in decided() {
        let Some(peer) = render::network_policy_peer(&one.rule) else { continue };
        match fate {
            Fate::New => {
                let port = rule::port(render::protocol(one.protocol), Some(one.port), None);
                rule::add(&mut rules, peer, port);
            }
            Fate::Widened(written) => {
                if replaced.insert((&one.rule, &one.peer)) {
                    replace(&mut rules, written, &peer);
                }
            }
            Fate::Present | Fate::Refused | Fate::Cut => {}
        }
    }
    rule::put(policy, direction, rules);
}

/// Puts `peer` where `written` stands; rules of that peer alone join those that `peer` has.
fn replace(rules: &mut Vec<Rule>, written: &NetworkPolicyPeer, peer: &NetworkPolicyPeer) {
    let is_own = |rule: &mut Rule| rule.peers.as_slice() == std::slice::from_ref(written);
    let own: Vec<Rule> = rules.extract_if(.., is_own).collect();
    for rule in rules.iter_mut().filter(|rule| rule.peers.contains(written)) {
        rule.peers.retain(|one| one != written && one != peer);
        rule.peers.push(peer.clone());
    }
    for one in own {
        if one.ports.is_empty() {
            rules.push(Rule { peers: vec![peer.clone()], ports: Vec::new() });
        }
        for port in one.ports {
            rule::add(rules, peer.clone(), port);
        }
    }
}

/// An entry of before, with what it means.
struct Known<'a> {
    rule: &'a RuleEvidence,
    meaning: Option<Meaning>,
}

// === impl Known ===

impl<'a> Known<'a> {
    fn of(rule: &'a RuleEvidence) -> Self {
        Self { rule, meaning: Meaning::of(rule) }
    }

    /// Whether the entry is for the very same: the peer by name or by what selects it, and the port.
    fn is_for(&self, one: &Evidence, peer: &PeerRef) -> bool {
        let is_peer = || is_one_peer(&self.rule.peer, peer);
        self.rule.protocol == render::protocol(one.protocol)
            && holds_port(self.rule, one.port)
            && (self.meaning.as_ref().is_some_and(|meaning| meaning.is_for(&one.rule)) || is_peer())
    }

    fn is_refused_with(&self, one: &Evidence) -> bool {
        self.rule.refused && self.meaning.as_ref().is_some_and(|meaning| meaning.is_about(one))
    }
}

/// Whether the entry is for the port, be it one of a range.
pub(super) fn holds_port(rule: &RuleEvidence, port: u16) -> bool {
    rule.port.is_none_or(|first| (first..=rule.end_port.unwrap_or(first)).contains(&port))
}
