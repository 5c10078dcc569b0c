//! Takes observations in, one by one, and keeps sums.
//!
//! Cost of a repeated observation: two look-ups of the ends, one of the connection, no allocation.
//! Memory grows with distinct ends and edges, and with the connections of the pairing window up to a
//! limit; never with the number of observations.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use netenf_policy::Protocol;

use crate::classify::{Class, Skip, classify};
use crate::config::{Backend, Config};
use crate::connection::{DENIAL, Errors, Leg, Opening, Sign, Table};
use crate::directory::Directory;
use crate::gap::Nodes;
use crate::identity::Party;
use crate::observation::{
    End, Endpoint, Entities, Event, LostEvents, NodeStatus, Observation, PodName, Provider,
    Reporter, ServiceRef, TcpFlags, Transport,
};
use crate::resolve::{
    Resolved, depends_on_time, is_ambient_probe, is_by_dns_name, is_remote, remote, resolve,
};
use crate::sum::{
    Counters, DenialKey, DenialSum, EdgeKey, EdgeSum, KEPT, Map, NoteSum, PartySum, Reckoning,
    Tally, Watchers, keep_few, keep_smallest,
};
use crate::time::Timestamp;

mod special;

/// How many resolved ends are remembered before the memory of them is cleared.
const RESOLVED_LIMIT: usize = 1 << 17;
/// How many distinct denials are kept apart.
const DENIALS_LIMIT: usize = 10_000;
/// How many nodes are told apart: Kubernetes clusters have up to 5,000.
pub(crate) const NODES_LIMIT: usize = 1 << 16;

/// On how many nodes the pods of one end are known to run: as many as a Kubernetes cluster has.
const NODES_OF_PARTY: usize = 5_000;

/// Learns from observations.
pub struct Learner<D> {
    pub(crate) config: Config,
    pub(crate) directory: D,
    pub(crate) parties: Vec<PartySum>,
    party_ids: Map<Party, u32>,
    resolved: Map<ResolvedKey, Known>,
    pub(crate) edges: Vec<EdgeSum>,
    edge_ids: Map<EdgeKey, u32>,
    pub(crate) table: Table,
    errors: Errors,
    pub(crate) tally: Tally,
    pub(crate) counters: Counters,
    pub(crate) denials: Vec<DenialSum>,
    denial_ids: Map<DenialKey, u32>,
    /// Traffic in protocols that no rule can name, by ends and protocol.
    pub(crate) inexpressible: Map<(u32, u32, Arc<str>), NoteSum>,
    /// Probes of Istio ambient, by workload, port and address.
    pub(crate) probes: Map<(u32, u16, Protocol, IpAddr), NoteSum>,
    pub(crate) reporters: Vec<Reporting>,
    reporter_ids: Map<Arc<str>, u32>,
    /// The node that reported last: mostly it is the next one, too.
    last_reporter: Option<(Arc<str>, u32)>,
    pub(crate) names: Map<IpAddr, std::collections::BTreeSet<Arc<str>>>,
    pub(crate) nodes: Nodes,
    /// How often something was not kept, since a limit was reached, by what it was.
    pub(crate) unlisted: BTreeMap<&'static str, u64>,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
}

/// A node that reports.
#[derive(Debug, Clone)]
pub(crate) struct Reporting {
    /// Whether it was seen to report answers at all (DESIGN D2).
    pub(crate) answers: bool,
}

/// The endpoint's place in memory, its address, the reporting node where the endpoint's workload is named (only
/// then it matters which one), whether it is the caller, and whether it is of another cluster than the node.
type ResolvedKey = (usize, Option<IpAddr>, Option<u32>, bool, bool);

/// An end that was resolved before. The endpoint is kept so that its address stays its own.
struct Known {
    _endpoint: Arc<Endpoint>,
    found: Result<u32, Skip>,
}

/// The two ends of an observation, resolved, and the node that reported it.
#[derive(Debug, Clone, Copy)]
struct Ends {
    source: u32,
    destination: u32,
    node: Option<u32>,
}

