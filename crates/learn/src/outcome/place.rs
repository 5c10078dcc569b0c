//! Where an edge goes on either side: into a rule, among the uncovered, or nowhere.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use netenf_policy::Protocol;

use crate::classify::Skip;
use crate::config::Backend;
use crate::directory::{ApiServerTarget, Directory, DnsTarget};
use crate::identity::{Party, Workload};
use crate::learner::Learner;
use crate::observation::{Direction, Network};
use crate::outcome::cast::Cast;
use crate::outcome::draft::{Drafts, Item, Sum};
use crate::outcome::edge::{Edge, Fate, Merged};
use crate::outcome::{dns, enforces, peer};
use crate::proposal::{Funnel, Peer, Provenance, Reason, RulePeer, SeenEdge};
use crate::sum::{CandidateKey, CandidateSum, EdgeKey, NoteSum};

mod fit;
mod settle;

use fit::{Fit, dns_rule};
use settle::{Count, Placed};

/// Protocol and port of a rule.
type At = (Protocol, u16);

/// Places edges.
pub(super) struct Placer<'a, D> {
    learner: &'a Learner<D>,
    cast: &'a Cast,
    dns: Option<DnsTarget>,
    api_server: Option<ApiServerTarget>,
    /// DNS edges wait until it is known whether their subject has a proposal at all (D4).
    waiting: Vec<Waiting>,
    /// Everything that was placed.
    counts: Vec<Count>,
    /// Edges that work.
    pub(super) edges: Vec<SeenEdge>,
}

struct Waiting {
    subject: Workload,
    rules: Vec<RulePeer>,
    peer: Peer,
    sum: Sum,
    at: At,
}

/// The traffic that is placed.
struct Traffic {
    source: u32,
    destination: u32,
    protocol: Arc<str>,
    at: Option<At>,
    /// Why there is no rule, whoever the peer is.
    reason: Option<Reason>,
    sum: Sum,
}

/// One side of the traffic.
#[derive(Clone, Copy)]
struct Side {
    subject: u32,
    peer: u32,
    direction: Direction,
}

// === impl Placer ===

impl<'a, D: Directory> Placer<'a, D> {
    pub(super) fn new(learner: &'a Learner<D>, cast: &'a Cast, merged: &Merged) -> Self {
        let dns = dns::target(learner, cast, merged);
        let api_server = learner.directory.api_server();
        let (waiting, counts, edges) = (Vec::new(), Vec::new(), Vec::new());
        Self { learner, cast, dns, api_server, waiting, counts, edges }
    }

    /// Places everything, cuts it to the limits, and counts it.
    pub(super) fn place(&mut self, merged: &Merged, drafts: &mut Drafts, funnel: &mut Funnel) {
        for (key, edge) in &merged.edges {
            let fate = edge.fate(self.learner);
            if fate == Fate::Refused {
                funnel.skip(Skip::Rejected.name(), edge.observations);
                continue;
            }
            let traffic = Self::traffic(key, edge, fate);
            let seen = (fate == Fate::Alive).then(|| self.seen(key, &traffic, edge.observations));
            self.place_traffic(&traffic, edge.observations, seen, drafts);
        }
        for (key, sum) in &merged.ambiguous {
            self.place_traffic(&Self::ambiguous(key, sum), sum.observations, None, drafts);
        }
        self.place_inexpressible(drafts);
        self.place_waiting(drafts);
        self.add_probes(drafts);
        self.add_dns(drafts);
        drafts.limit(&self.learner.config.caps);
        self.settle(drafts, funnel);
    }

    fn seen(&self, key: &EdgeKey, traffic: &Traffic, observations: u64) -> SeenEdge {
        SeenEdge {
            source: peer::seen(self.learner, self.cast, key.source),
            destination: peer::seen(self.learner, self.cast, key.destination),
            protocol: key.protocol,
            port: key.port,
            port_names: self.port_names(key),
            count: traffic.sum.count,
            observations,
            learned: false,
            skipped: None,
            first: traffic.sum.first.and_then(super::recorded),
            last: traffic.sum.last.and_then(super::recorded),
        }
    }

