use std::sync::Arc;

use netenf_learn::{
    Direction, DropReason, End, Endpoint, Event, Observation, PodName, PolicyRef, Provider,
    Reporter, ServiceRef, TcpFlags, Timestamp, Transport, Verdict,
};
use rstest::rstest;

use super::Decoder;
use crate::Record;

fn record(line: &str) -> Option<Record> {
    Decoder::default().decode(line.as_bytes()).unwrap()
}

fn decode(line: &str) -> Observation {
    match record(line) {
        Some(Record::Flow(observation)) => observation,
        other => panic!("{other:?}"),
    }
}

/// The observation of an access line with this message and these fields.
fn access(message: &str, fields: &str) -> Observation {
    decode(&format!(r#"{{"scope":"access","message":"{message}",{fields}}}"#))
}

fn pod(namespace: &str, pod: &str, identity: Option<&str>) -> Arc<Endpoint> {
    Arc::new(Endpoint {
        namespace: Some(namespace.into()),
        pod: Some(PodName::Exact(pod.into())),
        identity: identity.map(Into::into),
        ..Endpoint::default()
    })
}

const INBOUND: &str = r#"{"level":"info","time":"2026-08-10T08:19:58.949999Z","scope":"access",
    "message":"connection complete","src.addr":"10.1.0.6:40000","src.workload":"cli-aaa-1","src.namespace":"shop",
    "src.identity":"spiffe://cluster.local/ns/shop/sa/cli","dst.addr":"10.1.0.7:15008",
    "dst.hbone_addr":"10.1.0.7:8080","dst.service":"web.shop.svc.cluster.local","dst.workload":"web-bbb-2",
    "dst.namespace":"shop","dst.identity":"spiffe://cluster.local/ns/shop/sa/web","direction":"inbound",
    "bytes_sent":16,"bytes_recv":16,"duration":"1004ms"}"#;

#[test]
fn a_connection_is_read_as_the_log_tells_it() {
    let observation = decode(INBOUND);
    let expected = Observation {
        provider: Provider::Ztunnel,
        time: Some(Timestamp(1_786_349_998_949_999_000)),
        node: None,
        event: Event::Connection,
        source: End {
            endpoint: pod("shop", "cli-aaa-1", Some("cluster.local/ns/shop/sa/cli")),
            address: Some("10.1.0.6".parse().unwrap()),
            names: vec![],
        },
        destination: End {
            endpoint: pod("shop", "web-bbb-2", Some("cluster.local/ns/shop/sa/web")),
            address: Some("10.1.0.7".parse().unwrap()),
            names: vec![],
        },
        transport: Transport::Tcp(TcpFlags::NONE),
        source_port: Some(40_000),
        destination_port: Some(8080),
        verdict: Verdict::Forwarded,
        drop_reason: None,
        reply: None,
        answered: None,
        direction: Some(Direction::Ingress),
        reporter: Some(Reporter::Destination),
        denied_by: None,
        service: Some(Arc::new(ServiceRef {
            namespace: "shop".into(),
            name: "web".into(),
            port: None,
        })),
        dns: None,
        connections: 1,
        connection_key: observation.connection_key,
        error: None,
    };
    assert_eq!(observation, expected);
    assert!(observation.connection_key.is_some());
}

#[test]
fn keys_may_be_nested() {
    let nested = r#"{"time":"2026-08-10T08:19:58.949999Z","scope":"access","message":"connection complete",
        "src":{"addr":"10.1.0.6:40000","workload":"cli-aaa-1","namespace":"shop","identity":"spiffe://cluster.local/ns/shop/sa/cli"},
        "dst":{"addr":"10.1.0.7:15008","hbone_addr":"10.1.0.7:8080","service":"web.shop.svc.cluster.local",
        "workload":"web-bbb-2","namespace":"shop","identity":"spiffe://cluster.local/ns/shop/sa/web"},"direction":"inbound"}"#;
    assert_eq!(decode(nested), decode(INBOUND));
    let state = r#"{"scope":"ztunnel::state","message":"deny policy match","policy":"shop/wall",
        "proxy":{"wl":"shop/web-x"},"inbound":{"id":"1","peer":"10.1.0.6:40000"}}"#;
    let flat = r#"{"scope":"ztunnel::state","message":"deny policy match","policy":"shop/wall",
        "proxy.wl":"shop/web-x","inbound.id":"1","inbound.peer":"10.1.0.6:40000"}"#;
    assert_eq!(decode(state), decode(flat));
}

