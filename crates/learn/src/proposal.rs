//! What learning comes to: proposals, and what could not be put into any.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use netenf_policy::{Labels, Protocol, Selector};

use crate::classify::Skip;
use crate::config::Backend;
use crate::identity::{Workload, WorkloadSelector};
use crate::observation::{Direction, NodeState, PolicyRef};
use crate::time::Timestamp;

mod count;

pub use count::Counts;

/// Everything that was learned. Byte for byte the same for the same observations in any order.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One for each workload and direction, sorted by namespace and name; without those that were taken
    /// before, one at a time.
    pub proposals: Vec<Proposal>,
    /// How many proposals there are, taken before or not.
    pub proposal_count: usize,
    /// How many uncovered items they hold.
    pub uncovered_count: usize,
    /// What was seen but belongs to no proposal: no selector, or not enforceable by the backend.
    pub unplaced: Vec<Unplaced>,
    /// How many proposals are over the limit; what they would hold is told among `unplaced`.
    pub over_limit: usize,
    /// What became of every observation.
    pub funnel: Funnel,
    /// Every edge that works, for the evaluation of policies; sorted.
    pub edges: Vec<SeenEdge>,
    /// Denials seen, and who denied.
    pub denials: Vec<Denial>,
    /// What the sources said of their nodes.
    pub nodes: BTreeMap<Arc<str>, NodeState>,
    /// How often something was counted but not kept, since a limit was reached, by what it was.
    pub unlisted: BTreeMap<&'static str, u64>,
    /// First and last observation.
    pub window: Option<(Timestamp, Timestamp)>,
}

/// An edge that works: what a policy that denies it would cut.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenEdge {
    /// Who opens; shared by all edges of this end.
    pub source: Arc<SeenEnd>,
    /// To whom.
    pub destination: Arc<SeenEnd>,
    /// Protocol.
    pub protocol: Protocol,
    /// Port.
    pub port: u16,
    /// What the destination's containers call the port: a policy may name it so.
    pub port_names: Vec<Arc<str>>,
    /// Connections.
    pub count: u64,
    /// Observations.
    pub observations: u64,
    /// Whether they counted as learned.
    pub learned: bool,
    /// As what they were skipped, if they were; else, if not learned, they counted as uncovered.
    pub skipped: Option<Skip>,
    /// First seen.
    pub first: Option<Timestamp>,
    /// Last seen.
    pub last: Option<Timestamp>,
}

/// One end of an edge, as policies see it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeenEnd {
    /// Who it is.
    pub peer: Peer,
    /// Labels of its pods, where it is one.
    pub labels: Option<Labels>,
}

/// A proposed policy for one workload and direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Whose it is.
    pub subject: Workload,
    /// Connections out of it or into it.
    pub direction: Direction,
    /// What enforces it.
    pub backend: Backend,
    /// The subject's pods.
    pub selector: WorkloadSelector,
    /// Peers with their ports, sorted.
    pub rules: BTreeMap<RulePeer, Vec<(Protocol, u16)>>,
    /// Why each rule is there, sorted like the rules.
    pub evidence: Vec<Evidence>,
    /// What was seen and no rule expresses.
    pub uncovered: Vec<Uncovered>,
    /// Ranges that could stand for many ports.
    pub suggestions: Vec<Suggestion>,
    /// Denials by policies of others while learning (case B82).
    pub denials: Vec<Denial>,
    /// Times and nodes that learning did not see.
    pub gaps: Vec<Gap>,
    /// Its nodes that report, sorted, and when that was last told: a gap of theirs that was told before is over.
    pub reporting: Arc<[(Arc<str>, Option<Timestamp>)]>,
    /// What was cut by a limit, in words.
    pub truncated: Option<String>,
    /// When learning began.
    pub learned_since: Option<Timestamp>,
    /// When the newest of its rules was first seen.
    pub last_new_rule: Option<Timestamp>,
}

/// Whom a rule admits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RulePeer {
    /// Pods of one namespace by labels.
    Pods {
        /// Namespace.
        namespace: Arc<str>,
        /// Labels; never empty.
        selector: Selector,
    },
    /// Addresses.
    Block(IpNet),
    /// A mesh identity without `spiffe://`.
    Account(Arc<str>),
}

/// Why a rule is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The rule's peer.
    pub rule: RulePeer,
    /// Who it is.
    pub peer: Peer,
    /// Protocol.
    pub protocol: Protocol,
    /// Port.
    pub port: u16,
    /// Where the rule comes from.
    pub provenance: Provenance,
    /// Connections seen.
    pub count: u64,
    /// First seen.
    pub first: Option<Timestamp>,
    /// Last seen.
    pub last: Option<Timestamp>,
    /// By which services the client came, or `direct`.
    pub services: Vec<Arc<str>>,
    /// What a reviewer should know.
    pub notes: Vec<Arc<str>>,
    /// A pair of pods, source first.
    pub example: Option<(Arc<str>, Arc<str>)>,
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// Connections were seen.
    Observed,
    /// The cluster needs it: DNS, the API server, probes.
    Infrastructure,
    /// Packets were seen whose direction was inferred.
    Inferred,
}

/// An end, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Kind: of a workload, or `Node`, `ApiServer`, `External`, `ServiceAccount` …
    pub kind: Option<Arc<str>>,
    /// Namespace.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Option<Arc<str>>,
    /// Mesh identity.
    pub identity: Option<Arc<str>>,
    /// The address, or the first of several.
    pub address: Option<IpAddr>,
    /// All addresses, where there are several.
    pub addresses: Vec<IpAddr>,
    /// DNS names as they were meant, then as they were asked for where that differs.
    pub names: Vec<Arc<str>>,
    /// The service that was addressed.
    pub service: Option<Arc<str>>,
}