    fn port_names(&self, key: &EdgeKey) -> Vec<Arc<str>> {
        let server = self.learner.parties[key.destination as usize].party.workload();
        let directory = &self.learner.directory;
        server.map_or(Vec::new(), |server| directory.port_names(server, key.port, key.protocol))
    }

    fn traffic(key: &EdgeKey, edge: &Edge, fate: Fate) -> Traffic {
        let provenance =
            if edge.inferred.is_some() { Provenance::Inferred } else { Provenance::Observed };
        let notes = edge.inferred.iter().map(|note| Arc::from(note.as_str()));
        Traffic {
            source: key.source,
            destination: key.destination,
            protocol: protocol_name(key.protocol).into(),
            at: Some((key.protocol, key.port)),
            reason: (fate == Fate::Unanswered).then_some(Reason::Unanswered),
            sum: Sum {
                count: edge.connections().max(1),
                first: edge.first,
                last: edge.last,
                provenance: Some(provenance),
                services: edge.services.clone(),
                notes: notes.collect(),
                example: edge.example.clone(),
                ..Sum::default()
            },
        }
    }

    fn ambiguous(key: &CandidateKey, sum: &CandidateSum) -> Traffic {
        Traffic {
            source: key.client,
            destination: key.server,
            protocol: protocol_name(key.protocol).into(),
            at: Some((key.protocol, key.port)),
            reason: Some(Reason::Ambiguous),
            sum: Sum {
                count: sum.connections.max(1),
                first: sum.first,
                last: sum.last,
                ..Sum::default()
            },
        }
    }

    fn place_inexpressible(&mut self, drafts: &mut Drafts) {
        let mut sums: super::Sorted<(u32, u32, Arc<str>), NoteSum> = super::Sorted::new();
        for ((source, destination, protocol), sum) in &self.learner.inexpressible {
            let key = (self.cast.of(*source), self.cast.of(*destination), protocol.clone());
            let known = sums.entry(key).or_insert(NoteSum::EMPTY);
            known.observations += sum.observations;
            known.first = known.first.min(sum.first);
            known.last = known.last.max(sum.last);
        }
        for ((source, destination, protocol), sum) in sums {
            let note = if &*protocol == "ICMP" {
                "ping used; NetworkPolicy cannot allow it"
            } else {
                "no rule can name this protocol"
            };
            let (count, first, last) = (sum.observations, Some(sum.first), Some(sum.last));
            let sum = Sum { count, first, last, notes: [note.into()].into(), ..Sum::default() };
            let reason = Some(Reason::Protocol);
            let traffic = Traffic { source, destination, protocol, at: None, reason, sum };
            self.place_traffic(&traffic, count, None, drafts);
        }
    }

    /// Places both sides, and notes the observations to be counted once.
    fn place_traffic(
        &mut self,
        traffic: &Traffic,
        observations: u64,
        seen: Option<SeenEdge>,
        drafts: &mut Drafts,
    ) {
        let (source, destination) = (traffic.source, traffic.destination);
        let edge = seen.as_ref().map(|_| self.edges.len());
        self.edges.extend(seen);
        let out = Side { subject: source, peer: destination, direction: Direction::Egress };
        let into = Side { subject: destination, peer: source, direction: Direction::Ingress };
        let egress = self.place_side(traffic, out, drafts);
        let ingress = self.place_side(traffic, into, drafts);
        let at = traffic.at;
        self.counts.push(Count { source, destination, at, egress, ingress, observations, edge });
    }

