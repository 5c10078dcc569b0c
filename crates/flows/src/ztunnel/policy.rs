//! Lines of `ztunnel::state`: what a policy decided about a connection to one pod.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::quality::FixedState;
use netenf_learn::{
    Direction, DropReason, End, Event, Observation, Provider, Reporter, TcpFlags, Transport,
    Verdict,
};

use super::access::socket;
use super::wire::Line;
use super::{Decoder, namespaced};
use crate::value::Text;
use crate::{DecodeError, error};

impl Decoder {
    /// `None` is a message that is not about a decision.
    pub(super) fn policy(
        &mut self,
        message: &str,
        text: &str,
    ) -> Result<Option<Observation>, DecodeError> {
        let Some(verdict) = verdict(message) else { return Ok(None) };
        error::parse(text).map(|line| Some(self.decision(message, verdict, &line)))
    }

    fn decision(&mut self, message: &str, verdict: Verdict, line: &Line<'_>) -> Observation {
        let denies = matches!(verdict, Verdict::Audit | Verdict::Dropped);
        let from = socket(line.inbound.peer.as_ref());
        let source = End {
            endpoint: self.endpoint(None, None, None),
            address: from.address,
            names: Vec::new(),
        };
        let (namespace, pod) = Text::filled(line.proxy.wl.as_ref()).and_then(namespaced).unzip();
        let endpoint = self.endpoint(namespace, pod, None);
        let destination = End { endpoint, address: None, names: Vec::new() };
        let policy = Text::filled(line.policy.as_ref()).filter(|_| denies);
        Observation {
            time: line.time.map(|time| time.0),
            transport: Transport::Tcp(TcpFlags::NONE),
            source_port: from.port,
            verdict,
            drop_reason: denies.then_some(DropReason::Policy),
            direction: Some(Direction::Ingress),
            reporter: Some(Reporter::Destination),
            denied_by: policy.and_then(|policy| self.policy_ref(policy)),
            connection_key: Some(decision_key(message, line)),
            ..Observation::new(Provider::Ztunnel, Event::PolicyLog, source, destination)
        }
    }
}

/// What a message of ztunnel's policy check means. `None` is a message about something else.
///
/// Up to 1.29 the messages of dry runs have no colon.
fn verdict(message: &str) -> Option<Verdict> {
    let (message, dry_run) = match message.strip_prefix("dry-run") {
        Some(rest) => (rest.trim_start_matches([':', ' ']), true),
        None => (message, false),
    };
    match message {
        "allow policy match" | "no allow policies, allow" => Some(Verdict::Forwarded),
        "deny policy match" | "no allow policies match" | "no allow policies matched" => {
            Some(if dry_run { Verdict::Audit } else { Verdict::Dropped })
        }
        _ => None,
    }
}

/// Tells decisions apart; a connection that is not in the mesh has neither peer nor number here.
fn decision_key(message: &str, line: &Line<'_>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for part in [&line.proxy.wl, &line.inbound.id, &line.inbound.peer, &line.policy] {
        Text::filled(part.as_ref()).hash(&mut hasher);
    }
    (message, line.time.map(|time| time.0)).hash(&mut hasher);
    hasher.finish()
}
