//! Filters: values of one flag are alternatives, flags must all hold, `--not` turns one around (case B94).

use std::fmt;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp as Time;
use netenf_k8s::Index;
use netenf_k8s::end::Pattern;
use netenf_learn::classify::{Class, Skip, classify};
use netenf_learn::{Direction, End, Observation, Reporter, Timestamp, Transport, Verdict};

use crate::clock;
use crate::error::CommandError;

/// The filters as typed. `--not` before a filter makes it its `not_` twin (see `args::spelled_as_plugin`).
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct FilterArgs {
    /// Either end: KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, CIDR or name, world, host, apiserver
    #[arg(value_name = "WORKLOAD", help_heading = None::<&str>)]
    ends: Vec<String>,
    /// The sender, written like WORKLOAD
    #[arg(long, value_name = "END")]
    from: Vec<String>,
    /// The receiver, written like WORKLOAD
    #[arg(long, value_name = "END")]
    to: Vec<String>,
    /// Either end, written like WORKLOAD
    #[arg(long, value_name = "END")]
    peer: Vec<String>,
    /// Port of either end, as a number
    #[arg(long, value_name = "PORT", value_parser = port)]
    port: Vec<u16>,
    /// Protocol: tcp, udp, sctp, icmp, vrrp, igmp, esp, ah, gre or a number
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol_name)]
    protocol: Vec<String>,
    /// What became of it
    #[arg(long, value_enum, value_name = "VERDICT")]
    verdict: Vec<VerdictName>,
    /// Which way, as the reporter saw it
    #[arg(long, value_enum, value_name = "DIRECTION")]
    direction: Vec<DirectionName>,
    /// Not before: a time (RFC 3339) or an age (5m, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Not after: a time (RFC 3339) or an age (5m, 2h, 3d)
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Turn the filter that follows around: --not --peer host
    #[arg(long)]
    not: bool,
    #[arg(long, hide = true)]
    not_from: Vec<String>,
    #[arg(long, hide = true)]
    not_to: Vec<String>,
    #[arg(long, hide = true)]
    not_peer: Vec<String>,
    #[arg(long, hide = true, value_parser = port)]
    not_port: Vec<u16>,
    #[arg(long, hide = true, value_parser = protocol_name)]
    not_protocol: Vec<String>,
    #[arg(long, value_enum, hide = true)]
    not_verdict: Vec<VerdictName>,
    #[arg(long, value_enum, hide = true)]
    not_direction: Vec<DirectionName>,
}

/// Verdicts as a person asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictName {
    Allowed,
    Denied,
    WouldDeny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionName {
    Ingress,
    Egress,
}

/// The filters, understood.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    namespace: Option<String>,
    /// All must hold; each holds if one of its tests does, or for a negated one if none does.
    clauses: Vec<Clause>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    /// By which workloads are known.
    index: Arc<Index>,
}

#[derive(Debug, Clone)]
struct Clause {
    negated: bool,
    flag: &'static str,
    tests: Vec<Test>,
}

#[derive(Debug, Clone)]
enum Test {
    From(Pattern),
    To(Pattern),
    Either(Pattern),
    Port(u16),
    Protocol(String),
    Verdict(VerdictName),
    Direction(DirectionName),
}

// === impl Filter ===

