//! Takes observations in, one by one, and keeps sums.
//!
//! Cost of a repeated observation: two look-ups of the ends, one of the connection, no allocation.
//! Memory grows with distinct ends and edges, and with the connections of the pairing window up to a
//! limit; never with the number of observations.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::Protocol;

use crate::classify::{Class, Skip, classify};
use crate::config::{Backend, Config};
use crate::connection::{Leg, Sign, Table};
use crate::directory::Directory;
use crate::identity::Party;
use crate::observation::{
    End, Endpoint, Entities, LostEvents, NodeState, NodeStatus, Observation, PodName, Provider,
    TcpFlags, Transport,
};
use crate::resolve::{Resolved, is_ambient_probe, resolve};
use crate::sum::{
    Counters, DenialKey, EdgeKey, EdgeSum, KEPT, Map, NoteSum, PartySum, Tally, keep_smallest,
};
use crate::time::Timestamp;

mod special;

/// How many resolved ends are remembered before the memory of them is cleared.
const RESOLVED_LIMIT: usize = 1 << 17;
/// How many distinct denials are kept apart.
const DENIALS_LIMIT: usize = 10_000;

/// Learns from observations.
pub struct Learner<D> {
    pub(crate) config: Config,
    pub(crate) directory: D,
    pub(crate) parties: Vec<PartySum>,
    party_ids: Map<Party, u32>,
    resolved: Map<(usize, Option<IpAddr>), Known>,
    pub(crate) edges: Vec<EdgeSum>,
    edge_ids: Map<EdgeKey, u32>,
    pub(crate) table: Table,
    pub(crate) tally: Tally,
    pub(crate) counters: Counters,
    pub(crate) denials: Map<DenialKey, NoteSum>,
    /// Traffic in protocols that no rule can name, by ends and protocol.
    pub(crate) inexpressible: Map<(u32, u32, Arc<str>), NoteSum>,
    /// Probes of Istio ambient, by workload, port and address.
    pub(crate) probes: Map<(u32, u16, Protocol, IpAddr), NoteSum>,
    pub(crate) reporters: Vec<Reporting>,
    reporter_ids: Map<Arc<str>, u32>,
    pub(crate) names: Map<IpAddr, std::collections::BTreeSet<Arc<str>>>,
    pub(crate) losses: Map<(Option<Arc<str>>, Arc<str>), LossSum>,
    pub(crate) node_states: Map<Arc<str>, NodeSum>,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
}

/// A node that reports.
#[derive(Debug, Clone)]
pub(crate) struct Reporting {
    /// Whether it was seen to report answers at all (DESIGN D2).
    pub(crate) answers: bool,
}

/// Events that a source lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossSum {
    pub(crate) count: u64,
    pub(crate) first: Option<Timestamp>,
    pub(crate) last: Option<Timestamp>,
}

/// The last word of a source about a node.
#[derive(Debug, Clone)]
pub(crate) struct NodeSum {
    pub(crate) state: NodeState,
    pub(crate) time: Option<Timestamp>,
    pub(crate) message: Option<Arc<str>>,
}

/// An end that was resolved before. The endpoint is kept so that its address stays its own.
struct Known {
    _endpoint: Arc<Endpoint>,
    found: Result<u32, Skip>,
}

/// The two ends of an observation, resolved.
#[derive(Debug, Clone, Copy)]
struct Ends {
    source: u32,
    destination: u32,
}

// === impl Learner ===

impl<D: Directory> Learner<D> {
    /// A learner that has seen nothing.
    pub fn new(config: Config, directory: D) -> Self {
        let nanos = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        let table = Table::new(
            nanos(config.pairing_window),
            nanos(config.answer_within),
            config.caps.connections,
        );
        Self {
            config,
            directory,
            parties: Vec::new(),
            party_ids: Map::default(),
            resolved: Map::default(),
            edges: Vec::new(),
            edge_ids: Map::default(),
            table,
            tally: Tally::default(),
            counters: Counters::default(),
            denials: Map::default(),
            inexpressible: Map::default(),
            probes: Map::default(),
            reporters: Vec::new(),
            reporter_ids: Map::default(),
            names: Map::default(),
            losses: Map::default(),
            node_states: Map::default(),
            first: None,
            last: None,
        }
    }

    /// Takes in one observation.
    pub fn observe(&mut self, observation: &Observation) {
        self.counters.received += 1;
        if let Some(time) = observation.time {
            self.first = Some(self.first.map_or(time, |first| first.min(time)));
            self.last = Some(self.last.map_or(time, |last| last.max(time)));
        }
        if let Some(answer) = &observation.dns {
            self.note_names(answer);
        }
        let class = classify(observation);
        if let Err(skip) = self.take(observation, class) {
            *self.counters.skipped.entry(skip).or_default() += 1;
        }
    }

