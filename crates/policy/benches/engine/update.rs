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
pub const UPDATES: [(&str, Change); 12] = [
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
        tell(engine, "a.name-7.example.com", 0xCB00_0000 + at % 7 * 100, 100, at);
    }),
    ("a rule names one domain, or all below it again", |engine, _, at| {
        let mut policy = names();
        if at.is_multiple_of(2) {
            let index = at / 2 % DOMAINS;
            let pattern = Pattern::parse(&format!("a-{index}.name-{index}.example.com")).unwrap();
            policy.egress[index as usize].peers = vec![ClusterPeer::Domains(vec![pattern])];
        }
        engine.apply_cluster_policy(policy);
    }),
    ("the policy that names all domains is gone or new", |engine, _, at| {
        let policy = names();
        match at % 2 {
            0 => engine.delete_cluster_policy(&policy.kind, &policy.name),
            _ => engine.apply_cluster_policy(policy),
        }
    }),
];

/// How many names are known, and how many addresses each has.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Names, spread over the domains that a policy names.
    pub names: u32,
    /// Addresses of each name, at most 1,024.
    pub addresses: u32,
}

/// Domains that a policy names.
const DOMAINS: u32 = 25;

const RESOLVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 96, 0, 10));

/// An engine for a cluster of that size, in which a policy allows names, and these are known.
pub fn engine(size: Size, shape: Shape, known: Names) -> Engine {
    let mut cluster = cluster(size, shape);
    let resolvers = [RESOLVER].into();
    cluster.domains = DomainCache::new(Settings { resolvers, ..Settings::default() });
    let mut engine = Engine::new(cluster);
    engine.apply_cluster_policy(names());
    for index in 0..known.names {
        let name = format!("a-{index}.name-{}.example.com", index % DOMAINS);
        tell(&mut engine, &name, 0xCC00_0000 + index * known.addresses, known.addresses, 0);
    }
    engine
}

/// Tells that a name has this many addresses from the first on.
fn tell(engine: &mut Engine, name: &str, first: u32, addresses: u32, now: u32) {
    let record = |low| Record {
        owner: name,
        ttl: Duration::from_mins(1),
        data: Data::Address(IpAddr::V4(Ipv4Addr::from_bits(first + low))),
    };
    let records = (0..addresses).map(record).collect();
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
        egress: (0..DOMAINS).map(rule).collect(),
    }
}

fn known(engine: &Engine, index: u32) -> ClusterPolicy {
    let key = ("ClusterNetworkPolicy".into(), format!("policy-{index}").into());
    ClusterPolicy::clone(&engine.cluster().cluster_policies[&key])
}

fn priority(index: u32) -> i32 {
    i32::try_from(index).unwrap()
}
