//! What network policies decide about a connection, and why.
//!
//! Pure: no I/O, no clock, no Kubernetes types; time is an argument.
//!
//! ```text
//! NetworkPolicy, ClusterPolicy ─┐
//! Pod, Namespace, Node ─────────┼─ naive   -> Explanation   straight from the text, slow, says why
//! DomainCache ──────────────────┘  Engine  -> Snapshot      compiled: verdicts without lock or allocation
//! ```
//!
//! [`evaluate()`] is the part for NetworkPolicies alone, between given ends. [`Policies::parts`] asks for
//! everything that may pass between two ends at once, in one direction.

pub mod cluster;
pub mod cluster_policy;
pub mod connectivity;
pub mod domain;
pub mod engine;
pub mod evaluate;
pub mod explanation;
pub mod label;
pub mod naive;
pub mod network_policy;
pub mod packet;
pub mod selector;
pub mod space;
pub mod transports;

pub use cluster::Cluster;
pub use cluster_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, PodSet, Tier,
};
pub use connectivity::Part;
pub use domain::{DomainCache, Pattern};
pub use engine::{Engine, Outcome, Ruling, Snapshot};
pub use evaluate::{Connection, Decision, End, Pod, Reason, Side, Verdict, evaluate};
pub use explanation::{Decider, Explanation, Finding, Lack, Nearest, Object, RuleId};
pub use label::Labels;
pub use naive::Policies;
pub use network_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule};
pub use packet::{Packet, Transport};
pub use selector::{Operator, Requirement, Selector};
pub use space::AddressRange;
pub use transports::Transports;
