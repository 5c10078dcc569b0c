//! Small clusters whose parts meet often: few labels, few addresses, few ports.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::cluster::{Cluster, NamedPort, Node, Phase, Pod};
use crate::cluster_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, PodSet, Tier,
};
use crate::domain::{Answer, Asker, Data, DomainCache, Pattern, Record, Scope, Settings};
use crate::engine::Engine;
use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule};
use crate::packet::{Packet, Transport};
use crate::selector::{Operator, Requirement, Selector};

const NAMESPACES: [&str; 3] = ["x", "y", "z"];
const NODES: [&str; 2] = ["n1", "n2"];
const PODS: [&str; 4] = ["a", "b", "c", "d"];
const ADDRESSES: [&str; 10] = [
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
    "10.0.1.1",
    "192.0.2.1",
    "192.0.2.2",
    "172.16.0.9",
    "::1",
    "fd00::1",
    "::ffff:10.0.0.1",
];
const BLOCKS: [&str; 12] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.0.0.0/31",
    "10.0.0.2/32",
    "10.0.1.0/24",
    "192.0.2.0/24",
    "172.16.0.9/32",
    "::/0",
    "fd00::/8",
    "::ffff:0:0/96",
    "::1/128",
    "10.0.0.3/30",
];
const NAMES: [&str; 5] =
    ["a.example.com", "b.a.example.com", "example.com", "x.example.org", "other.io"];
const PATTERNS: [&str; 5] =
    ["*.example.com", "a.example.com", "example.com", "*.a.example.com", "*.example.org"];
const PORT_NAMES: [&str; 3] = ["web", "dns", "none"];
const RESOLVER: &str = "10.0.1.1";

fn text(texts: &'static [&'static str]) -> impl Strategy<Value = Arc<str>> {
    select(texts).prop_map(Arc::from)
}

fn address() -> impl Strategy<Value = IpAddr> {
    select(&ADDRESSES[..]).prop_map(|text| text.parse().unwrap())
}

fn block() -> impl Strategy<Value = IpNet> {
    select(&BLOCKS[..]).prop_map(|text| text.parse().unwrap())
}

fn labels() -> impl Strategy<Value = Labels> {
    vec((select(&["app", "role"][..]), select(&["a", "b"][..])), 0..3)
        .prop_map(|labels| labels.into_iter().collect())
}

fn selector() -> impl Strategy<Value = Selector> {
    let values = vec(select(&["a", "b", "x"][..]).prop_map(Arc::from), 0..3);
    let operator = (0..4, values).prop_map(|(kind, values)| match kind {
        0 => Operator::In(values),
        1 => Operator::NotIn(values),
        2 => Operator::Exists,
        _ => Operator::DoesNotExist,
    });
    let key = text(&["app", "role", "kubernetes.io/metadata.name"]);
    let requirement = (key, operator).prop_map(|(key, operator)| Requirement { key, operator });
    let full = (labels(), vec(requirement, 0..2))
        .prop_map(|(labels, requirements)| Selector { labels, requirements });
    prop_oneof![1 => Just(Selector::default()), 3 => full]
}

fn protocol() -> impl Strategy<Value = Protocol> {
    select(&[Protocol::Tcp, Protocol::Udp, Protocol::Sctp][..])
}

fn number() -> impl Strategy<Value = u16> {
    select(&[0, 1, 53, 80, 81, 254, 255, 256, 8_080, 65_535][..])
}

fn port() -> impl Strategy<Value = PortMatch> {
    let range = prop_oneof![
        1 => Just(PortRange::Any),
        3 => (number(), number()).prop_map(|(one, other)| PortRange::Numbers(one, other)),
        2 => number().prop_map(|one| PortRange::Numbers(one, one)),
        2 => text(&PORT_NAMES).prop_map(PortRange::Named),
    ];
    (protocol(), range).prop_map(|(protocol, range)| PortMatch { protocol, range })
}

pub(super) fn rule() -> impl Strategy<Value = Rule> {
    let pods = (option::of(selector()), option::of(selector()))
        .prop_map(|(namespaces, pods)| Peer::Pods { namespaces, pods });
    let blocks =
        (block(), vec(block(), 0..3)).prop_map(|(cidr, except)| Peer::Block { cidr, except });
    let peer = prop_oneof![3 => pods, 2 => blocks];
    (option::of(vec(peer, 0..3)), option::of(vec(port(), 0..3)))
        .prop_map(|(peers, ports)| Rule { peers, ports })
}

fn network_policy() -> impl Strategy<Value = NetworkPolicy> {
    let rules = || option::of(vec(rule(), 0..3));
    (text(&NAMESPACES), text(&PODS), selector(), rules(), rules()).prop_map(
        |(namespace, name, pods, ingress, egress)| NetworkPolicy {
            kind: "NetworkPolicy".into(),
            namespace,
            name,
            pods,
            ingress,
            egress,
        },
    )
}

