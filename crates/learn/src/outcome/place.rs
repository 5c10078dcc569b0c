//! Where an edge goes on either side: into a rule, among the uncovered, or nowhere.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use netenf_policy::Protocol;

use crate::classify::Skip;
use crate::config::{Backend, ExternalPeers};
use crate::directory::{ApiServerTarget, Directory, DnsTarget};
use crate::identity::{Party, Workload, WorkloadSelector};
use crate::learner::Learner;
use crate::observation::{Direction, Network};
use crate::outcome::cast::Cast;
use crate::outcome::draft::{Drafts, Item, Sum};
use crate::outcome::edge::{Edge, Fate, Merged};
use crate::outcome::{dns, enforces, peer};
use crate::proposal::{Funnel, Peer, Provenance, Reason, RulePeer, SeenEdge, SeenEnd};
use crate::resolve::is_link_local;
use crate::sum::{EdgeKey, NoteSum};

/// Places edges.
pub(super) struct Placer<'a, D> {
    learner: &'a Learner<D>,
    cast: &'a Cast,
    dns: Option<DnsTarget>,
    api_server: Option<ApiServerTarget>,
    /// DNS edges wait until it is known whether their subject has a proposal at all (D4).
    waiting: Vec<Waiting>,
    /// Edges that work.
    pub(super) edges: Vec<SeenEdge>,
}

struct Waiting {
    subject: Workload,
    rules: Vec<RulePeer>,
    peer: Peer,
    sum: Sum,
    port: u16,
    observations: u64,
    learned: bool,
}

/// What became of one side of an edge.
enum Placed {
    Rule,
    Uncovered,
    Waits,
    Nowhere(Skip),
}

/// What a peer can be put into.
enum Fit {
    Rules(Vec<RulePeer>, Provenance),
    Dns(Vec<RulePeer>),
    Not(Reason, Option<&'static str>),
}

/// The traffic that is placed.
struct Traffic {
    source: u32,
    destination: u32,
    protocol: Arc<str>,
    at: Option<(Protocol, u16)>,
    reason: Option<Reason>,
    sum: Sum,
}

const METADATA_NOTE: &str = "cloud metadata: hands out credentials";

// === impl Placer ===

impl<'a, D: Directory> Placer<'a, D> {
    pub(super) fn new(learner: &'a Learner<D>, cast: &'a Cast, merged: &Merged) -> Self {
        let dns = dns::target(learner, cast, merged);
        let api_server = learner.directory.api_server();
        Self { learner, cast, dns, api_server, waiting: Vec::new(), edges: Vec::new() }
    }

    pub(super) fn place(&mut self, merged: Merged, drafts: &mut Drafts, funnel: &mut Funnel) {
        for (key, edge) in &merged.edges {
            let fate = edge.fate(self.learner);
            if fate == Fate::Refused {
                funnel.skip(Skip::Rejected.name(), edge.observations);
                continue;
            }
            let traffic = Self::traffic(key, edge, fate);
            let before = funnel.learned;
            self.place_traffic(&traffic, edge.observations, drafts, funnel);
            if fate == Fate::Alive {
                let learned = funnel.learned > before;
                self.edges.push(self.seen(key, &traffic, edge.observations, learned));
            }
        }
        for (key, sum) in &merged.ambiguous {
            let edge = key.edge();
            let traffic = Traffic {
                source: edge.source,
                destination: edge.destination,
                protocol: protocol_name(edge.protocol).into(),
                at: Some((edge.protocol, edge.port)),
                reason: Some(Reason::Ambiguous),

                sum: Sum {
                    count: sum.observations,
                    first: sum.first,
                    last: sum.last,
                    ..Sum::default()
                },
            };
            self.place_traffic(&traffic, sum.observations, drafts, funnel);
        }
        self.place_inexpressible(drafts, funnel);
        self.place_waiting(drafts, funnel);
        self.add_probes(drafts);
        self.add_dns(drafts);
        let over = drafts.over_limit(&self.learner.config);
        if over > 0 {
            funnel.skipped.entry(Skip::Limit.name()).or_default();
        }
    }

