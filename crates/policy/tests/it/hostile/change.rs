//! Changes in any order, at times that go back and forth: after each of them both evaluators agree.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use netenf_policy::cluster::{Node, Pod};
use netenf_policy::domain::{Answer, Asker, Data, Record, Settings};
use netenf_policy::{
    Cluster, ClusterPolicy, DomainCache, Engine, Labels, NetworkPolicy, Packet, Protocol,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{address, cluster_policy, labels, near, network_policy, node, number, pod};

const RESOLVER: &str = "10.96.0.10";

/// One change. Objects have few names, so that they are changed and deleted, or deleted before they are there.
#[derive(Debug, Clone)]
enum Change {
    Pod(Pod),
    Namespace(Labels),
    Node(Node),
    Network(NetworkPolicy),
    Cluster(ClusterPolicy),
    Gone(Gone),
    Answer(IpAddr, Duration, Duration),
    Collect(Duration),
}

#[derive(Debug, Clone)]
enum Gone {
    Pod(Arc<str>),
    Namespace,
    Node(Arc<str>),
    Network(Arc<str>),
    Cluster(Arc<str>),
}

fn name() -> impl Strategy<Value = Arc<str>> {
    proptest::sample::select(&["a", "b", "c"][..]).prop_map(Arc::from)
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        4 => (0_u64..1_000).prop_map(Duration::from_secs),
        1 => Just(Duration::ZERO),
        1 => Just(Duration::MAX),
    ]
}

fn gone() -> impl Strategy<Value = Gone> {
    prop_oneof![
        name().prop_map(Gone::Pod),
        Just(Gone::Namespace),
        name().prop_map(Gone::Node),
        name().prop_map(Gone::Network),
        name().prop_map(Gone::Cluster),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let pod = (name(), vec(near(), 0..3), pod());
    let pod = pod.prop_map(|(name, addresses, pod)| Pod {
        namespace: "x".into(),
        name,
        addresses,
        ..pod
    });
    let node = (name(), vec(near(), 0..3), node());
    let node = node.prop_map(|(name, addresses, node)| Node { name, addresses, ..node });
    let network = (name(), network_policy());
    let network =
        network.prop_map(|(name, policy)| NetworkPolicy { namespace: "x".into(), name, ..policy });
    let cluster =
        (name(), cluster_policy()).prop_map(|(name, policy)| ClusterPolicy { name, ..policy });
    prop_oneof![
        4 => pod.prop_map(Change::Pod),
        1 => labels().prop_map(Change::Namespace),
        1 => node.prop_map(Change::Node),
        4 => network.prop_map(Change::Network),
        6 => cluster.prop_map(Change::Cluster),
        3 => gone().prop_map(Change::Gone),
        3 => (near(), time(), time()).prop_map(|(told, ttl, at)| Change::Answer(told, ttl, at)),
        1 => time().prop_map(Change::Collect),
    ]
}

// === impl Change ===

impl Change {
    fn make(self, engine: &mut Engine) {
        match self {
            Self::Pod(pod) => engine.apply_pod(pod),
            Self::Namespace(labels) => engine.apply_namespace(&"x".into(), labels),
            Self::Node(node) => engine.apply_node(node),
            Self::Network(policy) => engine.apply_network_policy(policy),
            Self::Cluster(policy) => engine.apply_cluster_policy(policy),
            Self::Gone(gone) => gone.make(engine),
            Self::Answer(told, ttl, at) => {
                let record = Record { owner: "b.a.io", ttl, data: Data::Address(told) };
                let (resolver, asker) = (RESOLVER.parse().unwrap(), Asker::Node);
                let answer = Answer { resolver, asker, question: "b.a.io", records: vec![record] };
                engine.observe(&answer, at).unwrap();
            }
            Self::Collect(at) => engine.collect(at),
        }
    }
}

// === impl Gone ===

impl Gone {
    fn make(self, engine: &mut Engine) {
        match self {
            Self::Pod(name) => engine.delete_pod("x", &name),
            Self::Namespace => engine.delete_namespace("x"),
            Self::Node(name) => engine.delete_node(&name),
            Self::Network(name) => engine.delete_network_policy("x", &name),
            Self::Cluster(name) => engine.delete_cluster_policy("ClusterNetworkPolicy", &name),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn after_each_change_both_agree(
        changes in vec((change(), time()), 1..24),
        ends in vec(prop_oneof![6 => near(), 1 => address()], 2..5),
        port in number(),
    ) {
        let resolvers = [RESOLVER.parse().unwrap()].into();
        let domains = DomainCache::new(Settings { resolvers, ..Settings::default() });
        let mut engine = Engine::new(Cluster { domains, ..Cluster::default() });
        for (change, now) in changes {
            change.make(&mut engine);
            let snapshot = engine.publish();
            for (source, destination) in ends.iter().zip(ends.iter().rev()) {
                let packet = Packet::new(*source, *destination, Protocol::Tcp, port);
                let (ruling, explanation) =
                    (snapshot.verdict(&packet, now), engine.explain(&packet, now));
                prop_assert_eq!(ruling.egress.allowed(), explanation.egress.allowed);
                prop_assert_eq!(ruling.ingress.allowed(), explanation.ingress.allowed);
            }
        }
    }
}
