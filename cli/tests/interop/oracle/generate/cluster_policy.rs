//! Cluster-wide policies of both APIs.

use netenf_testkit::generate::random::Random;
use serde_json::{Value, json};

use super::{PORT_NAMES, PORTS, PROTOCOLS, is_rare, selector, some};

const GROUP: &str = "policy.networking.k8s.io";
const NETWORKS: [&str; 8] = [
    "0.0.0.0/0",
    "::/0",
    "10.0.0.0/16",
    "10.0.0.2/31",
    "192.168.0.0/30",
    "203.0.113.0/24",
    "fd00::/8",
    "2001:db8::/32",
];
const PATTERNS: [&str; 6] = [
    "*.example.com",
    "example.com",
    "A.example.com.",
    "*.a.example.com",
    "www.example.org",
    "*.other.io",
];
const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// Which rules a kind of policy may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Admin,
    BaselineAdmin,
    Cluster,
}

/// The cluster-wide policies of one API.
pub(super) fn policies(random: &mut Random) -> Vec<Value> {
    match random.below(5) {
        0 => Vec::new(),
        1 | 2 => admin(random),
        _ => names(random).map(|name| cluster(random, name)).collect(),
    }
}

fn names(random: &mut Random) -> impl Iterator<Item = &'static str> + use<> {
    NAMES.into_iter().take(1 + random.below(NAMES.len()))
}

fn admin(random: &mut Random) -> Vec<Value> {
    let mut policies: Vec<Value> = names(random)
        .map(|name| {
            let mut spec = spec(random, Kind::Admin);
            spec["priority"] = random.below(3).into();
            policy("v1alpha1", "AdminNetworkPolicy", name, &spec)
        })
        .collect();
    if random.happens(60) {
        let spec = spec(random, Kind::BaselineAdmin);
        policies.push(policy("v1alpha1", "BaselineAdminNetworkPolicy", "default", &spec));
    }
    policies
}

fn cluster(random: &mut Random, name: &str) -> Value {
    let mut spec = spec(random, Kind::Cluster);
    spec["tier"] = (*random.pick(&["Admin", "Baseline"])).into();
    // So few priorities have ties.
    spec["priority"] = random.below(3).into();
    policy("v1alpha2", "ClusterNetworkPolicy", name, &spec)
}

fn policy(version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    let api_version = format!("{GROUP}/{version}");
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn spec(random: &mut Random, kind: Kind) -> Value {
    let mut spec = json!({"subject": pods(random, kind)});
    for side in ["ingress", "egress"] {
        if random.happens(80) {
            spec[side] = (0..random.below(5)).map(|_| rule(random, kind, side)).collect();
        }
    }
    spec
}

/// A subject or a peer that is a set of pods.
fn pods(random: &mut Random, kind: Kind) -> Value {
    if random.happens(40) {
        return json!({"namespaces": selector::of_namespaces(random)});
    }
    let mut pods = json!({"podSelector": selector::of_objects(random)});
    if kind != Kind::Cluster || random.happens(70) {
        pods["namespaceSelector"] = selector::of_namespaces(random);
    }
    json!({"pods": pods})
}

fn rule(random: &mut Random, kind: Kind, side: &str) -> Value {
    let actions: &[&str] = match kind {
        Kind::Admin => &["Allow", "Allow", "Deny", "Pass"],
        Kind::BaselineAdmin => &["Allow", "Deny"],
        Kind::Cluster => &["Accept", "Accept", "Deny", "Pass"],
    };
    let mut rule = json!({"action": random.pick(actions)});
    if random.happens(30) {
        rule["name"] = "rule".into();
    }
    let field = if side == "ingress" { "from" } else { "to" };
    let peers: Vec<Value> = (0..=random.below(2)).map(|_| peer(random, kind, side)).collect();
    // "networks/nodes/domainNames peers cannot coexist with named ports" (a CEL rule of the definitions).
    let may_name = peers.iter().all(|peer| !is_of_addresses(peer));
    rule[field] = peers.into();
    if random.happens(40) {
        let ports = (0..=random.below(2)).map(|_| port(random, kind, may_name)).collect();
        rule[if kind == Kind::Cluster { "protocols" } else { "ports" }] = ports;
    }
    rule
}

fn is_of_addresses(peer: &Value) -> bool {
    ["nodes", "networks", "domainNames"].iter().any(|field| peer.get(field).is_some())
}

fn peer(random: &mut Random, kind: Kind, side: &str) -> Value {
    if is_rare(random) {
        // A peer of a later version of the API has fields that an older reader does not see.
        return json!({});
    }
    if is_rare(random) {
        return json!({"namespaces": selector::refused(random)});
    }
    match random.below(8) {
        0 if side == "egress" => json!({"nodes": selector::of_objects(random)}),
        1 | 2 if side == "egress" => json!({"networks": some(random, &NETWORKS)}),
        3 if side == "egress" && kind != Kind::BaselineAdmin => {
            json!({"domainNames": some(random, &PATTERNS)})
        }
        _ => pods(random, kind),
    }
}

fn port(random: &mut Random, kind: Kind, may_name: bool) -> Value {
    if is_rare(random) {
        return json!({});
    }
    let number = *random.pick(&PORTS);
    // "start < end": no range begins at the last port.
    let start = number.min(60_000);
    let protocol = *random.pick(&PROTOCOLS);
    match (kind, random.below(if may_name { 3 } else { 2 })) {
        (Kind::Cluster, 0) => {
            json!({protocol.to_lowercase(): {"destinationPort": {"number": number}}})
        }
        (Kind::Cluster, 1) => json!({
            protocol.to_lowercase(): {"destinationPort": {"range": {"start": start, "end": start + 400}}},
        }),
        (Kind::Cluster, _) => json!({"destinationNamedPort": random.pick(&PORT_NAMES)}),
        (Kind::Admin | Kind::BaselineAdmin, 0) if is_rare(random) => {
            json!({"portNumber": {"port": number}})
        }
        (Kind::Admin | Kind::BaselineAdmin, 0) => {
            json!({"portNumber": {"protocol": protocol, "port": number}})
        }
        // v1alpha1 does not ask for a range's end to come after its start.
        (Kind::Admin | Kind::BaselineAdmin, 1) if is_rare(random) => {
            json!({"portRange": {"protocol": protocol, "start": start, "end": start - 1}})
        }
        (Kind::Admin | Kind::BaselineAdmin, 1) => {
            json!({"portRange": {"protocol": protocol, "start": start, "end": start + 400}})
        }
        (Kind::Admin | Kind::BaselineAdmin, _) => json!({"namedPort": random.pick(&PORT_NAMES)}),
    }
}
