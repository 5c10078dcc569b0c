//! One reported flow, as its source told it, before anything is decided about it.
//!
//! A decoder fills these in without judging: absent stays absent, and what a source cannot know
//! (a reply, a client port, an address) is never made up. The classifier decides.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::time::Timestamp;

/// Where flows come from; decides the backend of what is learned (DESIGN D10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provider {
    /// Cilium's Hubble: events of packets, several for each connection.
    Hubble,
    /// Calico's Goldmane: aggregated connections, no addresses.
    Goldmane,
    /// Istio's ztunnel: one line for each connection, with mesh identities.
    Ztunnel,
    /// Our own node agents: aggregated connections, with what was decided about them.
    Node,
}

/// One reported flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Who reported it.
    pub provider: Provider,
    /// When it happened, where the source says so.
    pub time: Option<Timestamp>,
    /// The node that reported it.
    pub node: Option<Arc<str>>,
    /// What kind of event was reported.
    pub event: Event,
    /// The end that sent the packet, or opened the connection for [`Event::Connection`].
    pub source: End,
    /// The other end.
    pub destination: End,
    /// The transport protocol and what it tells about the packet.
    pub transport: Transport,
    /// The sender's port; absent where the source does not report it.
    pub source_port: Option<u16>,
    /// The receiver's port. `None` when the source left it out, `Some(0)` when it reported zero.
    pub destination_port: Option<u16>,
    /// What became of it.
    pub verdict: Verdict,
    /// Why it was dropped.
    pub drop_reason: Option<DropReason>,
    /// Whether this is a packet of the answering side. `None` is neither yes nor no (case B04).
    pub reply: Option<bool>,
    /// Whether the other end answered, for records of connections; `None` where the source does not follow answers.
    pub answered: Option<bool>,
    /// The direction of the connection as seen from the endpoint that the reporter guards.
    pub direction: Option<Direction>,
    /// Which end's side reported it, for sources that report a connection from both.
    pub reporter: Option<Reporter>,
    /// The policy that the source names as the one that denied it.
    pub denied_by: Option<Arc<PolicyRef>>,
    /// The service that the client addressed, if the source knows.
    pub service: Option<Arc<ServiceRef>>,
    /// A DNS answer carried by this flow: tells names of addresses.
    pub dns: Option<Arc<DnsAnswer>>,
    /// How many connections this stands for: 1 for events of packets, a sum for aggregates.
    pub connections: u64,
    /// A key that tells apart connections of sources without addresses and client ports. Equal keys
    /// are the same report; `None` means that addresses and ports tell.
    pub connection_key: Option<u64>,
    /// The source's own words about a failure (ztunnel's `error` field).
    pub error: Option<Arc<str>>,
}

/// One end of a flow: what the source says of it there and then.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// Who it is; shared between flows of the same endpoint.
    pub endpoint: Arc<Endpoint>,
    /// The address in the packet.
    pub address: Option<IpAddr>,
    /// DNS names that the source knows for the address, as it spells them.
    pub names: Vec<Arc<str>>,
}

/// Who an end is, as the source says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The cluster of the pod, where the source names it (Cilium's cluster mesh).
    pub cluster: Option<Arc<str>>,
    /// Namespace of the pod.
    pub namespace: Option<Arc<str>>,
    /// The pod.
    pub pod: Option<PodName>,
    /// The workload, where the source names it.
    pub workload: Option<WorkloadName>,
    /// Kubernetes labels of the pod, sorted by key; a source's own prefixes and its own labels
    /// (`k8s:`, `reserved:`, `io.cilium.…`) are not in here.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Cilium's reserved identities.
    pub entities: Entities,
    /// Ends of Goldmane that are not pods.
    pub network: Option<Network>,
    /// Mesh identity without the `spiffe://` scheme (case B68).
    pub identity: Option<Arc<str>>,
}

/// A pod's name, or what sources with aggregated names tell of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PodName {
    /// The whole name.
    Exact(Arc<str>),
    /// The pod's `generateName` (Goldmane's `web-7d9f8b6c5-*`, without the asterisk).
    Generated(Arc<str>),
}

/// A workload as a source names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkloadName {
    /// Kind, as in the Kubernetes API.
    pub kind: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// A set of Cilium's reserved identities (`reserved:host` and so on).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Entities(u16);

/// An end that Goldmane reports without being a pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Network {
    /// `pub`: some public address.
    Public,
    /// `pvt`: some private address.
    Private,
    /// A Calico network set.
    Set {
        /// Namespace of the set, absent for a global one.
        namespace: Option<Arc<str>>,
        /// Name of the set.
        name: Arc<str>,
    },
    /// A host endpoint: a node's interface.
    Host(Arc<str>),
}

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A packet passed a point of the datapath.
    Packet,
    /// A policy was consulted for a packet.
    PolicyVerdict,
    /// A packet was dropped.
    Drop,
    /// A request inside a connection (HTTP, DNS …).
    Request,
    /// A response inside a connection.
    Response,
    /// A system call on a socket: not a connection, and its addresses are before translation.
    Socket,
    /// A whole connection, or several: the source end opened it.
    Connection,
    /// A connection was opened and is not over yet; its end will be reported too.
    Opened,
    /// Not a flow: the reporter says what a policy decided about a connection reported elsewhere.
    PolicyLog,
}