    fn seen(&self, key: &EdgeKey, traffic: &Traffic, observations: u64, learned: bool) -> SeenEdge {
        let end = |id: u32| SeenEnd {
            peer: peer::describe(self.learner, self.cast, id),
            labels: self.cast.labels(self.learner, id),
        };
        SeenEdge {
            source: end(key.source),
            destination: end(key.destination),
            protocol: key.protocol,
            port: key.port,
            count: traffic.sum.count,
            observations,
            learned,
            first: traffic.sum.first.and_then(super::recorded),
            last: traffic.sum.last.and_then(super::recorded),
        }
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

    fn place_inexpressible(&mut self, drafts: &mut Drafts, funnel: &mut Funnel) {
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
            self.place_traffic(&traffic, count, drafts, funnel);
        }
    }

    /// Places both sides and counts the observations once: in a rule if either side has one.
    fn place_traffic(
        &mut self,
        traffic: &Traffic,
        observations: u64,
        drafts: &mut Drafts,
        funnel: &mut Funnel,
    ) {
        let egress = self.place_side(traffic, Direction::Egress, observations, drafts);
        let ingress = self.place_side(traffic, Direction::Ingress, observations, drafts);
        match (egress, ingress) {
            (Placed::Waits, other) => {
                if let Some(waiting) = self.waiting.last_mut() {
                    waiting.learned = matches!(other, Placed::Rule);
                }
                if matches!(other, Placed::Rule) {
                    funnel.learned += observations;
                }
            }
            (Placed::Rule, _) | (_, Placed::Rule) => funnel.learned += observations,
            (Placed::Uncovered, _) | (_, Placed::Uncovered) => funnel.uncovered += observations,
            (Placed::Nowhere(egress), Placed::Nowhere(ingress)) => {
                funnel.skip(egress.min(ingress).name(), observations);
            }
            (Placed::Nowhere(_), Placed::Waits) => {}
        }
    }

    fn place_side(
        &mut self,
        traffic: &Traffic,
        direction: Direction,
        observations: u64,
        drafts: &mut Drafts,
    ) -> Placed {
        let (subject_id, peer_id) = match direction {
            Direction::Egress => (traffic.source, traffic.destination),
            Direction::Ingress => (traffic.destination, traffic.source),
        };
        let config = &self.learner.config;
        let subject = match &self.learner.parties[subject_id as usize].party {
            Party::Workload(workload) if !config.subjects.cover(&workload.kind) => {
                return Placed::Nowhere(Skip::NotSubject);
            }
            Party::Workload(workload) if !config.scope.covers(workload) => {
                return Placed::Nowhere(Skip::OutOfScope);
            }
            Party::Workload(workload) => workload,
            Party::Pods { namespace, .. } | Party::Pod { namespace, .. } => {
                let some = Workload::new(namespace.clone(), "Pod", "");
                if !config.scope.covers(&some) {
                    return Placed::Nowhere(Skip::OutOfScope);
                }
                return self.unplaced(
                    traffic,
                    subject_id,
                    peer_id,
                    direction,
                    Reason::UnknownOwner,
                    drafts,
                );
            }
            _ => return Placed::Nowhere(Skip::NotSubject),
        };
        if !enforces(config.backend, direction) {
            let inside = self.learner.parties[peer_id as usize].party.namespace().is_some();
            return if inside {
                Placed::Nowhere(Skip::OtherSide)
            } else {
                self.unplaced(traffic, subject_id, peer_id, direction, Reason::External, drafts)
            };
        }
        let selector = match self.cast.selector(subject_id) {
            Ok(selector) => selector,
            Err(reason) => {
                return self.unplaced(traffic, subject_id, peer_id, direction, reason, drafts);
            }
        };
        let peer = peer::describe(self.learner, self.cast, peer_id);
        let mut sum = traffic.sum.clone();
        sum.notes.extend(
            self.learner.parties[peer_id as usize].notes.iter().map(|note| Arc::from(*note)),
        );
        let fit = match traffic.reason {
            Some(reason) => Fit::Not(reason, None),
            None => self.fit(peer_id, direction, traffic),
        };
        match (fit, traffic.at) {
            (Fit::Rules(rules, provenance), Some(at)) => {
                sum.provenance = sum.provenance.max(Some(provenance));
                let draft = drafts.draft(subject, direction, selector);
                for rule in rules {
                    draft.add_rule(rule, peer.clone(), at, sum.clone());
                }
                Placed::Rule
            }
            (Fit::Dns(rules), Some((_, port))) => {
                sum.provenance = Some(Provenance::Infrastructure);
                let subject = subject.clone();
                self.waiting.push(Waiting {
                    subject,
                    rules,
                    peer,
                    sum,
                    port,
                    observations,
                    learned: false,
                });
                Placed::Waits
            }
            (Fit::Not(reason, note), _) => {
                sum.notes.extend(note.map(Arc::from));
                sum.rule = self.rule_of(peer_id);
                let (item, sum) = self.item(peer_id, peer, reason, traffic, sum);
                drafts.draft(subject, direction, selector).add_uncovered(item, sum);
                Placed::Uncovered
            }
            (Fit::Rules(..) | Fit::Dns(_), None) => Placed::Nowhere(Skip::Incomplete),
        }
    }

