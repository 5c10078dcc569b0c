//! Goldmane: `FlowResult`, `{"flow":{"Key":…}}` and bare flows as proto JSON.
//!
//! A flow of Goldmane is a sum of connections in one window. Its ends have names and labels but
//! never an address, and both ends' nodes report it.

mod member;
mod policy;
mod wire;

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::quality::FixedState;
use netenf_learn::{
    DropReason, End, Endpoint, Event, Icmp, Network, Observation, PodName, PolicyRef, Provider,
    ServiceRef, TcpFlags, Timestamp, Transport,
};
use serde_json::value::RawValue;

use self::member::{Action, EndpointType};
use self::wire::{Flow, Key, Result as FlowResult};
use crate::cache::{Cache, Names};
use crate::value::Text;
use crate::{DecodeError, Format, Record, error};

/// Decodes Goldmane's flows; endpoints, services and policies that were seen before are shared.
#[derive(Debug, Default)]
pub struct Decoder {
    endpoints: Cache<Arc<Endpoint>>,
    policies: Cache<Option<Arc<PolicyRef>>>,
    services: Cache<Arc<ServiceRef>>,
    names: Names,
    scratch: Vec<u8>,
}

/// One end of a flow, as its key names it.
#[derive(Clone, Copy)]
struct Side<'a> {
    kind: EndpointType,
    name: Option<&'a str>,
    namespace: Option<&'a str>,
    labels: Option<&'a RawValue>,
}

// === impl Decoder ===

impl Decoder {
    /// Decodes one `FlowResult` or one flow. `None` is a blank line.
    pub fn decode(&mut self, line: &[u8]) -> Result<Option<Record>, DecodeError> {
        match line.trim_ascii_start() {
            [] => return Ok(None),
            [b'{', ..] => {}
            _ => return Err(DecodeError::foreign(Format::Goldmane, line)),
        }
        let text = error::text(line)?;
        let result: FlowResult<'_> = error::parse(text)?;
        let flow = match result.flow {
            Some(flow) => flow,
            None if result.key.is_some() => error::parse(text)?,
            None => return Err(DecodeError::foreign(Format::Goldmane, line)),
        };
        let Some(key) = &flow.key else {
            return Err(DecodeError::foreign(Format::Goldmane, line));
        };
        self.flow(&flow, key, text).map(Record::Flow).map(Some)
    }

    fn flow(
        &mut self,
        flow: &Flow<'_>,
        key: &Key<'_>,
        line: &str,
    ) -> Result<Observation, DecodeError> {
        let (from, to) = sides(flow, key);
        let action = key.action.map_or(Action::Unknown, |action| action.0);
        let reporter = key.reporter.and_then(|reporter| reporter.0.0);
        let start = flow.start_time.map(|start| start.0).filter(|start| *start != 0);
        let (source, destination) = (self.end(from, line)?, self.end(to, line)?);
        Ok(Observation {
            time: start.map(Timestamp::from_seconds),
            transport: self.transport(key.proto.as_ref()),
            destination_port: key.dest_port.map(|port| port.0),
            verdict: action.verdict(),
            drop_reason: (action == Action::Deny).then_some(DropReason::Policy),
            direction: reporter.map(member::direction),
            reporter,
            denied_by: self.denied_by(action, key, line)?,
            service: self.service(key),
            connections: connections(flow),
            connection_key: Some(connection_key(from, to, key, start)),
            ..Observation::new(Provider::Goldmane, Event::Connection, source, destination)
        })
    }

    fn end(&mut self, side: Side<'_>, line: &str) -> Result<End, DecodeError> {
        let Self { endpoints, names, scratch, .. } = self;
        side.write(scratch);
        let endpoint =
            endpoints.try_value(scratch, || endpoint(side, names, line).map(Arc::new))?;
        Ok(End { endpoint, address: None, names: Vec::new() })
    }

    /// Felix writes names in lower case, and numbers for what has none.
    fn transport(&mut self, proto: Option<&Text<'_>>) -> Transport {
        match present(proto) {
            None => Transport::Missing,
            Some("tcp" | "TCP" | "6") => Transport::Tcp(TcpFlags::NONE),
            Some("udp" | "UDP" | "17") => Transport::Udp,
            Some("sctp" | "SCTP" | "132") => Transport::Sctp,
            Some("icmp" | "ICMP" | "1") => Transport::Icmp(Icmp::V4(None)),
            Some("icmp6" | "icmpv6" | "ICMPv6" | "58") => Transport::Icmp(Icmp::V6(None)),
            Some(other) => Transport::Other(self.names.share(other)),
        }
    }

