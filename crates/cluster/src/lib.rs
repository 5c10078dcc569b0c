//! The Kubernetes API: what the cluster's objects are, writing our own, one leader among several
//! replicas, Events, and the queue of work that follows from all of that.
//!
//! ```text
//! API server -> watch -> Change, in one bounded channel -> whoever owns the netenf_k8s::Index
//!            <- apply <- objects that pure code rendered, one at a time per name <- queue
//! ```
//!
//! Whatever waits for the server is bounded: channels and queues hold a number of entries, a request has a
//! time limit, and what is tried again is tried with growing pauses and counted. Nothing here decides what
//! an object says.

pub mod apply;
pub mod client;
pub mod event;
pub mod kind;
pub mod lease;
pub mod pulse;
pub mod queue;
pub mod watch;

pub use kind::Kind;
