use netenf_learn::classify::{Class, Skip, classify};
use netenf_proto::netenf::v1;
use proptest::prelude::*;
use rstest::rstest;

use super::super::sample::{edge, pod, report, seconds};
use super::*;

const NOW: Timestamp = Timestamp::from_seconds(1_000);

fn records(edges: Vec<v1::EdgeReport>) -> Vec<Record> {
    Converter::default().report(&report(1, edges), NOW).unwrap()
}

fn flows(edges: Vec<v1::EdgeReport>) -> Vec<Observation> {
    let flow = |record| match record {
        Record::Flow(observation) => Some(observation),
        Record::Lost(_) | Record::NodeStatus(_) => None,
    };
    records(edges).into_iter().filter_map(flow).collect()
}

fn with(change: impl FnOnce(&mut v1::EdgeReport)) -> v1::EdgeReport {
    let mut edge = edge();
    change(&mut edge);
    edge
}

fn with_edge(change: impl FnOnce(&mut v1::Edge)) -> v1::EdgeReport {
    with(|report| change(report.edge.as_mut().unwrap()))
}

fn with_source(change: impl FnOnce(&mut v1::Peer)) -> v1::EdgeReport {
    with_edge(|edge| change(edge.source.as_mut().unwrap()))
}

#[test]
fn an_edge_is_one_observation_of_its_connections() {
    let [flow] = flows(vec![edge()]).try_into().unwrap();
    assert_eq!((flow.provider, flow.event), (Provider::Node, Event::Connection));
    assert_eq!((flow.node.as_deref(), flow.connections), (Some("n1"), 3));
    assert_eq!(flow.time, Some(Timestamp::from_seconds(105)));
    assert_eq!((flow.direction, flow.reporter), (Some(Direction::Egress), Some(Reporter::Source)));
    assert_eq!((flow.verdict, flow.destination_port), (Verdict::Forwarded, Some(5432)));
    assert_eq!(flow.source.endpoint.pod, Some(PodName::Exact("web".into())));
    assert_eq!(flow.destination.address, Some([10, 0, 0, 2].into()));
    assert_eq!(classify(&flow), Class::Open(netenf_policy::Protocol::Tcp));
}

/// What was answered and what was not are two, and together they are all.
#[rstest]
#[case::not_told(None, &[(None, 3)])]
#[case::all(Some(3), &[(Some(true), 3)])]
#[case::some(Some(1), &[(Some(true), 1), (Some(false), 2)])]
#[case::none(Some(0), &[(Some(false), 3)])]
#[case::more_than_there_are(Some(9), &[(Some(true), 3)])]
fn what_was_answered_is_told_apart(
    #[case] answered: Option<u64>,
    #[case] expected: &[(Option<bool>, u64)],
) {
    let flows = flows(vec![with(|it| it.answered = answered)]);
    let told: Vec<_> = flows.iter().map(|flow| (flow.answered, flow.connections)).collect();
    assert_eq!(told, expected);
}

#[expect(clippy::unnecessary_wraps, reason = "fields of messages are optional")]
fn decision(verdict: v1::Verdict) -> Option<v1::Decision> {
    let (kind, namespace, name) = ("NetworkPolicy".into(), "shop".into(), "web".into());
    let policy = Some(v1::PolicyRef { kind, namespace, name });
    Some(v1::Decision { verdict: verdict.into(), policy, ..v1::Decision::default() })
}

#[rstest]
#[case::allowed(v1::Verdict::Allow, None, Verdict::Forwarded, false)]
#[case::allowed_by_a_rule(
    v1::Verdict::Allow,
    decision(v1::Verdict::Allow),
    Verdict::Forwarded,
    false
)]
#[case::monitored(v1::Verdict::Allow, decision(v1::Verdict::Deny), Verdict::Audit, false)]
#[case::denied(v1::Verdict::Deny, decision(v1::Verdict::Deny), Verdict::Dropped, true)]
#[case::denied_by_nobody_knows(v1::Verdict::Deny, None, Verdict::Dropped, false)]
#[case::contradiction(v1::Verdict::Deny, decision(v1::Verdict::Allow), Verdict::Dropped, false)]
#[case::not_told(v1::Verdict::Unspecified, None, Verdict::Unknown, false)]
fn what_was_done_is_told(
    #[case] verdict: v1::Verdict,
    #[case] decision: Option<v1::Decision>,
    #[case] expected: Verdict,
    #[case] is_named: bool,
) {
    let edge = with(|it| (it.verdict, it.decision) = (verdict.into(), decision));
    let [flow] = flows(vec![edge]).try_into().unwrap();
    assert_eq!((flow.verdict, flow.denied_by.is_some()), (expected, is_named));
    let is_denied = matches!(classify(&flow), Class::Denied(_));
    assert_eq!(is_denied, expected == Verdict::Dropped);
}

