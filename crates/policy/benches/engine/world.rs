//! Clusters of any size for measurements, the same on each run.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use netenf_policy::cluster::{NamedPort, Node, Phase, Pod};
use netenf_policy::{
    Action, Cluster, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, Labels, NetworkPolicy,
    Peer, PodSet, PortMatch, PortRange, Protocol, Rule, Selector, Tier,
};

/// How large a cluster is.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Pods; forty of them are one workload, a hundred are on one node.
    pub pods: u32,
    /// ClusterNetworkPolicies of 25 rules for each direction.
    pub cluster_policies: u32,
    /// NetworkPolicies, each for one workload.
    pub network_policies: u32,
}

/// The shape of the ClusterNetworkPolicies' rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Peers of every kind, with and without ports.
    Mixed,
    /// As the reference's benchmark: rules for every pod whose peers never match.
    Never,
}

const NAMESPACES: u32 = 200;

/// Labels by key and value.
pub fn labels<const N: usize>(labels: [(&str, String); N]) -> Labels {
    labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn select(key: &str, value: String) -> Selector {
    Selector::of_labels(labels([(key, value)]))
}

/// The namespace of a workload: a fifth of them is in one.
fn namespace(workload: u32) -> Arc<str> {
    let index = if workload.is_multiple_of(5) { 0 } else { workload % NAMESPACES };
    format!("namespace-{index}").into()
}

/// The address of a pod.
pub fn address(pod: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 + pod))
}

/// A pod. `revision` is part of its labels as a template's hash is.
pub fn pod(index: u32, revision: u32) -> Pod {
    let workload = index / 40;
    let web = NamedPort { name: "web".into(), protocol: Protocol::Tcp, number: 8_080 };
    Pod {
        namespace: namespace(workload),
        name: format!("workload-{workload}-{revision:08x}-{index:05}").into(),
        phase: Phase::Running,
        host_network: false,
        labels: labels([
            ("app", format!("app-{workload}")),
            ("app.kubernetes.io/instance", format!("instance-{workload}")),
            ("pod-template-hash", format!("{revision:08x}")),
            ("team", format!("team-{}", workload % 50)),
        ]),
        addresses: vec![address(index)],
        ports: [web].into(),
        node: Some(format!("node-{}", index / 100).into()),
    }
}

/// A node.
pub fn node(index: u32) -> Node {
    let addresses = vec![IpAddr::V4(Ipv4Addr::from_bits(0xAC10_0000 + index))];
    let labels = labels([("kubernetes.io/os", "linux".to_owned())]);
    Node { name: format!("node-{index}").into(), labels, addresses }
}

/// A NetworkPolicy for one workload.
pub fn network_policy(index: u32) -> NetworkPolicy {
    let peer =
        Peer::Pods { namespaces: None, pods: Some(select("app", format!("app-{}", index + 1))) };
    let port = PortMatch { protocol: Protocol::Tcp, range: PortRange::Numbers(8_080, 8_080) };
    NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: namespace(index),
        name: format!("policy-{index}").into(),
        pods: select("app", format!("app-{index}")),
        ingress: Some(vec![Rule { peers: Some(vec![peer]), ports: Some(vec![port]) }]),
        egress: None,
    }
}

fn rule(policy: u32, index: u32, shape: Shape) -> ClusterRule {
    let number = policy * 25 + index;
    let everywhere = |pods| ClusterPeer::Pods(PodSet { namespaces: Selector::default(), pods });
    let within = |key: &str, value| {
        let namespaces = select(key, value);
        ClusterPeer::Pods(PodSet { namespaces, pods: Selector::default() })
    };
    if shape == Shape::Never {
        let peers = vec![within("never", "x".to_owned())];
        return ClusterRule { name: None, action: Action::Deny, peers, ports: None };
    }
    let low = u8::try_from(number % 256).unwrap_or_default();
    let high = u8::try_from(number / 256 % 256).unwrap_or_default();
    let peer = match index % 5 {
        0 => everywhere(select("app", format!("app-{}", number % 2_500))),
        1 => within("kubernetes.io/metadata.name", format!("namespace-{}", number % NAMESPACES)),
        2 => ClusterPeer::Networks(vec![
            format!("192.{high}.{low}.0/24").parse().unwrap(),
            "198.51.100.0/24".parse().unwrap(),
        ]),
        3 => everywhere(Selector::default()),
        _ => everywhere(select("team", format!("team-{}", number % 50))),
    };
    let first = u16::try_from(10_000 + number % 50_000).unwrap_or_default();
    let port = PortMatch { protocol: Protocol::Tcp, range: PortRange::Numbers(first, first + 10) };
    let ports = Some(vec![ClusterPort::Of(port)]);
    let action = if index.is_multiple_of(2) { Action::Accept } else { Action::Deny };
    ClusterRule { name: None, action, peers: vec![peer], ports }
}

/// A ClusterNetworkPolicy; half of them are for every pod.
pub fn cluster_policy(index: u32, shape: Shape) -> ClusterPolicy {
    let rules = || (0..25).map(|rule| self::rule(index, rule, shape)).collect();
    let pods = match (shape, index % 2) {
        (Shape::Mixed, 1) => select("team", format!("team-{}", index % 50)),
        (Shape::Mixed | Shape::Never, _) => Selector::default(),
    };
    ClusterPolicy {
        kind: "ClusterNetworkPolicy".into(),
        name: format!("policy-{index}").into(),
        tier: if index % 5 == 4 { Tier::Baseline } else { Tier::Admin },
        priority: i32::try_from(index).unwrap_or_default(),
        subject: PodSet { namespaces: Selector::default(), pods },
        ingress: rules(),
        egress: rules(),
    }
}

/// A cluster of that size.
pub fn cluster(size: Size, shape: Shape) -> Cluster {
    let mut cluster = Cluster::default();
    for index in 0..NAMESPACES {
        let name: Arc<str> = format!("namespace-{index}").into();
        let labels = labels([("kubernetes.io/metadata.name", name.to_string())]);
        cluster.namespaces.insert(name, labels);
    }
    for node in (0..size.pods.div_ceil(100)).map(node) {
        cluster.nodes.insert(node.name.clone(), node);
    }
    for pod in (0..size.pods).map(|index| pod(index, 0)) {
        cluster.pods.insert((pod.namespace.clone(), pod.name.clone()), pod);
    }
    for policy in (0..size.network_policies).map(network_policy) {
        let key = (policy.namespace.clone(), policy.name.clone());
        cluster.network_policies.insert(key, Arc::new(policy));
    }
    for policy in (0..size.cluster_policies).map(|index| cluster_policy(index, shape)) {
        let key = (policy.kind.clone(), policy.name.clone());
        cluster.cluster_policies.insert(key, Arc::new(policy));
    }
    cluster
}