    /// Counts input that could not be decoded.
    pub fn error(&mut self) {
        self.counters.received += 1;
        self.counters.errors += 1;
    }

    /// Notes that a source lost events.
    pub fn lost(&mut self, lost: &LostEvents) {
        self.counters.lost += lost.count;
        let sum = self.losses.entry((lost.node.clone(), lost.origin.clone())).or_default();
        sum.count += lost.count;
        if let Some(time) = lost.time {
            sum.first = Some(sum.first.map_or(time, |first| first.min(time)));
            sum.last = Some(sum.last.map_or(time, |last| last.max(time)));
        }
    }

    /// Notes a source's word about its nodes; the latest word counts.
    pub fn node_status(&mut self, status: &NodeStatus) {
        for node in &status.nodes {
            let sum =
                NodeSum { state: status.state, time: status.time, message: status.message.clone() };
            match self.node_states.get_mut(node) {
                Some(known) if known.time > status.time => {}
                Some(known) => *known = sum,
                None => drop(self.node_states.insert(node.clone(), sum)),
            }
        }
    }

    fn take(&mut self, observation: &Observation, class: Class) -> Result<(), Skip> {
        match class {
            Class::Skip(skip) => Err(skip),
            Class::Denied(protocol) => self.take_denied(observation, protocol),
            Class::Refused(protocol, skip) => {
                if let Ok(ends) = self.ends(observation) {
                    self.report(observation, ends, protocol, Sign::Refused);
                }
                Err(skip)
            }
            Class::Inexpressible => self.take_inexpressible(observation),
            Class::Answer(protocol) => {
                let ends = self.ends(observation)?;
                if let Some(node) = self.reporter(observation) {
                    self.reporters[node as usize].answers = true;
                }
                self.report(observation, ends, protocol, Sign::Answer);
                Err(Skip::Reply)
            }
            Class::Candidate(protocol) => {
                let ends = self.ends(observation)?;
                self.local(observation, ends)?;
                self.report(observation, ends, protocol, Sign::Candidate);
                Ok(())
            }
            Class::Open(protocol) => self.take_open(observation, protocol),
        }
    }

    fn take_open(&mut self, observation: &Observation, protocol: Protocol) -> Result<(), Skip> {
        if self.reported_by_the_other_side(observation) {
            return Err(Skip::OtherSide);
        }
        let port = observation.destination_port.unwrap_or_default();
        if let Some(address) =
            observation.source.address.filter(|address| is_ambient_probe(*address))
        {
            let workload = self.end(observation, &observation.destination)?;
            let key = (workload, port, protocol, address);
            self.probes.entry(key).or_insert(NoteSum::EMPTY).add(time_of(observation));
            return Err(Skip::AmbientProbe);
        }
        let ends = self.ends(observation)?;
        self.local(observation, ends)?;
        if self.through_service(observation, ends, protocol, port)? {
            return Ok(());
        }
        self.open(observation, ends, protocol, port)?;
        Ok(())
    }

    /// Adds an opened connection to its edge, and the observation with it.
    fn open(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        port: u16,
    ) -> Result<(), Skip> {
        let edge = self.open_too(observation, ends, protocol, port)?;
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
    ) -> Result<u32, Skip> {
        let key = EdgeKey { source: ends.source, destination: ends.destination, port, protocol };
        let edge = self.edge(key)?;
        let weight = u32::try_from(observation.connections).unwrap_or(u32::MAX);
        let syn = matches!(observation.transport, Transport::Tcp(flags) if flags != TcpFlags::NONE);
        let change = self.report(observation, ends, protocol, Sign::Open { edge, weight, syn });
        let time = time_of(observation);
        let node = self.reporter(observation);
        let sum = &mut self.edges[edge as usize];
        sum.first = sum.first.min(time);
        sum.last = sum.last.max(time);
        sum.connections += u64::from(change.connections);
        if change.fresh {
            if let Some(node) = node {
                sum.nodes.insert(node);
            }
            describe(sum, observation);
        }
        Ok(edge)
    }

    fn report(
        &mut self,
        observation: &Observation,
        ends: Ends,
        protocol: Protocol,
        sign: Sign,
    ) -> crate::connection::Change {
        let (source, destination) = legs(observation, ends);
        let change = self.table.report(source, destination, protocol, time_of(observation), sign);
        while let Some((edge, twice)) = self.table.corrections.pop() {
            self.edges[edge as usize].connections -= twice;
        }
        if self.table.is_full() {
            let Self { table, tally, .. } = self;
            table.retire(|interval, answer_within| tally.add(interval, answer_within));
        }
        change
    }

