//! Whether the agent is ready, and why not: everything that it must know of the cluster is known and kept
//! up to date, and it leads or stands by.

use std::collections::{BTreeMap, BTreeSet};

use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_cluster::pulse::Pulse;
use netenf_cluster::watch::States;
use serde::Serialize;
use tokio::sync::watch;

use crate::source::State;

#[cfg(test)]
mod tests;

/// What readiness depends on.
#[derive(Clone)]
pub(crate) struct Readiness {
    /// Kinds of which the index knows nothing yet.
    pub(crate) pending: watch::Receiver<BTreeSet<Kind>>,
    pub(crate) states: watch::Receiver<States>,
    pub(crate) pulse: watch::Receiver<Pulse>,
    pub(crate) leadership: Leadership,
    pub(crate) source: watch::Receiver<State>,
}

/// The answer of `/readyz?verbose`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) ready: bool,
    leads: bool,
    /// How the source of flows is.
    source: State,
    /// Why it is not ready, by part; empty if it is.
    pub(crate) faults: BTreeMap<&'static str, String>,
    /// How it stands with each kind.
    kinds: BTreeMap<&'static str, String>,
}

// === impl Readiness ===

impl Readiness {
    pub(crate) fn report(&self) -> Report {
        let faults = faults(
            &self.pending.borrow(),
            &self.states.borrow(),
            &self.pulse.borrow(),
            self.leadership.trouble(),
            self.source.borrow().fault(),
        );
        let states = self.states.borrow();
        let kinds = states.iter().map(|(kind, state)| (kind.resource(), state.to_string()));
        Report {
            ready: faults.is_empty(),
            leads: self.leadership.is_held(),
            source: self.source.borrow().clone(),
            faults,
            kinds: kinds.collect(),
        }
    }
}

fn faults(
    pending: &BTreeSet<Kind>,
    states: &States,
    pulse: &Pulse,
    lease: Option<String>,
    source: Option<String>,
) -> BTreeMap<&'static str, String> {
    let waiting = pending.iter().map(|kind| (kind.resource(), "not indexed yet".to_owned()));
    let watches = states.iter().filter_map(|(kind, state)| {
        state.fault(kind.presence()).map(|fault| (kind.resource(), fault))
    });
    let server = match pulse {
        Pulse::Answers => None,
        Pulse::Unknown => Some(("apiServer", "not asked yet".to_owned())),
        Pulse::Silent(why) => Some(("apiServer", format!("does not answer: {why}"))),
    };
    let lease = lease.map(|why| ("lease", format!("nobody is known to lead: {why}")));
    let source = source.map(|why| ("source", why));
    // What a watch says tells more than that the index waits for it.
    waiting.chain(watches).chain(server).chain(lease).chain(source).collect()
}
