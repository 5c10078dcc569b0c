//! A flow of Hubble as an observation.

use std::sync::Arc;

use netenf_learn::{
    DnsAnswer, DropReason, End, Event, Icmp, Observation, PolicyRef, Provider, ServiceRef,
    TcpFlags, Transport, Verdict,
};
use serde_json::value::RawValue;

use super::member::{FlowType, L7Type};
use super::short::Line;
use super::wire::{self, Flow, Layer4, Response};
use super::{Decoder, drop, endpoint};
use crate::DecodeError;
use crate::cache::{Cache, Names};
use crate::error::parse_part;
use crate::value::{Address, Integer, Open, Text};

/// The label with which Cilium says what kind of object a policy comes from.
const DERIVED_FROM: &str = "io.cilium.k8s.policy.derived-from=";

/// What the `l4` of a flow tells.
struct Layer {
    transport: Transport,
    source_port: Option<u16>,
    destination_port: Option<u16>,
}

impl Decoder {
    /// The observation that `flow` is; `response` is what it came in.
    pub(super) fn flow(
        &mut self,
        flow: &Flow<'_>,
        response: Option<&Response<'_>>,
        line: Line<'_>,
    ) -> Result<Observation, DecodeError> {
        let verdict = flow.verdict.map_or(Verdict::Unknown, |verdict| verdict.0);
        let event = event(flow, verdict);
        let reply = reply(flow);
        let layer = self.layer(flow.l4.as_ref());
        let ip = flow.ip.as_ref();
        let time = flow.time.or_else(|| response?.time);
        let node = Text::filled(flow.node_name.as_ref())
            .or_else(|| Text::filled(response?.node_name.as_ref()));
        let source =
            self.end(flow.source, ip.and_then(|ip| ip.source), flow.source_names.as_ref(), line)?;
        let destination = self.end(
            flow.destination,
            ip.and_then(|ip| ip.destination),
            flow.destination_names.as_ref(),
            line,
        )?;
        Ok(Observation {
            time: time.map(|time| time.0),
            node: node.map(|node| self.names.share(node)),
            transport: layer.transport,
            source_port: layer.source_port,
            destination_port: layer.destination_port,
            verdict,
            drop_reason: self.drop_reason(flow),
            reply,
            direction: flow.traffic_direction.and_then(|direction| direction.0.0),
            denied_by: self.denied_by(flow, line)?,
            service: self.service(flow, reply, line)?,
            dns: self.dns(flow, event),
            ..Observation::new(Provider::Hubble, event, source, destination)
        })
    }

    fn end(
        &mut self,
        raw: Option<&RawValue>,
        address: Option<Address>,
        found: Option<&Vec<Text<'_>>>,
        line: Line<'_>,
    ) -> Result<End, DecodeError> {
        let Self { endpoints, names, nobody, .. } = self;
        let (endpoint, mut known_names) = match raw {
            None => (Arc::clone(nobody), Vec::new()),
            Some(raw) => {
                let known = match line.taken(raw) {
                    Some(known) => known.clone(),
                    None => endpoints.try_value(raw.get().as_bytes(), || {
                        parse_part(raw, line.text).map(|wire| endpoint::known(&wire, names))
                    })?,
                };
                (known.endpoint, known.names)
            }
        };
        for name in found.into_iter().flatten().map(|name| names.share(name.as_str())) {
            if !known_names.contains(&name) {
                known_names.push(name);
            }
        }
        Ok(End { endpoint, address: address.and_then(|address| address.0), names: known_names })
    }

    fn layer(&mut self, l4: Option<&Layer4>) -> Layer {
        let port = |port: Option<Integer<u16>>| port.map(|port| port.0);
        let bare = |transport| Layer { transport, source_port: None, destination_port: None };
        match l4 {
            Some(Layer4 { tcp: Some(tcp), .. }) => Layer {
                transport: Transport::Tcp(tcp.flags.as_ref().map_or(TcpFlags::NONE, flags)),
                source_port: port(tcp.source_port),
                destination_port: port(tcp.destination_port),
            },
            Some(Layer4 { udp: Some(udp), .. }) => Layer {
                transport: Transport::Udp,
                source_port: port(udp.source_port),
                destination_port: port(udp.destination_port),
            },
            Some(Layer4 { sctp: Some(sctp), .. }) => Layer {
                transport: Transport::Sctp,
                source_port: port(sctp.source_port),
                destination_port: port(sctp.destination_port),
            },
            Some(Layer4 { icmp4: Some(icmp), .. }) => {
                bare(Transport::Icmp(Icmp::V4(Some(icmp.kind()))))
            }
            Some(Layer4 { icmp6: Some(icmp), .. }) => {
                bare(Transport::Icmp(Icmp::V6(Some(icmp.kind()))))
            }
            Some(Layer4 { vrrp: Some(_), .. }) => bare(Transport::Other(self.names.share("VRRP"))),
            Some(Layer4 { igmp: Some(_), .. }) => bare(Transport::Other(self.names.share("IGMP"))),
            Some(_) | None => bare(Transport::Missing),
        }
    }

    fn drop_reason(&mut self, flow: &Flow<'_>) -> Option<DropReason> {
        let described = match &flow.drop_reason_desc {
            Some(Open::Name(name)) => drop::of_name(name, &mut self.names),
            Some(Open::Number(number)) => drop::of_number(*number, &mut self.names),
            None => None,
        };
        described.or_else(|| drop::of_number(flow.drop_reason?.0, &mut self.names))
    }

