//! What a node reports of a generated connection, and what comes of all that was reported.

use std::sync::Arc;

use netenf_k8s::{Index, lower, render};
use netenf_learn::proposal::{Outcome, Proposal};
use netenf_learn::{
    Config, Direction, End, Event, Learner, Observation, Provider, TcpFlags, Timestamp, Transport,
    Verdict,
};
use netenf_policy::{Connection, End as PolicyEnd, Protocol, evaluate};

/// A connection as the node of one of its ends sees it.
pub(crate) struct Seen<'a> {
    pub(crate) node: &'a str,
    /// Out of the node's own pod, or into it.
    pub(crate) direction: Direction,
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) client_port: u16,
    pub(crate) port: u16,
    pub(crate) udp: bool,
    pub(crate) second: i64,
}

/// Which end sends a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sender {
    Client,
    Server,
}

impl Seen<'_> {
    /// A packet, `seconds` after the connection's own second.
    pub(crate) fn packet(
        &self,
        sender: Sender,
        reply: Option<bool>,
        flags: TcpFlags,
        seconds: i64,
    ) -> Observation {
        let client = (self.client.clone(), Some(self.client_port));
        let server = (self.server.clone(), Some(self.port));
        let ((source, source_port), (destination, destination_port)) = match sender {
            Sender::Client => (client, server),
            Sender::Server => (server, client),
        };
        Observation {
            time: Some(Timestamp::from_seconds(1_800_000_000 + self.second + seconds)),
            node: Some(self.node.into()),
            transport: if self.udp { Transport::Udp } else { Transport::Tcp(flags) },
            source_port,
            destination_port,
            verdict: Verdict::Forwarded,
            reply,
            direction: Some(self.direction),
            ..Observation::new(Provider::Hubble, Event::Packet, source, destination)
        }
    }
}

pub(crate) fn learn(index: &Arc<Index>, packets: &[Observation]) -> Outcome {
    let mut learner = Learner::new(Config::default(), Arc::clone(index));
    for packet in packets {
        learner.observe(packet);
    }
    learner.outcome()
}

/// The proposals as objects, and what is in none.
pub(crate) fn yaml(outcome: &Outcome) -> String {
    let last = outcome.window.map(|(_, last)| last);
    let proposals = outcome
        .proposals
        .iter()
        .map(|proposal| serde_saphyr::to_string(&render::proposal(proposal, last)).unwrap());
    let mut text = proposals.collect::<Vec<_>>().join("---\n");
    text.push_str(&format!("{:#?}", outcome.unplaced));
    text
}

pub(crate) fn shuffled(packets: &[Observation], seed: u64) -> Vec<Observation> {
    let mut shuffled = packets.to_vec();
    let mut state = seed | 1;
    for at in (1..shuffled.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
    }
    shuffled
}

/// The same packets, decoded anew each: no two share an endpoint.
pub(crate) fn decoded_anew(packets: &[Observation]) -> Vec<Observation> {
    let mut packets = packets.to_vec();
    for packet in &mut packets {
        packet.source.endpoint = Arc::new((*packet.source.endpoint).clone());
        packet.destination.endpoint = Arc::new((*packet.destination.endpoint).clone());
        packet.node = packet.node.as_deref().map(Arc::from);
    }
    packets
}

/// Whether the proposal's policy lets `source` connect, by the real evaluation.
pub(crate) fn allowed(
    proposal: &Proposal,
    source: PolicyEnd,
    destination: PolicyEnd,
    (protocol, port): (Protocol, u16),
) -> bool {
    let spec = render::proposal(proposal, None).spec.kubernetes.unwrap();
    let namespace = &proposal.subject.namespace;
    let (policy, told) = lower::network_policy("", namespace, "p", &spec);
    assert_eq!(told, [], "what is rendered can be understood");
    let verdict = evaluate(&[policy], &Connection { source, destination, protocol, port });
    match proposal.direction {
        Direction::Egress => verdict.egress.allowed,
        Direction::Ingress => verdict.ingress.allowed,
    }
}
