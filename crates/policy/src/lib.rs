//! What network policies decide about a connection, and why.
//!
//! Pure: no I/O, no clock, no Kubernetes types. [`evaluate()`] is written straight from the text of the
//! NetworkPolicy API (networking.k8s.io/v1), for clarity and not for speed.

pub mod evaluate;
pub mod label;
pub mod network_policy;
pub mod selector;

pub use evaluate::{Connection, Decision, End, Pod, Reason, Side, Verdict, evaluate};
pub use label::Labels;
pub use network_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule};
pub use selector::{Operator, Requirement, Selector};