/// How much a learner keeps in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Distinct ends.
    pub parties: usize,
    /// Distinct edges.
    pub edges: usize,
    /// Connections that may still be paired.
    pub connections: usize,
    /// Groups of packets of unknown direction.
    pub candidates: usize,
    /// Ends that are remembered as they were reported.
    pub resolved: usize,
    /// Distinct denials.
    pub denials: usize,
    /// Nodes that reported.
    pub reporters: usize,
}

// === impl Learner ===

impl<D: Directory> Learner<D> {
    /// A learner that has seen nothing.
    pub fn new(config: Config, directory: D) -> Self {
        let table = Table::new(nanos(config.pairing_window), config.caps.connections);
        Self {
            config,
            directory,
            parties: Vec::new(),
            party_ids: Map::default(),
            resolved: Map::default(),
            edges: Vec::new(),
            edge_ids: Map::default(),
            table,
            errors: Errors::default(),
            tally: Tally::default(),
            counters: Counters::default(),
            denials: Vec::new(),
            denial_ids: Map::default(),
            inexpressible: Map::default(),
            probes: Map::default(),
            reporters: Vec::new(),
            reporter_ids: Map::default(),
            last_reporter: None,
            names: Map::default(),
            nodes: Nodes::default(),
            unlisted: BTreeMap::new(),
            first: None,
            last: None,
        }
    }

    /// Takes in one observation.
    pub fn observe(&mut self, observation: &Observation) {
        // Why it teaches nothing is counted.
        let _ = self.try_observe(observation);
    }

    /// The same; tells why it teaches nothing, where that shows at once.
    pub fn try_observe(&mut self, observation: &Observation) -> Result<(), Skip> {
        self.counters.received += 1;
        if let Some(time) = observation.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        if let Some(answer) = &observation.dns {
            self.note_names(answer);
        }
        let class = classify(observation);
        let taken = self.take(observation, class);
        if let Err(skip) = taken {
            *self.counters.skipped.entry(skip).or_default() += 1;
        }
        taken
    }

    /// Counts input that could not be decoded.
    pub fn error(&mut self) {
        self.counters.received += 1;
        self.counters.errors += 1;
    }

    /// Notes that a source lost events.
    pub fn lost(&mut self, lost: &LostEvents) {
        self.counters.lost = self.counters.lost.saturating_add(lost.count);
        if self.nodes.lost(lost).is_err() {
            self.unlist("losses of nodes");
        }
    }

    /// Notes a source's word about its nodes; the latest word counts, of two at a time the worse.
    pub fn node_status(&mut self, status: &NodeStatus) {
        if self.nodes.status(status).is_err() {
            self.unlist("states of nodes");
        }
    }

    /// Settles all connections that are still open, and forgets how ends were reported: this frees memory when
    /// nothing more is to come. What is observed later is learned too, but joins no connection of before.
    pub fn settle(&mut self) {
        let Self { table, tally, config, edges, errors, .. } = self;
        let reckoning = reckoning(config, edges, errors);
        table.drain(|interval| tally.add(interval, &reckoning));
        self.resolved = Map::default();
    }

