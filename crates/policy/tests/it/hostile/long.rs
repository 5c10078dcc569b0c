//! Lists as long as an object can hold: none makes another longer, and both evaluators agree.

use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use netenf_policy::cluster::Pod;
use netenf_policy::{
    Engine, Labels, NetworkPolicy, Operator, Packet, Peer, PortMatch, PortRange, Protocol,
    Requirement, Rule, Selector,
};
use rstest::rstest;

const LENGTH: u32 = 10_000;

fn host(index: u32) -> IpNet {
    Ipv4Net::new((0x0B00_0000 + index * 2).into(), 32).unwrap().into()
}

fn around() -> IpNet {
    "11.0.0.0/8".parse().unwrap()
}

/// The same block again and again, each time without its lower half and another address of that half.
fn block_without_half() -> Vec<Peer> {
    let half: IpNet = "11.0.0.0/9".parse().unwrap();
    let except = |index| vec![half, host(index)];
    (0..LENGTH).map(|index| Peer::Block { cidr: around(), except: except(index) }).collect()
}

/// The same block again and again, each time without another address; so it holds all of them.
fn block_without_each() -> Vec<Peer> {
    (0..LENGTH).map(|index| Peer::Block { cidr: around(), except: vec![host(index)] }).collect()
}

fn block_without_all() -> Vec<Peer> {
    vec![Peer::Block { cidr: around(), except: (0..LENGTH).map(host).collect() }]
}

fn hosts() -> Vec<Peer> {
    (0..LENGTH).map(|index| Peer::Block { cidr: host(index), except: Vec::new() }).collect()
}

/// Blocks around each other, and the same again.
fn nested() -> Vec<Peer> {
    let cidr = |index: u32| {
        let length = u8::try_from(index % 33).unwrap();
        Ipv4Net::new(0x0B00_0000.into(), length).unwrap().trunc().into()
    };
    (0..LENGTH).map(|index| Peer::Block { cidr: cidr(index), except: vec![host(index)] }).collect()
}

fn pods_of_many_values() -> Vec<Peer> {
    let values = (0..LENGTH).map(|value| format!("{value}").into()).collect();
    let requirement = Requirement { key: "app".into(), operator: Operator::In(values) };
    let pods = Selector { labels: Labels::default(), requirements: vec![requirement] };
    vec![Peer::Pods { namespaces: None, pods: Some(pods) }]
}

fn wide_ports() -> Vec<PortMatch> {
    let port = |index: u32| {
        let first = u16::try_from(index % 100).unwrap();
        let range = PortRange::Numbers(first, u16::MAX - first);
        PortMatch { protocol: Protocol::Tcp, range }
    };
    (0..LENGTH).map(port).collect()
}

fn pod(name: &str, address: &str) -> Pod {
    Pod {
        namespace: "x".into(),
        name: name.into(),
        labels: [("app", name)].into_iter().collect(),
        addresses: vec![address.parse().unwrap()],
        ..Pod::default()
    }
}

#[rstest]
#[case::block_without_half(block_without_half())]
#[case::block_without_each(block_without_each())]
#[case::block_without_all(block_without_all())]
#[case::hosts(hosts())]
#[case::nested(nested())]
#[case::pods_of_many_values(pods_of_many_values())]
fn a_long_list_is_judged_as_the_text_says(#[case] peers: Vec<Peer>) {
    let mut engine = Engine::default();
    engine.apply_pod(pod("subject", "10.0.0.1"));
    engine.apply_pod(pod("9999", "10.0.0.2"));
    engine.apply_network_policy(NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "x".into(),
        name: "long".into(),
        pods: Selector::default(),
        ingress: None,
        egress: Some(vec![Rule { peers: Some(peers), ports: Some(wide_ports()) }]),
    });
    let snapshot = engine.publish();
    for destination in ["11.0.0.0", "11.0.0.1", "11.0.78.30", "11.200.0.1", "10.0.0.2", "12.0.0.1"]
    {
        for port in [0, 50, u16::MAX] {
            let (source, destination) = ("10.0.0.1".parse().unwrap(), destination.parse().unwrap());
            let packet = Packet::new(source, destination, Protocol::Tcp, port);
            let allowed = engine.explain(&packet, Duration::ZERO).allowed();
            assert_eq!(snapshot.verdict(&packet, Duration::ZERO).allowed(), allowed, "{packet:?}");
        }
    }
}
