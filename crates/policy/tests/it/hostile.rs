//! Whatever comes, nothing panics, overflows or takes for ever, and both evaluators still agree.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use netenf_policy::cluster::{NamedPort, Node, Pod};
use netenf_policy::domain::{Answer, Asker, Data, Name, Record, Settings};
use netenf_policy::{
    Action, Cluster, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, DomainCache, Engine,
    Labels, NetworkPolicy, Packet, Pattern, Peer, PodSet, PortMatch, PortRange, Protocol, Rule,
    Selector, Tier, Transport,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(bits.into())),
        any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())),
        select(&["0.0.0.0", "255.255.255.255", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]),
    ]
}

fn select(texts: &'static [&'static str]) -> impl Strategy<Value = IpAddr> {
    proptest::sample::select(texts).prop_map(|text| text.parse().unwrap())
}

fn block() -> impl Strategy<Value = IpNet> {
    (address(), any::<u8>()).prop_map(|(address, length)| {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        IpNet::new(address, length % (longest + 1)).unwrap()
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,20}", "[a.*\\-_]{0,300}", Just("kubernetes.io/metadata.name".to_owned())]
}

fn labels() -> impl Strategy<Value = Labels> {
    vec((text(), text()), 0..4).prop_map(|labels| labels.into_iter().collect())
}

fn port() -> impl Strategy<Value = PortMatch> {
    let protocol = proptest::sample::select(vec![Protocol::Tcp, Protocol::Udp, Protocol::Sctp]);
    let range = prop_oneof![
        Just(PortRange::Any),
        (any::<u16>(), any::<u16>()).prop_map(|(first, last)| PortRange::Numbers(first, last)),
        text().prop_map(|name| PortRange::Named(name.into())),
    ];
    (protocol, range).prop_map(|(protocol, range)| PortMatch { protocol, range })
}

fn selector() -> impl Strategy<Value = Selector> {
    prop_oneof![Just(Selector::default()), labels().prop_map(Selector::of_labels)]
}

fn rule() -> impl Strategy<Value = Rule> {
    let peer =
        (block(), vec(block(), 0..6)).prop_map(|(cidr, except)| Peer::Block { cidr, except });
    (proptest::option::of(vec(peer, 0..4)), proptest::option::of(vec(port(), 0..4)))
        .prop_map(|(peers, ports)| Rule { peers, ports })
}

fn cluster_rule() -> impl Strategy<Value = ClusterRule> {
    let peer = prop_oneof![
        vec(block(), 0..6).prop_map(ClusterPeer::Networks),
        selector().prop_map(ClusterPeer::Nodes),
        (selector(), selector())
            .prop_map(|(namespaces, pods)| ClusterPeer::Pods(PodSet { namespaces, pods })),
    ];
    let action = proptest::sample::select(vec![Action::Accept, Action::Deny, Action::Pass]);
    let port = port().prop_map(ClusterPort::Of);
    (action, vec(peer, 1..4), proptest::option::of(vec(port, 0..4)))
        .prop_map(|(action, peers, ports)| ClusterRule { name: None, action, peers, ports })
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let pod = (text(), text(), labels(), vec(address(), 0..3), vec((text(), port()), 0..3));
    let rules = || proptest::option::of(vec(rule(), 0..4));
    let network = (text(), text(), selector(), rules(), rules());
    let rules = || vec(cluster_rule(), 0..4);
    let tier = proptest::sample::select(vec![Tier::Admin, Tier::NetworkPolicy, Tier::Baseline]);
    let policy = (text(), tier, any::<i32>(), selector(), rules(), rules());
    let node = (text(), labels(), vec(address(), 0..3));
    (vec(pod, 0..6), vec(network, 0..4), vec(policy, 0..4), vec(node, 0..3)).prop_map(
        |(pods, networks, policies, nodes)| {
            let mut engine = Engine::default();
            for (namespace, name, labels, addresses, ports) in pods {
                let ports = ports.into_iter().map(|(name, port)| {
                    let number = match port.range {
                        PortRange::Numbers(first, _) => first,
                        PortRange::Any | PortRange::Named(_) => 0,
                    };
                    NamedPort { name: name.into(), protocol: port.protocol, number }
                });
                let (namespace, name, ports) = (namespace.into(), name.into(), ports.collect());
                engine.apply_pod(Pod {
                    namespace,
                    name,
                    labels,
                    addresses,
                    ports,
                    ..Pod::default()
                });
            }
            for (name, labels, addresses) in nodes {
                engine.apply_node(Node { name: name.into(), labels, addresses });
            }
            for (namespace, name, pods, ingress, egress) in networks {
                let (namespace, name) = (namespace.into(), name.into());
                let kind = "NetworkPolicy".into();
                engine.apply_network_policy(NetworkPolicy {
                    kind,
                    namespace,
                    name,
                    pods,
                    ingress,
                    egress,
                });
            }
            for (name, tier, priority, pods, ingress, egress) in policies {
                let subject = PodSet { namespaces: Selector::default(), pods };
                let (kind, name) = ("ClusterNetworkPolicy".into(), name.into());
                engine.apply_cluster_policy(ClusterPolicy {
                    kind,
                    name,
                    tier,
                    priority,
                    subject,
                    ingress,
                    egress,
                });
            }
            engine.cluster().clone()
        },
    )
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
                prop_assert!(cache.holds(&pattern, address, &Asker::Node, Duration::ZERO));
                prop_assert!(!cache.holds(&pattern, address, &Asker::Node, one.expires));
            }
        }
        prop_assert_eq!(known, cache.len());
        cache.collect(Duration::MAX);
        prop_assert!(cache.is_empty() && cache.addresses().next().is_none());
    }
}
