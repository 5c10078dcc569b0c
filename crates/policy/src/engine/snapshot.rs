//! The verdict: no lock, no allocation, and a cost that does not grow with the number of policies.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Key, NamedPort};
use crate::cluster_policy::{Action, Tier};
use crate::domain::Asker;
use crate::evaluate::Side;
use crate::explanation::RuleId;
use crate::packet::Packet;

use super::identity::Rows;
use super::ports::PortRows;
use super::prefix::PrefixRows;
use super::row::Row;
use super::share::{AddressMap, Chunks};
use super::table::{Table, place};

/// What the engine knew at one moment. Copies are cheap and can be asked from any thread.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) ends: AddressMap<Place>,
    pub(super) identities: Chunks<Arc<Rows>>,
    pub(super) tables: [Arc<Table>; 2],
    pub(super) names: AddressMap<Arc<[Told]>>,
}

/// Who is at an address.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) pod: Option<Occupant>,
    pub(super) nodes: Option<Arc<AtNodes>>,
}

/// A pod at its address.
#[derive(Debug, Clone)]
pub(super) struct Occupant {
    pub(super) key: Arc<Key>,
    pub(super) identity: u32,
    pub(super) ports: Arc<[NamedPort]>,
    pub(super) node: Option<Arc<str>>,
}

/// The nodes at an address, and the rules that they are peers of, egress first.
#[derive(Debug)]
pub(super) struct AtNodes {
    pub(super) names: Vec<Arc<str>>,
    pub(super) peer: [Row; 2],
}

/// The egress rules that mean a name of an address.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) rules: Arc<Row>,
    pub(super) asker: Asker,
    pub(super) expires: Duration,
}

/// The verdict on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruling {
    /// For the way out of the source.
    pub egress: Outcome,
    /// For the way into the destination.
    pub ingress: Outcome,
}

/// What one direction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The end is no pod.
    NoPod,
    /// A pod to itself.
    Itself,
    /// A node to a pod that runs on it.
    OwnNode,
    /// Accepted by a rule (see [`Snapshot::rule`]).
    Accepted(Tier, u32),
    /// Denied by a rule.
    Denied(Tier, u32),
    /// NetworkPolicies isolate the pod and none allows the packet.
    Isolated,
    /// Nothing applies.
    Default,
}

/// The rules whose peer the other end is.
struct PeerRows<'a> {
    table: &'a Table,
    pod: Option<&'a Row>,
    nodes: Option<&'a Row>,
    prefixes: PrefixRows<'a>,
    told: &'a [Told],
    asker: Option<&'a Key>,
    now: Duration,
}

/// All that has to match at once.
struct Search<'a> {
    table: &'a Table,
    subject: &'a Row,
    peer: PeerRows<'a>,
    ports: PortRows<'a>,
}

// === impl Ruling ===

impl Ruling {
    /// Whether the packet is allowed: both directions must allow it.
    pub fn allowed(self) -> bool {
        self.egress.allowed() && self.ingress.allowed()
    }
}

// === impl Outcome ===