    fn place_side(&mut self, traffic: &Traffic, side: Side, drafts: &mut Drafts) -> Placed {
        let subject = match self.subject(side) {
            Ok(subject) => subject,
            Err(Refusal::Skip(skip)) => return Placed::Nowhere(skip),
            Err(Refusal::Uncovered(reason, note)) => {
                return self.unplaced(traffic, side, reason, note, drafts);
            }
        };
        let selector = match self.cast.selector(side.subject) {
            Ok(selector) => selector,
            Err(reason) => return self.unplaced(traffic, side, reason, None, drafts),
        };
        let peer = peer::describe(self.learner, self.cast, side.peer);
        let mut sum = traffic.sum.clone();
        let notes = &self.learner.parties[side.peer as usize].notes;
        sum.notes.extend(notes.iter().map(|note| Arc::from(*note)));
        let fit = match (traffic.reason, self.fit(side.peer, side.direction, traffic.at)) {
            // The rule for DNS is there whether it answered or not.
            (Some(Reason::Unanswered) | None, fit @ Fit::Dns(_)) | (None, fit) => fit,
            (Some(reason), _) => Fit::Not(reason, None),
        };
        match (fit, traffic.at) {
            (Fit::Rules(rules, provenance), Some(at)) => {
                sum.provenance = sum.provenance.max(Some(provenance));
                let draft = drafts.draft(subject, side.direction, selector);
                for rule in rules {
                    let peer = peer::by_rule(&peer, &rule);
                    draft.add_rule(rule, peer, at, sum.clone());
                }
                Placed::Rule
            }
            (Fit::Dns(rules), Some(at)) => {
                sum.provenance = Some(Provenance::Infrastructure);
                let subject = subject.clone();
                self.waiting.push(Waiting { subject, rules, peer, sum, at });
                Placed::Dns
            }
            (Fit::Not(reason, note), _) => {
                sum.reason = Some(reason);
                sum.notes.extend(note.map(Arc::from));
                sum.rule = self.rule_of(side.peer);
                let (item, sum) = self.item(side.peer, peer, traffic, sum);
                drafts.draft(subject, side.direction, selector).add_uncovered(item, sum);
                Placed::Uncovered
            }
            (Fit::Rules(..) | Fit::Dns(_), None) => Placed::Nowhere(Skip::Incomplete),
        }
    }