/// What was denied was not answered, whatever is said.
#[test]
fn a_denial_is_one_observation() {
    let edge = with(|it| (it.verdict, it.answered) = (v1::Verdict::Deny.into(), Some(2)));
    let [flow] = flows(vec![edge]).try_into().unwrap();
    assert_eq!((flow.connections, flow.answered), (3, None));
}

#[rstest]
#[case::port(with_edge(|it| it.port = 65_536), "no port has that number")]
#[case::huge_port(with_edge(|it| it.port = u32::MAX), "no port has that number")]
#[case::no_edge(with(|it| it.edge = None), "no edge")]
#[case::no_source(with_edge(|it| it.source = None), "an end is missing")]
#[case::no_destination(with_edge(|it| it.destination = None), "an end is missing")]
#[case::no_connection(with(|it| it.count = 0), "no connection")]
#[case::no_direction(with_edge(|it| it.direction = 0), "the direction is not told")]
#[case::no_such_direction(with_edge(|it| it.direction = 99), "the direction is not told")]
#[case::no_address(with_source(|it| it.address = "10.0.0.999".into()), "an address is none")]
#[case::nobody(with_edge(|it| it.source = Some(v1::Peer::default())), "the subject is not named")]
#[case::long_text(with_source(|it| it.identity = "a".repeat(2_000)), "a text is too long")]
#[case::long_name(with_source(|it| it.names = vec!["a".repeat(2_000)]), "a name is too long")]
#[case::no_service(with_edge(|it| it.destination.as_mut().unwrap().service = "db".into()), "a service is no NAMESPACE/NAME")]
fn an_edge_that_cannot_be_read_is_lost_alone(#[case] edge: v1::EdgeReport, #[case] expected: &str) {
    let records = records(vec![super::super::sample::edge(), edge.clone(), edge]);
    let [Record::Flow(_), Record::Lost(lost)] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((lost.count, &*lost.origin), (2, &*format!("unreadable edges: {expected}")));
    assert_eq!(lost.node.as_deref(), Some("n1"));
}

/// No clock of a node makes us believe that everything until 2099 was seen.
#[rstest]
#[case::in_the_window(seconds(105), 105)]
#[case::before_it(seconds(1), 100)]
#[case::after_it(seconds(4_000_000_000), 110)]
#[case::negative(seconds(-5), 110)]
#[case::beyond_any_clock(seconds(i64::MAX), 110)]
#[case::no_time(None, 105)]
fn a_time_lies_in_its_window(#[case] last: Option<prost_types::Timestamp>, #[case] expected: i64) {
    let edge = with(|it| {
        it.last_seen = last;
        it.first_seen = if last.is_some() { seconds(101) } else { seconds(105) };
    });
    let [flow] = flows(vec![edge]).try_into().unwrap();
    assert_eq!(flow.time, Some(Timestamp::from_seconds(expected)));
}

#[test]
fn no_window_lies_in_the_future() {
    let mut report = report(1, vec![edge()]);
    (report.window_start, report.window_end) = (seconds(4_000_000_000), seconds(4_000_000_010));
    report.edges[0].last_seen = seconds(4_000_000_005);
    let records = Converter::default().report(&report, NOW).unwrap();
    let [Record::Flow(flow)] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!(flow.time, Some(NOW));
}

#[rstest]
#[case::edges(vec![edge(); EDGES + 1], vec![])]
#[case::losses(vec![], vec![v1::Loss::default(); LOSSES + 1])]
fn a_report_that_is_too_long_is_refused(
    #[case] edges: Vec<v1::EdgeReport>,
    #[case] losses: Vec<v1::Loss>,
) {
    let report = v1::ReportEdgesRequest { losses, ..report(1, edges) };
    let error = Converter::default().report(&report, NOW).unwrap_err();
    assert!(error.contains("is too long"), "{error}");
}

