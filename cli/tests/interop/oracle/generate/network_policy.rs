//! NetworkPolicies.

use netenf_testkit::generate::random::Random;
use serde_json::{Value, json};

use super::{NAMESPACES, PORT_NAMES, PORTS, PROTOCOLS, is_rare, selector, some};

const BLOCKS: [(&str, &[&str]); 9] = [
    ("0.0.0.0/0", &["10.0.0.0/8", "203.0.113.0/24", "192.168.0.1/32"]),
    ("::/0", &["fd00::/8", "2001:db8:1::/48"]),
    ("10.0.0.0/16", &["10.0.1.0/24", "10.0.0.0/30"]),
    ("10.0.0.2/31", &["10.0.0.2/32"]),
    // Bits of the host are let through with a warning and mean nothing.
    ("10.0.1.7/24", &["10.0.1.0/30"]),
    ("203.0.113.0/24", &["203.0.113.128/25"]),
    ("192.168.0.0/24", &["192.168.0.2/32"]),
    ("fd00::/16", &["fd00:1::/32"]),
    ("2001:db8::9/128", &[]),
];
const NO_BLOCKS: [&str; 3] = ["010.0.0.0/8", "10.0.0.0/33", "fd00::/x"];

/// A policy of one of the namespaces.
pub(super) fn policy(random: &mut Random, index: usize) -> Value {
    let mut spec = json!({"podSelector": selector::of_objects(random)});
    for side in ["ingress", "egress"] {
        let peers = if side == "ingress" { "from" } else { "to" };
        let rules: Vec<Value> = (0..random.below(3)).map(|_| rule(random, peers)).collect();
        // The API server stores an empty list as none.
        if !rules.is_empty() || is_rare(random) {
            spec[side] = rules.into();
        }
    }
    if !is_rare(random) {
        // Rules of a direction that is not named here mean nothing.
        spec["policyTypes"] = some(random, &["Ingress", "Egress"]).into();
    }
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": format!("policy-{index}"), "namespace": random.pick(&NAMESPACES)},
        "spec": spec,
    })
}

fn rule(random: &mut Random, peers: &str) -> Value {
    let mut rule = json!({});
    if random.happens(80) {
        rule[peers] = (0..=random.below(2)).map(|_| peer(random)).collect();
    }
    if random.happens(40) {
        rule["ports"] = (0..=random.below(2)).map(|_| port(random)).collect();
    }
    rule
}

fn peer(random: &mut Random) -> Value {
    match random.below(6) {
        0 => json!({"podSelector": selector::of_peer(random)}),
        1 => json!({"namespaceSelector": selector::of_namespaces(random)}),
        2 | 3 => json!({
            "namespaceSelector": selector::of_namespaces(random),
            "podSelector": selector::of_peer(random),
        }),
        _ if is_rare(random) => json!({"ipBlock": {"cidr": random.pick(&NO_BLOCKS)}}),
        _ => block(random),
    }
}

fn block(random: &mut Random) -> Value {
    let (cidr, except) = random.pick(&BLOCKS);
    if except.is_empty() || random.happens(50) {
        return json!({"ipBlock": {"cidr": cidr}});
    }
    json!({"ipBlock": {"cidr": cidr, "except": some(random, except)}})
}

fn port(random: &mut Random) -> Value {
    let mut port = match random.below(5) {
        0 => json!({}),
        1 => json!({"port": random.pick(&PORT_NAMES)}),
        2 => {
            let first = *random.pick(&PORTS);
            json!({"port": first, "endPort": first.saturating_add(400)})
        }
        _ => json!({"port": random.pick(&PORTS)}),
    };
    if !is_rare(random) {
        port["protocol"] = (*random.pick(&PROTOCOLS)).into();
    }
    port
}