    /// The workload whose proposal the side belongs into, or why there can be none.
    fn subject(&self, side: Side) -> Result<&'a Workload, Refusal> {
        let config = &self.learner.config;
        let learner: &'a Learner<D> = self.learner;
        let party = &learner.parties[side.subject as usize].party;
        let Some(namespace) = party.namespace() else {
            return Err(Refusal::Skip(Skip::NotSubject));
        };
        let workload = party.workload();
        let nameless = Workload::new(namespace.clone(), "Pod", "");
        if !config.scope.covers(workload.unwrap_or(&nameless)) {
            return Err(Refusal::Skip(Skip::OutOfScope));
        }
        if !enforces(config.backend, side.direction) {
            let inside = learner.parties[side.peer as usize].party.namespace().is_some();
            return Err(if inside {
                Refusal::Skip(Skip::OtherSide)
            } else {
                Refusal::Uncovered(Reason::External, Some(NOT_ENFORCEABLE.into()))
            });
        }
        let Some(workload) = workload else {
            return Err(Refusal::Uncovered(Reason::UnknownOwner, None));
        };
        if config.subjects.cover(&workload.kind) {
            return Ok(workload);
        }
        let note = format!("no proposals are written for kind {}", workload.kind);
        Err(Refusal::Uncovered(Reason::UnknownOwner, Some(note)))
    }

    fn unplaced(
        &self,
        traffic: &Traffic,
        side: Side,
        reason: Reason,
        note: Option<String>,
        drafts: &mut Drafts,
    ) -> Placed {
        let described = peer::describe(self.learner, self.cast, side.peer);
        let mut sum = traffic.sum.clone();
        sum.reason = traffic.reason.or(Some(reason));
        sum.notes.extend(note.map(Arc::from));
        let (item, sum) = self.item(side.peer, described, traffic, sum);
        let subject = peer::describe(self.learner, self.cast, side.subject);
        drafts.add_unplaced(subject, side.direction, item, sum);
        Placed::Uncovered
    }

    /// One item a name where DNS told one, else one an address (D1).
    fn item(&self, id: u32, mut peer: Peer, traffic: &Traffic, mut sum: Sum) -> (Item, Sum) {
        if peer.kind.as_deref() == Some("External") {
            sum.addresses.extend(peer.address);
            let names = peer::meant_names(self.learner, self.cast, id);
            if let Some(first) = names.first().or(peer.names.first()).cloned() {
                sum.names.extend(names);
                peer.address = None;
                peer.names = vec![first];
            }
        }
        sum.addresses.extend(self.addresses(id, sum.reason));
        let port = traffic.at.map(|(_, port)| port);
        (Item { peer, protocol: traffic.protocol.clone(), port }, sum)
    }

    /// Addresses by which a person may allow an end that no selector means.
    fn addresses(&self, id: u32, reason: Option<Reason>) -> Vec<IpAddr> {
        let directory = &self.learner.directory;
        match &self.learner.parties[id as usize].party {
            Party::Node { name, workload } => {
                peer::node_addresses(directory, name, workload.as_ref())
            }
            Party::Network(Network::Private) => directory.node_addresses(None),
            // What else listens on its hosts is another matter.
            Party::ApiServer if reason == Some(Reason::ApiServer) => {
                self.api_server.iter().flat_map(|target| target.addresses.clone()).collect()
            }
            Party::Workload(_)
            | Party::Pods { .. }
            | Party::Pod { .. }
            | Party::Account(_)
            | Party::NodePort { .. }
            | Party::ApiServer
            | Party::External(_)
            | Party::Name(_)
            | Party::Network(_)
            | Party::Unmanaged(_)
            | Party::IngressProxy
            | Party::Unknown => Vec::new(),
        }
    }

    fn place_waiting(&mut self, drafts: &mut Drafts) {
        for waiting in std::mem::take(&mut self.waiting) {
            let Waiting { subject, rules, peer, sum, at: (asked, port) } = waiting;
            let Some(draft) = drafts.drafts.get_mut(&(subject, Direction::Egress)) else {
                continue;
            };
            let known = self.dns.as_ref().map(dns_rule);
            for rule in rules {
                // Whether it was asked already or not, the cluster's DNS is one peer.
                let peer =
                    if Some(&rule) == known.as_ref() { self.dns_peer() } else { peer.clone() };
                draft.add_rule(rule.clone(), peer.clone(), (asked, port), sum.clone());
                for protocol in [Protocol::Tcp, Protocol::Udp] {
                    draft.add_infrastructure(rule.clone(), peer.clone(), (protocol, port));
                }
            }
        }
    }

    /// The rule to the cluster's DNS in every egress proposal (D4), seen or not.
    fn add_dns(&self, drafts: &mut Drafts) {
        let Some(target) = &self.dns else { return };
        if self.learner.config.backend == Backend::Istio {
            return;
        }
        for ((subject, direction), draft) in &mut drafts.drafts {
            let own = subject.namespace == target.namespace
                && target.selector.matches(&draft.selector().labels);
            if *direction == Direction::Ingress || own {
                continue;
            }
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                let at = (protocol, target.port);
                draft.add_infrastructure(dns_rule(target), self.dns_peer(), at);
            }
        }
    }

    fn dns_peer(&self) -> Peer {
        let namespace = self.dns.as_ref().map(|target| target.namespace.clone());
        Peer { kind: Some("Dns".into()), namespace, ..Peer::default() }
    }

    /// What Istio's documentation tells to allow for probes of ambient pods (case B44).
    fn add_probes(&self, drafts: &mut Drafts) {
        for ((id, port, protocol, address), sum) in &self.learner.probes {
            let Some(subject) = self.learner.parties[self.cast.of(*id) as usize].party.workload()
            else {
                continue;
            };
            let Some(draft) = drafts.drafts.get_mut(&(subject.clone(), Direction::Ingress)) else {
                continue;
            };
            let prefix = match address {
                IpAddr::V4(_) => 32,
                IpAddr::V6(_) => self.learner.config.ambient_probe_v6_prefix,
            };
            let block =
                IpNet::new(*address, prefix).unwrap_or_else(|_| peer::single(*address)).trunc();
            let peer =
                Peer { kind: Some("Probe".into()), address: Some(*address), ..Peer::default() };
            let sum = Sum {
                count: sum.observations,
                first: Some(sum.first),
                last: Some(sum.last),
                provenance: Some(Provenance::Infrastructure),
                notes: ["kubelet probes under Istio ambient".into()].into(),
                ..Sum::default()
            };
            draft.add_rule(RulePeer::Block(block), peer, (*protocol, *port), sum);
        }
    }
}

/// Why a side has no proposal.
enum Refusal {
    Skip(Skip),
    Uncovered(Reason, Option<String>),
}

const NOT_ENFORCEABLE: &str = "egress is seen but not enforceable by this backend";

fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}
