//! A cluster as objects of the API, what names were resolved to, and packets in it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netenf_policy::{Packet, Protocol, Side, Transport};
use serde_json::{Value, json};

/// What both engines are asked.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) objects: Vec<Value>,
    pub(crate) domains: BTreeMap<String, Vec<IpAddr>>,
    pub(crate) packets: Vec<Packet>,
}

// === impl Document ===

impl Document {
    /// The same cluster with these packets.
    pub(crate) fn with_packets(&self, packets: &[Packet]) -> Self {
        let (objects, domains) = (self.objects.clone(), self.domains.clone());
        Self { objects, domains, packets: packets.to_vec() }
    }

    /// The document as the reference reads it, on one line.
    pub(crate) fn to_line(&self) -> String {
        let packet = |packet: &Packet| {
            json!({
                "source": packet.source,
                "destination": packet.destination,
                "protocol": packet.transport.protocol().map_or("", name),
                "port": packet.transport.port().unwrap_or(0),
            })
        };
        let packets: Vec<Value> = self.packets.iter().map(packet).collect();
        json!({"objects": self.objects, "domains": self.domains, "packets": packets}).to_string()
    }

    /// The document for a person, an object a line.
    pub(crate) fn shown(&self) -> String {
        let objects = self.objects.iter().map(Value::to_string);
        let domains = self.domains.iter().map(|(name, to)| format!("{name} is {to:?}"));
        let packets = self.packets.iter().map(shown);
        objects.chain(domains).chain(packets).collect::<Vec<_>>().join("\n")
    }

    /// The policies of namespaces.
    pub(crate) fn network_policies(&mut self) -> impl Iterator<Item = &mut Value> {
        self.objects.iter_mut().filter(|object| kind(object) == "NetworkPolicy")
    }

    /// The cluster-wide policies of v1alpha1.
    pub(crate) fn admin_policies(&mut self) -> impl Iterator<Item = &mut Value> {
        self.objects.iter_mut().filter(|object| kind(object).ends_with("AdminNetworkPolicy"))
    }

    /// All cluster-wide policies.
    pub(crate) fn cluster_policies(&mut self) -> impl Iterator<Item = &mut Value> {
        self.objects.iter_mut().filter(|object| {
            kind(object).ends_with("NetworkPolicy") && kind(object) != "NetworkPolicy"
        })
    }
}

/// The kind of an object.
pub(crate) fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// The field of a policy's spec that holds the rules of a side, and the field of a rule that holds peers.
pub(crate) fn fields(side: Side) -> (&'static str, &'static str) {
    match side {
        Side::Egress => ("egress", "to"),
        Side::Ingress => ("ingress", "from"),
    }
}

/// The rules of a policy for one side.
pub(crate) fn rules(policy: &mut Value, side: Side) -> &mut [Value] {
    list(&mut policy["spec"], fields(side).0)
}

/// The items of a list; none if it is not there.
pub(crate) fn list<'a>(object: &'a mut Value, field: &str) -> &'a mut [Value] {
    object.get_mut(field).and_then(Value::as_array_mut).map_or(&mut [], |items| items)
}

/// Reads a packet: `10.0.0.1 > 10.0.0.2 TCP/80`, `TCP/?` without a port, or `ICMP`.
pub(crate) fn packet(text: &str) -> Packet {
    let [source, ">", destination, what] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text:?} is no packet")
    };
    let transport = match what.split_once('/') {
        None => Transport::Other,
        Some((protocol, "?")) => Transport::Portless(protocol_of(protocol)),
        Some((protocol, port)) => Transport::Port(protocol_of(protocol), port.parse().unwrap()),
    };
    Packet { source: source.parse().unwrap(), destination: destination.parse().unwrap(), transport }
}

/// Writes a packet as it is read.
pub(crate) fn shown(packet: &Packet) -> String {
    let transport = match packet.transport {
        Transport::Other => "ICMP".to_owned(),
        Transport::Portless(protocol) => format!("{}/?", name(protocol)),
        Transport::Port(protocol, port) => format!("{}/{port}", name(protocol)),
    };
    format!("{} > {} {transport}", packet.source, packet.destination)
}

/// A protocol as the API writes it.
pub(crate) fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}

fn protocol_of(name: &str) -> Protocol {
    match name {
        "TCP" => Protocol::Tcp,
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        other => panic!("{other:?} is no protocol"),
    }
}
