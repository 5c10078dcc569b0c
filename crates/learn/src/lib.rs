//! What a recording of flows teaches: observations become edges with evidence, edges become proposals.
//!
//! Everything here is pure. Time, configuration and the cluster's objects are arguments; nothing
//! reads a clock, a file or an environment variable, and nothing knows the Kubernetes API.
//!
//! ```text
//! Observation -> classify -> connection -> edge -> (outcome) -> Proposal: rules + uncovered
//!                    |           |
//!                 skipped    direction, answered or not, one count a connection
//! ```
//!
//! Results do not depend on the order of the observations: everything that needs the whole picture
//! (identity without cluster objects, direction by repetition, answered or not) is decided in
//! [`Learner::outcome`], from sums that commute.

pub mod classify;
pub mod config;
mod connection;
pub mod directory;
mod gap;
pub mod identity;
pub mod label;
mod learner;
pub mod name;
pub mod observation;
mod outcome;
pub mod proposal;
mod resolve;
#[cfg(test)]
mod sample;
mod sum;
pub mod time;
pub mod wording;

pub use config::{Backend, Caps, Compat, Config, ExternalPeers, Scope, Subjects};
pub use directory::{Directory, NoObjects};
pub use identity::{Party, SelectorOrigin, Workload, WorkloadSelector};
pub use learner::{Learner, Sizes};
pub use observation::{
    Direction, DnsAnswer, DropReason, End, Endpoint, Entities, Event, Icmp, LostEvents, Network,
    NodeState, NodeStatus, Observation, PodName, PolicyRef, Provider, Reporter, ServiceRef,
    TcpFlags, Transport, Verdict, WorkloadName,
};
pub use outcome::{Proposals, State, Traffic, seen, who};
pub use time::Timestamp;