impl Outcome {
    /// Whether this direction lets the packet pass.
    pub fn allowed(self) -> bool {
        match self {
            Self::NoPod | Self::Itself | Self::OwnNode | Self::Accepted(..) | Self::Default => true,
            Self::Denied(..) | Self::Isolated => false,
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// The verdict on a packet at `now`, which only what names were resolved to depends on.
    pub fn verdict(&self, packet: &Packet, now: Duration) -> Ruling {
        let source = self.ends.value(&packet.source);
        let destination = self.ends.value(&packet.destination);
        let from = source.and_then(|place| place.pod.as_ref());
        let to = destination.and_then(|place| place.pod.as_ref());
        if let (Some(from), Some(to)) = (from, to)
            && from.key == to.key
        {
            return Ruling { egress: Outcome::Itself, ingress: Outcome::Itself };
        }
        let named = to.map_or(&[][..], |to| &to.ports);
        let egress = from.map_or(Outcome::NoPod, |subject| {
            let told = self.names.value(&packet.destination).map_or(&[][..], |told| told);
            let peer = (destination, packet.destination, told);
            self.decide(Side::Egress, subject, peer, packet, named, now)
        });
        let ingress = to.map_or(Outcome::NoPod, |subject| {
            let nodes = source.and_then(|place| place.nodes.as_ref());
            if nodes.is_some_and(|nodes| {
                nodes.names.iter().any(|name| Some(name) == subject.node.as_ref())
            }) {
                return Outcome::OwnNode;
            }
            self.decide(Side::Ingress, subject, (source, packet.source, &[]), packet, named, now)
        });
        Ruling { egress, ingress }
    }

    /// The rule at a position of an outcome.
    pub fn rule(&self, side: Side, position: u32) -> Option<RuleId> {
        self.tables[place(side)].rule(side, position)
    }

    fn decide(
        &self,
        side: Side,
        subject: &Occupant,
        (end, address, told): (Option<&Place>, IpAddr, &[Told]),
        packet: &Packet,
        named: &[NamedPort],
        now: Duration,
    ) -> Outcome {
        let at = place(side);
        let table = &*self.tables[at];
        let Some(rows) = self.identities.value(subject.identity) else { return Outcome::Default };
        let pod = end.and_then(|end| end.pod.as_ref());
        let pod = pod.and_then(|pod| self.identities.value(pod.identity));
        let nodes = end.and_then(|end| end.nodes.as_ref());
        let search = Search {
            table,
            subject: &rows.subject[at],
            peer: PeerRows {
                table,
                pod: pod.map(|rows| &rows.peer[at]),
                nodes: nodes.map(|nodes| &nodes.peer[at]),
                prefixes: table.prefixes.rows(address),
                told,
                asker: Some(&subject.key),
                now,
            },
            ports: table.ports.rows(packet.transport, named),
        };
        search.outcome()
    }
}

// === impl Search ===

impl Search<'_> {
    /// The first rule decides; one that passes leaves its tier.
    fn outcome(&self) -> Outcome {
        let table = self.table;
        let mut from = 0;
        loop {
            let Some(position) = self.first(from) else { return Outcome::Default };
            let tier = table.tier(position);
            match (table.rules[position as usize].action, tier) {
                (Action::Accept, _) => return Outcome::Accepted(tier, position),
                (Action::Deny, _) if position == table.isolation => return Outcome::Isolated,
                (Action::Deny, _) => return Outcome::Denied(tier, position),
                (Action::Pass, Tier::Admin) => from = table.network,
                (Action::Pass, Tier::NetworkPolicy | Tier::Baseline) => return Outcome::Default,
            }
        }
    }

    /// The first rule from a position on that matches.
    fn first(&self, from: u32) -> Option<u32> {
        let from = from as usize;
        let mut kept = u64::MAX << (from % 64);
        let mut words = u64::MAX << (from / 64 % 64);
        let every = &self.table.every_subject;
        for block in from / 4096..self.subject.blocks().max(every.blocks()) {
            let subjects = self.subject.summary(block) | every.summary(block);
            let mut open = subjects & words;
            if open != 0 {
                open &= self.ports.summary(block);
            }
            if open != 0 {
                open &= self.peer.summary(block);
            }
            words = u64::MAX;
            while open != 0 {
                let word = block * 64 + open.trailing_zeros() as usize;
                open &= open - 1;
                let mut bits = self.subject.word(word) | every.word(word);
                if word == from / 64 {
                    bits &= kept;
                    kept = u64::MAX;
                }
                if bits != 0 {
                    bits &= self.ports.word(word);
                }
                if bits != 0 {
                    bits &= self.peer.word(word);
                }
                if bits != 0 {
                    return u32::try_from(word * 64 + bits.trailing_zeros() as usize).ok();
                }
            }
        }
        None
    }
}

// === impl PeerRows ===

impl PeerRows<'_> {
    fn summary(&self, block: usize) -> u64 {
        let rows = self.rows().fold(0, |bits, row| bits | row.summary(block));
        rows | self.prefixes.summary(block)
    }

    fn word(&self, word: usize) -> u64 {
        self.rows().fold(0, |bits, row| bits | row.word(word)) | self.prefixes.word(word)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        let every = self.pod.map(|_| &self.table.every_peer);
        let told = self.told.iter().filter(|told| self.counts(told)).map(|told| &*told.rules);
        [Some(&self.table.any_peer), every, self.pod, self.nodes].into_iter().flatten().chain(told)
    }

    fn counts(&self, told: &Told) -> bool {
        let asker = match (&told.asker, self.asker) {
            (Asker::Node, _) => true,
            (Asker::Pod(namespace, name), Some(key)) => *namespace == key.0 && *name == key.1,
            (Asker::Pod(..), None) => false,
        };
        asker && self.now < told.expires
    }
}
