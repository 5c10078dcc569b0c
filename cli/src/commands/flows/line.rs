//! One flow on one line.

use jiff::Timestamp as Time;
use netenf_learn::classify::{Class, Skip, classify};
use netenf_learn::{Direction, DropReason, Observation};

use super::end;
use super::filter::{self, VerdictName};
use crate::output::{escaped, painted};

/// Whether the flow only repeats a connection: answers, packets of open connections, socket events.
pub(super) fn is_noise(flow: &Observation) -> bool {
    matches!(
        classify(flow),
        Class::Answer(_)
            | Class::Candidate(_)
            | Class::Skip(Skip::Reply | Skip::Socket | Skip::PolicyLog | Skip::Opened)
    )
}

/// Whether the flow resets a connection, whose opener is shown.
pub(super) fn is_reset(flow: &Observation) -> bool {
    matches!(classify(flow), Class::Reset)
}

/// Time, ends, port and verdict.
pub(super) fn compact(flow: &Observation) -> String {
    let time = time(flow, |time| time.strftime("%H:%M:%S").to_string());
    format!("{time}  {}", rest(flow))
}

/// Also the date, the direction, the node, and why it was denied.
pub(super) fn wide(flow: &Observation) -> String {
    let time = time(flow, |time| time.to_string());
    let direction = match flow.direction {
        Some(Direction::Ingress) => "ingress",
        Some(Direction::Egress) => "egress",
        None => "-",
    };
    let node = flow.node.as_deref().unwrap_or("-");
    let why = match (&flow.denied_by, &flow.drop_reason, &flow.error) {
        (Some(by), ..) => format!("{} {}", by.kind, by.name),
        (None, Some(DropReason::Other(reason)), _) => reason.to_string(),
        (None, _, Some(error)) => error.to_string(),
        (None, Some(DropReason::Policy), None) => "policy".to_owned(),
        (None, None, None) => "-".to_owned(),
    };
    format!("{time}  {}  {direction}  {}  {}", rest(flow), escaped(node), escaped(&why))
}

fn time(flow: &Observation, show: impl Fn(Time) -> String) -> String {
    let time = flow.time.and_then(|time| Time::from_nanosecond(i128::from(time.0)).ok());
    time.map_or_else(|| "-".to_owned(), show)
}

fn rest(flow: &Observation) -> String {
    let port = flow.destination_port.map(|port| format!("{port}/")).unwrap_or_default();
    let protocol = filter::protocol(&flow.transport);
    let verdict = match filter::verdict(flow.verdict) {
        Some(VerdictName::Allowed) => painted(32, "ALLOWED"),
        Some(VerdictName::Denied) => painted(31, "DENIED"),
        Some(VerdictName::WouldDeny) => painted(33, "WOULD-DENY"),
        None => "FAILED".to_owned(),
    };
    let service =
        flow.service.as_ref().map(|service| format!("  svc/{}", service.name)).unwrap_or_default();
    let ends = format!("{} -> {}", end::describe(&flow.source), end::describe(&flow.destination));
    format!("{} {}{}  {verdict}{}", escaped(&ends), port, escaped(&protocol), escaped(&service))
}
