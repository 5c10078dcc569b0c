//! Everything that was seen between two ends, whatever becomes of it: for people who look at traffic.

use std::sync::Arc;

use super::edge::Fate;
use super::{Proposals, peer, recorded};
use crate::classify::Skip;
use crate::directory::Directory;
use crate::observation::End;
use crate::proposal::{Peer, Reason, SeenEnd};
use crate::resolve::resolve;
use crate::time::Timestamp;

/// Connections, or packets of a protocol without any, between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Who opens.
    pub source: Peer,
    /// To whom.
    pub destination: Peer,
    /// Protocol, as text: it may be one that no rule can name.
    pub protocol: Arc<str>,
    /// Port, where the protocol has one.
    pub port: Option<u16>,
    /// What became of it.
    pub state: State,
    /// Connections (or, for packets of unknown direction, packets) seen.
    pub count: u64,
    /// First seen.
    pub first: Option<Timestamp>,
    /// Last seen.
    pub last: Option<Timestamp>,
}

/// What became of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It works, or nothing says that it does not.
    Alive,
    /// Answers would have been seen, and there were none.
    Unanswered,
    /// Refused or denied each time.
    Refused,
    /// Nothing tells who opened it.
    Ambiguous,
}

/// Who an end is, by the cluster's objects or else by the source; why it cannot be told.
pub fn who(directory: &dyn Directory, end: &End, time: Option<Timestamp>) -> Result<Peer, Skip> {
    let resolved = resolve(directory, end, time)?;
    let mut peer = peer::of_party(&resolved.party);
    peer.names.clone_from(&end.names);
    Ok(peer)
}

/// The same end as policies see it.
pub fn seen(
    directory: &dyn Directory,
    end: &End,
    time: Option<Timestamp>,
) -> Result<SeenEnd, Skip> {
    let resolved = resolve(directory, end, time)?;
    let declared = resolved.party.workload().and_then(|workload| directory.labels(workload));
    let mut peer = peer::of_party(&resolved.party);
    peer.names.clone_from(&end.names);
    Ok(SeenEnd { peer, labels: declared.or(resolved.labels) })
}

impl<D: Directory> Proposals<'_, D> {
    /// Everything that was seen between two ends; what is skipped on sight is not in it. Sorted.
    pub fn traffic(&self) -> Vec<Traffic> {
        let mut all: Vec<Traffic> =
            (0u32..).take(self.placer.things()).map(|id| self.one(id)).collect();
        all.sort_by(|a, b| key(a).cmp(&key(b)));
        all
    }

    fn one(&self, id: u32) -> Traffic {
        let traffic = self.placer.traffic(id);
        let end = |id| peer::addressed(self.learner, self.placer.cast(), id);
        let state = match (traffic.fate, traffic.reason) {
            (Some(Fate::Unanswered), _) => State::Unanswered,
            (Some(Fate::Refused), _) => State::Refused,
            (None, Some(Reason::Ambiguous)) => State::Ambiguous,
            (Some(Fate::Alive) | None, _) => State::Alive,
        };
        let sum = self.placer.sum(id);
        Traffic {
            source: end(traffic.source),
            destination: end(traffic.destination),
            protocol: self.placer.protocol(id),
            port: traffic.at.map(|(_, port)| port),
            state,
            count: sum.count,
            first: sum.first.and_then(recorded),
            last: sum.last.and_then(recorded),
        }
    }
}

fn key(one: &Traffic) -> (&Peer, &Peer, &str, Option<u16>, State) {
    (&one.source, &one.destination, &one.protocol, one.port, one.state)
}