    /// How much is kept in memory: it grows with distinct ends and edges, not with observations.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            parties: self.parties.len(),
            edges: self.edges.len(),
            connections: self.table.len(),
            candidates: self.tally.candidates.len(),
            resolved: self.resolved.len(),
            denials: self.denials.len(),
            reporters: self.reporters.len(),
        }
    }

    /// Every workload that was met, whatever became of its observations; in no order.
    pub fn workloads(&self) -> impl Iterator<Item = &crate::Workload> {
        self.parties.iter().filter_map(|sum| sum.party.workload())
    }

    /// Counts what is not kept.
    fn unlist(&mut self, what: &'static str) {
        let count = self.unlisted.entry(what).or_default();
        *count = count.saturating_add(1);
    }

    pub(crate) fn reckoning(&self) -> Reckoning<'_> {
        reckoning(&self.config, &self.edges, &self.errors)
    }

    fn take(&mut self, observation: &Observation, class: Class) -> Result<(), Skip> {
        match class {
            Class::Skip(skip) => Err(skip),
            Class::Denied(protocol) => self.take_denied(observation, protocol),
            // Dropped before the pod's identity was known: nobody's decision (case B59).
            Class::Refused(..) | Class::Reset if special::is_without_identity(observation) => {
                Err(Skip::TransientIdentity)
            }
            Class::Refused(protocol, skip) => {
                if let Ok(ends) = self.ends(observation) {
                    self.report(observation, ends, protocol, Sign::Refused);
                }
                Err(skip)
            }
            Class::Reset => {
                if let Ok(ends) = self.ends(observation) {
                    self.report(observation, ends, Protocol::Tcp, Sign::Reset);
                }
                Err(Skip::Rejected)
            }
            Class::Unreachable => self.take_unreachable(observation),
            Class::Inexpressible => self.take_inexpressible(observation),
            Class::Answer(protocol) => {
                let ends = self.ends(observation)?;
                if let Some(node) = ends.node {
                    self.reporters[node as usize].answers = true;
                }
                self.report(observation, ends, protocol, Sign::Answer);
                Err(Skip::Reply)
            }
            Class::Candidate(protocol) => {
                if let Some(skip) = of_probe(observation) {
                    return Err(skip);
                }
                let ends = self.ends(observation)?;
                self.local(observation, ends)?;
                self.report(observation, ends, protocol, Sign::Candidate);
                Ok(())
            }
            Class::Open(protocol) => self.take_open(observation, protocol),
        }
    }

    fn take_open(&mut self, observation: &Observation, protocol: Protocol) -> Result<(), Skip> {
        if Self::reported_by_the_other_side(observation) {
            return Err(Skip::OtherSide);
        }
        let ends = self.ends(observation)?;
        if let Some(node) = ends.node.filter(|_| observation.answered.is_some()) {
            self.reporters[node as usize].answers = true;
        }
        let port = observation.destination_port.unwrap_or_default();
        let ignored = match of_probe(observation) {
            Some(skip) => {
                self.note_probe(observation, ends.destination, port, protocol);
                Err(skip)
            }
            None => self.local(observation, ends),
        };
        if let Err(skip) = ignored {
            self.report(observation, ends, protocol, Sign::Ignored(skip));
            return Err(skip);
        }
        if self.through_service(observation, ends, protocol, port)? {
            return Ok(());
        }
        self.open(observation, ends, protocol, port, observation.service.as_ref())?;
        Ok(())
    }

    /// Adds an opened connection to its edge, and the observation with it.
    fn open(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
        service: Option<&Arc<ServiceRef>>,
    ) -> Result<(), Skip> {
        let edge = self.open_too(observation, ends, protocol, port, service)?;
        self.edges[edge as usize].observations += 1;
        Ok(())
    }

    /// Adds an opened connection to its edge; the observation counts elsewhere.
    fn open_too(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
        service: Option<&Arc<ServiceRef>>,
    ) -> Result<u32, Skip> {
        let key = EdgeKey { source: ends.source, destination: ends.destination, port, protocol };
        let edge = self.edge(key)?;
        let opening = Opening {
            edge,
            weight: u32::try_from(observation.connections).unwrap_or(u32::MAX),
            syn: matches!(observation.transport, Transport::Tcp(flags) if flags != TcpFlags::NONE),
            taken: is_taken(observation),
            by_service: service.is_some(),
        };
        let connections = self.report(observation, ends, protocol, Sign::Open(opening));
        let sum = &mut self.edges[edge as usize];
        if let Some(time) = observation.time {
            sum.first = sum.first.min(time.0);
            sum.last = sum.last.max(time.0);
        }
        sum.connections += u64::from(connections);
        if let Some(node) = ends.node {
            sum.watchers.add(node, self.reporters[node as usize].answers);
        }
        describe(sum, observation, service);
        Ok(edge)
    }

    fn report(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        sign: Sign,
    ) -> u32 {
        let (source, destination) = self.legs(observation, ends);
        let connections =
            self.table.report(source, destination, protocol, time_of(observation), sign);
        while let Some((edge, twice)) = self.table.corrections.pop() {
            let connections = match edge & DENIAL {
                0 => &mut self.edges[edge as usize].connections,
                _ => &mut self.denials[(edge & !DENIAL) as usize].connections,
            };
            *connections -= twice;
        }
        if self.table.is_full() {
            let Self { table, tally, config, edges, errors, .. } = self;
            let reckoning = reckoning(config, edges, errors);
            table.retire(|interval| tally.add(interval, &reckoning));
        }
        connections
    }

    /// The two legs of a connection: by address and port, or by who they are where there is no address.
    fn legs(&self, observation: &Observation, ends: Ends) -> (Leg, Leg) {
        let leg = |end: &End, port: Option<u16>, party: u32, side: u64| {
            let rank = self.parties[party as usize].rank;
            let port = port.unwrap_or_default();
            let host = end.address.map_or_else(|| mix(rank, 9), hash_of);
            // An aggregate stands for itself: both of its legs come from its own key.
            let hash = match observation.connection_key {
                Some(key) => mix(key, side),
                None => mix(host, port.into()),
            };
            Leg { hash, host, party, rank, port }
        };
        let (from, to) = (&observation.source, &observation.destination);
        (
            leg(from, observation.source_port, ends.source, 1),
            leg(to, observation.destination_port, ends.destination, 2),
        )
    }

    fn edge(&mut self, key: EdgeKey) -> Result<u32, Skip> {
        if let Some(&edge) = self.edge_ids.get(&key) {
            return Ok(edge);
        }
        if self.edges.len() >= self.config.caps.edges {
            return Err(Skip::Limit);
        }
        let edge = u32::try_from(self.edges.len()).ok().filter(|edge| *edge < DENIAL);
        let edge = edge.ok_or(Skip::Limit)?;
        self.edge_ids.insert(key, edge);
        let party = |id: u32| &self.parties[id as usize].party;
        let ends = (party(key.source), party(key.destination));
        let rank = FixedState::default().hash_one((ends, key.port, key.protocol));
        self.edges.push(EdgeSum {
            key,
            rank,
            first: i64::MAX,
            last: i64::MIN,
            observations: 0,
            connections: 0,
            watchers: Watchers::NOBODY,
            services: Box::default(),
            example: None,
        });
        Ok(edge)
    }

    /// Both ends, or why the observation is skipped.
    fn ends(&mut self, observation: &Observation) -> Result<Ends, Skip> {
        let node = self.reporter(observation);
        let source = self.end(observation, &observation.source, node)?;
        let destination = self.end(observation, &observation.destination, node)?;
        Ok(Ends { source, destination, node })
    }

    fn end(
        &mut self,
        observation: &Observation,
        end: &End,
        node: Option<u32>,
    ) -> Result<u32, Skip> {
        // On Istio an end is its mesh identity as a caller, and its workload as the one that is called.
        let calls = std::ptr::eq(end, &raw const observation.source);
        let node = node.filter(|_| end.endpoint.workload.is_some());
        let elsewhere = is_remote(observation.node.as_deref(), &end.endpoint);
        let key = (Arc::as_ptr(&end.endpoint).addr(), end.address, node, calls, elsewhere);
        // Ends that differ in nothing but their name are not the same.
        let by_name = is_by_dns_name(end);
        if let Some(known) = self.resolved.get(&key).filter(|_| !by_name) {
            let found = known.found;
            if let (Ok(party), false) = (found, end.names.is_empty()) {
                self.add_names(party, &end.names);
            }
            return found;
        }
        let found = self.resolve_end(observation, end);
        if let (Ok(party), false) = (found, end.names.is_empty()) {
            self.add_names(party, &end.names);
        }
        if !by_name && !depends_on_time(&self.directory, end) {
            if self.resolved.len() >= RESOLVED_LIMIT {
                self.resolved.clear();
            }
            self.resolved.insert(key, Known { _endpoint: end.endpoint.clone(), found });
        }
        found
    }

    fn resolve_end(&mut self, observation: &Observation, end: &End) -> Result<u32, Skip> {
        if let Some(remote) = remote(observation.node.as_deref(), &end.endpoint) {
            let remote = Resolved { party: remote, labels: None, note: None };
            return self.party(remote, end, observation);
        }
        let opener = std::ptr::eq(end, &raw const observation.source);
        if let Some(account) = self.account(observation, end).filter(|_| opener) {
            return self.party(
                Resolved { party: account, labels: None, note: None },
                end,
                observation,
            );
        }
        let resolved = resolve(&self.directory, end, observation.time)?;
        self.party(resolved, end, observation)
    }

    /// On Istio a rule names the caller's mesh identity, whatever workload it belongs to.
    fn account(&self, observation: &Observation, end: &End) -> Option<Party> {
        let mesh =
            self.config.backend == Backend::Istio && observation.provider == Provider::Ztunnel;
        end.endpoint.identity.clone().filter(|_| mesh).map(Party::Account)
    }

    fn party(
        &mut self,
        resolved: Resolved,
        end: &End,
        observation: &Observation,
    ) -> Result<u32, Skip> {
        let Resolved { party, labels, note } = resolved;
        let id = if let Some(&id) = self.party_ids.get(&party) {
            id
        } else {
            if self.parties.len() >= self.config.caps.edges {
                return Err(Skip::Limit);
            }
            let id = u32::try_from(self.parties.len()).map_err(|_| Skip::Limit)?;
            self.party_ids.insert(party.clone(), id);
            self.parties.push(PartySum::new(party));
            id
        };
        let waypoint = self.is_waypoint(end, observation);
        let sum = &mut self.parties[id as usize];
        sum.labels = match (sum.labels.take(), labels) {
            (Some(known), Some(labels)) => Some(known.intersection(&labels)),
            (known, labels) => known.or(labels),
        };
        sum.notes.extend(note);
        sum.notes.extend(waypoint.then_some(crate::resolve::WAYPOINT));
        let entities = end.endpoint.entities;
        sum.as_node |=
            entities.contains(Entities::HOST) || entities.contains(Entities::REMOTE_NODE);
        if let (Some(node), true) = (&observation.node, end.endpoint.workload.is_some()) {
            keep_smallest(&mut sum.nodes, node.clone(), NODES_OF_PARTY);
        }
        Ok(id)
    }

    fn is_waypoint(&self, end: &End, observation: &Observation) -> bool {
        let (Some(namespace), Some(pod)) = (&end.endpoint.namespace, &end.endpoint.pod) else {
            return false;
        };
        observation.provider == Provider::Ztunnel
            && self.directory.pod(namespace, pod).is_some_and(|entry| entry.waypoint)
    }

    fn reporter(&mut self, observation: &Observation) -> Option<u32> {
        let node = observation.node.as_ref()?;
        if let Some((last, id)) = &self.last_reporter
            && Arc::ptr_eq(last, node)
        {
            return Some(*id);
        }
        let id = match self.reporter_ids.get(node) {
            Some(&id) => id,
            None if self.reporters.len() >= NODES_LIMIT => {
                self.unlist("reports of nodes");
                return None;
            }
            None => {
                let id = u32::try_from(self.reporters.len()).ok()?;
                self.reporter_ids.insert(node.clone(), id);
                self.reporters.push(Reporting { answers: false });
                id
            }
        };
        self.last_reporter = Some((node.clone(), id));
        Some(id)
    }

    fn add_names(&mut self, party: u32, names: &[Arc<str>]) {
        let known = &mut self.parties[party as usize].names;
        for name in names {
            if !known.contains(name) {
                keep_smallest(known, name.clone(), KEPT);
            }
        }
    }
}

