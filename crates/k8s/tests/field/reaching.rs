//! What is told of workloads at once holds for each of their pods, and for packets between those who have addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_k8s::reach::{Link, Passing, Place, Reach};
use netenf_k8s::{Index, object};
use netenf_learn::Workload;
use netenf_policy::{
    AddressRange, End, Packet, Pod, Protocol, Side, Transport, Transports, connectivity,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{Member, Place as Site, World, dual_stack_world};

/// What connections of these tests are opened to.
pub(super) const PORTS: [(Protocol, u16); 4] =
    [(Protocol::Tcp, 8080), (Protocol::Tcp, 8500), (Protocol::Udp, 53), (Protocol::Sctp, 9)];

fn pods() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"matchLabels": {"tier": "any"}}),
        json!({"matchLabels": {"app": "work-0"}}),
        json!({"matchLabels": {"app": "work-1"}}),
        json!({"matchLabels": {"pod-template-hash": "hash0"}}),
        json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["work-0"]}]}),
    ])
}

fn namespaces() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"matchLabels": {"kubernetes.io/metadata.name": "space-0"}}),
        json!({"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}),
    ])
}

fn block() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.244.0.0/24",
        "10.244.0.10/32",
        "10.0.0.4/32",
        "10.0.0.2/31",
        "203.0.113.0/24",
        "::/0",
        "fd00:244::/64",
        "fd00:244::/46",
        "fd00:244::a/128",
    ])
}

fn peer() -> impl Strategy<Value = Value> {
    prop_oneof![
        pods().prop_map(|pods| json!({"podSelector": pods})),
        (namespaces(), pods()).prop_map(
            |(namespaces, pods)| json!({"namespaceSelector": namespaces, "podSelector": pods})
        ),
        block().prop_map(|block| json!({"ipBlock": {"cidr": block}})),
        Just(
            json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.244.0.0/24", "10.0.0.4/32"]}})
        ),
    ]
}

fn port() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"port": 8080}),
        json!({"port": "http"}),
        json!({"port": 8000, "endPort": 9000}),
        json!({"port": 53, "protocol": "UDP"}),
        json!({"protocol": "SCTP"}),
    ])
}

fn rules(peers: &'static str) -> impl Strategy<Value = Value> {
    let rule = (prop::collection::vec(peer(), 0..3), prop::collection::vec(port(), 0..3));
    let rule = rule.prop_map(move |(all, ports)| json!({peers: all, "ports": ports}));
    prop::collection::vec(rule, 0..3).prop_map(Value::from)
}

/// The spec of a NetworkPolicy in one of the namespaces.
pub(super) fn network_policy() -> impl Strategy<Value = Value> {
    let types = prop::sample::select(vec![
        json!(["Ingress"]),
        json!(["Egress"]),
        json!(["Ingress", "Egress"]),
    ]);
    let namespace = prop::sample::select(vec!["space-0", "space-1", "kube-system"]);
    let parts = (namespace, pods(), types, rules("from"), rules("to"));
    parts.prop_map(|(namespace, pods, types, ingress, egress)| {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"namespace": namespace},
            "spec": {"podSelector": pods, "policyTypes": types, "ingress": ingress, "egress": egress},
        })
    })
}

fn cluster_rules(peers: &'static str) -> impl Strategy<Value = Value> {
    let of_pods = prop_oneof![
        namespaces().prop_map(|namespaces| json!({"namespaces": namespaces})),
        (namespaces(), pods()).prop_map(|(namespaces, pods)| {
            json!({"pods": {"namespaceSelector": namespaces, "podSelector": pods}})
        }),
    ];
    let outside = prop_oneof![
        Just(json!({"nodes": {}})),
        block().prop_map(|block| json!({"networks": [block]})),
    ];
    let peer = if peers == "to" { prop_oneof![of_pods, outside].boxed() } else { of_pods.boxed() };
    let ports = prop::sample::select(vec![
        json!([{"tcp": {"destinationPort": {"number": 8080}}}]),
        json!([{"udp": {"destinationPort": {"range": {"start": 1, "end": 100}}}}]),
    ]);
    let action = prop::sample::select(vec!["Accept", "Deny", "Pass"]);
    let rule = (action, prop::collection::vec(peer, 1..3), prop::option::of(ports));
    let rule = rule.prop_map(move |(action, all, ports)| {
        let mut rule = json!({"action": action, peers: all});
        if let Some(ports) = ports {
            rule["protocols"] = ports;
        }
        rule
    });
    prop::collection::vec(rule, 0..3).prop_map(Value::from)
}