impl Filter {
    pub(crate) fn new(args: &FilterArgs, namespace: Option<&str>) -> Result<Self, CommandError> {
        if args.not {
            return Err(CommandError::usage(
                "--not turns around the filter that follows, and none does",
            )
            .hint(
                "write for example --not --peer host; for a workload --not --peer deployment/web",
            ));
        }
        let mut filter = Self { namespace: namespace.map(str::to_owned), ..Self::default() };
        let ends =
            |texts: &[String], test: fn(Pattern) -> Test| -> Result<Vec<Test>, CommandError> {
                texts.iter().map(|text| Ok(test(Pattern::parse(text, namespace)?))).collect()
            };
        let protocols =
            |texts: &[String]| texts.iter().map(|text| Test::Protocol(text.clone())).collect();
        filter.add(false, "either end", ends(&args.ends, Test::Either)?);
        filter.add(false, "sender", ends(&args.from, Test::From)?);
        filter.add(false, "receiver", ends(&args.to, Test::To)?);
        filter.add(false, "either end", ends(&args.peer, Test::Either)?);
        filter.add(false, "port", args.port.iter().copied().map(Test::Port).collect());
        filter.add(false, "protocol", protocols(&args.protocol));
        filter.add(false, "verdict", args.verdict.iter().copied().map(Test::Verdict).collect());
        filter.add(
            false,
            "direction",
            args.direction.iter().copied().map(Test::Direction).collect(),
        );
        filter.add(true, "sender", ends(&args.not_from, Test::From)?);
        filter.add(true, "receiver", ends(&args.not_to, Test::To)?);
        filter.add(true, "either end", ends(&args.not_peer, Test::Either)?);
        filter.add(true, "port", args.not_port.iter().copied().map(Test::Port).collect());
        filter.add(true, "protocol", protocols(&args.not_protocol));
        filter.add(true, "verdict", args.not_verdict.iter().copied().map(Test::Verdict).collect());
        filter.add(
            true,
            "direction",
            args.not_direction.iter().copied().map(Test::Direction).collect(),
        );
        let now = clock::now();
        filter.since = args.since.as_deref().map(|text| clock::point(text, now)).transpose()?;
        filter.until = args.until.as_deref().map(|text| clock::point(text, now)).transpose()?;
        Ok(filter)
    }

    /// The same, where `index` tells whose pods are whose.
    pub(crate) fn with(mut self, index: &Arc<Index>) -> Self {
        self.index = Arc::clone(index);
        self
    }

    /// Whether the flow is wanted.
    pub(crate) fn matches(&self, flow: &Observation) -> bool {
        let here = |namespace: &String| {
            [&flow.source, &flow.destination]
                .iter()
                .any(|end| end.endpoint.namespace.as_deref() == Some(namespace))
        };
        self.matches_time(flow.time)
            && self.namespace.as_ref().is_none_or(here)
            && self.clauses.iter().all(|clause| {
                clause.tests.iter().any(|test| test.holds(flow, &self.index)) != clause.negated
            })
    }

    /// Whether the connection is wanted that the flow is a part of: an answer is judged as what it answers,
    /// and a packet of which nothing tells whether it is one, as both.
    pub(crate) fn matches_connection(&self, flow: &Observation) -> bool {
        match classify(flow) {
            Class::Answer(_) | Class::Skip(Skip::Reply) => self.matches(&flow.turned()),
            Class::Candidate(_) | Class::Refused(..) | Class::Reset | Class::Unreachable => {
                self.matches(flow) || self.matches(&flow.turned())
            }
            Class::Open(_) | Class::Denied(_) | Class::Inexpressible | Class::Skip(_) => {
                self.matches(flow)
            }
        }
    }

    /// Whether the time is wanted; one that is not known is only where no time is asked for.
    pub(crate) fn matches_time(&self, time: Option<Timestamp>) -> bool {
        self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
            && self.until.is_none_or(|until| time.is_some_and(|time| time <= until))
    }

    fn add(&mut self, negated: bool, flag: &'static str, tests: Vec<Test>) {
        if !tests.is_empty() {
            self.clauses.push(Clause { negated, flag, tests });
        }
    }
}

