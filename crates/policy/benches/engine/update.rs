//! Changes of a cluster by name, each small in itself, for measurements.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netenf_policy::cluster::Node;
use netenf_policy::domain::{Answer, Asker, Data, Record, Settings};
use netenf_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterRule, DomainCache, Engine, Pattern, PodSet, Tier,
};

use super::world::{Shape, Size, cluster, cluster_policy, labels, network_policy, node, pod};

/// A change, and how often it was made before.
pub type Change = fn(&mut Engine, Size, u32);

/// All changes by name. Each differs from the one before, and leaves the cluster as large as it was, or is
/// followed by one that does.
pub const UPDATES: [(&str, Change); 10] = [
    ("a pod has other labels", |engine, size, at| engine.apply_pod(pod(at % size.pods, at % 7))),
    ("a CNP has another rule", |engine, size, at| {
        let mut policy = known(engine, at % size.cluster_policies);
        policy.egress.swap(0, 2);
        engine.apply_cluster_policy(policy);
    }),
    ("a CNP has other rules in both directions", |engine, size, at| {
        let mut policy = known(engine, at % size.cluster_policies);
        policy.egress.rotate_left(1);
        policy.ingress.rotate_left(1);
        engine.apply_cluster_policy(policy);
    }),
    ("a CNP has another priority", |engine, size, at| {
        let mut policy = known(engine, at % size.cluster_policies);
        policy.priority = priority(at * 7 % size.cluster_policies);
        engine.apply_cluster_policy(policy);
    }),
    ("a CNP is new or gone", |engine, size, at| {
        let index = size.cluster_policies + at / 2;
        let mut policy = cluster_policy(index, Shape::Mixed);
        policy.priority = priority(at * 7 % size.cluster_policies);
        match at % 2 {
            0 => engine.apply_cluster_policy(policy),
            _ => engine.delete_cluster_policy(&policy.kind, &policy.name),
        }
    }),
    ("a NetworkPolicy has another rule", |engine, size, at| {
        let mut policy = network_policy(at % size.network_policies);
        let rules = policy.ingress.as_mut().unwrap();
        rules[0].ports = (at / size.network_policies % 2 == 0).then(Vec::new);
        engine.apply_network_policy(policy);
    }),
    ("a NetworkPolicy is new or gone", |engine, size, at| {
        let policy = network_policy(size.network_policies + at / 2);
        match at % 2 {
            0 => engine.apply_network_policy(policy),
            _ => engine.delete_network_policy(&policy.namespace, &policy.name),
        }
    }),
    ("a namespace of a fifth of the pods has other labels", |engine, _, at| {
        let name = format!("namespace-{}", at % 2);
        let labels = labels([("kubernetes.io/metadata.name", name)]);
        engine.apply_namespace(&"namespace-0".into(), labels);
    }),
    ("a node has other labels", |engine, _, at| {
        let Node { name, addresses, .. } = node(at % 100);
        let labels = labels([("zone", format!("zone-{}", at % 7))]);
        engine.apply_node(Node { name, labels, addresses });
    }),
    ("a name has 100 other addresses", |engine, _, at| {
        tell(engine, "a.name-7.example.com", 0xCB00_0000 + at % 7 * 100, at);
    }),
];

/// Names that are known, each with 100 addresses.
const NAMES: u32 = 100;

const RESOLVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 96, 0, 10));

/// An engine for a cluster of that size, in which a policy allows names.
pub fn engine(size: Size, shape: Shape) -> Engine {
    let mut cluster = cluster(size, shape);
    let resolvers = [RESOLVER].into();
    cluster.domains = DomainCache::new(Settings { resolvers, ..Settings::default() });
    let mut engine = Engine::new(cluster);
    engine.apply_cluster_policy(names());
    for index in 0..NAMES {
        let name = format!("a-{index}.name-{}.example.com", index % 25);
        tell(&mut engine, &name, 0xCC00_0000 + index * 100, 0);
    }
    engine
}

/// Tells that a name has 100 addresses from the first on.
fn tell(engine: &mut Engine, name: &str, first: u32, now: u32) {
    let record = |low| Record {
        owner: name,
        ttl: Duration::from_mins(1),
        data: Data::Address(IpAddr::V4(Ipv4Addr::from_bits(first + low))),
    };
    let records = (0..100).map(record).collect();
    let answer = Answer { resolver: RESOLVER, asker: Asker::Node, question: name, records };
    engine.observe(&answer, Duration::from_secs(u64::from(now))).unwrap();
}

/// A policy that allows names, a pattern in each of its rules.
fn names() -> ClusterPolicy {
    let rule = |index: u32| {
        let pattern = Pattern::parse(&format!("*.name-{index}.example.com")).unwrap();
        let peers = vec![ClusterPeer::Domains(vec![pattern])];
        ClusterRule { name: None, action: Action::Accept, peers, ports: None }
    };
    ClusterPolicy {
        kind: "ClusterNetworkPolicy".into(),
        name: "names".into(),
        tier: Tier::Admin,
        priority: -1,
        subject: PodSet::default(),
        ingress: Vec::new(),
        egress: (0..25).map(rule).collect(),
    }
}

fn known(engine: &Engine, index: u32) -> ClusterPolicy {
    let key = ("ClusterNetworkPolicy".into(), format!("policy-{index}").into());
    ClusterPolicy::clone(&engine.cluster().cluster_policies[&key])
}

fn priority(index: u32) -> i32 {
    i32::try_from(index).unwrap()
}
