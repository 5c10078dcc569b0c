//! Flows for tests.

use std::sync::Arc;

use netenf_learn::Timestamp;
use netenf_learn::observation::{
    End, Endpoint, Event, Observation, PodName, Provider, TcpFlags, Transport, Verdict,
    WorkloadName,
};

/// A connection between pods of two Deployments in the namespace shop, opened at that second.
pub(crate) fn opened(source: &str, destination: &str, port: u16, second: i64) -> Observation {
    Observation {
        transport: Transport::Tcp(TcpFlags::SYN),
        time: Some(Timestamp::from_seconds(second)),
        source_port: Some(1024 + u16::try_from(second % 60_000).unwrap()),
        destination_port: Some(port),
        reply: Some(false),
        verdict: Verdict::Forwarded,
        ..Observation::new(Provider::Hubble, Event::Packet, end(source), end(destination))
    }
}

fn end(name: &str) -> End {
    let sum = name.bytes().fold(7_u8, |sum, byte| sum.wrapping_mul(31) ^ byte);
    let endpoint = Endpoint {
        namespace: Some("shop".into()),
        pod: Some(PodName::Exact(format!("{name}-pod").into())),
        workload: Some(WorkloadName { kind: "Deployment".into(), name: name.into() }),
        labels: vec![("app".into(), name.into())],
        ..Endpoint::default()
    };
    End { endpoint: Arc::new(endpoint), address: Some([10, 0, 0, sum].into()), names: Vec::new() }
}