#[rstest]
#[case::complete("connection complete", "", Event::Connection, Verdict::Forwarded)]
#[case::opened("connection opened", "", Event::Opened, Verdict::Unknown)]
#[case::failed(
    "connection failed",
    "ip mismatch: 10.0.2.3 != 10.0.2.4",
    Event::Connection,
    Verdict::Failed
)]
#[case::failed_for_no_reason("connection failed", "", Event::Connection, Verdict::Failed)]
#[case::refused(
    "connection complete",
    "io error: Connection refused (os error 111)",
    Event::Connection,
    Verdict::Failed
)]
#[case::drained(
    "connection complete",
    "connection closed due to connection drain",
    Event::Connection,
    Verdict::Failed
)]
#[case::rejected_elsewhere(
    "connection complete",
    "http status: 401 Unauthorized",
    Event::Connection,
    Verdict::Failed
)]
#[case::timeout(
    "connection complete",
    "connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008: deadline has elapsed",
    Event::Connection,
    Verdict::Failed
)]
#[case::rejected(
    "connection complete",
    "connection closed due to policy rejection: allow policies exist, but none allowed",
    Event::Connection,
    Verdict::Dropped
)]
#[case::rejected_for_short(
    "connection complete",
    "connection closed due to policy rejection",
    Event::Connection,
    Verdict::Dropped
)]
#[case::denied(
    "connection complete",
    "connection closed due to policy rejection: explicitly denied by: shop/wall",
    Event::Connection,
    Verdict::Dropped
)]
#[case::policy_changed(
    "connection complete",
    "connection closed due to policy change",
    Event::Connection,
    Verdict::Dropped
)]
fn outcomes(
    #[case] message: &str,
    #[case] error: &str,
    #[case] event: Event,
    #[case] verdict: Verdict,
) {
    let observation = access(message, &format!(r#""error":"{error}""#));
    assert_eq!((observation.event, observation.verdict), (event, verdict));
    let policy = (verdict == Verdict::Dropped).then_some(DropReason::Policy);
    assert_eq!(observation.drop_reason, policy);
    assert_eq!(observation.error.as_deref(), Some(error).filter(|error| !error.is_empty()));
}

#[test]
fn the_error_names_the_policy() {
    let error =
        r#""error":"connection closed due to policy rejection: explicitly denied by: shop/wall""#;
    let expected = PolicyRef {
        kind: "AuthorizationPolicy".into(),
        namespace: Some("shop".into()),
        name: "wall".into(),
    };
    assert_eq!(access("connection complete", error).denied_by, Some(Arc::new(expected)));
}

#[rstest]
#[case::inbound("inbound", Some(Direction::Ingress), Some(Reporter::Destination))]
#[case::outbound("outbound", Some(Direction::Egress), Some(Reporter::Source))]
#[case::unknown("sideways", None, None)]
fn directions(
    #[case] word: &str,
    #[case] direction: Option<Direction>,
    #[case] reporter: Option<Reporter>,
) {
    let observation = access("connection complete", &format!(r#""direction":"{word}""#));
    assert_eq!((observation.direction, observation.reporter), (direction, reporter));
}

#[rstest]
#[case::plain(r#""dst.addr":"203.0.113.40:443""#, Some("203.0.113.40"), &[], Some(443))]
#[case::tunnel(r#""dst.addr":"10.1.0.7:15008","dst.hbone_addr":"10.1.0.9:8080""#, Some("10.1.0.9"), &[], Some(8080))]
#[case::host_in_the_tunnel(
    r#""dst.addr":"10.1.0.7:15008","dst.hbone_addr":"remote.shop.svc.cluster.local:8080","dst.service":"remote.shop.svc.cluster.local""#,
    None,
    &["remote.shop.svc.cluster.local"],
    Some(8080)
)]
#[case::foreign_service(r#""dst.addr":"192.0.2.7:443","dst.service":"api.example.com""#, Some("192.0.2.7"), &["api.example.com"], Some(443))]
#[case::ipv6(r#""dst.addr":"[2001:db8::7]:443""#, Some("2001:db8::7"), &[], Some(443))]
#[case::mapped(r#""dst.addr":"[::ffff:10.0.0.1]:443""#, Some("10.0.0.1"), &[], Some(443))]
#[case::no_port(r#""dst.addr":"2001:db8::7""#, Some("2001:db8::7"), &[], None)]
#[case::port_zero(r#""dst.addr":"10.0.0.1:0""#, Some("10.0.0.1"), &[], Some(0))]
#[case::absent(r#""direction":"outbound""#, None, &[], None)]
fn destinations(
    #[case] fields: &str,
    #[case] address: Option<&str>,
    #[case] names: &[&str],
    #[case] port: Option<u16>,
) {
    let observation = access("connection complete", fields);
    assert_eq!(observation.destination.address, address.map(|address| address.parse().unwrap()));
    let found: Vec<_> = observation.destination.names.iter().map(|name| &**name).collect();
    assert_eq!(found, names);
    assert_eq!(observation.destination_port, port);
}

#[rstest]
#[case::allow("allow policy match", Verdict::Forwarded)]
#[case::no_policy("no allow policies, allow", Verdict::Forwarded)]
#[case::denied("deny policy match", Verdict::Dropped)]
#[case::not_allowed("no allow policies matched", Verdict::Dropped)]
#[case::dry_run_allow("dry-run: allow policy match", Verdict::Forwarded)]
#[case::dry_run_no_policy("dry-run: no allow policies, allow", Verdict::Forwarded)]
#[case::dry_run_denied("dry-run: deny policy match", Verdict::Audit)]
#[case::dry_run_not_allowed("dry-run: no allow policies match", Verdict::Audit)]
#[case::of_1_29("dry-run deny policy match", Verdict::Audit)]
fn decisions(#[case] message: &str, #[case] verdict: Verdict) {
    let observation = decode(&format!(
        r#"{{"time":"2026-08-10T08:19:58Z","scope":"ztunnel::state","message":"{message}","policy":"shop/wall",
        "proxy":{{"wl":"shop/web-bbb-2"}},"inbound":{{"id":"8772","peer":"10.1.0.6:40000"}}}}"#
    ));
    let denies = verdict != Verdict::Forwarded;
    let wall = PolicyRef {
        kind: "AuthorizationPolicy".into(),
        namespace: Some("shop".into()),
        name: "wall".into(),
    };
    let expected = Observation {
        provider: Provider::Ztunnel,
        time: Some(Timestamp::from_seconds(1_786_349_998)),
        node: None,
        event: Event::PolicyLog,
        source: End {
            endpoint: Arc::default(),
            address: Some("10.1.0.6".parse().unwrap()),
            names: vec![],
        },
        destination: End { endpoint: pod("shop", "web-bbb-2", None), address: None, names: vec![] },
        transport: Transport::Tcp(TcpFlags::NONE),
        source_port: Some(40_000),
        destination_port: None,
        verdict,
        drop_reason: denies.then_some(DropReason::Policy),
        reply: None,
        answered: None,
        direction: Some(Direction::Ingress),
        reporter: Some(Reporter::Destination),
        denied_by: denies.then(|| Arc::new(wall)),
        service: None,
        dns: None,
        connections: 1,
        connection_key: observation.connection_key,
        error: None,
    };
    assert_eq!(observation, expected);
}

