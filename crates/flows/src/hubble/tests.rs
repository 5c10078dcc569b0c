use std::sync::Arc;

use netenf_learn::{
    Direction, DropReason, Endpoint, Entities, Event, Icmp, LostEvents, NodeState, NodeStatus,
    Observation, PodName, PolicyRef, Provider, ServiceRef, TcpFlags, Timestamp, Transport, Verdict,
    WorkloadName,
};
use rstest::rstest;

use super::Decoder;
use crate::{DecodeError, Record};

fn record(line: &str) -> Option<Record> {
    Decoder::default().decode(line.as_bytes()).unwrap()
}

/// The observation of a flow with these fields.
fn flow(fields: &str) -> Observation {
    match record(&format!(r#"{{"flow":{{"verdict":"FORWARDED",{fields}}}}}"#)) {
        Some(Record::Flow(observation)) => observation,
        other => panic!("{other:?}"),
    }
}

/// The endpoint of these fields.
fn endpoint(fields: &str) -> Endpoint {
    Arc::unwrap_or_clone(flow(&format!(r#""source":{{{fields}}}"#)).source.endpoint)
}

fn error(line: &str) -> String {
    Decoder::default().decode(line.as_bytes()).unwrap_err().to_string()
}

fn shared(texts: &[&str]) -> Vec<Arc<str>> {
    texts.iter().map(|text| Arc::from(*text)).collect()
}

#[test]
fn a_flow_is_read_as_the_server_tells_it() {
    let observation = match record(
        r#"{"flow":{"time":"2026-11-30T01:54:03.690729757Z","verdict":"DROPPED","drop_reason":133,
        "IP":{"source":"10.0.1.10","destination":"2001:db8::7","ipVersion":"IPv6"},
        "l4":{"TCP":{"source_port":40000,"destination_port":443,"flags":{"SYN":true,"ACK":false}}},
        "source":{"ID":1,"identity":12001,"namespace":"shop","labels":["k8s:app=web"],"pod_name":"web-x",
        "workloads":[{"name":"web","kind":"Deployment"}]},"destination":{"identity":16777260,
        "labels":["cidr:2001:db8::7/128","reserved:world-ipv6"]},"Type":"L3_L4","node_name":"n1",
        "event_type":{"type":5},"traffic_direction":"EGRESS","drop_reason_desc":"POLICY_DENIED",
        "egress_denied_by":[{"name":"wall","namespace":"shop","kind":"CiliumNetworkPolicy"}]},
        "node_name":"outer","time":"2027-01-01T00:00:00Z"}"#,
    ) {
        Some(Record::Flow(observation)) => observation,
        other => panic!("{other:?}"),
    };
    let expected = Observation {
        provider: Provider::Hubble,
        time: Some(Timestamp(1_796_003_643_690_729_757)),
        node: Some("n1".into()),
        event: Event::PolicyVerdict,
        source: netenf_learn::End {
            endpoint: Arc::new(Endpoint {
                namespace: Some("shop".into()),
                pod: Some(PodName::Exact("web-x".into())),
                workload: Some(WorkloadName { kind: "Deployment".into(), name: "web".into() }),
                labels: vec![("app".into(), "web".into())],
                ..Endpoint::default()
            }),
            address: Some("10.0.1.10".parse().unwrap()),
            names: vec![],
        },
        destination: netenf_learn::End {
            endpoint: Arc::new(Endpoint { entities: Entities::WORLD, ..Endpoint::default() }),
            address: Some("2001:db8::7".parse().unwrap()),
            names: vec![],
        },
        transport: Transport::Tcp(TcpFlags::SYN),
        source_port: Some(40_000),
        destination_port: Some(443),
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        reply: None,
        answered: None,
        direction: Some(Direction::Egress),
        reporter: None,
        denied_by: Some(Arc::new(PolicyRef {
            kind: "CiliumNetworkPolicy".into(),
            namespace: Some("shop".into()),
            name: "wall".into(),
        })),
        service: None,
        dns: None,
        connections: 1,
        connection_key: None,
        error: None,
    };
    assert_eq!(observation, expected);
}

#[rstest]
#[case::forwarded("FORWARDED", 1, Verdict::Forwarded)]
#[case::dropped("DROPPED", 2, Verdict::Dropped)]
#[case::error("ERROR", 3, Verdict::Failed)]
#[case::audit("AUDIT", 4, Verdict::Audit)]
#[case::redirected("REDIRECTED", 5, Verdict::Redirected)]
#[case::traced("TRACED", 6, Verdict::Socket)]
#[case::translated("TRANSLATED", 7, Verdict::Socket)]
#[case::none("VERDICT_UNKNOWN", 0, Verdict::Unknown)]
#[case::of_tomorrow("QUARANTINED", 99, Verdict::Unknown)]
fn verdicts(#[case] name: &str, #[case] number: u8, #[case] expected: Verdict) {
    for written in [format!("\"{name}\""), number.to_string()] {
        let line = format!(r#"{{"flow":{{"verdict":{written},"Type":"L3_L4"}}}}"#);
        match record(&line) {
            Some(Record::Flow(observation)) => assert_eq!(observation.verdict, expected, "{line}"),
            other => panic!("{other:?}"),
        }
    }
}

#[rstest]
#[case::no_rule(r#""drop_reason_desc":"POLICY_DENIED""#, Some("policy"))]
#[case::deny_rule(r#""drop_reason_desc":"POLICY_DENY""#, Some("policy"))]
#[case::no_rule_by_number(r#""drop_reason_desc":133"#, Some("policy"))]
#[case::deny_rule_by_old_number(r#""drop_reason":181"#, Some("policy"))]
#[case::old_number_as_text(r#""dropReason":"181""#, Some("policy"))]
#[case::other(r#""drop_reason":189,"drop_reason_desc":"AUTH_REQUIRED""#, Some("AUTH_REQUIRED"))]
#[case::other_by_number(r#""drop_reason_desc":189"#, Some("AUTH_REQUIRED"))]
#[case::of_tomorrow(r#""drop_reason_desc":999"#, Some("999"))]
#[case::unknown(r#""drop_reason_desc":"DROP_REASON_UNKNOWN""#, None)]
#[case::unknown_by_number(r#""drop_reason_desc":0"#, None)]
#[case::absent(r#""Type":"L3_L4""#, None)]
fn drop_reasons(#[case] fields: &str, #[case] expected: Option<&str>) {
    let expected = expected.map(|word| match word {
        "policy" => DropReason::Policy,
        word => DropReason::Other(word.into()),
    });
    assert_eq!(flow(fields).drop_reason, expected);
}

#[rstest]
#[case::drop(r#""event_type":{"type":1,"sub_type":133},"Type":"L3_L4""#, Event::Drop)]
#[case::trace(r#""event_type":{"type":4},"Type":"L3_L4""#, Event::Packet)]
#[case::debug_capture(r#""event_type":{"type":3}"#, Event::Packet)]
#[case::policy(r#""event_type":{"type":5},"Type":"L3_L4""#, Event::PolicyVerdict)]
#[case::request(r#""event_type":{"type":129},"Type":"L7","l7":{"type":"REQUEST"}"#, Event::Request)]
#[case::response(r#""event_type":{"type":129},"l7":{"type":2}"#, Event::Response)]
#[case::sample(r#""Type":"L7","l7":{"type":"SAMPLE"}"#, Event::Request)]
#[case::reply(r#""Type":2,"is_reply":true"#, Event::Response)]
#[case::socket(r#""event_type":{"type":7},"Type":"SOCK""#, Event::Socket)]
#[case::socket_of_old(r#""Type":"SOCK""#, Event::Socket)]
#[case::masked_out(r#""IP":{}"#, Event::Packet)]
#[case::masked_out_drop(r#""verdict":"DROPPED""#, Event::Drop)]
#[case::masked_out_audit(r#""verdict":"AUDIT""#, Event::PolicyVerdict)]
#[case::masked_out_redirect(r#""verdict":"REDIRECTED""#, Event::PolicyVerdict)]
#[case::masked_out_socket(r#""verdict":"TRACED""#, Event::Socket)]
fn events(#[case] fields: &str, #[case] expected: Event) {
    let verdict = if fields.contains("verdict") { "" } else { r#""verdict":"FORWARDED","# };
    match record(&format!(r#"{{"flow":{{{verdict}{fields}}}}}"#)) {
        Some(Record::Flow(observation)) => assert_eq!(observation.event, expected),
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::absent(r#""Type":1"#, None)]
#[case::old_field_false(r#""reply":false"#, None)]
#[case::old_field_true(r#""reply":true"#, Some(true))]
#[case::request(r#""is_reply":false,"reply":true"#, Some(false))]
#[case::answer(r#""is_reply":true"#, Some(true))]
#[case::null(r#""is_reply":null"#, None)]
fn replies(#[case] fields: &str, #[case] expected: Option<bool>) {
    assert_eq!(flow(fields).reply, expected);
}

#[rstest]
#[case::tcp(
    r#"{"TCP":{"source_port":1,"destination_port":2,"flags":{"FIN":true,"SYN":true,"RST":true,"PSH":true,"ACK":true,"ECE":true}}}"#,
    Transport::Tcp(
        TcpFlags::FIN.with(TcpFlags::SYN).with(TcpFlags::RST).with(TcpFlags::PSH).with(TcpFlags::ACK)
    ),
    Some(1),
    Some(2)
)]
#[case::tcp_without_flags(r#"{"TCP":{}}"#, Transport::Tcp(TcpFlags::NONE), None, None)]
#[case::udp_port_zero(
    r#"{"UDP":{"source_port":0,"destination_port":0}}"#,
    Transport::Udp,
    Some(0),
    Some(0)
)]
#[case::sctp(r#"{"SCTP":{"destination_port":"3868"}}"#, Transport::Sctp, None, Some(3868))]
#[case::ping(r#"{"ICMPv4":{"type":8}}"#, Transport::Icmp(Icmp::V4(Some((8, 0)))), None, None)]
#[case::echo_reply(r#"{"ICMPv4":{}}"#, Transport::Icmp(Icmp::V4(Some((0, 0)))), None, None)]
#[case::port_unreachable(r#"{"ICMPv4":{"type":3,"code":3}}"#, Transport::Icmp(Icmp::V4(Some((3, 3)))), None, None)]
#[case::icmp6(
    r#"{"ICMPv6":{"type":135,"code":0}}"#,
    Transport::Icmp(Icmp::V6(Some((135, 0)))),
    None,
    None
)]
#[case::vrrp(r#"{"VRRP":{"type":1}}"#, Transport::Other("VRRP".into()), None, None)]
#[case::igmp(r#"{"IGMP":{}}"#, Transport::Other("IGMP".into()), None, None)]
#[case::of_tomorrow(r#"{"QUIC":{}}"#, Transport::Missing, None, None)]
#[case::null("null", Transport::Missing, None, None)]
fn transports(
    #[case] l4: &str,
    #[case] transport: Transport,
    #[case] source: Option<u16>,
    #[case] destination: Option<u16>,
) {
    let observation = flow(&format!(r#""l4":{l4}"#));
    assert_eq!(observation.transport, transport);
    assert_eq!((observation.source_port, observation.destination_port), (source, destination));
}

#[rstest]
#[case::host("host", 1, Entities::HOST)]
#[case::world("world", 2, Entities::WORLD)]
#[case::world4("world-ipv4", 9, Entities::WORLD)]
#[case::world6("world-ipv6", 10, Entities::WORLD)]
#[case::unmanaged("unmanaged", 3, Entities::UNMANAGED)]
#[case::health("health", 4, Entities::HEALTH)]
#[case::init("init", 5, Entities::INIT)]
#[case::remote_node("remote-node", 6, Entities::REMOTE_NODE)]
#[case::api_server("kube-apiserver", 7, Entities::KUBE_APISERVER)]
#[case::ingress("ingress", 8, Entities::INGRESS)]
#[case::none("unknown", 0, Entities::default())]
#[case::of_a_pod("of-tomorrow", 12001, Entities::default())]
fn entities(#[case] label: &str, #[case] identity: u32, #[case] expected: Entities) {
    assert_eq!(endpoint(&format!(r#""labels":["reserved:{label}"]"#)).entities, expected);
    assert_eq!(endpoint(&format!(r#""identity":{identity}"#)).entities, expected);
}

#[test]
fn one_endpoint_may_be_several_entities() {
    let endpoint = endpoint(r#""identity":1,"labels":["reserved:kube-apiserver","reserved:host"]"#);
    assert_eq!(endpoint.entities, Entities::HOST.with(Entities::KUBE_APISERVER));
}

#[rstest]
#[case::sorted(r#"["k8s:b=2","k8s:a=1"]"#, &[("a", "1"), ("b", "2")])]
#[case::without_source(r#"["app=web"]"#, &[("app", "web")])]
#[case::without_value(r#"["k8s:canary","k8s:empty="]"#, &[("canary", ""), ("empty", "")])]
#[case::colon_in_the_value(r#"["app=a:b","k8s:image=r:5/x=y"]"#, &[("app", "a:b"), ("image", "r:5/x=y")])]
#[case::of_cilium(r#"["k8s:io.cilium.k8s.policy.cluster=default","k8s:io.kubernetes.pod.namespace=shop"]"#, &[])]
#[case::of_other_sources(r#"["reserved:host","cidr:10.0.0.0/8","fqdn:a.example","container:x=y"]"#, &[])]
#[case::absent("null", &[])]
fn labels(#[case] written: &str, #[case] expected: &[(&str, &str)]) {
    let endpoint = endpoint(&format!(r#""labels":{written}"#));
    let found: Vec<_> = endpoint.labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(found, expected);
}

#[rstest]
#[case::field(
    r#""namespace":"shop","labels":["k8s:io.kubernetes.pod.namespace=web"]"#,
    Some("shop")
)]
#[case::label(r#""labels":["k8s:io.kubernetes.pod.namespace=web"]"#, Some("web"))]
#[case::empty(r#""namespace":"""#, None)]
fn namespaces(#[case] fields: &str, #[case] expected: Option<&str>) {
    assert_eq!(endpoint(fields).namespace.as_deref(), expected);
}

#[test]
fn the_first_whole_workload_counts() {
    let workloads = r#""workloads":[{"name":"x"},{"name":"web","kind":"ReplicaSet"},{"name":"y","kind":"Job"}]"#;
    let expected = WorkloadName { kind: "ReplicaSet".into(), name: "web".into() };
    assert_eq!(endpoint(workloads).workload, Some(expected));
}

#[test]
fn names_come_from_dns_and_from_the_identity() {
    let observation = flow(
        r#""destination":{"labels":["fqdn:api.example.com","reserved:world"]},
        "source_names":[],"destination_names":["api.example.com","huggingface.co.ai.svc.cluster.local."]"#,
    );
    let expected = shared(&["api.example.com", "huggingface.co.ai.svc.cluster.local."]);
    assert_eq!(observation.destination.names, expected);
    assert_eq!(observation.source.names, shared(&[]));
}

#[rstest]
#[case::request(r#""is_reply":false"#, Some("to"))]
#[case::unknown(r#""Type":1"#, Some("to"))]
#[case::answer(r#""is_reply":true"#, Some("from"))]
fn the_service_is_the_one_that_the_client_addressed(
    #[case] fields: &str,
    #[case] expected: Option<&str>,
) {
    let observation = flow(&format!(
        r#"{fields},"source_service":{{"name":"from","namespace":"shop"}},
        "destination_service":{{"name":"to","namespace":"shop"}}"#
    ));
    let expected = expected.map(|name| {
        Arc::new(ServiceRef { namespace: "shop".into(), name: name.into(), port: None })
    });
    assert_eq!(observation.service, expected);
}

#[rstest]
#[case::egress(
    r#""egress_denied_by":[{"name":"a","namespace":"x","kind":"K"},{"name":"b"}]"#,
    Some("K x/a")
)]
#[case::ingress(r#""ingressDeniedBy":[{"name":"a","kind":"K"}]"#, Some("K /a"))]
#[case::egress_first(
    r#""ingress_denied_by":[{"name":"i","kind":"K"}],"egress_denied_by":[{"name":"e","kind":"K"}]"#,
    Some("K /e")
)]
#[case::old_server(r#""egress_denied_by":[{"name":"a","namespace":"x"}]"#, Some(" x/a"))]
#[case::old_server_with_label(
    r#""egress_denied_by":[{"name":"a","labels":["k8s:io.cilium.k8s.policy.derived-from=NetworkPolicy"]}]"#,
    Some("NetworkPolicy /a")
)]
#[case::nameless(r#""egress_denied_by":[{}]"#, None)]
#[case::empty(r#""egress_denied_by":[]"#, None)]
#[case::allowed(r#""egress_allowed_by":[{"name":"a"}]"#, None)]
fn the_denying_policy(#[case] fields: &str, #[case] expected: Option<&str>) {
    let denied_by = flow(fields).denied_by.map(|policy| {
        let namespace = policy.namespace.as_deref().unwrap_or_default();
        format!("{} {namespace}/{}", policy.kind, policy.name)
    });
    assert_eq!(denied_by.as_deref(), expected);
}

#[rstest]
#[case::answer(
    r#""type":"RESPONSE","dns":{"query":"a.example.","ips":["192.0.2.1","2001:db8::1"]}"#,
    Some(("a.example.", 2))
)]
#[case::question(r#""type":"REQUEST","dns":{"query":"a.example.","ips":["192.0.2.1"]}"#, None)]
#[case::no_such_name(r#""type":"RESPONSE","dns":{"query":"a.example.","rcode":3}"#, None)]
#[case::no_name(r#""type":"RESPONSE","dns":{"ips":["192.0.2.1"]}"#, None)]
#[case::http(r#""type":"RESPONSE","http":{"code":200}"#, None)]
fn dns_answers(#[case] l7: &str, #[case] expected: Option<(&str, usize)>) {
    let dns = flow(&format!(r#""Type":"L7","l7":{{{l7}}}"#)).dns;
    assert_eq!(dns.as_ref().map(|dns| (&*dns.query, dns.addresses.len())), expected);
}

#[rstest]
#[case::mapped(r#""::ffff:10.0.0.1""#, Some("10.0.0.1"))]
#[case::empty(r#""""#, None)]
#[case::absent("null", None)]
fn addresses(#[case] written: &str, #[case] expected: Option<&str>) {
    let observation = flow(&format!(r#""IP":{{"source":{written}}}"#));
    assert_eq!(observation.source.address, expected.map(|address| address.parse().unwrap()));
}

#[test]
fn the_response_fills_in_node_and_time() {
    let line = r#"{"flow":{"verdict":1},"nodeName":"n2","time":"2026-01-01T00:00:00Z"}"#;
    match record(line) {
        Some(Record::Flow(observation)) => {
            assert_eq!(observation.node.as_deref(), Some("n2"));
            assert_eq!(observation.time, Some(Timestamp::from_seconds(1_767_225_600)));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_bare_flow_is_a_flow() {
    let fields = r#""verdict":"FORWARDED","l4":{"UDP":{"destination_port":53}},"node_name":"n1""#;
    assert_eq!(record(&format!("{{{fields}}}")), record(&format!(r#"{{"flow":{{{fields}}}}}"#)));
}

#[rstest]
#[case::names(r#"{"source":"HUBBLE_RING_BUFFER","num_events_lost":"42"}"#, "HUBBLE_RING_BUFFER")]
#[case::numbers(r#"{"source":1,"numEventsLost":42,"cpu":0}"#, "PERF_EVENT_RING_BUFFER")]
#[case::unknown(r#"{"num_events_lost":42}"#, "UNKNOWN_LOST_EVENT_SOURCE")]
#[case::of_tomorrow(r#"{"source":9,"num_events_lost":42}"#, "UNKNOWN_LOST_EVENT_SOURCE")]
fn lost_events(#[case] lost: &str, #[case] origin: &str) {
    let line =
        format!(r#"{{"lost_events":{lost},"node_name":"n1","time":"1970-01-01T00:00:01Z"}}"#);
    let expected = LostEvents {
        count: 42,
        origin: origin.into(),
        node: Some("n1".into()),
        time: Some(Timestamp::from_seconds(1)),
    };
    assert_eq!(record(&line), Some(Record::Lost(expected)));
}

#[rstest]
#[case::connected("\"NODE_CONNECTED\"", NodeState::Connected)]
#[case::unavailable("2", NodeState::Unavailable)]
#[case::gone("\"NODE_GONE\"", NodeState::Gone)]
#[case::error("4", NodeState::Error)]
#[case::unknown("\"UNKNOWN_NODE_STATE\"", NodeState::Unknown)]
fn node_states(#[case] written: &str, #[case] state: NodeState) {
    let line = format!(
        r#"{{"node_status":{{"state_change":{written},"node_names":["n2","n3"],"message":"no \"route\""}}}}"#
    );
    let nodes = shared(&["n2", "n3"]);
    let message = Some("no \"route\"".into());
    let expected = NodeStatus { state, nodes, message, version: None, time: None };
    assert_eq!(record(&line), Some(Record::NodeStatus(expected)));
}

#[rstest]
#[case::blank(" \t\r")]
#[case::agent_event(r#"{"agent_event":{"type":"POLICY_UPDATED"},"node_name":"n1"}"#)]
#[case::debug_event(r#"{"debugEvent":{},"node_name":"n1"}"#)]
fn some_lines_say_nothing_about_flows(#[case] line: &str) {
    assert_eq!(record(line), None);
}

#[rstest]
#[case::port(
    r#"{"flow":{"l4":{"TCP":{"destination_port":65536}}}}"#,
    "invalid value: integer `65536`, expected a port from 0 to 65535 at column 46"
)]
#[case::negative_port(
    r#"{"flow":{"l4":{"UDP":{"source_port":"-1"}}}}"#,
    "invalid value: string \"-1\", expected a port from 0 to 65535 at column 40"
)]
#[case::address(
    r#"{"flow":{"IP":{"source":"10.0.0.256"}}}"#,
    "invalid value: string \"10.0.0.256\", expected an IP address at column 36"
)]
#[case::time(
    r#"{"flow":{"time":"yesterday"}}"#,
    "invalid value: string \"yesterday\", expected a time of RFC 3339 at column 27"
)]
#[case::shape(r#"{"flow":"x"}"#, "invalid type: string \"x\", expected an object at column 11")]
#[case::inside_an_endpoint(
    r#"{"flow":{"verdict":1,"source":{"namespace":5}}}"#,
    "invalid type: integer `5`, expected a string at column 44"
)]
#[case::cut_off(
    r#"{"flow":{"verdict":"FORW"#,
    "the JSON text is cut off after 24 bytes (`jq -c .` writes whole texts, one a line)"
)]
#[case::two_on_a_line(r#"{"flow":{"Type":1}} {}"#, "trailing characters at column 21")]
#[case::array(r#"[{"flow":{}}]"#, "no record of Hubble: it looks like a JSON array")]
#[case::empty("{}", "no record of Hubble: it looks like a JSON object")]
#[case::empty_flow(
    r#"{"flow":{},"node_name":"n1"}"#,
    "no record of Hubble: it looks like a JSON object with the keys flow, node_name"
)]
#[case::of_goldmane(
    r#"{"flow":{"Key":{"proto":"tcp"}}}"#,
    "no record of Hubble: it looks like a record of Goldmane"
)]
fn bad_lines_say_why(#[case] line: &str, #[case] expected: &str) {
    assert_eq!(error(line), expected);
}

#[test]
fn invalid_utf8_says_where() {
    let error = Decoder::default().decode(b"{\"flow\":\"\xff\"}").unwrap_err();
    assert_eq!(error, DecodeError::Parse { reason: "invalid UTF-8".into(), column: 10 });
}

#[test]
fn an_endpoint_that_comes_again_is_shared() {
    let mut decoder = Decoder::default();
    let mut decode = |line: &str| match decoder.decode(line.as_bytes()) {
        Ok(Some(Record::Flow(observation))) => observation,
        other => panic!("{other:?}"),
    };
    let first = decode(r#"{"flow":{"source":{"pod_name":"web-x"},"node_name":"n1"}}"#);
    let second = decode(r#"{"flow":{"destination":{"pod_name":"web-x"},"node_name":"n1"}}"#);
    assert!(Arc::ptr_eq(&first.source.endpoint, &second.destination.endpoint));
    assert!(Arc::ptr_eq(&first.destination.endpoint, &second.source.endpoint));
    assert!(Arc::ptr_eq(&first.node.unwrap(), &second.node.unwrap()));
}
