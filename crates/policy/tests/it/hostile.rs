//! Whatever comes, nothing panics, overflows or takes for ever, and both evaluators still agree.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use netenf_policy::cluster::{NamedPort, Node, Pod};
use netenf_policy::domain::{Answer, Asker, Data, Name, Record, Settings};
use netenf_policy::{
    Action, Cluster, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, DomainCache, Engine,
    Labels, NetworkPolicy, Operator, Packet, Pattern, Peer, PodSet, PortMatch, PortRange, Protocol,
    Requirement, Rule, Selector, Tier, Transport,
};
use proptest::collection::vec;
use proptest::prelude::*;

mod change;
mod long;

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
        any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
        select(&["0.0.0.0", "255.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]),
        near(),
    ]
}

/// Addresses that clusters share, as IPv4, IPv6 and IPv4-mapped ones.
fn near() -> impl Strategy<Value = IpAddr> {
    select(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "::ffff:10.0.0.2", "fd00::1"])
}

fn select(texts: &'static [&'static str]) -> impl Strategy<Value = IpAddr> {
    proptest::sample::select(texts).prop_map(|text| text.parse().unwrap())
}

fn block() -> impl Strategy<Value = IpNet> {
    let of = |(address, length): (IpAddr, u8)| {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, length % (longest + 1)).unwrap()
    };
    prop_oneof![
        (address(), any::<u8>()).prop_map(of),
        (near(), proptest::sample::select(vec![0, 8, 31, 32, 96, 127, 128])).prop_map(of),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,20}", "[a.*\\-_]{0,300}", Just("kubernetes.io/metadata.name".to_owned())]
}

fn labels() -> impl Strategy<Value = Labels> {
    vec((text(), text()), 0..4).prop_map(|labels| labels.into_iter().collect())
}

fn number() -> impl Strategy<Value = u16> {
    prop_oneof![any::<u16>(), proptest::sample::select(vec![0, 1, 255, 256, u16::MAX])]
}

fn port() -> impl Strategy<Value = PortMatch> {
    let protocol = proptest::sample::select(vec![Protocol::Tcp, Protocol::Udp, Protocol::Sctp]);
    let range = prop_oneof![
        Just(PortRange::Any),
        (number(), number()).prop_map(|(first, last)| PortRange::Numbers(first, last)),
        text().prop_map(|name| PortRange::Named(name.into())),
    ];
    (protocol, range).prop_map(|(protocol, range)| PortMatch { protocol, range })
}

fn selector() -> impl Strategy<Value = Selector> {
    let operator =
        (0..4, vec(text().prop_map(Arc::from), 0..3)).prop_map(|(kind, values)| match kind {
            0 => Operator::In(values),
            1 => Operator::NotIn(values),
            2 => Operator::Exists,
            _ => Operator::DoesNotExist,
        });
    let requirement =
        (text(), operator).prop_map(|(key, operator)| Requirement { key: key.into(), operator });
    let full = (labels(), vec(requirement, 0..3))
        .prop_map(|(labels, requirements)| Selector { labels, requirements });
    prop_oneof![Just(Selector::default()), labels().prop_map(Selector::of_labels), full]
}

fn rule() -> impl Strategy<Value = Rule> {
    let blocks =
        (block(), vec(block(), 0..6)).prop_map(|(cidr, except)| Peer::Block { cidr, except });
    let pods = (proptest::option::of(selector()), proptest::option::of(selector()))
        .prop_map(|(namespaces, pods)| Peer::Pods { namespaces, pods });
    let peer = prop_oneof![3 => blocks, 1 => pods];
    (proptest::option::of(vec(peer, 0..4)), proptest::option::of(vec(port(), 0..4)))
        .prop_map(|(peers, ports)| Rule { peers, ports })
}

fn cluster_rule() -> impl Strategy<Value = ClusterRule> {
    let pattern = proptest::sample::select(vec!["*.a.io", "a.io", "b.a.io"])
        .prop_map(|text| Pattern::parse(text).unwrap());
    let peer = prop_oneof![
        4 => vec(block(), 0..6).prop_map(ClusterPeer::Networks),
        2 => selector().prop_map(ClusterPeer::Nodes),
        4 => (selector(), selector())
            .prop_map(|(namespaces, pods)| ClusterPeer::Pods(PodSet { namespaces, pods })),
        2 => vec(pattern, 0..3).prop_map(ClusterPeer::Domains),
        1 => Just(ClusterPeer::Unknown),
    ];
    let action = proptest::sample::select(vec![Action::Accept, Action::Deny, Action::Pass]);
    let port = prop_oneof![
        8 => port().prop_map(ClusterPort::Of),
        1 => text().prop_map(|name| ClusterPort::Named(name.into())),
        1 => Just(ClusterPort::Unknown),
    ];
    (action, vec(peer, 0..4), proptest::option::of(vec(port, 0..4)))
        .prop_map(|(action, peers, ports)| ClusterRule { name: None, action, peers, ports })
}

fn pod() -> impl Strategy<Value = Pod> {
    let ports = vec((text(), port()), 0..3).prop_map(|ports| {
        let named = |(name, port): (String, PortMatch)| {
            let number = match port.range {
                PortRange::Numbers(first, _) => first,
                PortRange::Any | PortRange::Named(_) => 0,
            };
            NamedPort { name: name.into(), protocol: port.protocol, number }
        };
        ports.into_iter().map(named).collect()
    });
    (text(), text(), labels(), vec(address(), 0..3), ports).prop_map(
        |(namespace, name, labels, addresses, ports)| Pod {
            namespace: namespace.into(),
            name: name.into(),
            labels,
            addresses,
            ports,
            ..Pod::default()
        },
    )
}

