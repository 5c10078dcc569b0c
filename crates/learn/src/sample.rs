//! Observations for tests, written as one line of text.

use std::sync::Arc;

use crate::observation::{
    End, Endpoint, Entities, Event, Icmp, Observation, PodName, Provider, TcpFlags, Transport,
    Verdict, WorkloadName,
};
use crate::time::Timestamp;

/// A packet `source:port > destination:port FLAGS`, for example `web:40000 > db:5432 SYN @3`.
///
/// An end is a pod of the Deployment of its name (`web`), an address, `host` or `world`. Flags are those of
/// TCP, or a protocol; `reply` and `new` set `is_reply`; `@3` is the time in seconds; `n1` the node.
pub(crate) fn packet(text: &str) -> Observation {
    let mut words = text.split_whitespace();
    let (source, source_port) = end(words.next().unwrap());
    assert_eq!(words.next(), Some(">"));
    let (destination, destination_port) = end(words.next().unwrap());
    let mut packet = Observation {
        transport: Transport::Tcp(TcpFlags::NONE),
        source_port,
        destination_port,
        verdict: Verdict::Forwarded,
        ..Observation::new(Provider::Hubble, Event::Packet, source, destination)
    };
    for word in words {
        word_of(&mut packet, word);
    }
    packet
}

fn word_of(packet: &mut Observation, word: &str) {
    let flag = |flag: TcpFlags| match &packet.transport {
        Transport::Tcp(flags) => Transport::Tcp(flags.with(flag)),
        other => other.clone(),
    };
    match word {
        "SYN" => packet.transport = flag(TcpFlags::SYN),
        "ACK" => packet.transport = flag(TcpFlags::ACK),
        "FIN" => packet.transport = flag(TcpFlags::FIN),
        "RST" => packet.transport = flag(TcpFlags::RST),
        "PSH" => packet.transport = flag(TcpFlags::PSH),
        "UDP" => packet.transport = Transport::Udp,
        "SCTP" => packet.transport = Transport::Sctp,
        "PING" => packet.transport = Transport::Icmp(Icmp::V4(Some((8, 0)))),
        "reply" => packet.reply = Some(true),
        "new" => packet.reply = Some(false),
        _ => match word.split_at(1) {
            ("@", seconds) => packet.time = Some(Timestamp::from_seconds(seconds.parse().unwrap())),
            ("n", _) => packet.node = Some(word.into()),
            _ => panic!("{word:?} means nothing"),
        },
    }
}

fn end(text: &str) -> (End, Option<u16>) {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()),
        None => (text, None),
    };
    let reserved = |entities| Endpoint { entities, ..Endpoint::default() };
    let (endpoint, address) = match name {
        "host" => (reserved(Entities::HOST), "10.0.0.4".parse().ok()),
        "world" => (reserved(Entities::WORLD), "203.0.113.9".parse().ok()),
        name => match name.parse() {
            Ok(address) => (reserved(Entities::WORLD), Some(address)),
            Err(_) => (pod(name), Some(address(name))),
        },
    };
    (End { endpoint: Arc::new(endpoint), address, names: Vec::new() }, port)
}

/// A pod of the Deployment `name` in the namespace shop.
pub(crate) fn pod(name: &str) -> Endpoint {
    Endpoint {
        namespace: Some("shop".into()),
        pod: Some(PodName::Exact(format!("{name}-pod").into())),
        workload: Some(WorkloadName { kind: "Deployment".into(), name: name.into() }),
        labels: vec![("app".into(), name.into())],
        ..Endpoint::default()
    }
}

/// An address of its own for each name.
fn address(name: &str) -> std::net::IpAddr {
    let sum: u32 = name.bytes().fold(7, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte));
    let [_, b, c, d] = sum.to_be_bytes();
    std::net::IpAddr::from([10, 0xc8 | (b & 0x3), c, d])
}