fn cluster_policy() -> impl Strategy<Value = Value> {
    let tier = prop::sample::select(vec!["Admin", "Baseline"]);
    let parts = (tier, 0..3u8, namespaces(), pods(), cluster_rules("from"), cluster_rules("to"));
    parts.prop_map(|(tier, priority, namespaces, pods, ingress, egress)| {
        let subject = json!({"pods": {"namespaceSelector": namespaces, "podSelector": pods}});
        json!({
            "apiVersion": "policy.networking.k8s.io/v1alpha2", "kind": "ClusterNetworkPolicy",
            "metadata": {},
            "spec": {"tier": tier, "priority": priority, "subject": subject, "ingress": ingress, "egress": egress},
        })
    })
}

/// Policies of both sorts, each with a name of its own.
pub(super) fn policies() -> impl Strategy<Value = Vec<Value>> {
    let all = (
        prop::collection::vec(network_policy(), 0..5),
        prop::collection::vec(cluster_policy(), 0..3),
    );
    all.prop_map(|(network, cluster)| {
        let mut all = [network, cluster].concat();
        for (number, one) in all.iter_mut().enumerate() {
            one["metadata"]["name"] = json!(format!("policy-{number}"));
        }
        all
    })
}

pub(super) fn index(world: &World, policies: &[Value]) -> Index {
    let mut index = Arc::into_inner(world.index(false)).unwrap();
    for value in policies {
        let (objects, told) = object::read("policies", &value.to_string());
        assert_eq!(told, [], "{value}");
        for object in objects {
            index.apply(object);
        }
    }
    index
}

fn reach(index: &Index) -> Reach<'_> {
    Reach::new(index.policies(), index.cluster_policies().iter().map(|policy| &**policy))
}

fn workloads(index: &Index) -> Vec<(Workload, Vec<End>)> {
    let ends = |workload: &Workload| (workload.clone(), index.ends_of(workload).unwrap());
    index.top_workloads().map(ends).collect()
}

/// What the map tells between a workload and another place.
fn told(map: &[Link], source: &Place, destination: &Place) -> Vec<Passing> {
    let covers = |place: &Place, other: &Place| match (place, other) {
        (Place::World(ranges), Place::World(asked)) => ranges.iter().any(|range| {
            asked.iter().all(|one| range.first <= one.first && one.last <= range.last)
        }),
        (Place::Nodes(names), Place::Nodes(asked)) => asked.iter().all(|one| names.contains(one)),
        (Place::Workload(_) | Place::Nodes(_) | Place::Names(_) | Place::World(_), _) => {
            place == other
        }
    };
    let links = map
        .iter()
        .filter(|link| covers(&link.source, source) && covers(&link.destination, destination));
    links.map(|link| link.passing.clone()).collect()
}

/// What passes between ends, in the words of a map, where nothing is told of what does not pass.
fn passing(reach: &Reach<'_>, sources: &[End], destinations: &[End]) -> Vec<Passing> {
    let passing = reach.passing(sources, destinations);
    [passing].into_iter().filter(|passing| !passing.is_empty()).collect()
}

/// The ends by each of their addresses.
fn by_address(ends: &[End]) -> Vec<End> {
    let of = |end: &End| match end {
        End::Pod(pod) if !pod.addresses.is_empty() => {
            let own = pod.addresses.iter();
            own.map(|own| End::Pod(Pod { addresses: vec![*own], ..pod.clone() })).collect()
        }
        End::Node { name, labels, addresses } if !addresses.is_empty() => {
            let own = addresses.iter().map(|own| vec![*own]);
            own.map(|addresses| End::Node { name: name.clone(), labels: labels.clone(), addresses })
                .collect()
        }
        End::Pod(_) | End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => {
            vec![end.clone()]
        }
    };
    ends.iter().flat_map(of).collect()
}

/// The address of an end, if it is known.
fn address(end: &End) -> Option<IpAddr> {
    match end {
        End::Pod(pod) => pod.addresses.first().copied(),
        End::Node { addresses, .. } => addresses.first().copied(),
        End::Address(address) => Some(*address),
        End::Name(_) | End::Unknown => None,
    }
}

