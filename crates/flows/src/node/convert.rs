//! What a node agent reports, as observations. A report is hostile until it was read: what contradicts the format is
//! refused or counted as lost, and no time of a node's clock is believed that lies in our future.

use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use foldhash::quality::FixedState;
use netenf_learn::{
    Direction, DropReason, End, Endpoint, Entities, Event, Icmp, LostEvents, Network, Observation,
    PodName, PolicyRef, Provider, Reporter, ServiceRef, TcpFlags, Timestamp, Transport, Verdict,
    WorkloadName,
};
use netenf_proto::netenf::v1;

use crate::Record;
use crate::cache::{Cache, Names};

mod sum;

use sum::Flows;

/// How many edges a report holds, at most.
pub const EDGES: usize = 1_000;

/// How many losses a report tells of, at most.
pub const LOSSES: usize = 64;

/// How many records a report becomes, at most: an edge is what was answered and what was not, and what could not be
/// read is one loss more.
pub(super) const RECORDS: usize = 2 * EDGES + LOSSES + 1;

/// The longest text of an edge: names of objects and domains have 253 characters, identities are of several.
const TEXT: usize = 1_024;

/// How many names of an address are kept.
const NAMES: usize = 16;

/// The longest reason of a loss that is kept.
const REASON: usize = 128;

/// The longest window that is believed.
const WINDOW: Duration = Duration::from_hours(24);

/// Reads the reports of one stream; ends that were seen before are shared.
#[derive(Debug, Default)]
pub(super) struct Converter {
    endpoints: Cache<Arc<Endpoint>>,
    policies: Cache<Arc<PolicyRef>>,
    services: Cache<Arc<ServiceRef>>,
    names: Names,
}

/// An edge that cannot be read, and why.
type Unreadable = &'static str;

/// What holds for all edges of a report.
struct Frame {
    node: Arc<str>,
    start: Timestamp,
    end: Timestamp,
    now: Timestamp,
}

// === impl Converter ===

impl Converter {
    /// The records of a report that is taken in at `now`.
    ///
    /// # Errors
    /// If the report is longer than reports may be: an agent would send it again for ever, so it has to hear of it.
    pub(super) fn report(
        &mut self,
        report: &v1::ReportEdgesRequest,
        now: Timestamp,
    ) -> Result<Vec<Record>, String> {
        let (edges, losses) = (report.edges.len(), report.losses.len());
        if edges > EDGES || losses > LOSSES {
            return Err(format!(
                "a report of {edges} edges and {losses} losses is too long: {EDGES} and {LOSSES} may be in one"
            ));
        }
        let time = |time: &Option<prost_types::Timestamp>| time.as_ref().and_then(time_told);
        let end = time(&report.window_end).map_or(now, |end| end.min(now));
        let start = time(&report.window_start).unwrap_or(end).clamp(end.minus(WINDOW), end);
        let frame = Frame { node: self.names.share(&report.node), start, end, now };
        let mut flows = Flows::default();
        let (mut unreadable, mut why) = (0, "");
        for edge in &report.edges {
            match self.edge(edge, &frame) {
                Ok(observations) => observations.for_each(|flow| flows.add(flow)),
                Err(reason) => (unreadable, why) = (unreadable + 1, reason),
            }
        }
        let mut records: Vec<Record> = flows.into_all().into_iter().map(Record::Flow).collect();
        records.extend(report.losses.iter().map(|loss| Record::Lost(self.loss(loss, &frame))));
        if unreadable > 0 {
            let origin = self.names.share(&format!("unreadable edges: {why}"));
            let (node, time) = (Some(frame.node), Some(frame.end));
            records.push(Record::Lost(LostEvents { count: unreadable, origin, node, time }));
        }
        Ok(records)
    }

    /// The reports of a run that were never seen.
    pub(super) fn missing(&mut self, node: &str, count: u64, now: Timestamp) -> Record {
        let origin = self.names.share("reports that never came");
        Record::Lost(LostEvents {
            count,
            origin,
            node: Some(self.names.share(node)),
            time: Some(now),
        })
    }

    fn loss(&mut self, loss: &v1::Loss, frame: &Frame) -> LostEvents {
        let reason: String =
            loss.reason.chars().filter(|letter| !letter.is_control()).take(REASON).collect();
        let time = loss.last.as_ref().and_then(time_told).unwrap_or(frame.end);
        LostEvents {
            count: loss.count,
            origin: self.names.share(&reason),
            node: Some(frame.node.clone()),
            time: Some(time.min(frame.now)),
        }
    }

