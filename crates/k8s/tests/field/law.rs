//! Laws of learning as properties, over generated traffic in the common cluster and without any objects.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_k8s::{Index, render};
use netenf_learn::proposal::{Outcome, Peer, Proposal, Provenance};
use netenf_learn::{Direction, End, Endpoint, Observation, PodName, TcpFlags, WorkloadName};
use netenf_policy::{End as PolicyEnd, Pod, Protocol};
use proptest::prelude::*;

use super::traffic::{Seen, Sender, allowed, decoded_anew, learn, shuffled, yaml};
use super::{folder, objects};

/// Name, kind, workload and address of the pods of the common cluster.
const PODS: [(&str, &str, &str, &str, &str); 3] = [
    ("shop", "web-7d9f8b6c5-abcde", "Deployment", "web", "10.244.1.10"),
    ("shop", "db-0", "StatefulSet", "db", "10.244.2.20"),
    ("kube-system", "coredns-5dd5756b68-cnszf", "Deployment", "coredns", "10.244.2.53"),
];

/// One connection of generated traffic.
#[derive(Debug, Clone)]
struct Attempt {
    client: usize,
    server: usize,
    client_port: u16,
    port: u16,
    udp: bool,
    second: i64,
    answered: bool,
    reset: bool,
    late_packet: bool,
    both_nodes: bool,
}

prop_compose! {
    fn attempt()(
        client in 0..4usize, server in 0..4usize, client_port in 40_000..40_020u16,
        port in prop::sample::select(vec![53u16, 80, 5432, 8080, 40_001]), udp in any::<bool>(),
        second in 0..600i64, answered in any::<bool>(), reset in any::<bool>(),
        late_packet in any::<bool>(), both_nodes in any::<bool>(),
    ) -> Attempt {
        Attempt { client, server, client_port, port, udp, second, answered, reset, late_packet, both_nodes }
    }
}

/// An end as the node that runs it (with its workload) or another node (without) reports it.
fn end(index: usize, local: bool) -> End {
    let Some((namespace, pod, kind, name, address)) = PODS.get(index) else {
        let entities = netenf_learn::Entities::WORLD;
        let address: IpAddr = "203.0.113.9".parse().unwrap();
        let endpoint = Arc::new(Endpoint { entities, ..Endpoint::default() });
        return End { endpoint, address: Some(address), names: Vec::new() };
    };
    let key = if *name == "coredns" { "k8s-app" } else { "app" };
    let value = if *name == "coredns" { "kube-dns" } else { name };
    let endpoint = Endpoint {
        namespace: Some((*namespace).into()),
        pod: Some(PodName::Exact((*pod).into())),
        workload: local.then(|| WorkloadName { kind: (*kind).into(), name: (*name).into() }),
        labels: vec![(key.into(), value.into())],
        ..Endpoint::default()
    };
    End { endpoint: Arc::new(endpoint), address: address.parse().ok(), names: Vec::new() }
}

/// The packets that nodes report of an attempt; no two share an endpoint.
fn packets(attempt: &Attempt) -> Vec<Observation> {
    let both = [("n1", Direction::Egress), ("n2", Direction::Ingress)];
    let nodes = if attempt.both_nodes { &both[..] } else { &both[..1] };
    let mut packets = Vec::new();
    for (node, direction) in nodes.iter().copied() {
        let of_client = direction == Direction::Egress;
        let seen = Seen {
            node,
            direction,
            client: end(attempt.client, of_client),
            server: end(attempt.server, !of_client),
            client_port: attempt.client_port,
            port: attempt.port,
            udp: attempt.udp,
            second: attempt.second,
        };
        let sent = |flags, seconds| seen.packet(Sender::Client, Some(false), flags, seconds);
        let answered = |flags, seconds| seen.packet(Sender::Server, Some(true), flags, seconds);
        packets.push(sent(TcpFlags::SYN, 0));
        if attempt.answered {
            packets.push(answered(TcpFlags::SYN.with(TcpFlags::ACK), 1));
        }
        if attempt.reset {
            packets.push(answered(TcpFlags::RST, 1));
        }
        if attempt.late_packet && !attempt.udp {
            packets.push(sent(TcpFlags::FIN.with(TcpFlags::ACK), 2));
        }
    }
    decoded_anew(&packets)
}