#[test]
fn a_decision_may_have_no_peer() {
    let observation = decode(
        r#"{"scope":"ztunnel::state","message":"no allow policies matched","proxy":{"wl":"shop/web-x"}}"#,
    );
    assert_eq!((observation.source.address, observation.source_port), (None, None));
    assert_eq!(observation.destination.endpoint, pod("shop", "web-x", None));
}

#[test]
fn a_socket_that_is_used_again_is_another_connection() {
    let line = |time: &str, direction: &str| {
        let fields = format!(
            r#""time":"{time}","src.addr":"10.1.0.6:40000","dst.addr":"10.1.0.7:80","direction":"{direction}""#
        );
        access("connection complete", &fields).connection_key
    };
    let first = line("2026-08-10T08:19:58.1Z", "inbound");
    assert_eq!(first, line("2026-08-10T08:19:58.1Z", "inbound"));
    assert_ne!(first, line("2026-08-10T08:19:58.2Z", "inbound"));
    assert_ne!(first, line("2026-08-10T08:19:58.1Z", "outbound"));
}

#[rstest]
#[case::blank("\t")]
#[case::other_scope(
    r#"{"scope":"ztunnel::xds","message":"local config initialized","local_client":{}}"#
)]
#[case::other_access(r#"{"scope":"access","message":"connection pooled","src":7}"#)]
#[case::other_state(r#"{"scope":"ztunnel::state","message":"workload updated","proxy":"none"}"#)]
fn some_lines_say_nothing_about_connections(#[case] line: &str) {
    assert_eq!(record(line), None);
}

#[rstest]
#[case::no_message(
    r#"{"scope":"access"}"#,
    "no record of ztunnel: it looks like a JSON object with the keys scope"
)]
#[case::text(
    "2026-08-10T08:19:58.949999Z\tinfo\taccess\tconnection complete\tsrc.addr=10.1.0.6:40000",
    "no record of ztunnel: it looks like ztunnel's log as text (LOG_FORMAT=json is needed)"
)]
#[case::time(
    r#"{"scope":"access","message":"connection complete","time":"now"}"#,
    "invalid value: string \"now\", expected a time of RFC 3339 at column 62"
)]
fn bad_lines_say_why(#[case] line: &str, #[case] expected: &str) {
    let error = Decoder::default().decode(line.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}
