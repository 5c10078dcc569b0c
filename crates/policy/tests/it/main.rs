//! The engine against tables: what the APIs' texts say, what their conformance and end-to-end tests expect.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod conformance;
mod cyclonus;
mod e2e;
mod explanation;
mod hostile;
mod network_policy;
mod spec;
mod text;
mod world;