/// Whether a packet may have both addresses.
fn meet(one: &End, other: &End) -> bool {
    match (address(one), address(other)) {
        (Some(one), Some(other)) => one.is_ipv4() == other.is_ipv4(),
        (None, _) | (_, None) => true,
    }
}

/// What passes between two ends.
fn between(reach: &Reach<'_>, source: &End, destination: &End) -> Transports {
    let passes = |side| connectivity::allowed(&reach.policies().parts(side, source, destination));
    passes(Side::Egress).intersection(&passes(Side::Ingress))
}

/// Who has addresses: pods, nodes, the API server, and something outside.
fn addresses(world: &World) -> Vec<IpAddr> {
    let places = [Site::Outside, Site::ApiServer, Site::Node].map(Site::address);
    let members = world.members.iter().flat_map(Member::addresses);
    members.chain(places).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn what_holds_for_workloads_holds_for_each_of_their_pods(
        world in dual_stack_world(),
        policies in policies(),
    ) {
        let index = index(&world, &policies);
        let (reach, workloads) = (reach(&index), workloads(&index));
        let pairs = workloads.iter().flat_map(|from| workloads.iter().map(move |to| (from, to)));
        for ((source, from), (destination, to)) in pairs {
            let each: Vec<Transports> = by_address(from)
                .iter()
                .flat_map(|one| by_address(to).into_iter().map(move |other| (one.clone(), other)))
                .filter(|(one, other)| meet(one, other))
                .map(|(one, other)| between(&reach, &one, &other))
                .collect();
            let some = each.iter().fold(Transports::default(), |some, one| some.union(one));
            let all = each.iter().fold(some.clone(), |all, one| all.intersection(one));
            let passing = reach.passing(from, to);
            prop_assert_eq!(passing, Passing { some, all }, "{:?} {:?}", source, destination);
            for (protocol, port) in PORTS {
                let transport = Transport::Port(protocol, port);
                let Some(answer) = reach.check(from, to, (protocol, port)) else {
                    prop_assert!(each.is_empty());
                    continue;
                };
                let denied = each.iter().filter(|one| !one.contains(transport)).count();
                prop_assert_eq!(answer.denied == 0, denied == 0);
                prop_assert_eq!(answer.denied == answer.pairs, denied == each.len());
            }
        }
    }

    #[test]
    fn the_map_tells_what_passes_between_workloads(world in dual_stack_world(), policies in policies()) {
        let index = index(&world, &policies);
        let (reach, workloads) = (reach(&index), workloads(&index));
        let map = reach.map(&index, &workloads, |_| true);
        for (source, from) in &workloads {
            for (destination, to) in workloads.iter().filter(|(other, _)| other != source) {
                let places = [source, destination].map(|own| Place::Workload(own.clone()));
                prop_assert_eq!(told(&map, &places[0], &places[1]), passing(&reach, from, to));
            }
        }
    }

    #[test]
    fn the_map_tells_what_passes_between_workloads_and_nodes(
        world in dual_stack_world(),
        policies in policies(),
    ) {
        let index = index(&world, &policies);
        let (reach, workloads) = (reach(&index), workloads(&index));
        let map = reach.map(&index, &workloads, |_| true);
        for (workload, ends) in &workloads {
            let own = Place::Workload(workload.clone());
            for side in [Side::Egress, Side::Ingress] {
                let ports = |from: &[End], to: &[End]| match side {
                    Side::Egress => reach.passing(from, to).some,
                    Side::Ingress => reach.passing(to, from).some,
                };
                // Nodes that are alike are told together, also where one of them alone reaches its own pods.
                let links = map.iter().filter_map(|link| match (side, &link.source, &link.destination) {
                    (Side::Egress, source, Place::Nodes(names)) if *source == own => Some((names, link)),
                    (Side::Ingress, Place::Nodes(names), to) if *to == own => Some((names, link)),
                    _ => None,
                });
                let links: Vec<_> = links.collect();
                for (names, link) in &links {
                    let nodes: Vec<End> = names.iter().filter_map(|name| index.end_of_node(name)).collect();
                    prop_assert_eq!(&ports(ends, &nodes), &link.passing.some);
                }
                for node in index.nodes() {
                    let told = links.iter().any(|(names, _)| names.contains(&node.name));
                    let passes = ports(ends, &[index.end_of_node(&node.name).unwrap()]);
                    prop_assert!(told || passes.is_empty());
                }
            }
        }
    }

    #[test]
    fn the_map_tells_what_passes_to_and_from_every_address_of_the_world(
        world in dual_stack_world(),
        policies in policies(),
        numbers in prop::collection::vec(any::<u32>(), 1..4),
    ) {
        let index = index(&world, &policies);
        let (reach, workloads) = (reach(&index), workloads(&index));
        let map = reach.map(&index, &workloads, |_| true);
        let near = ["10.244.0.9", "10.244.0.99", "10.244.1.99", "10.0.0.1", "203.0.113.7", "fd00:244::99", "fd01::1"];
        let near = near.iter().map(|address| address.parse().unwrap());
        let far = numbers.into_iter().map(|number| IpAddr::from(number.to_be_bytes()));
        let nobodys = |address: &IpAddr| index.end_at(*address) == End::Address(*address);
        for address in near.chain(far).filter(nobodys) {
            let (outside, there) = ([End::Address(address)], Place::World(vec![AddressRange::new(address, address)]));
            for (workload, ends) in &workloads {
                let own = Place::Workload(workload.clone());
                prop_assert_eq!(told(&map, &own, &there), passing(&reach, ends, &outside));
                prop_assert_eq!(told(&map, &there, &own), passing(&reach, &outside, ends));
            }
        }
    }

    #[test]
    fn what_is_said_of_ends_is_said_of_packets_between_their_addresses(
        world in dual_stack_world(),
        policies in policies(),
    ) {
        let index = index(&world, &policies);
        let (reach, cluster) = (reach(&index), index.cluster());
        let all = addresses(&world);
        let pairs = all.iter().flat_map(|source| all.iter().map(move |other| (*source, *other)));
        for (source, destination) in pairs {
            if source.is_ipv4() != destination.is_ipv4() {
                continue;
            }
            let ends = ([index.end_at(source)], [index.end_at(destination)]);
            for (protocol, port) in PORTS {
                let transport = Transport::Port(protocol, port);
                let packet = Packet { source, destination, transport };
                let explained = cluster.explain(&packet, Duration::ZERO);
                let answer = reach.check(&ends.0, &ends.1, (protocol, port)).unwrap();
                prop_assert_eq!(answer.explanation.allowed(), explained.allowed(), "{:?}", packet);
            }
        }
    }

    #[test]
    fn what_is_said_of_workloads_is_said_of_packets_between_all_addresses_of_their_pods(
        world in dual_stack_world(),
        policies in policies(),
    ) {
        let index = index(&world, &policies);
        let (reach, cluster) = (reach(&index), index.cluster());
        let workloads: BTreeMap<&Workload, Vec<&Member>> =
            world.members.iter().fold(BTreeMap::new(), |mut all, member| {
                all.entry(&member.workload).or_default().push(member);
                all
            });
        let pairs = workloads.iter().flat_map(|from| workloads.iter().map(move |to| (from, to)));
        for ((source, from), (destination, to)) in pairs {
            let packets: Vec<(IpAddr, IpAddr)> = from
                .iter()
                .flat_map(|one| one.addresses())
                .flat_map(|one| to.iter().flat_map(|other| other.addresses()).map(move |other| (one, other)))
                .filter(|(one, other)| one.is_ipv4() == other.is_ipv4())
                .collect();
            let ends = [source, destination].map(|own| index.ends_of(own).unwrap());
            for (protocol, port) in PORTS {
                let transport = Transport::Port(protocol, port);
                let denied = packets.iter().filter(|(source, destination)| {
                    let packet = Packet { source: *source, destination: *destination, transport };
                    !cluster.explain(&packet, Duration::ZERO).allowed()
                });
                let denied = denied.count();
                let Some(answer) = reach.check(&ends[0], &ends[1], (protocol, port)) else {
                    prop_assert_eq!(packets.len(), 0);
                    continue;
                };
                let told = (answer.denied == 0, answer.denied == answer.pairs);
                prop_assert_eq!(told, (denied == 0, denied == packets.len()), "{:?} {:?}", source, destination);
            }
        }
    }
}
