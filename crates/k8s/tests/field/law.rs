//! Laws of learning as properties, over generated traffic in the common cluster and without any objects.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_k8s::{Index, render};
use netenf_learn::proposal::{Outcome, Peer, Proposal, Provenance};
use netenf_learn::{
    Config, Direction, End, Endpoint, Event, Learner, Observation, PodName, Provider, TcpFlags,
    Timestamp, Transport, Verdict, WorkloadName,
};
use netenf_policy::{Connection, End as PolicyEnd, Pod, evaluate};
use proptest::prelude::*;

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

/// The packets that nodes report of an attempt.
fn packets(attempt: &Attempt) -> Vec<Observation> {
    let nodes = if attempt.both_nodes { vec![true, false] } else { vec![true] };
    let mut packets = Vec::new();
    for client_side in nodes {
        let of = |reply: bool, flags: TcpFlags, seconds: i64| {
            let (client, server) =
                (end(attempt.client, client_side), end(attempt.server, !client_side));
            let ports = (Some(attempt.client_port), Some(attempt.port));
            let (source, destination) = if reply { (server, client) } else { (client, server) };
            let (source_port, destination_port) = if reply { (ports.1, ports.0) } else { ports };
            Observation {
                provider: Provider::Hubble,
                time: Some(Timestamp::from_seconds(1_800_000_000 + attempt.second + seconds)),
                node: Some(if client_side { "n1".into() } else { "n2".into() }),
                event: Event::Packet,
                source,
                destination,
                transport: if attempt.udp { Transport::Udp } else { Transport::Tcp(flags) },
                source_port,
                destination_port,
                verdict: Verdict::Forwarded,
                drop_reason: None,
                reply: Some(reply),
                direction: Some(if client_side { Direction::Egress } else { Direction::Ingress }),
                reporter: None,
                denied_by: None,
                service: None,
                dns: None,
                connections: 1,
                connection_key: None,
                error: None,
            }
        };
        packets.push(of(false, TcpFlags::SYN, 0));
        if attempt.answered {
            packets.push(of(true, TcpFlags::SYN.with(TcpFlags::ACK), 1));
        }
        if attempt.reset {
            packets.push(of(true, TcpFlags::RST, 1));
        }
        if attempt.late_packet && !attempt.udp {
            packets.push(of(false, TcpFlags::FIN.with(TcpFlags::ACK), 2));
        }
    }
    packets
}

fn learn(index: &Arc<Index>, packets: &[Observation]) -> Outcome {
    let mut learner = Learner::new(Config::default(), Arc::clone(index));
    for packet in packets {
        learner.observe(packet);
    }
    learner.outcome()
}

fn yaml(outcome: &Outcome) -> String {
    let last = outcome.window.map(|(_, last)| last);
    let texts = outcome
        .proposals
        .iter()
        .map(|proposal| serde_saphyr::to_string(&render::proposal(proposal, last)).unwrap());
    texts.collect::<Vec<_>>().join("---\n")
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
    let object = render::proposal(proposal, None);
    let spec = object.spec.kubernetes.unwrap();
    let (policy, told) =
        netenf_k8s::lower::network_policy("", &proposal.subject.namespace, "p", &spec);
    assert_eq!(told, [], "what is rendered can be understood");
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
            ports: Vec::new(),
        })
    };
    let protocol = if udp { netenf_policy::Protocol::Udp } else { netenf_policy::Protocol::Tcp };
    let connection = Connection { source: pod(client), destination: pod(server), protocol, port };
    let verdict = evaluate(&[policy], &connection);
    match proposal.direction {
        Direction::Egress => verdict.egress.allowed,
        Direction::Ingress => verdict.ingress.allowed,
    }
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
            let mut shuffled = all.clone();
            let mut state = seed | 1;
            for at in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
            }
            prop_assert_eq!(yaml(&learn(&index, &shuffled)), yaml(&expected));
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