/// Something seen that no rule expresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncovered {
    /// Short and stable: a hash of subject, direction, peer, port and protocol.
    pub id: String,
    /// The peer.
    pub peer: Peer,
    /// Protocol, as text: it may be one that no rule can name.
    pub protocol: Arc<str>,
    /// Port.
    pub port: Option<u16>,
    /// Why there is no rule.
    pub reason: Reason,
    /// The rule that a person could still allow, where the peer can be selected.
    pub rule: Option<RulePeer>,
    /// Connections (or, for packets of unknown direction, packets) seen.
    pub count: u64,
    /// First seen.
    pub first: Option<Timestamp>,
    /// Last seen.
    pub last: Option<Timestamp>,
    /// What a reviewer should know.
    pub notes: Vec<Arc<str>>,
}

/// Why something seen has no rule (DESIGN, appendix).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Outside the cluster.
    External,
    /// A node.
    Node,
    /// Through a node's port.
    NodePort,
    /// A pod in its node's network.
    HostNetwork,
    /// The Kubernetes API server.
    ApiServer,
    /// A link-local address.
    LinkLocal,
    /// Outside the mesh, or not managed by the CNI.
    Unmanaged,
    /// A pod whose owner the cluster does not know (any more).
    UnknownOwner,
    /// The source tells no address.
    NoAddress,
    /// Nothing tells who opened the connection.
    Ambiguous,
    /// No attempt was answered.
    Unanswered,
    /// No selector selects exactly these pods.
    NoSelector,
    /// Over a limit.
    Truncated,
    /// A protocol that no rule can name, such as ICMP.
    Protocol,
}

/// A range that could stand for many ports.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// Short and stable.
    pub id: String,
    /// The rule's peer.
    pub rule: RulePeer,
    /// Who it is.
    pub peer: Peer,
    /// Protocol.
    pub protocol: Protocol,
    /// First port.
    pub port: u16,
    /// Last port.
    pub end_port: u16,
    /// From how many ports.
    pub ports: usize,
}

/// Denials seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Denial {
    /// Who was denied.
    pub source: SeenEnd,
    /// By whose side, or on the way to whom.
    pub destination: SeenEnd,
    /// On whose side.
    pub direction: Option<Direction>,
    /// Protocol.
    pub protocol: Option<Protocol>,
    /// Port.
    pub port: Option<u16>,
    /// The policy that denied it, where the source tells.
    pub by: Option<Arc<PolicyRef>>,
    /// Connections.
    pub count: u64,
    /// Observations: they counted as skipped.
    pub observations: u64,
    /// First seen.
    pub first: Option<Timestamp>,
    /// Last seen.
    pub last: Option<Timestamp>,
}

/// What learning did not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// On which node; `None` means any.
    pub node: Option<Arc<str>>,
    /// Why.
    pub reason: String,
    /// How many events are known to be lost.
    pub lost: Option<u64>,
    /// From when.
    pub since: Option<Timestamp>,
    /// To when.
    pub until: Option<Timestamp>,
}

/// Something seen of a workload that cannot have a proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplaced {
    /// Whose.
    pub subject: Peer,
    /// In which direction.
    pub direction: Direction,
    /// What.
    pub uncovered: Uncovered,
}

/// What became of every observation: `received` is the sum of all others but `lost`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Funnel {
    /// Observations, and input that could not be decoded.
    pub received: u64,
    /// In a rule.
    pub learned: u64,
    /// Teach nothing, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Seen, but not expressed by a rule.
    pub uncovered: u64,
    /// Not allowed by policies of ours. The learner knows no policies and leaves it 0; it is for those who
    /// judge the outcome to move observations here from where the learner counted them.
    pub violations: u64,
    /// Could not be decoded.
    pub errors: u64,
    /// Lost by the sources: not part of `received`.
    pub lost: u64,
}

/// A few workloads for people; how many more there are.
pub fn listed(workloads: &[Workload]) -> String {
    const SHOWN: usize = 3;
    let names = workloads.iter().take(SHOWN);
    let mut text =
        names.map(|one| format!("{}/{}", one.kind, one.name)).collect::<Vec<_>>().join(", ");
    if let Some(more) = workloads.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

// === impl Reason ===

impl Reason {
    /// The name in resources and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::External => "External",
            Self::Node => "Node",
            Self::NodePort => "NodePort",
            Self::HostNetwork => "HostNetwork",
            Self::ApiServer => "ApiServer",
            Self::LinkLocal => "LinkLocal",
            Self::Unmanaged => "Unmanaged",
            Self::UnknownOwner => "UnknownOwner",
            Self::NoAddress => "NoAddress",
            Self::Ambiguous => "Ambiguous",
            Self::Unanswered => "Unanswered",
            Self::NoSelector => "NoSelector",
            Self::Truncated => "Truncated",
            Self::Protocol => "Protocol",
        }
    }
}

// === impl Funnel ===

impl Funnel {
    /// Adds `count` observations that teach nothing.
    pub fn skip(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.skipped.entry(reason).or_default() += count;
        }
    }

    /// What the parts come to; equal to `received`.
    pub fn sum(&self) -> u64 {
        let skipped: u64 = self.skipped.values().sum();
        self.learned + skipped + self.uncovered + self.violations + self.errors
    }
}
