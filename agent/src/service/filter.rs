//! Which observations are wanted. A field that is set must hold, and its values are alternatives.

use netenf_flows::node::timestamp;
use netenf_k8s::end::Pattern;
use netenf_k8s::told::{Fate, Told};
use netenf_k8s::{Index, render};
use netenf_learn::{End, Observation, Timestamp};
use netenf_proto::netenf::v1;
use tonic::Status;

use super::convert;
use super::explain::{MAX_END, status};

/// How many values all filters of a request hold together.
const MAX_VALUES: usize = 256;

/// How many filters leave observations out.
const MAX_EXCLUDE: usize = 32;

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    filter: Filter,
    exclude: Vec<Filter>,
    /// At most this many of those held.
    pub(super) last: u64,
    since: Option<Timestamp>,
    /// Whether those to come are wanted too.
    pub(super) follow: bool,
}

/// A choice of observations.
#[derive(Debug, Default, PartialEq)]
struct Filter {
    ends: Vec<Pattern>,
    sources: Vec<Pattern>,
    destinations: Vec<Pattern>,
    ports: Vec<u16>,
    protocols: Vec<v1::Protocol>,
    directions: Vec<v1::Direction>,
    verdicts: Vec<v1::Verdict>,
    outcomes: Vec<v1::Outcome>,
}

/// An observation with what is told of it.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) seen: &'a Observation,
    pub(super) told: &'a Told,
    pub(super) index: &'a Index,
}

// === impl Wanted ===

impl Wanted {
    pub(super) fn new(request: &v1::WatchFlowsRequest) -> Result<Self, Status> {
        if request.exclude.len() > MAX_EXCLUDE {
            let number = request.exclude.len();
            return Err(Status::invalid_argument(format!(
                "{number} filters leave observations out; {MAX_EXCLUDE} may"
            )));
        }
        let values: usize = request.filter.iter().chain(&request.exclude).map(count).sum();
        if values > MAX_VALUES {
            return Err(Status::invalid_argument(format!(
                "the filters hold {values} values; {MAX_VALUES} are allowed"
            )));
        }
        let since = request.since.as_ref().map(|since| {
            timestamp(since)
                .ok_or_else(|| Status::invalid_argument("since is no time that can be told"))
        });
        let exclude: Vec<Filter> =
            request.exclude.iter().map(Filter::new).collect::<Result<_, _>>()?;
        if exclude.contains(&Filter::default()) {
            return Err(Status::invalid_argument(
                "a filter that leaves observations out sets no field, and would leave out all",
            ));
        }
        Ok(Self {
            filter: request.filter.as_ref().map(Filter::new).transpose()?.unwrap_or_default(),
            exclude,
            last: request.last,
            since: since.transpose()?,
            follow: request.follow,
        })
    }

    /// Whether something of that time is wanted; where it is not known, only if no time is asked for.
    pub(super) fn matches_time(&self, time: Option<Timestamp>) -> bool {
        self.since.is_none_or(|since| time.is_some_and(|time| time >= since))
    }

    /// Whether the observation may be wanted, whatever becomes of it.
    pub(super) fn may_match(&self, candidate: Candidate<'_>) -> bool {
        self.matches_time(candidate.seen.time) && self.filter.matches_flow(candidate)
    }

    /// Whether it is, by what became of it.
    pub(super) fn matches(&self, candidate: Candidate<'_>) -> bool {
        let fate = &candidate.told.fate;
        let is_excluded =
            |filter: &Filter| filter.matches_outcome(fate) && filter.matches_flow(candidate);
        self.filter.matches_outcome(fate) && !self.exclude.iter().any(is_excluded)
    }
}

/// How many values a filter holds.
fn count(filter: &v1::FlowFilter) -> usize {
    let v1::FlowFilter {
        ends,
        sources,
        destinations,
        ports,
        protocols,
        directions,
        verdicts,
        outcomes,
    } = filter;
    [ends, sources, destinations].map(Vec::len).iter().sum::<usize>()
        + ports.len()
        + [protocols, directions, verdicts, outcomes].map(Vec::len).iter().sum::<usize>()
}

