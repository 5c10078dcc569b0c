use rstest::rstest;

use super::*;
use crate::observation::Direction;
use crate::sample::packet;

#[rstest]
// TCP by flags: only a SYN opens, whatever is_reply says of the others.
#[case::syn("web:40000 > db:5432 SYN", Class::Open(Protocol::Tcp))]
#[case::syn_new("web:40000 > db:5432 SYN new", Class::Open(Protocol::Tcp))]
#[case::syn_of_a_reply("web:40000 > db:5432 SYN reply", Class::Answer(Protocol::Tcp))]
#[case::syn_ack("db:5432 > web:40000 SYN ACK", Class::Answer(Protocol::Tcp))]
#[case::syn_ack_that_looks_new("db:5432 > web:40000 SYN ACK new", Class::Answer(Protocol::Tcp))]
#[case::ack("web:40000 > db:5432 ACK new", Class::Candidate(Protocol::Tcp))]
#[case::ack_unknown("web:40000 > db:5432 ACK", Class::Candidate(Protocol::Tcp))]
#[case::ack_reply("db:5432 > web:40000 ACK reply", Class::Answer(Protocol::Tcp))]
#[case::late_fin("db:5432 > web:40000 FIN ACK new", Class::Candidate(Protocol::Tcp))]
#[case::reset("db:5432 > web:40000 RST reply", Class::Reset)]
#[case::reset_by_the_client("web:40000 > db:5432 RST new", Class::Reset)]
// Without flags the source's word counts, unless it may be a late answer.
#[case::no_flags_new("web:40000 > db:5432 new", Class::Open(Protocol::Tcp))]
#[case::no_flags_towards_a_client("db:5432 > web:40000 new", Class::Candidate(Protocol::Tcp))]
#[case::no_flags_unknown("web:40000 > db:5432", Class::Candidate(Protocol::Tcp))]
#[case::udp_new("web:40000 > db:53 UDP new", Class::Open(Protocol::Udp))]
#[case::udp_answer("db:53 > web:40000 UDP reply", Class::Answer(Protocol::Udp))]
#[case::udp_late_answer("db:53 > web:40000 UDP new", Class::Candidate(Protocol::Udp))]
#[case::udp_unknown("web:40000 > db:53 UDP", Class::Candidate(Protocol::Udp))]
#[case::udp_between_servers("web:123 > db:123 UDP new", Class::Open(Protocol::Udp))]
#[case::sctp("web:40000 > db:3868 SCTP new", Class::Open(Protocol::Sctp))]
#[case::sctp_answer("db:3868 > web:40000 SCTP reply", Class::Answer(Protocol::Sctp))]
#[case::udp_from_port_zero("web:0 > db:53 UDP new", Class::Open(Protocol::Udp))]
// Without a port there is no rule (cases B07, B08).
#[case::port_zero("web:0 > db:0 UDP new", Class::Skip(Skip::InvalidPort))]
#[case::no_port("web:40000 > db SYN", Class::Skip(Skip::Incomplete))]
#[case::ping("web > db PING", Class::Inexpressible)]
fn packets_tell_who_opened(#[case] text: &str, #[case] expected: Class) {
    assert_eq!(classify(&packet(text)), expected);
}

#[rstest]
#[case::socket(Event::Socket, Class::Skip(Skip::Socket))]
#[case::policy_log(Event::PolicyLog, Class::Skip(Skip::PolicyLog))]
#[case::opened(Event::Opened, Class::Skip(Skip::Opened))]
#[case::connection(Event::Connection, Class::Open(Protocol::Tcp))]
#[case::request(Event::Request, Class::Open(Protocol::Tcp))]
#[case::response(Event::Response, Class::Answer(Protocol::Tcp))]
#[case::verdict_of_a_policy(Event::PolicyVerdict, Class::Open(Protocol::Tcp))]
#[case::packet(Event::Packet, Class::Candidate(Protocol::Tcp))]
fn events_without_flags_and_reply(#[case] event: Event, #[case] expected: Class) {
    assert_eq!(classify(&Observation { event, ..packet("web:40000 > db:5432") }), expected);
}

#[rstest]
#[case::forwarded(Verdict::Forwarded, Class::Open(Protocol::Tcp))]
#[case::redirected(Verdict::Redirected, Class::Open(Protocol::Tcp))]
#[case::audit(Verdict::Audit, Class::Open(Protocol::Tcp))]
#[case::dropped(Verdict::Dropped, Class::Refused(Protocol::Tcp, Skip::Rejected))]
#[case::failed(Verdict::Failed, Class::Refused(Protocol::Tcp, Skip::Rejected))]
#[case::socket(Verdict::Socket, Class::Skip(Skip::Socket))]
#[case::unknown(Verdict::Unknown, Class::Skip(Skip::UnknownVerdict))]
fn verdicts_decide_first(#[case] verdict: Verdict, #[case] expected: Class) {
    assert_eq!(classify(&Observation { verdict, ..packet("web:40000 > db:5432 SYN") }), expected);
}