    /// One observation for the connections that were answered or of which that is not known, one for the others.
    fn edge(
        &mut self,
        report: &v1::EdgeReport,
        frame: &Frame,
    ) -> Result<impl Iterator<Item = Observation> + use<>, Unreadable> {
        let whole = self.observation(report, frame)?;
        let is_followed = whole.verdict != Verdict::Dropped;
        let answered = report.answered.filter(|_| is_followed).map(|count| count.min(report.count));
        let part = |count: u64, answered: Option<bool>| {
            let key = key(&whole, frame.start, answered);
            let (connections, connection_key) = (count, Some(key));
            let part = Observation { answered, connections, connection_key, ..whole.clone() };
            (count > 0).then_some(part)
        };
        let parts = match answered {
            None => [part(report.count, None), None],
            Some(answered) => {
                [part(answered, Some(true)), part(report.count - answered, Some(false))]
            }
        };
        Ok(parts.into_iter().flatten())
    }

    fn observation(
        &mut self,
        report: &v1::EdgeReport,
        frame: &Frame,
    ) -> Result<Observation, Unreadable> {
        let edge = report.edge.as_ref().ok_or("no edge")?;
        let (Some(from), Some(to)) = (&edge.source, &edge.destination) else {
            return Err("an end is missing");
        };
        if report.count == 0 {
            return Err("no connection");
        }
        let port = u16::try_from(edge.port).map_err(|_| "no port has that number")?;
        let direction = direction(edge.direction())?;
        let transport = transport(edge.protocol());
        let has_port = !matches!(transport, Transport::Icmp(_) | Transport::Other(_));
        let (source, destination) = (self.end(from)?, self.end(to)?);
        let (verdict, drop_reason, denied_by) = self.verdict(report)?;
        let (reporter, opened) = match direction {
            Direction::Egress => (Reporter::Source, &source),
            Direction::Ingress => (Reporter::Destination, &destination),
        };
        if opened.endpoint.pod.is_none()
            && opened.endpoint.workload.is_none()
            && opened.address.is_none()
        {
            return Err("the subject is not named");
        }
        Ok(Observation {
            time: Some(time_of(report, frame)),
            node: Some(frame.node.clone()),
            transport,
            destination_port: has_port.then_some(port),
            verdict,
            drop_reason,
            direction: Some(direction),
            reporter: Some(reporter),
            denied_by,
            service: self.service(&to.service)?,
            ..Observation::new(Provider::Node, Event::Connection, source, destination)
        })
    }

    /// What was done. That a policy in monitor would have denied it does not stop it.
    #[expect(
        clippy::type_complexity,
        reason = "the three fields of an observation that one field here tells"
    )]
    fn verdict(
        &mut self,
        report: &v1::EdgeReport,
    ) -> Result<(Verdict, Option<DropReason>, Option<Arc<PolicyRef>>), Unreadable> {
        let decision = report.decision.as_ref();
        let denies = decision.is_some_and(|it| it.verdict() == v1::Verdict::Deny);
        Ok(match report.verdict() {
            v1::Verdict::Allow if denies => (Verdict::Audit, None, None),
            v1::Verdict::Allow => (Verdict::Forwarded, None, None),
            v1::Verdict::Deny => {
                let by = decision.filter(|_| denies).and_then(|it| it.policy.as_ref());
                let by = by.map(|policy| self.policy(policy)).transpose()?;
                (Verdict::Dropped, Some(DropReason::Policy), by)
            }
            v1::Verdict::Unspecified => (Verdict::Unknown, None, None),
        })
    }

    fn policy(&mut self, policy: &v1::PolicyRef) -> Result<Arc<PolicyRef>, Unreadable> {
        let v1::PolicyRef { kind, namespace, name } = policy;
        let key = joined(&[kind, namespace, name])?;
        let Self { policies, names, .. } = self;
        Ok(policies.value(key.as_bytes(), || {
            let namespace = (!namespace.is_empty()).then(|| names.share(namespace));
            Arc::new(PolicyRef { kind: names.share(kind), namespace, name: names.share(name) })
        }))
    }

    fn service(&mut self, service: &str) -> Result<Option<Arc<ServiceRef>>, Unreadable> {
        if service.is_empty() {
            return Ok(None);
        }
        let (namespace, name) = service.split_once('/').ok_or("a service is no NAMESPACE/NAME")?;
        let key = joined(&[service])?;
        let Self { services, names, .. } = self;
        Ok(Some(services.value(key.as_bytes(), || {
            let (namespace, name) = (names.share(namespace), names.share(name));
            Arc::new(ServiceRef { namespace, name, port: None })
        })))
    }

    fn end(&mut self, peer: &v1::Peer) -> Result<End, Unreadable> {
        let address = match peer.address.as_str() {
            "" => None,
            text => Some(text.parse::<IpAddr>().map_err(|_| "an address is none")?.to_canonical()),
        };
        let is_long = |name: &&String| name.len() > TEXT;
        if peer.names.iter().take(NAMES).any(|name| is_long(&name)) {
            return Err("a name is too long");
        }
        let names = peer.names.iter().take(NAMES).map(|name| self.names.share(name)).collect();
        Ok(End { endpoint: self.endpoint(peer)?, address, names })
    }

    fn endpoint(&mut self, peer: &v1::Peer) -> Result<Arc<Endpoint>, Unreadable> {
        let none = String::new();
        let pod = peer.pod.as_ref().map_or([&none; 2], |pod| [&pod.namespace, &pod.name]);
        let workload = peer.workload.as_ref();
        let workload = workload.map_or([&none; 3], |it| [&it.namespace, &it.kind, &it.name]);
        let kind = peer.kind.to_string();
        let key = joined(&[
            &kind,
            pod[0],
            pod[1],
            workload[0],
            workload[1],
            workload[2],
            &peer.identity,
            &peer.node,
        ])?;
        let Self { endpoints, names, .. } = self;
        Ok(endpoints.value(key.as_bytes(), || Arc::new(endpoint(peer, (pod, workload), names))))
    }
}