// === impl Filter ===

impl Filter {
    fn new(filter: &v1::FlowFilter) -> Result<Self, Status> {
        Ok(Self {
            ends: patterns(&filter.ends)?,
            sources: patterns(&filter.sources)?,
            destinations: patterns(&filter.destinations)?,
            ports: filter.ports.iter().map(|port| number(*port)).collect::<Result<_, _>>()?,
            protocols: members("protocol", &filter.protocols)?,
            directions: members("direction", &filter.directions)?,
            verdicts: members("verdict", &filter.verdicts)?,
            outcomes: members("outcome", &filter.outcomes)?,
        })
    }

    fn matches_outcome(&self, fate: &Fate) -> bool {
        holds(&self.outcomes, &convert::outcome(fate))
    }

    /// All but what became of it. A packet of which nothing tells who opened its connection is judged both ways.
    fn matches_flow(&self, candidate: Candidate<'_>) -> bool {
        let Candidate { seen, told, .. } = candidate;
        holds(&self.protocols, &convert::protocol(&seen.transport))
            && holds(&self.directions, &convert::direction(told.direction))
            && holds(&self.verdicts, &convert::done(seen.verdict))
            && (self.matches_ends(candidate, told.is_turned)
                || (told.fate == Fate::Undecided && self.matches_ends(candidate, !told.is_turned)))
    }

    /// The ends and the port of the answering one, where the destination is the opener if `is_turned`.
    fn matches_ends(&self, candidate: Candidate<'_>, is_turned: bool) -> bool {
        let Candidate { seen, told, index } = candidate;
        // What is behind a Service stands on the answering side only as it is told.
        let resolved = (is_turned == told.is_turned).then(|| render::peer(&told.destination));
        let (from, to, port) = if is_turned {
            (&seen.destination, &seen.source, seen.source_port)
        } else {
            (&seen.source, &seen.destination, seen.destination_port)
        };
        let is = |pattern: &Pattern, end: &End| pattern.matches(end, index, seen.time);
        let answers = |pattern: &Pattern| {
            is(pattern, to) || resolved.as_ref().is_some_and(|peer| pattern.is(peer))
        };
        let any = |patterns: &[Pattern], test: &dyn Fn(&Pattern) -> bool| {
            patterns.is_empty() || patterns.iter().any(test)
        };
        let port = told.port.filter(|_| is_turned == told.is_turned).or(port);
        (self.ports.is_empty() || port.is_some_and(|port| self.ports.contains(&port)))
            && any(&self.sources, &|pattern| is(pattern, from))
            && any(&self.destinations, &answers)
            && any(&self.ends, &|pattern| is(pattern, from) || answers(pattern))
    }
}

fn holds<T: PartialEq>(wanted: &[T], own: &T) -> bool {
    wanted.is_empty() || wanted.contains(own)
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, Status> {
    let pattern = |text: &String| {
        if text.len() > MAX_END {
            let length = text.len();
            return Err(Status::invalid_argument(format!(
                "an end of {length} bytes names nothing"
            )));
        }
        Pattern::parse(text, None).map_err(|unclear| status(&unclear))
    };
    texts.iter().map(pattern).collect()
}

fn number(port: u32) -> Result<u16, Status> {
    u16::try_from(port)
        .map_err(|_| Status::invalid_argument(format!("port {port} is not between 0 and 65535")))
}

fn members<T: TryFrom<i32>>(what: &str, numbers: &[i32]) -> Result<Vec<T>, Status> {
    let member = |number: &i32| {
        T::try_from(*number)
            .map_err(|_| Status::invalid_argument(format!("{what} {number} is not known")))
    };
    numbers.iter().map(member).collect()
}

#[cfg(test)]
mod tests;
