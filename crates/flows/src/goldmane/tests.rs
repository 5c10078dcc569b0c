use std::sync::Arc;

use netenf_learn::{
    Direction, DropReason, End, Endpoint, Event, Icmp, Network, Observation, PodName, PolicyRef,
    Provider, Reporter, ServiceRef, TcpFlags, Timestamp, Transport, Verdict,
};
use rstest::rstest;

use super::Decoder;
use crate::Record;

fn decode(line: &str) -> Observation {
    match Decoder::default().decode(line.as_bytes()) {
        Ok(Some(Record::Flow(observation))) => observation,
        other => panic!("{other:?}"),
    }
}

/// The observation of a flow whose key has these fields.
fn key(fields: &str) -> Observation {
    decode(&format!(r#"{{"flow":{{"Key":{{{fields}}}}}}}"#))
}

fn error(line: &str) -> String {
    Decoder::default().decode(line.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_flow_is_read_as_the_server_tells_it() {
    let observation = decode(
        r#"{"id":"7","flow":{"Key":{"source_name":"web-6c8d9f7b5-*","source_namespace":"shop",
        "source_type":"WorkloadEndpoint","dest_name":"bare","dest_namespace":"data","dest_type":"WorkloadEndpoint",
        "dest_port":"5432","dest_service_name":"db","dest_service_namespace":"data","dest_service_port_name":"sql",
        "dest_service_port":"15432","proto":"tcp","reporter":"Src","action":"Deny","policies":{"enforced_policies":
        [{"kind":"NetworkPolicy","namespace":"shop","name":"wall","tier":"default","action":"Deny"}]}},
        "start_time":"1796003719","end_time":"1796003720","source_labels":["pod-template-hash=6c8d9f7b5","app=web"],
        "dest_labels":["app=db"],"num_connections_started":"3","num_connections_live":"2"}}"#,
    );
    let pod = |namespace: &str, pod: PodName, labels: &[(&str, &str)]| End {
        endpoint: Arc::new(Endpoint {
            namespace: Some(namespace.into()),
            pod: Some(pod),
            labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            ..Endpoint::default()
        }),
        address: None,
        names: vec![],
    };
    let web = PodName::Generated("web-6c8d9f7b5-".into());
    let expected = Observation {
        provider: Provider::Goldmane,
        time: Some(Timestamp::from_seconds(1_796_003_719)),
        node: None,
        event: Event::Connection,
        source: pod("shop", web, &[("app", "web"), ("pod-template-hash", "6c8d9f7b5")]),
        destination: pod("data", PodName::Exact("bare".into()), &[("app", "db")]),
        transport: Transport::Tcp(TcpFlags::NONE),
        source_port: None,
        destination_port: Some(5432),
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        reply: None,
        answered: None,
        direction: Some(Direction::Egress),
        reporter: Some(Reporter::Source),
        denied_by: Some(Arc::new(PolicyRef {
            kind: "NetworkPolicy".into(),
            namespace: Some("shop".into()),
            name: "wall".into(),
        })),
        service: Some(Arc::new(ServiceRef {
            namespace: "data".into(),
            name: "db".into(),
            port: Some(15_432),
        })),
        dns: None,
        connections: 3,
        connection_key: observation.connection_key,
        error: None,
    };
    assert_eq!(observation, expected);
    assert!(observation.connection_key.is_some());
}

#[rstest]
#[case::public(r#""dest_name":"pub","dest_type":"Network""#, Some(Network::Public))]
#[case::private(r#""dest_name":"pvt","dest_type":4"#, Some(Network::Private))]
#[case::other_network(r#""dest_name":"x","dest_type":"Network""#, None)]
#[case::host(r#""dest_name":"n1","dest_type":"HostEndpoint""#, Some(Network::Host("n1".into())))]
#[case::set(
    r#""dest_name":"partners","dest_namespace":"shop","dest_type":"NetworkSet""#,
    Some(Network::Set { namespace: Some("shop".into()), name: "partners".into() })
)]
#[case::global_set(
    r#""dest_name":"partners","dest_namespace":"-","dest_type":3"#,
    Some(Network::Set { namespace: None, name: "partners".into() })
)]
#[case::untyped(r#""dest_name":"x","dest_namespace":"shop""#, None)]
#[case::nameless(r#""dest_name":"-","dest_type":"HostEndpoint""#, None)]
fn ends_that_are_no_pods(#[case] fields: &str, #[case] network: Option<Network>) {
    let line = format!(r#"{{"Key":{{{fields}}},"dest_labels":["a=b"]}}"#);
    let expected = Endpoint { network, ..Endpoint::default() };
    assert_eq!(*decode(&line).destination.endpoint, expected);
}

#[rstest]
#[case::tcp("tcp", Transport::Tcp(TcpFlags::NONE))]
#[case::tcp_by_number("6", Transport::Tcp(TcpFlags::NONE))]
#[case::udp("udp", Transport::Udp)]
#[case::sctp("SCTP", Transport::Sctp)]
#[case::icmp("icmp", Transport::Icmp(Icmp::V4(None)))]
#[case::icmp6("icmp6", Transport::Icmp(Icmp::V6(None)))]
#[case::gre("47", Transport::Other("47".into()))]
#[case::absent("-", Transport::Missing)]
fn transports(#[case] proto: &str, #[case] expected: Transport) {
    assert_eq!(key(&format!(r#""proto":"{proto}""#)).transport, expected);
}

#[rstest]
#[case::absent("null", None)]
#[case::zero(r#""0""#, Some(0))]
#[case::number("443", Some(443))]
fn ports(#[case] written: &str, #[case] expected: Option<u16>) {
    assert_eq!(key(&format!(r#""dest_port":{written}"#)).destination_port, expected);
}

#[rstest]
#[case::allow(r#""action":"Allow""#, Verdict::Forwarded, None)]
#[case::deny(r#""action":2"#, Verdict::Dropped, Some(DropReason::Policy))]
#[case::pass(r#""action":"Pass""#, Verdict::Unknown, None)]
#[case::unspecified(r#""action":"ActionUnspecified""#, Verdict::Unknown, None)]
#[case::absent(r#""proto":"tcp""#, Verdict::Unknown, None)]
fn actions(#[case] fields: &str, #[case] verdict: Verdict, #[case] reason: Option<DropReason>) {
    let observation = key(fields);
    assert_eq!((observation.verdict, observation.drop_reason), (verdict, reason));
}

#[rstest]
#[case::source("\"Src\"", Some(Reporter::Source), Some(Direction::Egress))]
#[case::destination("2", Some(Reporter::Destination), Some(Direction::Ingress))]
#[case::unspecified("0", None, None)]
fn reporters(
    #[case] written: &str,
    #[case] reporter: Option<Reporter>,
    #[case] direction: Option<Direction>,
) {
    let observation = key(&format!(r#""reporter":{written}"#));
    assert_eq!((observation.reporter, observation.direction), (reporter, direction));
}

#[rstest]
#[case::started(r#""num_connections_started":"3","num_connections_live":"9""#, 3)]
#[case::only_live(r#""num_connections_started":"0","numConnectionsLive":3"#, 3)]
#[case::neither(r#""num_connections_started":0"#, 1)]
#[case::absent(r#""packets_in":"5""#, 1)]
fn connections(#[case] fields: &str, #[case] expected: u64) {
    assert_eq!(decode(&format!(r#"{{"Key":{{}},{fields}}}"#)).connections, expected);
}

#[rstest]
#[case::no_service(r#""dest_service_name":"-","dest_service_namespace":"-""#, None)]
#[case::no_namespace(r#""dest_service_name":"db""#, None)]
#[case::no_port(r#""dest_service_name":"db","dest_service_namespace":"shop""#, service(None))]
#[case::port(
    r#""destServiceName":"db","destServiceNamespace":"shop","destServicePort":80"#,
    service(Some(80))
)]
fn services(#[case] fields: &str, #[case] expected: Option<Arc<ServiceRef>>) {
    assert_eq!(key(fields).service, expected);
}

/// The service `shop/db` with this port.
#[expect(clippy::unnecessary_wraps, reason = "as an observation holds it")]
fn service(port: Option<u16>) -> Option<Arc<ServiceRef>> {
    Some(Arc::new(ServiceRef { namespace: "shop".into(), name: "db".into(), port }))
}

#[rstest]
#[case::itself(
    r#"{"kind":"CalicoNetworkPolicy","namespace":"shop","name":"a","action":"Deny"}"#,
    Some("CalicoNetworkPolicy shop/a")
)]
#[case::by_numbers(r#"{"kind":2,"name":"a","action":2}"#, Some("GlobalNetworkPolicy /a"))]
#[case::of_tomorrow(r#"{"kind":77,"name":"a","action":2}"#, Some("77 /a"))]
#[case::end_of_tier(
    r#"{"kind":"EndOfTier","tier":"default","action":"Deny","rule_index":"-1","trigger":{"kind":"NetworkPolicy","namespace":"shop","name":"a"}}"#,
    Some("NetworkPolicy shop/a")
)]
#[case::end_of_tier_by_number(
    r#"{"kind":10,"action":2,"trigger":{"kind":6,"namespace":"shop","name":"a"}}"#,
    Some("NetworkPolicy shop/a")
)]
#[case::end_of_tier_without_trigger(r#"{"kind":"EndOfTier","action":"Deny"}"#, None)]
#[case::passes_before(
    r#"{"kind":"NetworkPolicy","name":"p","action":"Pass"},{"kind":"NetworkPolicy","name":"a","action":"Deny","policy_index":"1"}"#,
    Some("NetworkPolicy /a")
)]
#[case::not_in_order(
    r#"{"kind":"NetworkPolicy","name":"b","action":"Deny","policy_index":"2"},{"kind":"NetworkPolicy","name":"a","action":"Deny","policyIndex":1}"#,
    Some("NetworkPolicy /a")
)]
#[case::none("", None)]
fn the_denying_policy(#[case] hits: &str, #[case] expected: Option<&str>) {
    let fields = format!(
        r#""action":"Deny","policies":{{"enforced_policies":[{hits}],"pending_policies":[{{"kind":"Profile","name":"x","action":"Deny"}}]}}"#
    );
    let denied_by = key(&fields).denied_by.map(|policy| {
        let namespace = policy.namespace.as_deref().unwrap_or_default();
        format!("{} {namespace}/{}", policy.kind, policy.name)
    });
    assert_eq!(denied_by.as_deref(), expected);
}