#[test]
fn losses_are_told_without_control_characters() {
    let reason = format!("queue\n\u{1b}[31m{}", "x".repeat(1_000));
    let loss = v1::Loss { count: 7, reason, last: seconds(4_000_000_000), ..v1::Loss::default() };
    let report = v1::ReportEdgesRequest { losses: vec![loss], ..report(1, vec![]) };
    let records = Converter::default().report(&report, NOW).unwrap();
    let [Record::Lost(lost)] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((lost.count, lost.origin.chars().count()), (7, REASON));
    assert!(lost.origin.starts_with("queue[31mx"));
    assert_eq!(lost.time, Some(NOW));
}

/// The nodes of both ends report a connection: it is one, and denials and silence are told apart.
#[test]
fn both_sides_of_a_connection_have_one_key() {
    let key = |edge: v1::EdgeReport| flows(vec![edge])[0].connection_key;
    let ingress = || with_edge(|it| it.direction = v1::Direction::Ingress.into());
    assert_eq!(key(edge()), key(ingress()));
    let denied = |mut edge: v1::EdgeReport| {
        edge.verdict = v1::Verdict::Deny.into();
        edge
    };
    assert_ne!(key(denied(edge())), key(edge()));
    assert_ne!(key(denied(edge())), key(denied(ingress())), "each side denies for itself");
    assert_ne!(key(with(|it| it.answered = Some(0))), key(edge()));
    assert_ne!(key(with_edge(|it| it.port = 1)), key(edge()));
}

/// Of equal keys the larger number counts, since both nodes report: what one node tells apart has to come as one sum.
#[test]
fn connections_of_an_edge_that_were_decided_differently_add_up() {
    let audited = || with(|it| (it.count, it.decision) = (5, decision(v1::Verdict::Deny)));
    let allowed = with(|it| (it.count, it.decision) = (2, decision(v1::Verdict::Allow)));
    let [flow] = flows(vec![edge(), audited(), allowed]).try_into().unwrap();
    assert_eq!((flow.connections, flow.verdict), (3 + 5 + 2, Verdict::Audit));
    // A node that has both ends tells of each direction: that is one connection seen twice, and no sum.
    let ingress = with_edge(|it| it.direction = v1::Direction::Ingress.into());
    let both: Vec<_> = flows(vec![edge(), ingress, audited()]).iter().map(told).collect();
    assert_eq!(both, [(Some(Direction::Egress), 8), (Some(Direction::Ingress), 3)]);
}

fn told(flow: &Observation) -> (Option<Direction>, u64) {
    (flow.direction, flow.connections)
}

/// What is counted for itself stays for itself: silence, each policy that denies, and another end at the same address.
#[test]
fn what_is_not_one_edge_is_not_added_up() {
    let denied = |name: &str| {
        with(|it| {
            (it.verdict, it.decision) = (v1::Verdict::Deny.into(), decision(v1::Verdict::Deny));
            it.decision.as_mut().unwrap().policy.as_mut().unwrap().name = name.into();
        })
    };
    let other = with_source(|it| it.pod = pod("api", "").pod);
    let silent = with(|it| it.answered = Some(0));
    let flows = flows(vec![edge(), denied("a"), denied("b"), other, silent, denied("a")]);
    let counts: Vec<_> = flows.iter().map(|flow| flow.connections).collect();
    assert_eq!(counts, [3, 6, 3, 3, 3]);
}

#[rstest]
#[case::node(v1::PeerKind::Node, "n2", Some(Network::Host("n2".into())), Entities::default())]
#[case::some_node(v1::PeerKind::Node, "", None, Entities::HOST)]
#[case::api_server(v1::PeerKind::KubeApiserver, "", None, Entities::KUBE_APISERVER)]
#[case::outside(v1::PeerKind::External, "", None, Entities::WORLD)]
fn who_is_no_pod_is_told(
    #[case] kind: v1::PeerKind,
    #[case] node: &str,
    #[case] network: Option<Network>,
    #[case] entities: Entities,
) {
    let (kind, node) = (kind.into(), node.to_owned());
    let peer = v1::Peer { kind, node, address: "192.0.2.7".into(), ..v1::Peer::default() };
    let [flow] = flows(vec![with_edge(|it| it.destination = Some(peer))]).try_into().unwrap();
    let endpoint = &flow.destination.endpoint;
    assert_eq!((&endpoint.network, endpoint.entities), (&network, entities));
}