    fn unplaced(
        &self,
        traffic: &Traffic,
        subject: u32,
        peer_id: u32,
        direction: Direction,
        reason: Reason,
        drafts: &mut Drafts,
    ) -> Placed {
        let described = peer::describe(self.learner, self.cast, peer_id);
        let (item, sum) = self.item(
            peer_id,
            described,
            traffic.reason.unwrap_or(reason),
            traffic,
            traffic.sum.clone(),
        );
        drafts.add_unplaced(peer::describe(self.learner, self.cast, subject), direction, item, sum);
        Placed::Uncovered
    }

    /// One item a name where DNS told one, else one an address (D1).
    fn item(
        &self,
        id: u32,
        mut peer: Peer,
        reason: Reason,
        traffic: &Traffic,
        mut sum: Sum,
    ) -> (Item, Sum) {
        if peer.kind.as_deref() == Some("External") {
            sum.addresses.extend(peer.address);
            let names = peer::meant_names(self.learner, self.cast, id);
            if let Some(first) = names.first().or(peer.names.first()).cloned() {
                sum.names.extend(names);
                peer.address = None;
                peer.names = vec![first];
            }
        }
        let port = traffic.at.map(|(_, port)| port);
        (Item { reason, peer, protocol: traffic.protocol.clone(), port }, sum)
    }

    /// Whether and how a policy can name the peer.
    fn fit(&self, id: u32, direction: Direction, traffic: &Traffic) -> Fit {
        let party = &self.learner.parties[id as usize].party;
        if self.learner.config.backend == Backend::Istio {
            return match party {
                Party::Account(account) => {
                    Fit::Rules(vec![RulePeer::Account(account.clone())], Provenance::Observed)
                }
                _ => Fit::Not(
                    Reason::Unmanaged,
                    Some("no mesh identity: the caller is outside the mesh"),
                ),
            };
        }
        let observed = |rule| Fit::Rules(vec![rule], Provenance::Observed);
        match party {
            Party::Workload(_) | Party::Pods { .. } | Party::Pod { .. } => {
                self.fit_pods(id, direction, traffic)
            }
            Party::Account(account) => observed(RulePeer::Account(account.clone())),
            Party::Node { workload: Some(_), .. } => Fit::Not(Reason::HostNetwork, None),
            Party::Node { .. } | Party::IngressProxy => Fit::Not(Reason::Node, None),
            Party::NodePort { .. } => Fit::Not(Reason::NodePort, None),
            Party::ApiServer => self.fit_api_server(direction, traffic),
            Party::External(address) if is_link_local(*address) || is_metadata(*address) => {
                self.fit_link_local(id, *address, traffic)
            }
            Party::External(address) => match self.learner.config.external {
                ExternalPeers::Addresses => observed(RulePeer::Block(peer::single(*address))),
                ExternalPeers::Uncovered => Fit::Not(Reason::External, None),
            },
            Party::Name(_) => Fit::Not(Reason::External, None),
            Party::Network(Network::Set { .. }) => {
                Fit::Not(Reason::NoAddress, Some("a Calico network set"))
            }
            Party::Network(Network::Public) => {
                Fit::Not(Reason::NoAddress, Some("some public address"))
            }
            Party::Network(_) => Fit::Not(
                Reason::NoAddress,
                Some(
                    "from or to a private network: a node, a host-network pod or a machine nearby; Calico does not tell",
                ),
            ),
            Party::Unmanaged(_) => Fit::Not(Reason::Unmanaged, None),
            Party::Unknown => Fit::Not(Reason::NoAddress, None),
        }
    }

    /// The rule that would select the peer's pods.
    fn rule_of(&self, id: u32) -> Option<RulePeer> {
        let namespace = self.learner.parties[id as usize].party.namespace()?.clone();
        let selector = self.cast.selector(id).ok()?.selector.clone();
        Some(RulePeer::Pods { namespace, selector })
    }