    fn edge(&mut self, key: EdgeKey) -> Result<u32, Skip> {
        if let Some(&edge) = self.edge_ids.get(&key) {
            return Ok(edge);
        }
        if self.edges.len() >= self.config.caps.edges {
            return Err(Skip::Limit);
        }
        let edge = u32::try_from(self.edges.len()).map_err(|_| Skip::Limit)?;
        self.edge_ids.insert(key, edge);
        self.edges.push(EdgeSum {
            key,
            first: i64::MAX,
            last: i64::MIN,
            observations: 0,
            connections: 0,
            nodes: std::collections::BTreeSet::new(),
            services: std::collections::BTreeSet::new(),
            example: None,
        });
        Ok(edge)
    }

    /// Both ends, or why the observation is skipped.
    fn ends(&mut self, observation: &Observation) -> Result<Ends, Skip> {
        let source = self.end(observation, &observation.source)?;
        let destination = self.end(observation, &observation.destination)?;
        Ok(Ends { source, destination })
    }

    fn end(&mut self, observation: &Observation, end: &End) -> Result<u32, Skip> {
        let key = (Arc::as_ptr(&end.endpoint).addr(), end.address);
        if let Some(known) = self.resolved.get(&key) {
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
        if !end.address.is_some_and(|address| self.directory.is_reused(address)) {
            if self.resolved.len() >= RESOLVED_LIMIT {
                self.resolved.clear();
            }
            let _endpoint = end.endpoint.clone();
            self.resolved.insert(key, Known { _endpoint, found });
        }
        found
    }

    fn resolve_end(&mut self, observation: &Observation, end: &End) -> Result<u32, Skip> {
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
        sum.as_world |= entities.contains(Entities::WORLD) || entities.is_empty();
        sum.as_node |=
            entities.contains(Entities::HOST) || entities.contains(Entities::REMOTE_NODE);
        if let (Some(node), true) = (&observation.node, end.endpoint.workload.is_some()) {
            keep_smallest(&mut sum.nodes, node.clone(), 64);
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
        if let Some(&id) = self.reporter_ids.get(node) {
            return Some(id);
        }
        let id = u32::try_from(self.reporters.len()).ok()?;
        self.reporter_ids.insert(node.clone(), id);
        self.reporters.push(Reporting { answers: false });
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
            party,
            labels: None,
            names: std::collections::BTreeSet::new(),
            notes: std::collections::BTreeSet::new(),
            nodes: std::collections::BTreeSet::new(),
            as_world: false,
            as_node: false,
        }
    }
}

/// Notes what a first report of a connection tells a reviewer.
fn describe(sum: &mut EdgeSum, observation: &Observation) {
    let service = match &observation.service {
        Some(service) => match service.port {
            Some(port) => format!("svc/{}:{port}", service.name),
            None => format!("svc/{}", service.name),
        },
        None => "direct".to_owned(),
    };
    if !sum.services.contains(service.as_str()) {
        keep_smallest(&mut sum.services, service.into(), KEPT);
    }
    let exact = |end: &End| match &end.endpoint.pod {
        Some(PodName::Exact(name)) => Some(name.clone()),
        Some(PodName::Generated(_)) | None => None,
    };
    if let (Some(source), Some(destination)) =
        (exact(&observation.source), exact(&observation.destination))
    {
        let pair = (source, destination);
        if sum.example.as_ref().is_none_or(|known| pair < *known) {
            sum.example = Some(pair);
        }
    }
}

/// The two legs of a connection: by address and port, or by who they are where there is no address.
fn legs(observation: &Observation, ends: Ends) -> (Leg, Leg) {
    let leg = |address: Option<IpAddr>, port: Option<u16>, party: u32, side: u64| {
        let port = port.unwrap_or_default();
        let hash = match (observation.connection_key, address) {
            // An aggregate stands for itself: both of its legs come from its own key.
            (Some(key), _) => mix(key, side),
            (None, Some(IpAddr::V4(v4))) => mix(u64::from(v4.to_bits()) << 16 | u64::from(port), 4),
            (None, Some(IpAddr::V6(v6))) => {
                let bits = v6.to_bits();
                let low = mix(u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default(), 6);
                mix(u64::try_from(bits >> 64).unwrap_or_default() ^ low, u64::from(port))
            }
            (None, None) => mix(u64::from(party) << 16 | u64::from(port), 9),
        };
        Leg { hash, party, port }
    };
    let source = leg(observation.source.address, observation.source_port, ends.source, 1);
    let destination =
        leg(observation.destination.address, observation.destination_port, ends.destination, 2);
    (source, destination)
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