fn node() -> impl Strategy<Value = Node> {
    (text(), labels(), vec(address(), 0..3)).prop_map(|(name, labels, addresses)| Node {
        name: name.into(),
        labels,
        addresses,
    })
}

fn network_policy() -> impl Strategy<Value = NetworkPolicy> {
    let rules = || proptest::option::of(vec(rule(), 0..4));
    (text(), text(), selector(), rules(), rules()).prop_map(
        |(namespace, name, pods, ingress, egress)| NetworkPolicy {
            kind: "NetworkPolicy".into(),
            namespace: namespace.into(),
            name: name.into(),
            pods,
            ingress,
            egress,
        },
    )
}

fn cluster_policy() -> impl Strategy<Value = ClusterPolicy> {
    let rules = || vec(cluster_rule(), 0..4);
    let tier = proptest::sample::select(vec![Tier::Admin, Tier::NetworkPolicy, Tier::Baseline]);
    let priority = prop_oneof![any::<i32>(), Just(i32::MIN), Just(i32::MAX)];
    (text(), tier, priority, selector(), rules(), rules()).prop_map(
        |(name, tier, priority, pods, ingress, egress)| ClusterPolicy {
            kind: "ClusterNetworkPolicy".into(),
            name: name.into(),
            tier,
            priority,
            subject: PodSet { namespaces: Selector::default(), pods },
            ingress,
            egress,
        },
    )
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let policies = (vec(network_policy(), 0..4), vec(cluster_policy(), 0..4));
    (vec(pod(), 0..6), policies, vec(node(), 0..3)).prop_map(|(pods, (network, cluster), nodes)| {
        let mut engine = Engine::default();
        for pod in pods {
            engine.apply_pod(pod);
        }
        for node in nodes {
            engine.apply_node(node);
        }
        for policy in network {
            engine.apply_network_policy(policy);
        }
        for policy in cluster {
            engine.apply_cluster_policy(policy);
        }
        engine.cluster().clone()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn extreme_clusters_are_judged(
        cluster in cluster(),
        others in vec(address(), 4),
        port in any::<u16>(),
        protocol in proptest::option::of(0..3),
        now in any::<u64>(),
    ) {
        let pods = cluster.pods.values().flat_map(|pod| pod.addresses.clone());
        let nodes = cluster.nodes.values().flat_map(|node| node.addresses.clone());
        let ends: Vec<IpAddr> = pods.chain(nodes).take(8).chain(others).collect();
        let transport = match protocol {
            None => Transport::Other,
            Some(0) => Transport::Portless(Protocol::Udp),
            Some(1) => Transport::Port(Protocol::Sctp, port),
            Some(_) => Transport::Port(Protocol::Tcp, port),
        };
        let snapshot = Engine::new(cluster.clone()).publish();
        for source in &ends {
            for destination in &ends {
                let packet = Packet { source: *source, destination: *destination, transport };
                let now = Duration::from_secs(now);
                let ruling = snapshot.verdict(&packet, now);
                prop_assert_eq!(ruling.allowed(), cluster.explain(&packet, now).allowed());
            }
        }
    }

    #[test]
    fn what_is_a_name_stays_one(text in text()) {
        if let Some(name) = Name::parse(&text) {
            prop_assert_eq!(Name::parse(name.as_str()), Some(name));
        }
        if let Some(pattern) = Pattern::parse(&text) {
            prop_assert_eq!(Pattern::parse(&pattern.to_string()), Some(pattern));
        }
    }

    /// Any answer keeps the cache within its limits; what it tells of an address is what patterns find.
    #[test]
    fn answers_keep_the_cache_within_its_limits(
        answers in vec((0_u8..6, vec((0_u8..6, 0_u8..8, any::<bool>(), any::<u64>()), 0..12), any::<u64>()), 0..24),
        entries in 0_usize..40,
    ) {
        let resolver: IpAddr = "10.96.0.10".parse().unwrap();
        let resolvers = [resolver].into();
        let mut cache = DomainCache::new(Settings { entries, resolvers, ..Settings::default() });
        let names = ["a.io", "b.a.io", "C.a.IO.", "d.io", "not a name", "e..io"];
        for (question, records, now) in answers {
            let records = records.iter().map(|(owner, data, alias, ttl)| Record {
                owner: names[usize::from(*owner)],
                ttl: Duration::from_secs(*ttl),
                data: if *alias {
                    Data::Alias(names[usize::from(*data) % names.len()])
                } else {
                    Data::Address(IpAddr::V4(u32::from(*data).into()))
                },
            });
            let (question, asker) = (names[usize::from(question)], Asker::Node);
            let records = records.collect();
            let now = Duration::from_secs(now);
            let taken = cache.observe(&Answer { resolver, asker, question, records }, now);
            prop_assert_eq!(taken.is_ok(), Name::parse(question).is_some());
            prop_assert!(cache.len() <= entries);
        }
        let mut known = 0;
        for address in (0..8_u32).map(|low| IpAddr::V4(low.into())) {
            known += cache.known(address).count();
            for one in cache.known(address) {
                let pattern = Pattern { name: one.name.clone(), wildcard: false };
                prop_assert!(cache.addresses(&pattern).any(|known| known == address));
                prop_assert!(cache.holds(&pattern, address, &Asker::Node, Duration::ZERO));
                prop_assert!(!cache.holds(&pattern, address, &Asker::Node, one.expires));
            }
        }
        prop_assert_eq!(known, cache.len());
        cache.collect(Duration::MAX);
        prop_assert!(cache.is_empty());
    }
}