    /// The first policy that the source names as the one that denied this.
    fn denied_by(
        &mut self,
        flow: &Flow<'_>,
        line: Line<'_>,
    ) -> Result<Option<Arc<PolicyRef>>, DecodeError> {
        let Self { policies, names, .. } = self;
        for raw in [flow.egress_denied_by, flow.ingress_denied_by].into_iter().flatten() {
            let policy = cached(policies, raw, line, |named: Vec<wire::Named<'_>>| {
                named.iter().find_map(|policy| policy_ref(policy, names))
            })?;
            if policy.is_some() {
                return Ok(policy);
            }
        }
        Ok(None)
    }

    /// The service that the client addressed: it stands at the source of an answer.
    fn service(
        &mut self,
        flow: &Flow<'_>,
        reply: Option<bool>,
        line: Line<'_>,
    ) -> Result<Option<Arc<ServiceRef>>, DecodeError> {
        let Self { services, names, .. } = self;
        let raw = match reply {
            Some(true) => flow.source_service,
            Some(false) | None => flow.destination_service,
        };
        let Some(raw) = raw else { return Ok(None) };
        cached(services, raw, line, |named: wire::Named<'_>| service_ref(&named, names))
    }

    fn dns(&mut self, flow: &Flow<'_>, event: Event) -> Option<Arc<DnsAnswer>> {
        let dns = flow.l7.as_ref()?.dns.as_ref().filter(|_| event == Event::Response)?;
        let query = Text::filled(dns.query.as_ref())?;
        let addresses: Vec<_> = dns.ips.iter().flatten().filter_map(|address| address.0).collect();
        let answer = DnsAnswer { query: self.names.share(query), addresses };
        (!answer.addresses.is_empty()).then(|| Arc::new(answer))
    }
}

/// The value built from `raw`, or from the same text before.
fn cached<'a, W: serde::Deserialize<'a>, V>(
    cache: &mut Cache<Option<Arc<V>>>,
    raw: &'a RawValue,
    line: Line<'_>,
    build: impl FnOnce(W) -> Option<V>,
) -> Result<Option<Arc<V>>, DecodeError> {
    cache.try_value(raw.get().as_bytes(), || {
        parse_part(raw, line.text).map(|wire| build(wire).map(Arc::new))
    })
}

fn policy_ref(policy: &wire::Named<'_>, names: &mut Names) -> Option<PolicyRef> {
    let name = Text::filled(policy.name.as_ref())?;
    Some(PolicyRef {
        kind: names.share(policy_kind(policy).unwrap_or_default()),
        namespace: Text::filled(policy.namespace.as_ref()).map(|space| names.share(space)),
        name: names.share(name),
    })
}

/// The kind of a policy; servers that do not name it have a label that tells.
fn policy_kind<'a>(policy: &'a wire::Named<'_>) -> Option<&'a str> {
    let label = |label: &'a Text<'_>| label.as_str().split_once(DERIVED_FROM).map(|(_, kind)| kind);
    Text::filled(policy.kind.as_ref()).or_else(|| policy.labels.iter().flatten().find_map(label))
}

fn service_ref(service: &wire::Named<'_>, names: &mut Names) -> Option<ServiceRef> {
    let name = Text::filled(service.name.as_ref())?;
    let namespace = Text::filled(service.namespace.as_ref())?;
    Some(ServiceRef { namespace: names.share(namespace), name: names.share(name), port: None })
}

/// What kind of event a flow was made from; older servers and field masks leave the number out.
fn event(flow: &Flow<'_>, verdict: Verdict) -> Event {
    let kind = flow.kind.map_or(FlowType::Unknown, |kind| kind.0);
    let number = flow.event_type.as_ref().and_then(|event| event.kind).map_or(0, |kind| kind.0);
    match (number, kind) {
        (129, _) | (0, FlowType::L7) => exchange(flow),
        (7, _) | (0, FlowType::Sock) => Event::Socket,
        (1, _) => Event::Drop,
        (5, _) => Event::PolicyVerdict,
        (0, FlowType::L3L4 | FlowType::Unknown) => match verdict {
            Verdict::Dropped => Event::Drop,
            Verdict::Audit | Verdict::Redirected => Event::PolicyVerdict,
            Verdict::Socket => Event::Socket,
            Verdict::Forwarded | Verdict::Failed | Verdict::Unknown => Event::Packet,
        },
        (_, FlowType::L3L4 | FlowType::L7 | FlowType::Sock | FlowType::Unknown) => Event::Packet,
    }
}

/// Request or response; a server that does not say which tells by `is_reply`.
fn exchange(flow: &Flow<'_>) -> Event {
    let kind = flow.l7.as_ref().and_then(|l7| l7.kind).map_or(L7Type::Unknown, |kind| kind.0);
    match kind {
        L7Type::Response => Event::Response,
        L7Type::Unknown if reply(flow) == Some(true) => Event::Response,
        L7Type::Request | L7Type::Unknown => Event::Request,
    }
}

/// Whether this is of the answering side. The old field `reply` is false when nothing is known, so
/// only its `true` counts, and only where the new one is absent.
fn reply(flow: &Flow<'_>) -> Option<bool> {
    flow.is_reply.or_else(|| flow.reply.filter(|reply| *reply))
}

fn flags(flags: &wire::Flags) -> TcpFlags {
    let wire::Flags { fin, syn, rst, psh, ack } = flags;
    [
        (fin, TcpFlags::FIN),
        (syn, TcpFlags::SYN),
        (rst, TcpFlags::RST),
        (psh, TcpFlags::PSH),
        (ack, TcpFlags::ACK),
    ]
    .into_iter()
    .filter(|(set, _)| **set == Some(true))
    .fold(TcpFlags::NONE, |all, (_, flag)| all.with(flag))
}
