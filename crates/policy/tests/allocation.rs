//! A verdict does not allocate, by an allocator that counts.

#![allow(missing_docs, clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test")]

#[path = "../benches/engine/world.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the benchmarks")]
mod world;

use std::sync::Arc;
use std::time::Duration;

use ipnet::Ipv4Net;
use netenf_policy::domain::{Answer, Asker, Data, Record, Scope, Settings};
use netenf_policy::{
    ClusterPeer, ClusterPort, DomainCache, Engine, NetworkPolicy, Packet, Pattern, Peer, PodSet,
    PortMatch, PortRange, Protocol, Rule, Selector, Transport,
};
use world::{Shape, Size, address, cluster, cluster_policy};

/// A cluster with peers and ports of every kind.
fn engine() -> Engine {
    let size = Size { pods: 2_000, cluster_policies: 50, network_policies: 20 };
    let mut cluster = cluster(size, Shape::Mixed);
    let resolver = address(1);
    cluster.domains = DomainCache::new(Settings {
        scope: Scope::Pod,
        resolvers: [resolver].into(),
        ..Settings::default()
    });
    let mut engine = Engine::new(cluster);
    let mut policy = cluster_policy(1_000, Shape::Mixed);
    policy.subject = PodSet::default();
    policy.priority = -1;
    policy.egress[0].peers =
        vec![ClusterPeer::Domains(vec![Pattern::parse("*.example.com").unwrap()])];
    policy.egress[1].peers = vec![ClusterPeer::Nodes(Selector::default())];
    policy.egress[1].ports = Some(vec![ClusterPort::Named("web".into())]);
    engine.apply_cluster_policy(policy);
    let data = Data::Address("203.0.113.7".parse().unwrap());
    let record = Record { owner: "a.example.com", ttl: Duration::from_mins(1), data };
    let asker = Asker::Pod("namespace-0".into(), "workload-0-00000000-00000".into());
    let answer = Answer { resolver, asker, question: "a.example.com", records: vec![record] };
    engine.observe(&answer, Duration::ZERO).unwrap();
    engine
}

#[test]
fn a_verdict_does_not_allocate() {
    let snapshot = engine().publish();
    let others = ["203.0.113.7", "192.0.2.1", "172.16.0.1", "2001:db8::1", "198.51.100.9"];
    let mut ends: Vec<_> = (0..200).map(|index| address(index * 7)).collect();
    ends.extend(others.map(|text| text.parse::<std::net::IpAddr>().unwrap()));
    let transports = [
        Transport::Port(Protocol::Tcp, 8_080),
        Transport::Port(Protocol::Tcp, 10_005),
        Transport::Portless(Protocol::Udp),
        Transport::Other,
    ];
    let (mut allowed, mut denied) = (0_u32, 0_u32);
    let measured = allocation_counter::measure(|| {
        for source in &ends {
            for destination in &ends {
                for transport in transports {
                    let packet = Packet { source: *source, destination: *destination, transport };
                    let ruling = snapshot.verdict(&packet, Duration::from_secs(1));
                    *(if ruling.allowed() { &mut allowed } else { &mut denied }) += 1;
                }
            }
        }
    });
    assert_eq!(measured.count_total, 0);
    assert!(allowed > 1_000 && denied > 1_000, "{allowed} allowed, {denied} denied");
    let measured = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(measured.count_total, 1, "the allocator counts");
}

/// A policy as large as few are: 100 rules of 100 blocks, each without another, and 100 wide ranges of ports.
fn large() -> NetworkPolicy {
    let cidr = |rule: u32, peer: u32| {
        let network = Ipv4Net::new((0x0B00_0000 + (rule * 100 + peer) * 256).into(), 24).unwrap();
        let except = Ipv4Net::new(network.network(), 25).unwrap();
        Peer::Block { cidr: network.into(), except: vec![except.into()] }
    };
    let port = |rule: u32, port: u32| {
        let first = (rule * 331 + port * 7) as u16;
        PortMatch {
            protocol: Protocol::Tcp,
            range: PortRange::Numbers(first, u16::MAX - first / 2),
        }
    };
    let rule = |rule| Rule {
        peers: Some((0..100).map(|peer| cidr(rule, peer)).collect()),
        ports: Some((0..100).map(|at| port(rule, at)).collect()),
    };
    NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "namespace-0".into(),
        name: "large".into(),
        pods: Selector::default(),
        ingress: None,
        egress: Some((0..100).map(rule).collect()),
    }
}

/// Its rows are bounded by its blocks and ports: it takes a few times its own size, not their product.
#[test]
fn a_large_policy_takes_little() {
    let size = Size { pods: 2_000, cluster_policies: 0, network_policies: 0 };
    let mut engine = Engine::new(cluster(size, Shape::Mixed));
    let policy = Arc::new(large());
    let measured = allocation_counter::measure(|| {
        engine.apply_network_policy(policy);
        drop(engine.publish());
    });
    let (peak, kept) = (measured.bytes_max / 1_000_000, measured.bytes_current / 1_000_000);
    assert!(peak < 10 && kept < 5, "{peak} MB at most, {kept} MB kept");
}
