//! Reports for tests.

use netenf_proto::netenf::v1;

/// A pod of the namespace shop.
pub(super) fn pod(name: &str, address: &str) -> v1::Peer {
    v1::Peer {
        kind: v1::PeerKind::Workload.into(),
        pod: Some(v1::Pod { namespace: "shop".into(), name: name.into(), uid: String::new() }),
        address: address.into(),
        ..v1::Peer::default()
    }
}

/// Three connections from web to db that were let pass, seen where they leave.
pub(super) fn edge() -> v1::EdgeReport {
    v1::EdgeReport {
        edge: Some(v1::Edge {
            source: Some(pod("web", "10.0.0.1")),
            destination: Some(pod("db", "10.0.0.2")),
            direction: v1::Direction::Egress.into(),
            protocol: v1::Protocol::Tcp.into(),
            port: 5432,
        }),
        count: 3,
        first_seen: seconds(101),
        last_seen: seconds(105),
        verdict: v1::Verdict::Allow.into(),
        ..v1::EdgeReport::default()
    }
}

/// The report of that number of the node n1, from the 100th to the 110th second.
pub(super) fn report(sequence: u64, edges: Vec<v1::EdgeReport>) -> v1::ReportEdgesRequest {
    v1::ReportEdgesRequest {
        node: "n1".into(),
        run: "a".into(),
        sequence,
        window_start: seconds(100),
        window_end: seconds(110),
        edges,
        ..v1::ReportEdgesRequest::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "fields of messages are optional")]
pub(super) fn seconds(seconds: i64) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp { seconds, nanos: 0 })
}
