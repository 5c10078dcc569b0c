//! Clusters as objects of the API, and packets in them, from a seed: few labels, addresses and ports, so that
//! their parts meet often.
//!
//! Left out is what no two readers can agree on. Policies of v1alpha1 and of v1alpha2 never stand side by side: no text
//! says in which order they are asked, and the reference is built for one or the other. Two pods that both run, or both wait
//! to, never claim one address: the reference takes any of them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netenf_policy::{Packet, Protocol, Transport};
use netenf_testkit::generate::random::Random;
use serde_json::{Value, json};

use super::document::Document;

mod cluster_policy;
mod network_policy;
mod selector;

pub(super) const NAMESPACES: [&str; 3] = ["x", "y", "z"];
const NODES: usize = 3;
const OUTSIDE: [&str; 5] =
    ["203.0.113.9", "203.0.113.200", "198.51.100.7", "2001:db8::9", "2001:db8:1::9"];
/// Names, and which of the addresses outside they were resolved to.
const NAMES: [(&str, &[usize]); 5] = [
    ("example.com", &[0]),
    ("a.example.com", &[1, 3]),
    ("b.a.example.com", &[2]),
    ("Www.Example.ORG", &[0, 4]),
    ("other.io", &[]),
];
pub(super) const PORT_NAMES: [&str; 3] = ["web", "dns", "admin"];
pub(super) const PORTS: [u16; 4] = [53, 80, 81, 65_535];
pub(super) const PROTOCOLS: [&str; 5] = ["TCP", "TCP", "TCP", "UDP", "SCTP"];

/// The document of a seed, with this many packets.
pub(crate) fn document(seed: u64, packets: usize) -> Document {
    let random = &mut Random::new(seed);
    let mut objects: Vec<Value> = NAMESPACES.iter().map(|name| namespace(random, name)).collect();
    objects.extend((0..NODES).map(|index| node(random, index)));
    for index in 0..4 + random.below(5) {
        let pod = pod(random, index, objects.last());
        objects.push(pod);
    }
    objects.extend((0..random.below(7)).map(|index| network_policy::policy(random, index)));
    objects.extend(cluster_policy::policies(random));
    let domains = domains(random);
    let ends = ends(&objects);
    let packets = (0..packets).map(|_| packet(random, &ends)).collect();
    Document { objects, domains, packets }
}

/// Whether something rare is to be: what an API server would refuse, or what the reference takes amiss.
pub(super) fn is_rare(random: &mut Random) -> bool {
    random.happens(3)
}

/// Some of `items`, at least one, in their order.
pub(super) fn some<T: Clone>(random: &mut Random, items: &[T]) -> Vec<T> {
    let one = random.below(items.len());
    let chosen = items.iter().enumerate().filter(|(at, _)| *at == one || random.happens(25));
    chosen.map(|(_, item)| item.clone()).collect()
}

fn namespace(random: &mut Random, name: &str) -> Value {
    let mut labels = selector::labels(random);
    labels["kubernetes.io/metadata.name"] = name.into();
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

fn node(random: &mut Random, index: usize) -> Value {
    let name = format!("n{index}");
    let mut addresses = vec![
        json!({"type": "InternalIP", "address": format!("192.168.0.{}", index + 1)}),
        json!({"type": "Hostname", "address": name}),
    ];
    if random.happens(50) {
        addresses.push(json!({"type": "ExternalIP", "address": format!("fd00:1::{}", index + 1)}));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": selector::labels(random)},
        "status": {"addresses": addresses},
    })
}

/// A pod. One that does not run may claim the address of the pod before it, if that runs or this has finished.
fn pod(random: &mut Random, index: usize, before: Option<&Value>) -> Value {
    let phase = match random.below(12) {
        0 => "Succeeded",
        1 => "Failed",
        2 => "Pending",
        _ => "Running",
    };
    let runs_before = before.is_some_and(|pod| pod["status"]["phase"] == "Running");
    let may_claim = index > 0 && phase != "Running" && (runs_before || phase != "Pending");
    let place = if may_claim && random.happens(50) { index - 1 } else { index };
    let node = random.below(NODES);
    let host_network = random.happens(10);
    let mut addresses = if host_network {
        vec![format!("192.168.0.{}", node + 1)]
    } else {
        vec![format!("10.0.{}.{}", place % 2, place + 1)]
    };
    if !host_network && random.happens(40) {
        addresses.push(format!("fd00::{}", place + 1));
    }
    let addresses: Vec<Value> = addresses.iter().map(|address| json!({"ip": address})).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("p{index}"),
            "namespace": random.pick(&NAMESPACES),
            "labels": selector::labels(random),
        },
        "spec": {
            "nodeName": format!("n{node}"),
            "hostNetwork": host_network,
            "containers": [{"name": "first", "ports": ports(random)}, {"name": "second"}],
        },
        "status": {"phase": phase, "podIP": addresses[0]["ip"], "podIPs": addresses},
    })
}

/// Container ports; one name may stand for ports of several protocols.
fn ports(random: &mut Random) -> Vec<Value> {
    let port = |random: &mut Random| {
        json!({
            "name": random.pick(&PORT_NAMES),
            "containerPort": random.pick(&PORTS),
            "protocol": random.pick(&PROTOCOLS),
        })
    };
    (0..random.below(4)).map(|_| port(random)).collect()
}

fn domains(random: &mut Random) -> BTreeMap<String, Vec<IpAddr>> {
    let addresses = |places: &[usize]| {
        places.iter().map(|place| OUTSIDE[*place].parse().unwrap()).collect::<Vec<IpAddr>>()
    };
    let known = NAMES.iter().filter(|_| random.happens(70));
    known.map(|(name, places)| ((*name).to_owned(), addresses(places))).collect()
}

/// Every address that something has, and those outside; those of pods more often.
fn ends(objects: &[Value]) -> Vec<IpAddr> {
    let read = |text: &Value| text.as_str()?.parse().ok();
    let items = |list: &'static str| {
        objects.iter().filter_map(move |object| object["status"][list].as_array()).flatten()
    };
    let pods: Vec<IpAddr> = items("podIPs").filter_map(|item| read(&item["ip"])).collect();
    let nodes = items("addresses").filter_map(|item| read(&item["address"]));
    let outside = OUTSIDE.iter().map(|address| address.parse().unwrap());
    pods.repeat(4).into_iter().chain(nodes).chain(outside).collect()
}

fn packet(random: &mut Random, ends: &[IpAddr]) -> Packet {
    let source = *random.pick(ends);
    let others = ends.iter().copied().filter(|end| *end != source);
    let of_family = others.filter(|end| end.is_ipv4() == source.is_ipv4());
    let destinations: Vec<IpAddr> = of_family.chain([source]).collect();
    let protocol =
        *random.pick(&[Protocol::Tcp, Protocol::Tcp, Protocol::Tcp, Protocol::Udp, Protocol::Sctp]);
    let transport = match random.below(20) {
        0 => Transport::Other,
        1 => Transport::Portless(protocol),
        2 => Transport::Port(protocol, 0),
        _ => Transport::Port(protocol, *random.pick(&PORTS)),
    };
    Packet { source, destination: *random.pick(&destinations), transport }
}
