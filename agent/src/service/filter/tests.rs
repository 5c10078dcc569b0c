use netenf_k8s::told::judge;
use netenf_learn::classify::Skip;
use netenf_learn::{Config, Direction, TcpFlags, Transport, Verdict};
use netenf_proto::netenf::v1::{Direction as Side, FlowFilter, Outcome, Protocol, Verdict as Done};
use rstest::rstest;
use tonic::Code;

use super::*;
use crate::sample::opened;

/// The Deployment web opens a connection to db at port 5432; seen where it leaves.
fn flow() -> Observation {
    Observation { direction: Some(Direction::Egress), ..opened("web", "db", 5432, 100) }
}

fn request(filter: FlowFilter) -> v1::WatchFlowsRequest {
    v1::WatchFlowsRequest { filter: Some(filter), ..v1::WatchFlowsRequest::default() }
}

fn is_wanted(request: &v1::WatchFlowsRequest, seen: &Observation, skipped: Option<Skip>) -> bool {
    let index = Index::default();
    let mut told = [Told::new(&index, &Config::default(), seen, skipped)];
    judge(&index, &[], &mut told);
    let [told] = &told;
    let wanted = Wanted::new(request).unwrap();
    let candidate = Candidate { seen, told, index: &index };
    wanted.may_match(candidate) && wanted.matches(candidate)
}

