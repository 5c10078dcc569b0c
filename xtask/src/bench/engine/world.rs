//! Clusters of any size as objects of the API, a line each.
//!
//! Rules never match, so that each is asked for every packet: what an engine that asks them in turn takes longest for.

use std::io::{self, Write};

use serde_json::{Value, json};

/// How large a cluster is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) pods: u32,
    /// All of one namespace; every tenth is for all of its pods.
    pub(super) network_policies: u32,
    /// For all pods, with [`RULES`] rules each.
    pub(super) cluster_policies: u32,
}

/// The limit of the API.
const RULES: u32 = 25;
const NAMESPACES: u32 = 50;
/// The namespace that has NetworkPolicies; the pods there are what packets are sent to.
const GUARDED: u32 = 1;
const PACKETS: u32 = 2_000;
/// How often each kind of object is changed.
const CHANGES: u32 = 50;

/// Writes the cluster, then what is to be done with it.
pub(super) fn write(size: Size, out: &mut impl Write) -> io::Result<()> {
    let namespaces = (0..NAMESPACES).map(|index| namespace(index, 0));
    let pods = (0..size.pods).map(|index| pod(index, 0));
    let network_policies = (0..size.network_policies).map(|index| network_policy(index, 0));
    let cluster_policies = (0..size.cluster_policies).map(|index| cluster_policy(index, 0));
    let objects = namespaces.chain(pods).chain(network_policies).chain(cluster_policies);
    for object in objects {
        writeln!(out, "{object}")?;
    }
    let packets: Vec<Value> = (0..PACKETS).map(|index| packet(index, size.pods)).collect();
    writeln!(out, "{}", json!({"packets": packets}))?;
    for (what, objects) in updates(size) {
        writeln!(out, "{}", json!({"update": what, "objects": objects}))?;
    }
    Ok(())
}

/// Kinds of updates, and the objects as they become. Policies that are not there cannot change.
fn updates(size: Size) -> Vec<(&'static str, Vec<Value>)> {
    let changed = |change: &dyn Fn(u32) -> Value| (1..=CHANGES).map(change).collect();
    let mut updates = vec![
        ("a pod's labels", changed(&|nth| pod(nth * 97 % size.pods, nth))),
        ("a namespace's labels", changed(&|nth| namespace(nth % NAMESPACES, nth))),
    ];
    if size.network_policies > 0 {
        let change = |nth| network_policy(nth % size.network_policies, nth);
        updates.push(("a NetworkPolicy", changed(&change)));
    }
    if size.cluster_policies > 0 {
        let change = |nth| cluster_policy(nth % size.cluster_policies, nth);
        updates.push(("a ClusterNetworkPolicy", changed(&change)));
    }
    updates
}

fn address(pod: u32) -> String {
    std::net::Ipv4Addr::from_bits(0x0A00_0000 + pod).to_string()
}

fn namespace(index: u32, revision: u32) -> Value {
    let name = format!("namespace-{index}");
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/metadata.name": name, "revision": format!("r{revision}")},
        },
    })
}

fn pod(index: u32, revision: u32) -> Value {
    let app = format!("app-{}", (index + revision) % 500);
    let address = address(index);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("pod-{index}"),
            "namespace": format!("namespace-{}", index % NAMESPACES),
            "labels": {"app": app, "tier": "web"},
        },
        "spec": {"containers": [{"name": "main", "ports": [
            {"name": "web", "containerPort": 8_080, "protocol": "TCP"},
        ]}]},
        "status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]},
    })
}

/// A selector of pods that are not there; no two are the same.
fn nobody(number: u32, revision: u32) -> Value {
    json!({"matchLabels": {"app": format!("nobody-{number}-{revision}")}})
}

fn network_policy(index: u32, revision: u32) -> Value {
    let pods = if index.is_multiple_of(10) { json!({}) } else { nobody(index, 0) };
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": format!("policy-{index}"),
            "namespace": format!("namespace-{GUARDED}"),
        },
        "spec": {
            "podSelector": pods,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [
                {"namespaceSelector": {}, "podSelector": nobody(index, revision)},
            ]}],
        },
    })
}

fn cluster_policy(index: u32, revision: u32) -> Value {
    let rule = |rule| {
        let pods = nobody(index * RULES + rule, revision);
        let peer = json!({"pods": {"namespaceSelector": {}, "podSelector": pods}});
        json!({"action": "Deny", "from": [peer]})
    };
    json!({
        "apiVersion": "policy.networking.k8s.io/v1alpha2",
        "kind": "ClusterNetworkPolicy",
        "metadata": {"name": format!("policy-{index}")},
        "spec": {
            "tier": "Admin",
            "priority": index % 1_000,
            "subject": {"namespaces": {}},
            "ingress": (0..RULES).map(rule).collect::<Vec<_>>(),
        },
    })
}

/// A packet from the next namespace into the guarded one.
fn packet(index: u32, pods: u32) -> Value {
    let scattered = index.wrapping_mul(2_654_435_761);
    let source = scattered % (pods / NAMESPACES) * NAMESPACES + GUARDED + 1;
    let destination = scattered / NAMESPACES % (pods / NAMESPACES) * NAMESPACES + GUARDED;
    json!({
        "source": address(source),
        "destination": address(destination),
        "protocol": "TCP",
        "port": 8_080,
    })
}
