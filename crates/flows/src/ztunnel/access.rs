//! Access lines: a connection was opened, is over, or failed.

use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use foldhash::quality::FixedState;
use netenf_learn::{
    Direction, DropReason, End, Event, Observation, PolicyRef, Provider, Reporter, ServiceRef,
    TcpFlags, Transport, Verdict,
};

use super::wire::{Line, Side};
use super::{Decoder, namespaced};
use crate::value::{Text, address};
use crate::{DecodeError, error};

/// What comes before the policy's name in the error of a connection that it denied.
const DENIED_BY: &str = "explicitly denied by: ";

/// Texts of ztunnel's errors that mean a policy: when the connection was opened, or later when the
/// policy changed.
const POLICY_ERRORS: [&str; 4] =
    ["policy rejection", DENIED_BY, "allow policies exist, but none allowed", "policy change"];

/// What an access line says of its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opened,
    Complete,
    Failed,
}

/// A peer as ztunnel writes it, `ip:port` or `host:port`.
#[derive(Default)]
pub(super) struct Socket<'a> {
    pub(super) address: Option<IpAddr>,
    pub(super) host: Option<&'a str>,
    pub(super) port: Option<u16>,
}

impl Decoder {
    /// `None` is a message that is not about a connection.
    pub(super) fn access(
        &mut self,
        message: &str,
        text: &str,
    ) -> Result<Option<Observation>, DecodeError> {
        let Some(stage) = stage(message) else { return Ok(None) };
        error::parse(text).map(|line| Some(self.connection(stage, &line)))
    }

    fn connection(&mut self, stage: Stage, line: &Line<'_>) -> Observation {
        let error = Text::filled(line.error.as_ref());
        let verdict = verdict(stage, error);
        let direction = direction(line);
        let mut source = self.side(&line.source);
        let from = socket(line.source.addr.as_ref());
        source.address = from.address;
        let (destination, port, service) = self.destination(&line.destination);
        Observation {
            time: line.time.map(|time| time.0),
            transport: Transport::Tcp(TcpFlags::NONE),
            source_port: from.port,
            destination_port: port,
            verdict,
            drop_reason: (verdict == Verdict::Dropped).then_some(DropReason::Policy),
            direction,
            reporter: direction.map(reporter),
            denied_by: error.and_then(|error| self.denied_by(error)),
            service,
            connection_key: Some(connection_key(line)),
            error: error.map(|error| self.names.share(error)),
            ..Observation::new(Provider::Ztunnel, stage.event(), source, destination)
        }
    }

    /// The real destination: inside the tunnel if there is one, whose own address tells nothing.
    fn destination(&mut self, side: &Side<'_>) -> (End, Option<u16>, Option<Arc<ServiceRef>>) {
        let mut end = self.side(side);
        let to = socket(side.hbone_addr.as_ref().or(side.addr.as_ref()));
        end.address = to.address;
        let service = Text::filled(side.service.as_ref());
        let reference = service.and_then(|service| self.service(service));
        let foreign = service.filter(|_| reference.is_none());
        for host in [to.host, foreign].into_iter().flatten() {
            let host = self.names.share(host);
            if !end.names.contains(&host) {
                end.names.push(host);
            }
        }
        (end, to.port, reference)
    }

    /// The Service of `name.ns.svc.domain`; another host name is none of Kubernetes.
    fn service(&mut self, host: &str) -> Option<Arc<ServiceRef>> {
        let Self { services, names, .. } = self;
        services.value(host.as_bytes(), || {
            let mut labels = host.split('.');
            let parts = (labels.next(), labels.next(), labels.next());
            let (Some(name), Some(namespace), Some("svc")) = parts else { return None };
            let (namespace, name) = (names.share(namespace), names.share(name));
            Some(Arc::new(ServiceRef { namespace, name, port: None }))
        })
    }

    /// The policy that the error of a rejected connection names.
    fn denied_by(&mut self, error: &str) -> Option<Arc<PolicyRef>> {
        let (_, policy) = error.split_once(DENIED_BY)?;
        self.policy_ref(policy.split_whitespace().next()?)
    }

    /// The `AuthorizationPolicy` that ztunnel writes as `ns/name`.
    pub(super) fn policy_ref(&mut self, policy: &str) -> Option<Arc<PolicyRef>> {
        let (namespace, name) = namespaced(policy)?;
        let Self { policies, names, .. } = self;
        Some(policies.value(policy.as_bytes(), || {
            let (namespace, name) = (Some(names.share(namespace)), names.share(name));
            Arc::new(PolicyRef { kind: names.share("AuthorizationPolicy"), namespace, name })
        }))
    }
}

// === impl Stage ===

impl Stage {
    const fn event(self) -> Event {
        match self {
            Self::Opened => Event::Opened,
            Self::Complete | Self::Failed => Event::Connection,
        }
    }
}

/// What a message is about. `None` is something else than a connection.
fn stage(message: &str) -> Option<Stage> {
    match message {
        "connection opened" => Some(Stage::Opened),
        "connection complete" => Some(Stage::Complete),
        "connection failed" => Some(Stage::Failed),
        _ => None,
    }
}

/// What became of a connection; one that was only opened has still all before it.
fn verdict(stage: Stage, error: Option<&str>) -> Verdict {
    match (stage, error) {
        (Stage::Opened, _) => Verdict::Unknown,
        (Stage::Complete, None) => Verdict::Forwarded,
        (Stage::Complete | Stage::Failed, Some(error)) if is_policy(error) => Verdict::Dropped,
        (Stage::Complete | Stage::Failed, _) => Verdict::Failed,
    }
}

fn is_policy(error: &str) -> bool {
    POLICY_ERRORS.iter().any(|text| error.contains(text))
}

fn direction(line: &Line<'_>) -> Option<Direction> {
    match Text::filled(line.direction.as_ref()) {
        Some("inbound") => Some(Direction::Ingress),
        Some("outbound") => Some(Direction::Egress),
        _ => None,
    }
}

/// The ztunnel of the destination logs what comes in, the source's what goes out.
const fn reporter(direction: Direction) -> Reporter {
    match direction {
        Direction::Ingress => Reporter::Destination,
        Direction::Egress => Reporter::Source,
    }
}

/// Takes `ip:port`, `[ip]:port` or `host:port` apart.
pub(super) fn socket<'a>(text: Option<&'a Text<'_>>) -> Socket<'a> {
    let Some(text) = Text::filled(text) else { return Socket::default() };
    if let Some(address) = address(text) {
        return Socket { address: Some(address), ..Socket::default() };
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let address = address(bare);
    Socket {
        address,
        host: (address.is_none() && !host.is_empty()).then_some(host),
        port: port.parse().ok(),
    }
}

/// Tells connections apart: one socket may be used again, but not at the same moment.
fn connection_key(line: &Line<'_>) -> u64 {
    let to = line.destination.hbone_addr.as_ref().or(line.destination.addr.as_ref());
    let mut hasher = FixedState::default().build_hasher();
    Text::filled(line.source.addr.as_ref()).hash(&mut hasher);
    Text::filled(to).hash(&mut hasher);
    line.time.map(|time| time.0).hash(&mut hasher);
    Text::filled(line.direction.as_ref()).hash(&mut hasher);
    hasher.finish()
}
