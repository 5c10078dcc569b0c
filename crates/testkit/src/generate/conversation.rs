//! Conversations: who talks to whom next, and what of it is seen where.

use super::Traffic;
use super::cluster::{Cluster, Edge};
use super::random::Random;

/// Pairs of workloads that a policy keeps apart.
const DENIED: usize = 256;
/// The port that they try.
const DENIED_PORT: u16 = 2379;
/// Probes of the kubelet, in per cent of the flows.
const PROBES: u64 = 5;

/// One connection, or one question and its answer.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    pub(super) kind: Kind,
    pub(super) client: Party,
    pub(super) server: Party,
    pub(super) client_port: u16,
    pub(super) port: u16,
    /// Who is outside, or whose name a DNS query asks for.
    pub(super) outside: usize,
    /// What is still to be seen of it.
    pub(super) events: std::vec::IntoIter<Event>,
}

/// Kinds of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Between two workloads.
    Inside,
    /// From a workload to an address outside.
    Outside,
    /// From a node to one of its pods.
    Probe,
    /// From a workload to the cluster's DNS.
    Dns,
    /// Between two workloads that a policy keeps apart.
    Denied,
}

/// An end, by its number in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Pod(usize),
    Node(usize),
    Outside(usize),
}

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

/// What is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A packet of this side, at the trace point of one side's node.
    Packet { from: Side, at: Side, part: Part },
    /// A DNS query passes the proxy of the client's node.
    Query,
    /// Its answer.
    Answer,
    /// The policy's verdict against the first packet, at the server's node.
    Verdict,
    /// The drop of that packet.
    Drop,
}

/// Which part of a TCP connection a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Open,
    Data,
    Close,
}

/// Decides what comes next.
pub(super) struct Planner<'a> {
    cluster: &'a Cluster,
    random: Random,
    /// Each kind, its share in per cent, and how many events of it were planned.
    kinds: [(Kind, u64, u64); 5],
    edges_seen: usize,
    denied: Vec<(usize, usize)>,
    /// Workloads that talk to the outside.
    openers: usize,
    /// Share of answers in per cent, answers and packets that were planned.
    replies: (u64, u64, u64),
}

// === impl Conversation ===

impl Conversation {
    /// The ends that report it as a whole: those inside the cluster, and the server alone where a
    /// policy rejected it there.
    pub(super) const fn reporters(&self) -> &'static [Side] {
        match self.kind {
            Kind::Inside | Kind::Dns => &[Side::Client, Side::Server],
            Kind::Outside => &[Side::Client],
            Kind::Probe | Kind::Denied => &[Side::Server],
        }
    }

    /// One of its ends.
    pub(super) const fn party(&self, side: Side) -> Party {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }
}

// === impl Side ===

impl Side {
    /// The opposite one.
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

// === impl Planner ===

impl<'a> Planner<'a> {
    pub(super) fn new(traffic: &Traffic, cluster: &'a Cluster, mut random: Random) -> Self {
        let inside = 100 - PROBES - traffic.dns - traffic.external - traffic.drops;
        let kinds = [
            (Kind::Inside, inside, 0),
            (Kind::Outside, traffic.external, 0),
            (Kind::Probe, PROBES, 0),
            (Kind::Dns, traffic.dns, 0),
            (Kind::Denied, traffic.drops, 0),
        ];
        let mut any = || random.below(traffic.workloads);
        let denied = (0..DENIED).map(|_| (any(), any())).collect();
        Self {
            cluster,
            random,
            kinds,
            edges_seen: 0,
            denied,
            openers: traffic.workloads.div_ceil(4),
            replies: (traffic.replies, 0, 0),
        }
    }

    /// The next conversation: of the kind that is furthest behind its share.
    pub(super) fn start(&mut self) -> Conversation {
        let total: u64 = self.kinds.iter().map(|(_, _, planned)| planned).sum();
        let behind = |kind: &(Kind, u64, u64)| {
            i128::from(kind.1) * i128::from(total + 1) - 100 * i128::from(kind.2)
        };
        let next = (0..self.kinds.len()).max_by_key(|kind| behind(&self.kinds[*kind])).unwrap_or(0);
        let conversation = self.of_kind(self.kinds[next].0);
        self.kinds[next].2 += conversation.events.len() as u64;
        conversation
    }