// === impl PartySum ===

impl PartySum {
    fn new(party: Party) -> Self {
        Self {
            rank: rank(&party),
            party,
            labels: None,
            names: std::collections::BTreeSet::new(),
            notes: std::collections::BTreeSet::new(),
            nodes: std::collections::BTreeSet::new(),
            as_node: false,
        }
    }
}

/// The rank of an end: how well it is named, then a hash of what it is.
fn rank(party: &Party) -> u64 {
    let class: u64 = match party {
        Party::Workload(_) | Party::Account(_) => 0,
        Party::Pods { .. } => 1,
        Party::Pod { .. } => 2,
        Party::Node { .. }
        | Party::Router { .. }
        | Party::NodePort { .. }
        | Party::ApiServer
        | Party::External(_)
        | Party::Name(_)
        | Party::Network(_)
        | Party::Unmanaged(_)
        | Party::Remote { .. }
        | Party::IngressProxy
        | Party::Unknown => 3,
    };
    class << 56 | FixedState::default().hash_one(party) >> 8
}

/// Notes what a report of a connection tells a reviewer.
fn describe(sum: &mut EdgeSum, observation: &Observation, service: Option<&Arc<ServiceRef>>) {
    let is_first = |service: &&Arc<ServiceRef>| {
        sum.services.first().is_some_and(|first| Arc::ptr_eq(first, service))
    };
    if let Some(service) = service.filter(|service| !is_first(service)) {
        keep_few(&mut sum.services, service, KEPT);
    }
    let exact = |end: &'_ End| match &end.endpoint.pod {
        Some(PodName::Exact(name)) => Some(name.clone()),
        Some(PodName::Generated(_)) | None => None,
    };
    let (from, to) = (&observation.source, &observation.destination);
    let smaller = match (&sum.example, &from.endpoint.pod, &to.endpoint.pod) {
        (Some((source, destination)), Some(PodName::Exact(from)), Some(PodName::Exact(to))) => {
            (from, to) < (source, destination)
        }
        (None, ..) => true,
        (Some(_), ..) => false,
    };
    if smaller {
        sum.example = exact(from).zip(exact(to)).or(sum.example.take());
    }
}

