//! What monitoring says of recorded traffic between pods is what the cluster would say of every packet that it may have
//! been, if the policy protected.

use std::time::Duration;

use netenf_api::{Direction, WorkloadNetworkPolicySpec};
use netenf_k8s::monitor::{self, Guard};
use netenf_k8s::{Index, object};
use netenf_learn::Directory as _;
use netenf_learn::proposal::{Peer, SeenEdge, SeenEnd};
use netenf_policy::{Cluster, Packet, Protocol, Side, Transport};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::reaching::{self, PORTS, network_policy, policies};
use super::world::{Member, World, world};

const OURS: &str = "ours";

fn guard(policy: &Value) -> Guard {
    let namespace = policy["metadata"]["namespace"].as_str().unwrap();
    let spec = json!({"backend": "kubernetes", "mode": "monitor", "kubernetes": policy["spec"]});
    let spec: WorkloadNetworkPolicySpec = serde_json::from_value(spec).unwrap();
    Guard::new("WorkloadNetworkPolicy", namespace, OURS, &spec).unwrap()
}

/// The same policy as protecting makes it.
fn protect(index: &mut Index, policy: &Value) {
    let mut policy = policy.clone();
    policy["metadata"]["name"] = json!(OURS);
    let (objects, told) = object::read("ours", &policy.to_string());
    assert_eq!(told, [], "{policy}");
    for object in objects {
        index.apply(object);
    }
}

fn seen(member: &Member) -> SeenEnd {
    let workload = &member.workload;
    let peer = Peer {
        kind: Some(workload.kind.clone()),
        namespace: Some(workload.namespace.clone()),
        name: Some(workload.name.clone()),
        ..Peer::default()
    };
    SeenEnd { peer, labels: Some(member.labels()) }
}

fn edge(index: &Index, ends: [&Member; 2], (protocol, port): (Protocol, u16)) -> SeenEdge {
    let [source, destination] = ends;
    SeenEdge {
        source: seen(source).into(),
        destination: seen(destination).into(),
        protocol,
        port,
        port_names: index.port_names(&destination.workload, port, protocol),
        count: 1,
        observations: 1,
        learned: false,
        skipped: None,
        first: None,
        last: None,
    }
}

/// Pods that a recording does not tell from this one.
fn alike<'w>(world: &'w World, member: &Member) -> Vec<&'w Member> {
    let is_alike =
        |other: &&Member| (&other.workload, other.labels()) == (&member.workload, member.labels());
    world.members.iter().filter(is_alike).collect()
}

/// Whether one side denies every packet between pods that may have been these, and our policy isolates there.
fn denies(
    cluster: &Cluster,
    side: Side,
    (world, ends): (&World, [&Member; 2]),
    (protocol, port): (Protocol, u16),
) -> bool {
    let [sources, destinations] = ends.map(|end| alike(world, end));
    let pairs = sources.iter().flat_map(|one| destinations.iter().map(move |other| (one, other)));
    let mut packets =
        pairs.filter(|(one, other)| one.address != other.address).map(|(one, other)| {
            let (source, destination) = (one.address, other.address);
            Packet { source, destination, transport: Transport::Port(protocol, port) }
        });
    let is_denied = packets.all(|packet| {
        let explanation = cluster.explain(&packet, Duration::ZERO);
        !match side {
            Side::Egress => explanation.egress.allowed,
            Side::Ingress => explanation.ingress.allowed,
        }
    });
    let subject = match side {
        Side::Egress => ends[0],
        Side::Ingress => ends[1],
    };
    let isolates = cluster.network_policies.values().any(|policy| {
        *policy.name == *OURS
            && *policy.namespace == *subject.namespace
            && policy.rules(side).is_some()
            && policy.pods.matches(&subject.labels())
    });
    is_denied && isolates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_monitoring_denies_is_what_protecting_would_deny(
        world in world(),
        policies in policies(),
        ours in network_policy(),
    ) {
        let mut index = reaching::index(&world, &policies);
        let guards = [guard(&ours)];
        let on_pod_network: Vec<&Member> =
            world.members.iter().filter(|member| !member.host_network).collect();
        let mut told = Vec::new();
        for source in &on_pod_network {
            for destination in on_pod_network.iter().filter(|other| other.address != source.address) {
                for port in PORTS {
                    let ends = [*source, *destination];
                    let found = monitor::denied(&index, &guards, &[edge(&index, ends, port)]);
                    let sides: Vec<Direction> = found.iter().map(|one| one.direction).collect();
                    told.push((ends, port, sides));
                }
            }
        }
        protect(&mut index, &ours);
        let cluster = index.cluster();
        for (ends, port, sides) in told {
            let of = [(Side::Egress, Direction::Egress), (Side::Ingress, Direction::Ingress)];
            let expected = of.into_iter().filter(|(side, _)| denies(&cluster, *side, (&world, ends), port));
            let expected: Vec<Direction> = expected.map(|(_, direction)| direction).collect();
            prop_assert_eq!(sides, expected, "{:?} {:?}", ends, port);
        }
    }
}