    fn fit_pods(&self, id: u32, direction: Direction, traffic: &Traffic) -> Fit {
        let selected = match self.cast.selector(id) {
            Ok(WorkloadSelector { selector, .. }) => selector,
            Err(reason) => return Fit::Not(reason, None),
        };
        let Some(namespace) = self.learner.parties[id as usize].party.namespace() else {
            return Fit::Not(Reason::NoSelector, None);
        };
        let asks_dns = self.dns.as_ref().filter(|target| {
            direction == Direction::Egress
                && traffic.at.is_some_and(|(protocol, port)| {
                    port == target.port && protocol != Protocol::Sctp
                })
                && dns::is_target(self.learner, self.cast, target, id)
        });
        match asks_dns {
            Some(target) => Fit::Dns(vec![dns_rule(target)]),
            None => {
                let (namespace, selector) = (namespace.clone(), selected.clone());
                Fit::Rules(vec![RulePeer::Pods { namespace, selector }], Provenance::Observed)
            }
        }
    }

    /// Only the API server's own port is its: what else listens on its host is the node's.
    fn fit_api_server(&self, direction: Direction, traffic: &Traffic) -> Fit {
        match (&self.api_server, direction) {
            (Some(target), Direction::Egress)
                if traffic.at.is_some_and(|(_, port)| port != target.port) =>
            {
                Fit::Not(Reason::Node, None)
            }
            (Some(target), Direction::Egress) if !target.addresses.is_empty() => {
                let blocks =
                    target.addresses.iter().map(|address| RulePeer::Block(peer::single(*address)));
                Fit::Rules(blocks.collect(), Provenance::Infrastructure)
            }
            _ => Fit::Not(Reason::ApiServer, None),
        }
    }

    /// DNS on a link-local address is a rule where a rule by address matches it: on Cilium the node's own
    /// addresses are not matched (D4, case B46). Everything else there is left to a person.
    fn fit_link_local(&self, id: u32, address: IpAddr, traffic: &Traffic) -> Fit {
        let sum = &self.learner.parties[id as usize];
        let asks_dns =
            traffic.at.is_some_and(|(protocol, port)| port == 53 && protocol != Protocol::Sctp);
        if asks_dns && sum.as_world && !sum.as_node {
            return Fit::Dns(vec![RulePeer::Block(peer::single(address))]);
        }
        Fit::Not(Reason::LinkLocal, (is_metadata(address) && !asks_dns).then_some(METADATA_NOTE))
    }

    fn place_waiting(&mut self, drafts: &mut Drafts, funnel: &mut Funnel) {
        for waiting in std::mem::take(&mut self.waiting) {
            let key = (waiting.subject, Direction::Egress);
            let Some(draft) = drafts.drafts.get_mut(&key) else {
                if !waiting.learned {
                    funnel.skip(Skip::Dns.name(), waiting.observations);
                }
                continue;
            };
            if !waiting.learned {
                funnel.learned += waiting.observations;
            }
            for rule in waiting.rules {
                for protocol in [Protocol::Tcp, Protocol::Udp] {
                    draft.add_rule(
                        rule.clone(),
                        waiting.peer.clone(),
                        (protocol, waiting.port),
                        waiting.sum.clone(),
                    );
                }
            }
        }
    }

    /// The rule to the cluster's DNS in every egress proposal (D4), seen or not.
    fn add_dns(&self, drafts: &mut Drafts) {
        let Some(target) = &self.dns else { return };
        for ((subject, direction), draft) in &mut drafts.drafts {
            let own = subject.namespace == target.namespace
                && self
                    .learner
                    .directory
                    .selector(subject)
                    .is_some_and(|own| target.selector.matches(&own.labels));
            if *direction == Direction::Ingress
                || own
                || self.learner.config.backend == Backend::Istio
            {
                continue;
            }
            let peer = Peer {
                kind: Some("Dns".into()),
                namespace: Some(target.namespace.clone()),
                ..Peer::default()
            };
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                let sum = Sum { provenance: Some(Provenance::Infrastructure), ..Sum::default() };
                draft.add_infrastructure(
                    dns_rule(target),
                    peer.clone(),
                    (protocol, target.port),
                    sum,
                );
            }
        }
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

fn dns_rule(target: &DnsTarget) -> RulePeer {
    RulePeer::Pods { namespace: target.namespace.clone(), selector: target.selector.clone() }
}

/// The address under which clouds serve instance metadata.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets() == [169, 254, 169, 254],
        IpAddr::V6(v6) => v6.segments() == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254],
    }
}

fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}