/// Who an end is, as the reporter knows it.
fn endpoint(
    peer: &v1::Peer,
    (pod, workload): ([&String; 2], [&String; 3]),
    names: &mut Names,
) -> Endpoint {
    let mut text = |text: &String| (!text.is_empty()).then(|| names.share(text));
    let (entities, network) = match peer.kind() {
        v1::PeerKind::Node if peer.node.is_empty() => (Entities::HOST, None),
        v1::PeerKind::Node => (Entities::default(), text(&peer.node).map(Network::Host)),
        v1::PeerKind::KubeApiserver => (Entities::KUBE_APISERVER, None),
        v1::PeerKind::External => (Entities::WORLD, None),
        v1::PeerKind::Unspecified
        | v1::PeerKind::Workload
        | v1::PeerKind::ServiceAccount
        | v1::PeerKind::Dns
        | v1::PeerKind::Unknown => (Entities::default(), None),
    };
    let identity = peer.identity.strip_prefix("spiffe://").unwrap_or(&peer.identity).to_owned();
    Endpoint {
        namespace: text(pod[0]).or_else(|| text(workload[0])),
        pod: text(pod[1]).map(PodName::Exact),
        workload: text(workload[1])
            .zip(text(workload[2]))
            .map(|(kind, name)| WorkloadName { kind, name }),
        entities,
        network,
        identity: text(&identity),
        ..Endpoint::default()
    }
}

/// The texts as one key.
fn joined(texts: &[&str]) -> Result<String, Unreadable> {
    if texts.iter().any(|text| text.len() > TEXT) {
        return Err("a text is too long");
    }
    Ok(texts.join("\0"))
}

fn direction(direction: v1::Direction) -> Result<Direction, Unreadable> {
    match direction {
        v1::Direction::Ingress => Ok(Direction::Ingress),
        v1::Direction::Egress => Ok(Direction::Egress),
        v1::Direction::Unspecified => Err("the direction is not told"),
    }
}

fn transport(protocol: v1::Protocol) -> Transport {
    match protocol {
        v1::Protocol::Tcp => Transport::Tcp(TcpFlags::NONE),
        v1::Protocol::Udp => Transport::Udp,
        v1::Protocol::Sctp => Transport::Sctp,
        v1::Protocol::Icmp => Transport::Icmp(Icmp::V4(None)),
        v1::Protocol::Icmpv6 => Transport::Icmp(Icmp::V6(None)),
        v1::Protocol::Other => Transport::Other("other".into()),
        v1::Protocol::Unspecified => Transport::Missing,
    }
}

/// When the last connection of the edge began: within the window, and not after `now`.
fn time_of(report: &v1::EdgeReport, frame: &Frame) -> Timestamp {
    let told = report.last_seen.as_ref().or(report.first_seen.as_ref()).and_then(time_told);
    told.map_or(frame.end, |time| time.clamp(frame.start, frame.end))
}

/// A time that somebody wrote into a message; `None` where no clock of ours can tell it.
pub fn timestamp(time: &prost_types::Timestamp) -> Option<Timestamp> {
    let nanos = u32::try_from(time.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    time.seconds.checked_mul(1_000_000_000)?.checked_add(i64::from(nanos)).map(Timestamp)
}

/// A time of a node: nothing was seen before 1970.
fn time_told(time: &prost_types::Timestamp) -> Option<Timestamp> {
    timestamp(time).filter(|time| time.0 >= 0)
}

/// Tells the connections of an edge in one window apart from all others. The nodes of both ends report them, and
/// have the same key where their windows begin at the same time: of two reports the larger number counts.
fn key(observation: &Observation, start: Timestamp, answered: Option<bool>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for end in [&observation.source, &observation.destination] {
        match end.address {
            Some(address) => address.hash(&mut hasher),
            None => end.endpoint.hash(&mut hasher),
        }
    }
    let is_denied = observation.verdict == Verdict::Dropped;
    let is_silent = answered == Some(false);
    (observation.destination_port, &observation.transport, start).hash(&mut hasher);
    (is_denied, is_silent, observation.direction.filter(|_| is_denied)).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