/// One condition a line, all of which must hold: `[not ]WHAT is VALUE[ or VALUE...]`.
impl fmt::Display for Filter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: Timestamp| Time::from_nanosecond(i128::from(time.0)).unwrap_or_default();
        if let Some(namespace) = &self.namespace {
            writeln!(formatter, "either end is namespace/{namespace}")?;
        }
        for clause in &self.clauses {
            let tests: Vec<String> = clause.tests.iter().map(ToString::to_string).collect();
            let not = if clause.negated { "not " } else { "" };
            writeln!(formatter, "{not}{} is {}", clause.flag, tests.join(" or "))?;
        }
        if let Some(since) = self.since {
            writeln!(formatter, "time is not before {}", time(since))?;
        }
        if let Some(until) = self.until {
            writeln!(formatter, "time is not after {}", time(until))?;
        }
        let is_open = self.namespace.is_none() && self.clauses.is_empty();
        if is_open && self.since.is_none() && self.until.is_none() {
            writeln!(formatter, "every flow")?;
        }
        Ok(())
    }
}

impl fmt::Display for Test {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(end) | Self::To(end) | Self::Either(end) => end.fmt(formatter),
            Self::Port(port) => port.fmt(formatter),
            Self::Protocol(name) => name.fmt(formatter),
            Self::Verdict(verdict) => formatter.write_str(match verdict {
                VerdictName::Allowed => "allowed",
                VerdictName::Denied => "denied",
                VerdictName::WouldDeny => "would-deny",
            }),
            Self::Direction(direction) => formatter.write_str(match direction {
                DirectionName::Ingress => "ingress",
                DirectionName::Egress => "egress",
            }),
        }
    }
}

// === impl Test ===

impl Test {
    fn holds(&self, flow: &Observation, index: &Index) -> bool {
        let is = |pattern: &Pattern, end: &End| pattern.matches(end, index, flow.time);
        match self {
            Self::From(pattern) => is(pattern, &flow.source),
            Self::To(pattern) => is(pattern, &flow.destination),
            Self::Either(pattern) => is(pattern, &flow.source) || is(pattern, &flow.destination),
            Self::Port(port) => {
                flow.destination_port == Some(*port) || flow.source_port == Some(*port)
            }
            Self::Protocol(wanted) => protocol(&flow.transport) == *wanted,
            Self::Verdict(wanted) => verdict(flow.verdict) == Some(*wanted),
            Self::Direction(wanted) => {
                let own = flow.direction.or(flow.reporter.map(|reporter| match reporter {
                    Reporter::Source => Direction::Egress,
                    Reporter::Destination => Direction::Ingress,
                }));
                matches!(
                    (wanted, own),
                    (DirectionName::Ingress, Some(Direction::Ingress))
                        | (DirectionName::Egress, Some(Direction::Egress))
                )
            }
        }
    }
}

pub(super) fn protocol(transport: &Transport) -> String {
    match transport {
        Transport::Tcp(_) => "TCP".to_owned(),
        Transport::Udp => "UDP".to_owned(),
        Transport::Sctp => "SCTP".to_owned(),
        Transport::Icmp(_) => "ICMP".to_owned(),
        Transport::Other(name) => name.to_ascii_uppercase(),
        Transport::Missing => String::new(),
    }
}

pub(super) fn verdict(verdict: Verdict) -> Option<VerdictName> {
    match verdict {
        Verdict::Forwarded | Verdict::Redirected => Some(VerdictName::Allowed),
        Verdict::Audit => Some(VerdictName::WouldDeny),
        Verdict::Dropped => Some(VerdictName::Denied),
        Verdict::Failed | Verdict::Socket | Verdict::Unknown => None,
    }
}

/// A port; flows carry numbers only.
fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "write a number from 0 to 65535; flows do not name ports".to_owned())
}

/// A protocol that a source may name, as it does.
fn protocol_name(text: &str) -> Result<String, String> {
    const NAMES: [&str; 9] = ["TCP", "UDP", "SCTP", "ICMP", "VRRP", "IGMP", "ESP", "AH", "GRE"];
    let name = text.to_ascii_uppercase();
    if NAMES.contains(&name.as_str()) || name.parse::<u8>().is_ok() {
        return Ok(name);
    }
    Err(format!("write {} or a number from 0 to 255", NAMES.join(", ").to_ascii_lowercase()))
}

#[cfg(test)]
mod tests;