#[test]
fn what_is_allowed_is_denied_by_none() {
    let fields = r#""action":"Allow","policies":{"enforced_policies":[{"kind":2,"name":"a","action":"Deny"}]}"#;
    assert_eq!(key(fields).denied_by, None);
}

#[rstest]
#[case::other_reporter(r#""reporter":"Dst","action":"Allow""#, "1", true)]
#[case::other_action(r#""reporter":"Src","action":"Deny""#, "1", true)]
#[case::other_window(r#""reporter":"Src","action":"Allow""#, "2", false)]
#[case::other_port(r#""dest_port":81"#, "1", false)]
#[case::other_protocol(r#""proto":"udp""#, "1", false)]
#[case::other_source(r#""source_name":"web-*""#, "1", false)]
fn both_reports_of_a_window_have_one_key(
    #[case] fields: &str,
    #[case] start: &str,
    #[case] equal: bool,
) {
    let line = |fields: &str, start: &str| {
        format!(r#"{{"Key":{{"dest_name":"db-*","dest_type":1,{fields}}},"start_time":{start}}}"#)
    };
    let port = if fields.contains("dest_port") { "" } else { r#","dest_port":80"# };
    let first = decode(&line(r#""reporter":"Src","dest_port":80"#, "1"));
    let second = decode(&line(&format!("{fields}{port}"), start));
    assert_eq!(first.connection_key == second.connection_key, equal);
}

#[rstest]
#[case::result(r#"{"id":1,"flow":{"Key":{"proto":"tcp"},"start_time":"5"}}"#)]
#[case::flow_only(r#"{"flow":{"Key":{"proto":"tcp"},"startTime":5}}"#)]
#[case::bare(r#"{"Key":{"proto":"tcp"},"start_time":"5"}"#)]
#[case::small_key(r#"{"key":{"proto":"tcp"},"start_time":5}"#)]
#[case::small_key_in_a_flow(r#"{"flow":{"key":{"proto":"tcp"},"start_time":5}}"#)]
fn a_flow_may_be_wrapped(#[case] line: &str) {
    assert_eq!(
        decode(line),
        decode(r#"{"id":"9","flow":{"Key":{"proto":"tcp"},"start_time":"5"}}"#)
    );
}

#[test]
fn a_window_at_zero_is_no_time() {
    assert_eq!(decode(r#"{"Key":{},"start_time":"0"}"#).time, None);
}

#[test]
fn a_blank_line_says_nothing() {
    assert_eq!(Decoder::default().decode(b"  "), Ok(None));
}

#[rstest]
#[case::port(
    r#"{"Key":{"dest_port":"70000"}}"#,
    "invalid value: string \"70000\", expected a port from 0 to 65535 at column 27"
)]
#[case::label(
    r#"{"Key":{"source_name":"a","source_type":1},"source_labels":[5]}"#,
    "invalid type: integer `5`, expected a string at column 61"
)]
#[case::of_hubble(
    r#"{"flow":{"verdict":"FORWARDED"}}"#,
    "no record of Goldmane: it looks like a record of Hubble"
)]
#[case::no_key(
    r#"{"flow":{"start_time":"1"}}"#,
    "no record of Goldmane: it looks like a JSON object with the keys flow"
)]
fn bad_lines_say_why(#[case] line: &str, #[case] expected: &str) {
    assert_eq!(error(line), expected);
}

#[test]
fn an_endpoint_that_comes_again_is_shared() {
    let mut decoder = Decoder::default();
    let mut decode = |line: &str| match decoder.decode(line.as_bytes()) {
        Ok(Some(Record::Flow(observation))) => observation,
        other => panic!("{other:?}"),
    };
    let first =
        decode(r#"{"Key":{"source_name":"web-*","source_type":1},"source_labels":["a=b"]}"#);
    let second = decode(r#"{"Key":{"dest_name":"web-*","dest_type":1},"dest_labels":["a=b"]}"#);
    let third = decode(r#"{"Key":{"dest_name":"web-*","dest_type":1},"dest_labels":["a=c"]}"#);
    assert!(Arc::ptr_eq(&first.source.endpoint, &second.destination.endpoint));
    assert_ne!(second.destination.endpoint, third.destination.endpoint);
}
