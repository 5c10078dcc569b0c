use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::cluster::Cluster;
use crate::engine::tests::generate::{cluster, packets};
use crate::evaluate::Connection;
use crate::explanation::Finding;
use crate::packet::Packet;

/// What the parts say of a transport: in each direction exactly one of them holds it.
fn finding(parts: &[Part], transport: Transport) -> (bool, &Decider) {
    let holding: Vec<&Part> =
        parts.iter().filter(|part| part.transports.contains(transport)).collect();
    let [part] = holding[..] else { panic!("{} parts hold {transport:?}", holding.len()) };
    (part.allowed, &part.by)
}

fn check(cluster: &Cluster, packet: &Packet) {
    let Transport::Port(protocol, port @ 1..) = packet.transport else { return };
    let policies = Policies::new(
        cluster.network_policies.values().map(|one| &**one),
        cluster.cluster_policies.values().map(|one| &**one),
    )
    .with_domains(&cluster.domains, Duration::ZERO);
    let end = |address| cluster.end(cluster.owner(address), address);
    let (source, destination) = (end(packet.source), end(packet.destination));
    let [egress, ingress] =
        [(Side::Egress, &source), (Side::Ingress, &destination)].map(|(side, end)| {
            let parts = policies.parts(side, &source, &destination);
            assert_eq!(policies.selecting(end).parts(side, &source, &destination), parts);
            parts
        });
    let told = policies.explain(&Connection { source, destination, protocol, port });
    let same = |parts: &[Part], finding: &Finding| {
        assert_eq!(self::finding(parts, packet.transport), (finding.allowed, &finding.by));
    };
    same(&egress, &told.egress);
    same(&ingress, &told.ingress);
    for parts in [egress, ingress] {
        let all = parts.iter().fold(Transports::default(), |all, part| all.union(&part.transports));
        assert!(all.is_all());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn all_transports_at_once_are_each_for_itself(cluster in cluster(), packets in packets()) {
        for packet in &packets {
            check(&cluster, packet);
        }
    }
}