fn pod_set() -> impl Strategy<Value = PodSet> {
    (selector(), selector()).prop_map(|(namespaces, pods)| PodSet { namespaces, pods })
}

fn cluster_rule() -> impl Strategy<Value = ClusterRule> {
    let patterns = select(&PATTERNS[..]).prop_map(|text| Pattern::parse(text).unwrap());
    let peer = prop_oneof![
        8 => pod_set().prop_map(ClusterPeer::Pods),
        2 => selector().prop_map(ClusterPeer::Nodes),
        4 => vec(block(), 0..3).prop_map(ClusterPeer::Networks),
        3 => vec(patterns, 0..3).prop_map(ClusterPeer::Domains),
        1 => Just(ClusterPeer::Unknown),
    ];
    let port = prop_oneof![
        8 => port().prop_map(ClusterPort::Of),
        3 => text(&PORT_NAMES).prop_map(ClusterPort::Named),
        1 => Just(ClusterPort::Unknown),
    ];
    let action = select(&[Action::Accept, Action::Accept, Action::Deny, Action::Pass][..]);
    let peers = prop_oneof![1 => vec(peer.clone(), 0..1), 12 => vec(peer, 1..4)];
    (action, peers, option::of(vec(port, 0..3)), option::of(text(&["r1", "r2"])))
        .prop_map(|(action, peers, ports, name)| ClusterRule { name, action, peers, ports })
}

fn cluster_policy() -> impl Strategy<Value = ClusterPolicy> {
    let tier = select(&[Tier::Admin, Tier::Baseline][..]);
    let kind = text(&["ClusterNetworkPolicy", "AdminNetworkPolicy"]);
    let rules = || vec(cluster_rule(), 0..4);
    (kind, text(&PODS), tier, 0..3, pod_set(), rules(), rules()).prop_map(
        |(kind, name, tier, priority, subject, ingress, egress)| ClusterPolicy {
            kind,
            name,
            tier,
            priority,
            subject,
            ingress,
            egress,
        },
    )
}

fn pod() -> impl Strategy<Value = Pod> {
    let phase = prop_oneof![6 => Just(Phase::Running), 1 => Just(Phase::Pending), 1 => Just(Phase::Finished)];
    let ports = vec((text(&PORT_NAMES), protocol(), number()), 0..3);
    let place = (option::of(text(&NODES)), vec(address(), 0..3), proptest::bool::weighted(0.1));
    (text(&NAMESPACES), text(&PODS), phase, labels(), ports, place).prop_map(
        |(namespace, name, phase, labels, ports, (node, addresses, host_network))| {
            let named = |(name, protocol, number)| NamedPort { name, protocol, number };
            let ports = ports.into_iter().map(named).collect();
            Pod { namespace, name, phase, host_network, labels, addresses, ports, node }
        },
    )
}

fn node() -> impl Strategy<Value = Node> {
    (text(&NODES), labels(), vec(address(), 0..2)).prop_map(|(name, labels, addresses)| Node {
        name,
        labels,
        addresses,
    })
}

fn namespace() -> impl Strategy<Value = (Arc<str>, Labels)> {
    (text(&NAMESPACES), labels()).prop_map(|(name, labels)| {
        let own = [("kubernetes.io/metadata.name", &*name)];
        let labels = labels.iter().chain(own).collect();
        (name, labels)
    })
}

/// An answer: who asked, the name, its alias if any, addresses, TTL and time.
#[derive(Debug, Clone)]
pub(super) struct Told {
    asker: Asker,
    question: &'static str,
    alias: Option<&'static str>,
    addresses: Vec<IpAddr>,
    ttl: u64,
    at: u64,
}

fn told() -> impl Strategy<Value = Told> {
    let asker =
        (text(&NAMESPACES), text(&PODS)).prop_map(|(namespace, name)| Asker::Pod(namespace, name));
    let asker = prop_oneof![1 => Just(Asker::Node), 2 => asker];
    let alias = option::weighted(0.3, select(&NAMES[..]));
    (asker, select(&NAMES[..]), alias, vec(address(), 0..3), 0_u64..500, 0_u64..100).prop_map(
        |(asker, question, alias, addresses, ttl, at)| Told {
            asker,
            question,
            alias,
            addresses,
            ttl,
            at,
        },
    )
}

impl Told {
    fn answer(&self) -> Answer<'_> {
        let ttl = Duration::from_secs(self.ttl);
        let owner = self.alias.unwrap_or(self.question);
        let alias = self.alias.map(|alias| (self.question, Data::Alias(alias)));
        let addresses = self.addresses.iter().map(|address| (owner, Data::Address(*address)));
        let records = alias.into_iter().chain(addresses);
        Answer {
            resolver: RESOLVER.parse().unwrap(),
            asker: self.asker.clone(),
            question: self.question,
            records: records.map(|(owner, data)| Record { owner, ttl, data }).collect(),
        }
    }
}