    fn of_kind(&mut self, kind: Kind) -> Conversation {
        let (client, server, port) = self.ends(kind);
        let events = match kind {
            Kind::Inside => self.packets(&[Side::Client, Side::Server]),
            Kind::Outside => self.packets(&[Side::Client]),
            Kind::Probe => self.packets(&[Side::Server]),
            Kind::Dns => lookup(),
            Kind::Denied => vec![Event::Verdict, Event::Drop],
        };
        let outside = match server {
            Party::Outside(outside) => outside,
            Party::Pod(_) | Party::Node(_) => self.random.below(self.cluster.outside.len()),
        };
        let client_port = self.random.client_port();
        Conversation {
            kind,
            client,
            server,
            client_port,
            port,
            outside,
            events: events.into_iter(),
        }
    }

    fn ends(&mut self, kind: Kind) -> (Party, Party, u16) {
        let Self { cluster, random, .. } = self;
        match kind {
            Kind::Inside => {
                let Edge { client, server, port } = self.edge();
                (self.pod(client), self.pod(server), port)
            }
            Kind::Outside => {
                let client = random.below(self.openers);
                let outside = (client * 7 + random.below(3)) % cluster.outside.len();
                (self.pod(client), Party::Outside(outside), 443)
            }
            Kind::Probe => {
                let pod = random.below(cluster.pods.len());
                let port = cluster.workload(pod).ports[0];
                (Party::Node(cluster.pods[pod].node), Party::Pod(pod), port)
            }
            Kind::Dns => {
                let dns = cluster.workloads.len() - 1;
                let client = random.below(dns);
                (self.pod(client), self.pod(dns), 53)
            }
            Kind::Denied => {
                let (client, server) = *random.pick(&self.denied);
                (self.pod(client), self.pod(server), DENIED_PORT)
            }
        }
    }

    /// Every edge once, then some far more often than others.
    fn edge(&mut self) -> Edge {
        let edges = &self.cluster.edges;
        let next = self.edges_seen;
        self.edges_seen += 1;
        let number = if next < edges.len() { next } else { self.random.skewed(edges.len()) };
        edges[number]
    }

    fn pod(&mut self, workload: usize) -> Party {
        Party::Pod(self.cluster.pod_of(workload, &mut self.random))
    }

    /// A connection of one to three packets and as many answers as the share of replies asks for, each
    /// seen at `points` on its way.
    fn packets(&mut self, points: &[Side]) -> Vec<Event> {
        let requests = 1 + self.random.below(3);
        let answers = self.answers(requests);
        let mut events = Vec::with_capacity((requests + answers) * points.len());
        let mut pass = |from: Side, number: usize, count: usize| {
            let part = match number {
                0 => Part::Open,
                _ if number + 1 == count => Part::Close,
                _ => Part::Data,
            };
            let way = [from, from.other()].into_iter().filter(|at| points.contains(at));
            events.extend(way.map(|at| Event::Packet { from, at, part }));
        };
        for number in 0..requests.max(answers) {
            if number < requests {
                pass(Side::Client, number, requests);
            }
            if number < answers {
                pass(Side::Server, number, answers);
            }
        }
        events
    }

    /// How many answers `requests` get. At least one, unless nobody is to answer: an edge that is never
    /// answered teaches nothing.
    fn answers(&mut self, requests: usize) -> usize {
        let (share, answered, packets) = &mut self.replies;
        let packets_then = *packets + requests as u64;
        let is_enough = |more: u64| (*answered + more) * 100 >= *share * (packets_then + more);
        let least = u64::from(*share > 0);
        let answers = (least..10).find(|more| is_enough(*more)).unwrap_or(10);
        *answered += answers;
        *packets = packets_then + answers;
        usize::try_from(answers).unwrap_or_default()
    }
}

/// A DNS lookup: the question passes the client's node, its proxy and the server's node, and so does
/// the answer on its way back.
fn lookup() -> Vec<Event> {
    let packet = |from, at| Event::Packet { from, at, part: Part::Data };
    vec![
        packet(Side::Client, Side::Client),
        Event::Query,
        packet(Side::Client, Side::Server),
        packet(Side::Server, Side::Server),
        Event::Answer,
        packet(Side::Server, Side::Client),
    ]
}