    fn denied_by(
        &mut self,
        action: Action,
        key: &Key<'_>,
        line: &str,
    ) -> Result<Option<Arc<PolicyRef>>, DecodeError> {
        let Some(raw) = key.policies.filter(|_| action == Action::Deny) else { return Ok(None) };
        let Self { policies, names, .. } = self;
        policies.try_value(raw.get().as_bytes(), || {
            let trace: wire::Trace<'_> = error::parse_part(raw, line)?;
            Ok(policy::denied_by(&trace, names).map(Arc::new))
        })
    }

    fn service(&mut self, key: &Key<'_>) -> Option<Arc<ServiceRef>> {
        let name = present(key.dest_service_name.as_ref());
        let namespace = present(key.dest_service_namespace.as_ref());
        let (name, namespace) = name.zip(namespace)?;
        let port = key.dest_service_port.map(|port| port.0).filter(|port| *port != 0);
        let Self { services, names, scratch, .. } = self;
        scratch.clear();
        for part in [namespace.as_bytes(), name.as_bytes(), &port.unwrap_or(0).to_be_bytes()] {
            scratch.extend_from_slice(part);
            scratch.push(0);
        }
        Some(services.value(scratch, || {
            let (namespace, name) = (names.share(namespace), names.share(name));
            Arc::new(ServiceRef { namespace, name, port })
        }))
    }
}

// === impl Side ===

impl Side<'_> {
    /// The parts of this side as one key: no two different sides have the same.
    fn write(&self, key: &mut Vec<u8>) {
        key.clear();
        key.push(self.kind.number());
        for part in [self.namespace, self.name, self.labels.map(RawValue::get)] {
            let part = part.unwrap_or_default();
            key.extend_from_slice(&part.len().to_le_bytes());
            key.extend_from_slice(part.as_bytes());
        }
    }
}

/// A text that Goldmane did not write as `-`, its word for absent.
fn present<'a>(text: Option<&'a Text<'_>>) -> Option<&'a str> {
    Text::filled(text).filter(|text| *text != "-")
}

fn sides<'a>(flow: &'a Flow<'_>, key: &'a Key<'_>) -> (Side<'a>, Side<'a>) {
    let kind = |kind: Option<crate::value::Member<EndpointType>>| {
        kind.map_or(EndpointType::Unknown, |kind| kind.0)
    };
    let source = Side {
        kind: kind(key.source_type),
        name: present(key.source_name.as_ref()),
        namespace: present(key.source_namespace.as_ref()),
        labels: flow.source_labels,
    };
    let destination = Side {
        kind: kind(key.dest_type),
        name: present(key.dest_name.as_ref()),
        namespace: present(key.dest_namespace.as_ref()),
        labels: flow.dest_labels,
    };
    (source, destination)
}

fn endpoint(side: Side<'_>, names: &mut Names, line: &str) -> Result<Endpoint, DecodeError> {
    let mut share = |text: &str| names.share(text);
    let Some(name) = side.name else { return Ok(Endpoint::default()) };
    let network = match side.kind {
        EndpointType::Workload => return pod(side, name, names, line),
        EndpointType::Host => Some(Network::Host(share(name))),
        EndpointType::NetworkSet => {
            Some(Network::Set { namespace: side.namespace.map(&mut share), name: share(name) })
        }
        EndpointType::Network => member::network(name),
        EndpointType::Unknown => None,
    };
    Ok(Endpoint { network, ..Endpoint::default() })
}

/// A pod: its name, or its `generateName` with an asterisk.
fn pod(side: Side<'_>, name: &str, names: &mut Names, line: &str) -> Result<Endpoint, DecodeError> {
    let mut labels = Vec::new();
    if let Some(raw) = side.labels {
        let written: Option<Vec<Text<'_>>> = error::parse_part(raw, line)?;
        for label in written.iter().flatten() {
            let (key, value) = label.as_str().split_once('=').unwrap_or((label.as_str(), ""));
            labels.push((names.share(key), names.share(value)));
        }
    }
    labels.sort_unstable();
    let pod = match name.strip_suffix('*') {
        Some(prefix) => PodName::Generated(names.share(prefix)),
        None => PodName::Exact(names.share(name)),
    };
    let namespace = side.namespace.map(|namespace| names.share(namespace));
    Ok(Endpoint { namespace, pod: Some(pod), labels, ..Endpoint::default() })
}

/// Connections that started in the window, or else those that were open then (case B64).
fn connections(flow: &Flow<'_>) -> u64 {
    [flow.num_connections_started, flow.num_connections_live]
        .into_iter()
        .flatten()
        .find_map(|count| u64::try_from(count.0).ok().filter(|count| *count > 0))
        .unwrap_or(1)
}

/// Tells the connections of one window apart; the same from both reporters.
fn connection_key(
    source: Side<'_>,
    destination: Side<'_>,
    key: &Key<'_>,
    start: Option<i64>,
) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for side in [source, destination] {
        (side.kind.number(), side.namespace, side.name).hash(&mut hasher);
    }
    (key.dest_port.map(|port| port.0), present(key.proto.as_ref()), start).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