fn ends(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn filter() -> FlowFilter {
    FlowFilter::default()
}

#[rstest]
#[case::nothing_is_asked(filter(), true)]
#[case::an_end_on_either_side(FlowFilter { ends: ends(&["shop/deploy/db"]), ..filter() }, true)]
#[case::no_such_end(FlowFilter { ends: ends(&["shop/deploy/api"]), ..filter() }, false)]
#[case::values_are_alternatives(FlowFilter { ends: ends(&["shop/deploy/api", "deploy/web"]), ..filter() }, true)]
#[case::a_namespace(FlowFilter { ends: ends(&["namespace/shop"]), ..filter() }, true)]
#[case::another_namespace(FlowFilter { ends: ends(&["namespace/other"]), ..filter() }, false)]
#[case::a_pod(FlowFilter { sources: ends(&["shop/pod/web-pod"]), ..filter() }, true)]
#[case::its_source(FlowFilter { sources: ends(&["shop/deploy/web"]), ..filter() }, true)]
#[case::not_its_source(FlowFilter { sources: ends(&["shop/deploy/db"]), ..filter() }, false)]
#[case::its_destination(FlowFilter { destinations: ends(&["shop/deploy/db"]), ..filter() }, true)]
#[case::not_its_destination(FlowFilter { destinations: ends(&["shop/deploy/web"]), ..filter() }, false)]
#[case::a_range(FlowFilter { destinations: ends(&["10.0.0.0/24"]), ..filter() }, true)]
#[case::another_range(FlowFilter { destinations: ends(&["10.9.0.0/24"]), ..filter() }, false)]
#[case::a_port(FlowFilter { ports: vec![80, 5432], ..filter() }, true)]
#[case::another_port(FlowFilter { ports: vec![80], ..filter() }, false)]
#[case::the_opener_s_port(FlowFilter { ports: vec![1124], ..filter() }, false)]
#[case::a_protocol(FlowFilter { protocols: vec![Protocol::Tcp.into()], ..filter() }, true)]
#[case::another_protocol(FlowFilter { protocols: vec![Protocol::Udp.into()], ..filter() }, false)]
#[case::a_direction(FlowFilter { directions: vec![Side::Egress.into()], ..filter() }, true)]
#[case::another_direction(FlowFilter { directions: vec![Side::Ingress.into()], ..filter() }, false)]
#[case::a_verdict(FlowFilter { verdicts: vec![Done::Allow.into()], ..filter() }, true)]
#[case::another_verdict(FlowFilter { verdicts: vec![Done::Deny.into()], ..filter() }, false)]
#[case::an_outcome(FlowFilter { outcomes: vec![Outcome::Learned.into()], ..filter() }, true)]
#[case::another_outcome(FlowFilter { outcomes: vec![Outcome::Skipped.into()], ..filter() }, false)]
#[case::all_fields_must_hold(FlowFilter { ports: vec![5432], protocols: vec![Protocol::Udp.into()], ..filter() }, false)]
fn a_filter_takes_what_holds_and_leaves_the_rest_out(
    #[case] filter: FlowFilter,
    #[case] expected: bool,
) {
    assert_eq!(is_wanted(&request(filter.clone()), &flow(), None), expected);
    if filter != FlowFilter::default() {
        let excluding =
            v1::WatchFlowsRequest { exclude: vec![filter], ..v1::WatchFlowsRequest::default() };
        assert_eq!(is_wanted(&excluding, &flow(), None), !expected);
    }
}

/// The answer of the database is of the connection that web opened.
#[rstest]
#[case::opener(FlowFilter { sources: ends(&["shop/deploy/web"]), ..filter() }, true)]
#[case::answerer(FlowFilter { sources: ends(&["shop/deploy/db"]), ..filter() }, false)]
#[case::port(FlowFilter { ports: vec![5432], ..filter() }, true)]
#[case::skipped(FlowFilter { outcomes: vec![Outcome::Skipped.into()], ..filter() }, true)]
fn an_answer_is_found_by_who_opened(#[case] filter: FlowFilter, #[case] expected: bool) {
    let opening = flow();
    let answer = Observation {
        transport: Transport::Tcp(TcpFlags::SYN.with(TcpFlags::ACK)),
        reply: Some(true),
        ..opening.turned()
    };
    assert_eq!(is_wanted(&request(filter), &answer, Some(Skip::Reply)), expected);
}

/// A packet in the midst of a connection does not tell who opened it.
#[rstest]
#[case("shop/deploy/web")]
#[case("shop/deploy/db")]
fn what_is_undecided_is_found_both_ways(#[case] source: &str) {
    let ack = Transport::Tcp(TcpFlags::ACK);
    let packet = Observation { transport: ack, reply: None, ..flow() };
    let filter = FlowFilter { sources: ends(&[source]), ..filter() };
    assert!(is_wanted(&request(filter), &packet, None));
}

#[rstest]
#[case::before(99, true)]
#[case::then(100, true)]
#[case::after(101, false)]
fn nothing_is_told_from_before_since(#[case] since: i64, #[case] expected: bool) {
    let since = Some(prost_types::Timestamp { seconds: since, nanos: 0 });
    let request = v1::WatchFlowsRequest { since, ..v1::WatchFlowsRequest::default() };
    assert_eq!(is_wanted(&request, &flow(), None), expected);
    let timeless = Observation { time: None, ..flow() };
    assert!(!is_wanted(&request, &timeless, None));
}

#[test]
fn what_was_denied_is_found_by_its_verdict() {
    let dropped = Observation { verdict: Verdict::Dropped, ..flow() };
    let filter = FlowFilter { verdicts: vec![Done::Deny.into()], ..filter() };
    assert!(is_wanted(&request(filter), &dropped, Some(Skip::Rejected)));
}

#[rstest]
#[case::ends(FlowFilter { ends: vec!["shop/deploy/a".to_owned(); 10_000], ..filter() }, "10000 values")]
#[case::ports(FlowFilter { ports: vec![1; 257], ..filter() }, "257 values")]
#[case::long_end(FlowFilter { ends: vec!["a".repeat(601)], ..filter() }, "601 bytes")]
#[case::no_end(FlowFilter { sources: ends(&["web"]), ..filter() }, "\"web\"")]
#[case::no_range(FlowFilter { sources: ends(&["10.0.0.0/99"]), ..filter() }, "10.0.0.0/99")]
#[case::port(FlowFilter { ports: vec![65_536], ..filter() }, "port 65536")]
#[case::protocol(FlowFilter { protocols: vec![99], ..filter() }, "protocol 99")]
#[case::outcome(FlowFilter { outcomes: vec![-1], ..filter() }, "outcome -1")]
fn a_hostile_filter_is_refused_and_named(#[case] filter: FlowFilter, #[case] expected: &str) {
    let excluding =
        v1::WatchFlowsRequest { exclude: vec![filter.clone()], ..v1::WatchFlowsRequest::default() };
    for request in [request(filter), excluding] {
        let status = Wanted::new(&request).unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(expected), "{status}");
    }
}

#[rstest]
#[case::too_many(vec![FlowFilter { ports: vec![1], ..filter() }; 33], "33 filters")]
#[case::all(vec![filter()], "would leave out all")]
fn what_is_left_out_is_bounded(#[case] exclude: Vec<FlowFilter>, #[case] expected: &str) {
    let request = v1::WatchFlowsRequest { exclude, ..v1::WatchFlowsRequest::default() };
    assert!(Wanted::new(&request).unwrap_err().message().contains(expected));
}

#[rstest]
#[case::negative(0, -1)]
#[case::too_many_nanoseconds(0, 1_000_000_000)]
#[case::beyond_any_clock(i64::MAX, 0)]
fn a_time_that_is_none_is_refused(#[case] seconds: i64, #[case] nanos: i32) {
    let since = Some(prost_types::Timestamp { seconds, nanos });
    let request = v1::WatchFlowsRequest { since, ..v1::WatchFlowsRequest::default() };
    assert_eq!(Wanted::new(&request).unwrap_err().code(), Code::InvalidArgument);
}