#[rstest]
#[case::icmp(v1::Protocol::Icmp, Class::Inexpressible)]
#[case::other(v1::Protocol::Other, Class::Inexpressible)]
#[case::not_told(v1::Protocol::Unspecified, Class::Skip(Skip::Incomplete))]
#[case::udp(v1::Protocol::Udp, Class::Open(netenf_policy::Protocol::Udp))]
fn a_protocol_is_what_the_classifier_takes_it_for(
    #[case] protocol: v1::Protocol,
    #[case] expected: Class,
) {
    let [flow] = flows(vec![with_edge(|it| it.protocol = protocol.into())]).try_into().unwrap();
    assert_eq!(classify(&flow), expected);
}

fn peer() -> impl Strategy<Value = Option<v1::Peer>> {
    let text = || prop_oneof![Just(String::new()), "[a-z0-9./:\\x00é-]{0,12}"];
    let kind = prop_oneof![0_i32..9, any::<i32>()];
    let names = prop::collection::vec(text(), 0..20);
    let peer = (kind, text(), text(), text(), text(), text(), names, any::<bool>());
    let peer = peer.prop_map(|(kind, identity, node, address, service, name, names, is_pod)| {
        let pod = is_pod.then(|| pod(&name, "").pod).flatten();
        v1::Peer { kind, pod, identity, node, address, names, service, ..v1::Peer::default() }
    });
    prop::option::weighted(0.9, peer)
}

fn time() -> impl Strategy<Value = Option<prost_types::Timestamp>> {
    let seconds = prop_oneof![Just(0), Just(i64::MAX), Just(i64::MIN), 0_i64..2_000, any::<i64>()];
    let time = (seconds, prop_oneof![Just(0), any::<i32>()]);
    prop::option::of(time.prop_map(|(seconds, nanos)| prost_types::Timestamp { seconds, nanos }))
}

prop_compose! {
    fn any_edge()(
        source in peer(),
        destination in peer(),
        numbers in (prop_oneof![0_i32..4, any::<i32>()], prop_oneof![0_i32..8, any::<i32>()]),
        port in prop_oneof![0_u32..70_000, any::<u32>()],
        counts in (prop_oneof![0_u64..4, any::<u64>()], prop::option::of(any::<u64>())),
        times in (time(), time()),
        verdict in -1_i32..4,
    ) -> v1::EdgeReport {
        let (direction, protocol) = numbers;
        v1::EdgeReport {
            edge: Some(v1::Edge { source, destination, direction, protocol, port }),
            count: counts.0,
            answered: counts.1,
            first_seen: times.0,
            last_seen: times.1,
            verdict,
            decision: decision(v1::Verdict::Deny),
        }
    }
}

proptest! {
    /// Whatever a node reports: every edge becomes its connections or is counted as lost, and no time lies ahead.
    #[test]
    fn no_report_is_dropped_in_part(
        edges in prop::collection::vec(any_edge(), 0..8),
        window in (time(), time()),
    ) {
        let mut report = report(1, edges.clone());
        (report.window_start, report.window_end) = window;
        let records = Converter::default().report(&report, NOW).unwrap();
        prop_assert!(records.len() <= RECORDS);
        let (mut connections, mut lost) = (0_u128, 0);
        for record in &records {
            match record {
                Record::Flow(flow) => {
                    prop_assert!(flow.time.is_some_and(|time| time <= NOW && time.0 >= 0), "{flow:?}");
                    prop_assert!(flow.connections > 0 && flow.connection_key.is_some());
                    connections += u128::from(flow.connections);
                }
                Record::Lost(one) => lost += one.count,
                Record::NodeStatus(_) => prop_assert!(false, "no edge tells of nodes"),
            }
        }
        let all: u128 = edges.iter().map(|edge| u128::from(edge.count)).sum();
        prop_assert!(connections <= all);
        let unreadable = edges.iter().filter(|edge| flows(vec![(*edge).clone()]).is_empty()).count();
        prop_assert_eq!(lost, u64::try_from(unreadable).unwrap());
    }
}