fn domains() -> impl Strategy<Value = DomainCache> {
    let scope = select(&[Scope::Node, Scope::Pod][..]);
    (scope, vec(told(), 0..6), 4_usize..20).prop_map(|(scope, answers, entries)| {
        let resolvers = [RESOLVER.parse().unwrap()].into();
        let mut cache =
            DomainCache::new(Settings { scope, entries, resolvers, ..Settings::default() });
        for told in answers {
            cache.observe(&told.answer(), Duration::from_secs(told.at)).unwrap();
        }
        cache
    })
}

pub(crate) fn cluster() -> impl Strategy<Value = Cluster> {
    let policies = (vec(network_policy(), 0..5), vec(cluster_policy(), 0..5));
    (vec(namespace(), 0..4), vec(pod(), 0..8), vec(node(), 0..3), policies, domains()).prop_map(
        |(namespaces, pods, nodes, (network, cluster), domains)| Cluster {
            namespaces: namespaces.into_iter().collect(),
            pods: by_key(pods, |pod| (pod.namespace.clone(), pod.name.clone())),
            nodes: by_key(nodes, |node| node.name.clone()),
            network_policies: by_key(network.into_iter().map(Arc::new), |policy| {
                (policy.namespace.clone(), policy.name.clone())
            }),
            cluster_policies: by_key(cluster.into_iter().map(Arc::new), |policy| {
                (policy.kind.clone(), policy.name.clone())
            }),
            domains,
        },
    )
}

fn by_key<K: Ord, T>(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> BTreeMap<K, T> {
    all.into_iter().map(|one| (key(&one), one)).collect()
}

pub(crate) fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let transport = prop_oneof![
        8 => (protocol(), number()).prop_map(|(protocol, port)| Transport::Port(protocol, port)),
        1 => protocol().prop_map(Transport::Portless),
        1 => Just(Transport::Other),
    ];
    let packet = (address(), address(), transport)
        .prop_map(|(source, destination, transport)| Packet { source, destination, transport });
    vec(packet, 12)
}

/// One change of a cluster.
#[derive(Debug, Clone)]
pub(super) struct Change {
    what: What,
    pub(super) publishes: bool,
}

#[derive(Debug, Clone)]
enum What {
    Pod(Pod),
    NoPod(Arc<str>, Arc<str>),
    Namespace(Arc<str>, Labels),
    NoNamespace(Arc<str>),
    Node(Node),
    NoNode(Arc<str>),
    Network(NetworkPolicy),
    NoNetwork(Arc<str>, Arc<str>),
    Cluster(ClusterPolicy),
    NoCluster(Arc<str>),
    Told(Told),
    Collect(u64),
}

pub(super) fn changes() -> impl Strategy<Value = Vec<Change>> {
    let what = prop_oneof![
        6 => pod().prop_map(What::Pod),
        2 => (text(&NAMESPACES), text(&PODS)).prop_map(|(namespace, name)| What::NoPod(namespace, name)),
        2 => namespace().prop_map(|(name, labels)| What::Namespace(name, labels)),
        1 => text(&NAMESPACES).prop_map(What::NoNamespace),
        2 => node().prop_map(What::Node),
        1 => text(&NODES).prop_map(What::NoNode),
        3 => network_policy().prop_map(What::Network),
        1 => (text(&NAMESPACES), text(&PODS)).prop_map(|(namespace, name)| What::NoNetwork(namespace, name)),
        3 => cluster_policy().prop_map(What::Cluster),
        1 => text(&PODS).prop_map(What::NoCluster),
        2 => told().prop_map(What::Told),
        1 => (0_u64..400).prop_map(What::Collect),
    ];
    let change = (what, any::<bool>()).prop_map(|(what, publishes)| Change { what, publishes });
    vec(change, 0..16)
}

// === impl Change ===

impl Change {
    pub(super) fn apply(&self, engine: &mut Engine) {
        match self.what.clone() {
            What::Pod(pod) => engine.apply_pod(pod),
            What::NoPod(namespace, name) => engine.delete_pod(&namespace, &name),
            What::Namespace(name, labels) => engine.apply_namespace(&name, labels),
            What::NoNamespace(name) => engine.delete_namespace(&name),
            What::Node(node) => engine.apply_node(node),
            What::NoNode(name) => engine.delete_node(&name),
            What::Network(policy) => engine.apply_network_policy(policy),
            What::NoNetwork(namespace, name) => engine.delete_network_policy(&namespace, &name),
            What::Cluster(policy) => engine.apply_cluster_policy(policy),
            What::NoCluster(name) => engine.delete_cluster_policy("ClusterNetworkPolicy", &name),
            What::Told(told) => {
                engine.observe(&told.answer(), Duration::from_secs(told.at)).unwrap();
            }
            What::Collect(now) => engine.collect(Duration::from_secs(now)),
        }
    }
}