/// Transport protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP with the flags of this packet; [`TcpFlags::NONE`] when the source has none.
    Tcp(TcpFlags),
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
    /// ICMP of either IP version.
    Icmp(Icmp),
    /// Another protocol, by the source's name or number.
    Other(Arc<str>),
    /// The source reported none.
    Missing,
}

/// An ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Icmp {
    /// `ICMPv4`, with its type and code where the source tells.
    V4(Option<(u8, u8)>),
    /// `ICMPv6`, with its type and code where the source tells.
    V6(Option<(u8, u8)>),
}

/// TCP flags of one packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TcpFlags(u8);

/// What became of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Passed.
    Forwarded,
    /// Passed on to a proxy.
    Redirected,
    /// Passed, though policy would deny it if it were enforced.
    Audit,
    /// Dropped.
    Dropped,
    /// The connection failed for another reason than policy.
    Failed,
    /// A socket event (traced or translated).
    Socket,
    /// The source said none, or one that we do not know.
    Unknown,
}

/// Why a flow was dropped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// A policy denied it.
    Policy,
    /// Another reason, in the source's words.
    Other(Arc<str>),
}

/// Direction of a connection as seen from one workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Into the workload.
    Ingress,
    /// Out of the workload.
    Egress,
}

/// Which end's side reported a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reporter {
    /// The opener's side.
    Source,
    /// The other side.
    Destination,
}

/// A policy that a source names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PolicyRef {
    /// Kind, as the source spells it.
    pub kind: Arc<str>,
    /// Namespace, absent for cluster-wide kinds.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Arc<str>,
}

impl fmt::Display for PolicyRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.kind, self.name),
            None => write!(formatter, "{} {}", self.kind, self.name),
        }
    }
}

/// A service that a client addressed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceRef {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Port of the service, where the source tells.
    pub port: Option<u16>,
}

/// A DNS answer that a flow carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsAnswer {
    /// The name asked for.
    pub query: Arc<str>,
    /// The addresses in the answer.
    pub addresses: Vec<IpAddr>,
}

/// The source lost events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// How many.
    pub count: u64,
    /// Which buffer overflowed, in the source's words.
    pub origin: Arc<str>,
    /// The node that lost them.
    pub node: Option<Arc<str>>,
    /// When the loss was reported.
    pub time: Option<Timestamp>,
}

/// A source's word about its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeStatus {
    /// What changed.
    pub state: NodeState,
    /// The nodes that it is about.
    pub nodes: Vec<Arc<str>>,
    /// The source's message.
    pub message: Option<Arc<str>>,
    /// The version of what reports there, where the source tells it.
    pub version: Option<Arc<str>>,
    /// When.
    pub time: Option<Timestamp>,
}

/// State of a node as a flow source sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeState {
    /// Reports.
    Connected,
    /// Cannot be reached.
    Unavailable,
    /// Is gone from the cluster.
    Gone,
    /// Its stream failed.
    Error,
    /// A state that we do not know.
    Unknown,
}

// === impl Observation ===

impl Observation {
    /// One flow of which nothing more is told: what can be absent is, and it is one connection.
    pub const fn new(provider: Provider, event: Event, source: End, destination: End) -> Self {
        Self {
            provider,
            time: None,
            node: None,
            event,
            source,
            destination,
            transport: Transport::Missing,
            source_port: None,
            destination_port: None,
            verdict: Verdict::Unknown,
            drop_reason: None,
            reply: None,
            answered: None,
            direction: None,
            reporter: None,
            denied_by: None,
            service: None,
            dns: None,
            connections: 1,
            connection_key: None,
            error: None,
        }
    }

    /// The same as the other side would have sent it: what an answer answers.
    #[must_use]
    pub fn turned(&self) -> Self {
        let direction = self.direction.map(|direction| match direction {
            Direction::Ingress => Direction::Egress,
            Direction::Egress => Direction::Ingress,
        });
        Self {
            source: self.destination.clone(),
            destination: self.source.clone(),
            source_port: self.destination_port,
            destination_port: self.source_port,
            direction,
            ..self.clone()
        }
    }
}

// === impl Entities ===

impl Entities {
    /// `reserved:host`: the reporter's own node.
    pub const HOST: Self = Self(1);
    /// `reserved:world` and its variants for one IP version.
    pub const WORLD: Self = Self(1 << 1);
    /// `reserved:unmanaged`: a pod that Cilium does not manage (case B58).
    pub const UNMANAGED: Self = Self(1 << 2);
    /// `reserved:health`: Cilium's own health checks.
    pub const HEALTH: Self = Self(1 << 3);
    /// `reserved:init`: a pod whose identity is not known yet (case B59).
    pub const INIT: Self = Self(1 << 4);
    /// `reserved:remote-node`: another node.
    pub const REMOTE_NODE: Self = Self(1 << 5);
    /// `reserved:kube-apiserver`.
    pub const KUBE_APISERVER: Self = Self(1 << 6);
    /// `reserved:ingress`: Cilium's ingress proxy.
    pub const INGRESS: Self = Self(1 << 7);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every member of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

// === impl TcpFlags ===

impl TcpFlags {
    /// No flag, or none reported.
    pub const NONE: Self = Self(0);
    /// SYN.
    pub const SYN: Self = Self(1);
    /// ACK.
    pub const ACK: Self = Self(1 << 1);
    /// FIN.
    pub const FIN: Self = Self(1 << 2);
    /// RST.
    pub const RST: Self = Self(1 << 3);
    /// PSH.
    pub const PSH: Self = Self(1 << 4);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