/// Whether a source's record of a connection says that the other end took it: it says so, or comes from
/// there, or is written when the connection is over.
fn is_taken(observation: &Observation) -> bool {
    let is_known = || {
        observation.provider == Provider::Ztunnel
            || observation.reporter == Some(Reporter::Destination)
    };
    observation.event == Event::Connection && observation.answered.unwrap_or_else(is_known)
}

/// Whether it belongs to a kubelet's probe under Istio ambient, from either end.
fn of_probe(observation: &Observation) -> Option<Skip> {
    let probe = |end: &End| end.address.is_some_and(is_ambient_probe);
    match (probe(&observation.source), probe(&observation.destination)) {
        (true, _) => Some(Skip::AmbientProbe),
        (false, true) => Some(Skip::Reply),
        (false, false) => None,
    }
}

fn reckoning<'a>(config: &Config, edges: &'a [EdgeSum], errors: &'a Errors) -> Reckoning<'a> {
    let answer_within = nanos(config.answer_within);
    Reckoning { edges, answer_within, errors, limit: config.caps.edges }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// An address, hashed.
fn hash_of(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => mix(v4.to_bits().into(), 4),
        IpAddr::V6(v6) => {
            let (high, low) = (v6.to_bits() >> 64, v6.to_bits() & u128::from(u64::MAX));
            let part = |bits: u128| u64::try_from(bits).unwrap_or_default();
            mix(part(high) ^ mix(part(low), 6), 6)
        }
    }
}

/// Mixes bits well enough to key a table whose map hashes again with a secret seed.
const fn mix(value: u64, salt: u64) -> u64 {
    let mut bits = value ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    bits ^ (bits >> 32)
}

/// The observation's time in nanoseconds. Observations without a time are taken as simultaneous.
fn time_of(observation: &Observation) -> i64 {
    observation.time.map_or(0, |time| time.0)
}

#[cfg(test)]
mod tests;
