//! How much a proposal may hold, over all that was ever learned into it.
//!
//! The learner keeps to the same limits within one run. What stands in an object stays: nothing that was
//! learned, allowed or written before is taken out for a limit, only what is new is not taken on.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{
    PeerRef, Protocol, UncoveredPeer, UncoveredReason, WorkloadNetworkPolicyProposalSpec,
};
use netenf_learn::proposal::{Evidence, Provenance, RulePeer};
use netenf_learn::wording::count;
use netenf_learn::{Caps, Direction, name};

use crate::lifecycle::rule;
use crate::render;
use crate::time::{earlier, later};

/// What a proposal can still take on, and what it could not.
pub(super) struct Room {
    caps: Caps,
    /// Ports of each peer of the spec.
    ports: BTreeMap<String, usize>,
    /// Entries of evidence.
    entries: usize,
    taken: BTreeSet<(RulePeer, netenf_policy::Protocol, u16)>,
    peers_cut: Cut,
    ports_cut: BTreeMap<PeerRef, Cut>,
    entries_cut: Cut,
    /// Entries for what needs no rule.
    untold: usize,
}

/// What is over one limit.
#[derive(Default)]
struct Cut {
    what: BTreeSet<(RulePeer, Option<(netenf_policy::Protocol, u16)>)>,
    count: u64,
    first: Option<Time>,
    last: Option<Time>,
}

// === impl Room ===

impl Room {
    pub(super) fn of(
        spec: &WorkloadNetworkPolicyProposalSpec,
        direction: Direction,
        entries: usize,
        caps: Caps,
    ) -> Self {
        Self {
            caps,
            ports: ports(spec, direction),
            entries,
            taken: BTreeSet::new(),
            peers_cut: Cut::default(),
            ports_cut: BTreeMap::new(),
            entries_cut: Cut::default(),
            untold: 0,
        }
    }

    /// Whether there is room for the rule; there always is for what the cluster itself needs.
    pub(super) fn take(&mut self, one: &Evidence) -> bool {
        let Some(peer) = key(&one.rule) else { return false };
        let at = (one.protocol, one.port);
        let is_taken = self.taken.contains(&(one.rule.clone(), one.protocol, one.port));
        let is_needed = one.provenance == Provenance::Infrastructure;
        let known = self.ports.get(&peer).copied();
        if !is_needed && self.entries >= self.caps.entries {
            self.entries_cut.add(one, Some(at));
            return false;
        }
        if !is_needed && !is_taken {
            match known {
                None if self.ports.len() >= self.caps.rules => {
                    self.peers_cut.add(one, None);
                    return false;
                }
                Some(ports) if ports >= self.caps.ports => {
                    let peer = render::meant_by(&render::peer(&one.peer));
                    self.ports_cut.entry(peer).or_default().add(one, Some(at));
                    return false;
                }
                None | Some(_) => {}
            }
        }
        self.entries += 1;
        if self.taken.insert((one.rule.clone(), one.protocol, one.port)) {
            *self.ports.entry(peer).or_default() += 1;
        }
        true
    }

    /// Whether there is room for an entry of evidence that needs no rule.
    pub(super) fn take_entry(&mut self) -> bool {
        let has_room = self.entries < self.caps.entries;
        if has_room {
            self.entries += 1;
        } else {
            self.untold += 1;
        }
        has_room
    }

    /// What was cut, in words.
    pub(super) fn told(&self) -> Vec<String> {
        let (caps, mut told) = (&self.caps, Vec::new());
        let mut tell = |number: usize, what: &str, of: &str, limit: usize| {
            if number > 0 {
                told.push(format!("{}{of} over the limit of {limit}", count(number, what)));
            }
        };
        tell(self.peers_cut.len(), "peer", "", caps.rules);
        for cut in self.ports_cut.values() {
            tell(cut.len(), "port", " of one peer", caps.ports);
        }
        tell(self.entries_cut.len(), "port", " of all peers", caps.entries);
        tell(self.untold, "peer and port", " without evidence", caps.entries);
        told
    }

    /// What was cut, as something that was seen and has no rule.
    pub(super) fn uncovered(&self, identity: &str) -> Vec<UncoveredPeer> {
        let mut items = Vec::new();
        if self.peers_cut.len() > 0 {
            let peers = count(self.peers_cut.len(), "peer");
            let note = format!(
                "no rule for {peers}, the rarest: raise the limit or exclude what is not needed"
            );
            items.push(self.peers_cut.item(identity, PeerRef::default(), note));
        }
        for (peer, cut) in &self.ports_cut {
            let note = format!("no rule for {}, the rarest", count(cut.len(), "port"));
            items.push(cut.item(identity, peer.clone(), note));
        }
        if self.entries_cut.len() > 0 {
            let ports = count(self.entries_cut.len(), "port");
            let note = format!("no rule for {ports} of all peers, the rarest");
            items.push(self.entries_cut.item(identity, PeerRef::default(), note));
        }
        items
    }
}

// === impl Cut ===

impl Cut {
    fn add(&mut self, one: &Evidence, at: Option<(netenf_policy::Protocol, u16)>) {
        self.what.insert((one.rule.clone(), at));
        self.count = self.count.saturating_add(one.count);
        self.first = earlier(self.first.take(), one.first.and_then(render::time));
        self.last = later(self.last.take(), one.last.and_then(render::time));
    }

    fn len(&self) -> usize {
        self.what.len()
    }

    fn item(&self, identity: &str, peer: PeerRef, note: String) -> UncoveredPeer {
        UncoveredPeer {
            count: i64::try_from(self.count).unwrap_or(i64::MAX),
            first_seen: self.first.clone(),
            last_seen: self.last.clone(),
            ..truncated(identity, peer, note)
        }
    }
}

/// An item for something that is over a limit.
pub(super) fn truncated(identity: &str, peer: PeerRef, note: String) -> UncoveredPeer {
    UncoveredPeer {
        id: format!("u{}", name::short_hash(&format!("{identity} {peer:?} over a limit"))),
        peer,
        port: None,
        selector: None,
        protocol: Protocol::Other,
        reason: UncoveredReason::Truncated,
        count: 0,
        first_seen: None,
        last_seen: None,
        notes: vec![note],
        accepted: false,
    }
}

/// Number of ports of each peer of the spec.
fn ports(
    spec: &WorkloadNetworkPolicyProposalSpec,
    direction: Direction,
) -> BTreeMap<String, usize> {
    let mut ports = BTreeMap::new();
    let mut add = |peer: String, number: usize| *ports.entry(peer).or_default() += number;
    if let Some(policy) = &spec.kubernetes {
        for rule in rule::take(&mut policy.clone(), render::direction(direction)) {
            for peer in &rule.peers {
                add(text(peer), rule.ports.len());
            }
        }
    }
    for rule in spec.istio.iter().flat_map(|policy| &policy.rules) {
        let number = rule.to.iter().map(|to| to.operation.ports.len()).sum();
        for principal in rule.from.iter().flat_map(|from| &from.source.principals) {
            add(principal.clone(), number);
        }
    }
    ports
}

/// What names the peer of a rule among those of a spec.
fn key(rule: &RulePeer) -> Option<String> {
    match rule {
        RulePeer::Account(account) => Some(account.to_string()),
        RulePeer::Pods { .. } | RulePeer::Block(_) => {
            render::network_policy_peer(rule).as_ref().map(text)
        }
    }
}

fn text(peer: &k8s_openapi::api::networking::v1::NetworkPolicyPeer) -> String {
    serde_json::to_string(peer).unwrap_or_default()
}