/// Whether `peer` tells of the end.
fn is_told(peer: &Peer, other: usize) -> bool {
    let address = end(other, true).address;
    match PODS.get(other) {
        Some((namespace, _, _, name, _)) => {
            let pods = format!("app={name}");
            let named = peer.name.as_deref();
            peer.namespace.as_deref() == Some(namespace)
                && (named == Some(name) || named.is_some_and(|named| named.contains(&pods)))
        }
        None => peer.address == address || address.is_some_and(|it| peer.addresses.contains(&it)),
    }
}

/// Whether the proposal's policy lets the pods connect, by the real evaluation.
fn allows(proposal: &Proposal, client: usize, server: usize, port: u16, udp: bool) -> bool {
    let pod = |index: usize| {
        let end = end(index, true);
        if end.endpoint.pod.is_none() {
            return PolicyEnd::Address(end.address.unwrap());
        }
        let namespace = end.endpoint.namespace.clone().unwrap();
        PolicyEnd::Pod(Pod {
            namespace_labels: [(render::NAMESPACE_NAME, &*namespace)].into_iter().collect(),
            namespace,
            labels: end.endpoint.labels.iter().cloned().collect(),
            addresses: end.address.into_iter().collect(),
            ..Pod::default()
        })
    };
    let protocol = if udp { Protocol::Udp } else { Protocol::Tcp };
    allowed(proposal, pod(client), pod(server), (protocol, port))
}

fn indexes() -> [Arc<Index>; 2] {
    let common = Index::of(objects(&folder().join("common.yaml")));
    [Arc::new(common), Arc::new(Index::default())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Law 2: order and repetition change nothing. Law 7: counters add up.
    #[test]
    fn order_and_repetition_change_nothing(
        attempts in prop::collection::vec(attempt(), 1..12),
        seed in any::<u64>(),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(packets).collect();
        for index in indexes() {
            let expected = learn(&index, &all);
            prop_assert_eq!(expected.funnel.sum(), expected.funnel.received);
            prop_assert_eq!(yaml(&learn(&index, &shuffled(&all, seed))), yaml(&expected));
            let twice: Vec<Observation> = all.iter().chain(&all).cloned().collect();
            let doubled = learn(&index, &twice);
            prop_assert_eq!(doubled.funnel.sum(), doubled.funnel.received);
            let rules = |outcome: &Outcome| {
                outcome.proposals.iter().map(|p| (p.subject.clone(), p.direction, p.rules.clone())).collect::<Vec<_>>()
            };
            prop_assert_eq!(rules(&doubled), rules(&expected));
        }
    }

    /// Laws 1, 4 and 5: an answered connection between known ends is allowed on every side that has a
    /// proposal, or listed; nothing is allowed that was not seen; a neighbour port is denied.
    #[test]
    fn what_was_seen_is_allowed_or_listed_and_nothing_else(
        attempts in prop::collection::vec(attempt(), 1..12),
    ) {
        let all: Vec<Observation> = attempts.iter().flat_map(packets).collect();
        for index in indexes() {
            let outcome = learn(&index, &all);
            for proposal in &outcome.proposals {
                prop_assert!(!proposal.selector.selector.is_empty());
                prop_assert!(proposal.rules.values().all(|ports| !ports.is_empty()));
                for one in &proposal.evidence {
                    prop_assert!(one.port > 0);
                    if one.provenance == Provenance::Observed {
                        let seen = attempts.iter().any(|a| a.port == one.port);
                        prop_assert!(seen, "a rule for port {} that nobody opened", one.port);
                    }
                }
            }
            for a in attempts.iter().filter(|a| a.answered && a.client != a.server) {
                for proposal in &outcome.proposals {
                    let own = match proposal.direction {
                        Direction::Egress => a.client,
                        Direction::Ingress => a.server,
                    };
                    let Some(pod) = PODS.get(own) else { continue };
                    if (&*proposal.subject.namespace, &*proposal.subject.name) != (pod.0, pod.3) {
                        continue;
                    }
                    let other = match proposal.direction {
                        Direction::Egress => a.server,
                        Direction::Ingress => a.client,
                    };
                    let listed = proposal.uncovered.iter().any(|item| {
                        item.port == Some(a.port) && is_told(&item.peer, other)
                    });
                    prop_assert!(
                        listed || allows(proposal, a.client, a.server, a.port, a.udp),
                        "{a:?} is neither allowed nor listed"
                    );
                    for port in [a.port - 1, a.port + 1] {
                        let seen = attempts.iter().any(|one| one.port == port);
                        let passes = allows(proposal, a.client, a.server, port, a.udp);
                        prop_assert!(seen || !passes, "a neighbour port passes");
                    }
                }
            }
        }
    }
}
