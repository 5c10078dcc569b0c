//! The verdict: no lock, no allocation, and a cost that does not grow with the number of policies.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Key, NamedPort};
use crate::cluster_policy::Tier;
use crate::domain::Asker;
use crate::evaluate::Side;
use crate::explanation::RuleId;
use crate::packet::Packet;

use super::identity::Rows;
use super::row::Row;
use super::share::{AddressMap, Chunks};
use super::table::{Table, place};
use search::{PeerRows, Search};

mod search;

/// What the engine knew at one moment. Copies are cheap and can be asked from any thread.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) ends: AddressMap<Place>,
    pub(super) identities: Chunks<[Arc<Rows>; 2]>,
    pub(super) tables: [Arc<Table>; 2],
    /// What was told of addresses, in order of who was told.
    pub(super) names: AddressMap<Arc<[Told]>>,
    /// The egress rules that mean the names of a class.
    pub(super) classes: Chunks<Arc<Row>>,
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

/// An address has a name of a class.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) asker: Asker,
    pub(super) class: u32,
    pub(super) expires: Duration,
}

/// The end that is no subject: who is there, and what names it is known by.
struct Other<'a> {
    place: Option<&'a Place>,
    address: IpAddr,
    told: [&'a [Told]; 2],
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
            let told = self.told(packet.destination, &subject.key);
            let peer = Other { place: destination, address: packet.destination, told };
            self.decide(Side::Egress, subject, &peer, packet, named, now)
        });
        let ingress = to.map_or(Outcome::NoPod, |subject| {
            let nodes = source.and_then(|place| place.nodes.as_ref());
            let own = |nodes: &Arc<AtNodes>| {
                nodes.names.iter().any(|name| Some(name) == subject.node.as_ref())
            };
            if nodes.is_some_and(own) {
                return Outcome::OwnNode;
            }
            let peer = Other { place: source, address: packet.source, told: [&[], &[]] };
            self.decide(Side::Ingress, subject, &peer, packet, named, now)
        });
        Ruling { egress, ingress }
    }

    /// The rule at a position of an outcome.
    pub fn rule(&self, side: Side, position: u32) -> Option<RuleId> {
        self.tables[place(side)].rule(side, position)
    }

    /// What names everyone knows an address by, and what the pod was told alone.
    fn told(&self, address: IpAddr, pod: &Key) -> [&[Told]; 2] {
        let all = self.names.value(&address).map_or(&[][..], |told| told);
        let (everyone, pods) = all.split_at(all.partition_point(|told| told.asker == Asker::Node));
        let against = |told: &Told| match &told.asker {
            Asker::Node => Ordering::Less,
            Asker::Pod(namespace, name) => (namespace, name).cmp(&(&pod.0, &pod.1)),
        };
        let first = pods.partition_point(|told| against(told).is_lt());
        let behind = pods.partition_point(|told| against(told).is_le());
        [everyone, &pods[first..behind]]
    }

    fn decide(
        &self,
        side: Side,
        subject: &Occupant,
        other: &Other<'_>,
        packet: &Packet,
        named: &[NamedPort],
        now: Duration,
    ) -> Outcome {
        let at = place(side);
        let table = &*self.tables[at];
        // Every pod that has an address has rows; without them nothing could be allowed.
        let Some(rows) = self.identities.value(subject.identity) else { return Outcome::Isolated };
        let pod = other.place.and_then(|place| place.pod.as_ref());
        let pod = pod.and_then(|pod| self.identities.value(pod.identity));
        let nodes = other.place.and_then(|place| place.nodes.as_ref());
        let search = Search {
            table,
            subject: &rows[at].subject,
            peer: PeerRows {
                table,
                pod: pod.map(|rows| &rows[at].peer),
                nodes: nodes.map(|nodes| &nodes.peer[at]),
                prefixes: table.prefixes.rows(other.address),
                told: other.told,
                classes: &self.classes,
                now,
            },
            ports: table.ports.rows(packet.transport, named),
        };
        search.outcome()
    }
}