#[rstest]
#[case::policy(Some(DropReason::Policy), None, Class::Denied(Some(Protocol::Tcp)))]
#[case::policy_of_a_reply(Some(DropReason::Policy), Some(true), Class::Skip(Skip::Reply))]
#[case::other(Some(DropReason::Other("CT_MAP_INSERTION_FAILED".into())), None, Class::Refused(Protocol::Tcp, Skip::Rejected))]
#[case::none(None, None, Class::Refused(Protocol::Tcp, Skip::Rejected))]
fn drops_are_denials_only_where_a_policy_is_the_reason(
    #[case] drop_reason: Option<DropReason>,
    #[case] reply: Option<bool>,
    #[case] expected: Class,
) {
    let verdict = Verdict::Dropped;
    let dropped = Observation { verdict, drop_reason, reply, ..packet("web:40000 > db:5432 SYN") };
    assert_eq!(classify(&dropped), expected);
}

#[test]
fn a_denied_packet_without_protocol_is_still_a_denial() {
    let denied = Observation {
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        transport: Transport::Missing,
        direction: Some(Direction::Egress),
        ..packet("web:40000 > db:5432")
    };
    assert_eq!(classify(&denied), Class::Denied(None));
    let lost = Observation { drop_reason: None, ..denied };
    assert_eq!(classify(&lost), Class::Skip(Skip::Rejected));
}

/// No policy can name port 0, and the API holds no violation of it.
#[test]
fn a_denied_packet_to_port_0_is_none_to_tell_of() {
    let denied = Observation {
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        destination_port: Some(0),
        ..packet("web:40000 > db:5432 SYN")
    };
    assert_eq!(classify(&denied), Class::Skip(Skip::InvalidPort));
}

#[rstest]
#[case::reset("connection reset by peer", Skip::Rejected)]
#[case::timeout("io error: deadline has elapsed", Skip::Unanswered)]
#[case::timed_out(
    "connection timed out, maybe a NetworkPolicy is blocking HBONE port 15008",
    Skip::Unanswered
)]
fn failures_are_refusals_or_silence(#[case] error: &str, #[case] skip: Skip) {
    let failed = Observation {
        verdict: Verdict::Failed,
        event: Event::Connection,
        error: Some(error.into()),
        ..packet("web:40000 > db:5432")
    };
    assert_eq!(classify(&failed), Class::Refused(Protocol::Tcp, skip));
    let without_protocol = Observation { transport: Transport::Missing, ..failed };
    assert_eq!(classify(&without_protocol), Class::Skip(skip));
}

#[rstest]
#[case::echo(Icmp::V4(Some((8, 0))), Class::Inexpressible)]
#[case::echo6(Icmp::V6(Some((128, 0))), Class::Inexpressible)]
#[case::untold(Icmp::V4(None), Class::Inexpressible)]
#[case::echo_reply(Icmp::V4(Some((0, 0))), Class::Skip(Skip::Reply))]
#[case::echo_reply6(Icmp::V6(Some((129, 0))), Class::Skip(Skip::Reply))]
#[case::unreachable(Icmp::V4(Some((3, 3))), Class::Unreachable)]
#[case::unreachable6(Icmp::V6(Some((1, 4))), Class::Unreachable)]
#[case::fragmentation_needed(Icmp::V4(Some((3, 4))), Class::Skip(Skip::Icmp))]
#[case::too_big(Icmp::V6(Some((2, 0))), Class::Skip(Skip::Icmp))]
#[case::neighbour_solicitation(Icmp::V6(Some((135, 0))), Class::Skip(Skip::Icmp))]
fn of_icmp_pings_are_noted_and_unreachable_ends_answer(
    #[case] icmp: Icmp,
    #[case] expected: Class,
) {
    let packet = Observation { transport: Transport::Icmp(icmp), ..packet("web > db") };
    assert_eq!(classify(&packet), expected);
}

#[test]
fn protocols_without_rules_are_noted_and_missing_ones_are_not() {
    let of = |transport| classify(&Observation { transport, ..packet("web:1 > db:2") });
    assert_eq!(of(Transport::Other("VRRP".into())), Class::Inexpressible);
    assert_eq!(of(Transport::Missing), Class::Skip(Skip::Incomplete));
}
