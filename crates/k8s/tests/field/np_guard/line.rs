//! Lines such as `default/web[Deployment] => 0.0.0.0-255.255.255.255[External] : TCP 80,UDP 53`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use netenf_k8s::reach::{Link, Place};
use netenf_learn::Workload;
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{Protocol, Transports};

use super::INGRESS_CONTROLLER;

const EXTERNAL: &str = "[External]";

/// In the order of np-guard.
const PROTOCOLS: [(&str, Protocol); 3] =
    [("SCTP", Protocol::Sctp), ("TCP", Protocol::Tcp), ("UDP", Protocol::Udp)];

/// What passes between workloads, and between them and ranges of addresses.
#[derive(Debug, Default)]
pub(super) struct Lines {
    between: BTreeSet<String>,
    /// Ranges by what stands before and after them in a line.
    outside: BTreeMap<(String, String), BTreeSet<AddressRange>>,
}

// === impl Lines ===

impl Lines {
    pub(super) fn theirs(text: &str) -> Self {
        let mut lines = Self::default();
        for line in text.lines().filter(|line| !line.starts_with(INGRESS_CONTROLLER)) {
            let Some((ends, what)) = line.split_once(" : ") else { continue };
            let (source, destination) = ends.split_once(" => ").unwrap();
            lines.add(source, destination, what);
        }
        lines
    }

    pub(super) fn ours(links: &[Link]) -> Self {
        let mut lines = Self::default();
        for link in links {
            let what = transports(&link.passing.some);
            for source in ends(&link.source) {
                for destination in ends(&link.destination) {
                    lines.add(&source, &destination, &what);
                }
            }
        }
        lines
    }

    fn add(&mut self, source: &str, destination: &str, what: &str) {
        let (around, range) = match (range(source), range(destination)) {
            (Some(range), _) => ((String::new(), format!(" => {destination} : {what}")), range),
            (None, Some(range)) => ((format!("{source} => "), format!(" : {what}")), range),
            (None, None) => {
                self.between.insert(format!("{source} => {destination} : {what}"));
                return;
            }
        };
        self.outside.entry(around).or_default().insert(range);
    }

    /// All of them: np-guard divides ranges by policies that are about other workloads too, so that those which
    /// touch are joined.
    pub(super) fn whole(mut self) -> BTreeSet<String> {
        for ((before, after), ranges) in self.outside {
            let ranges = space::join(ranges).into_iter().map(external);
            self.between.extend(ranges.map(|range| format!("{before}{range}{after}")));
        }
        self.between
    }
}

pub(super) fn name(workload: &Workload) -> String {
    format!("{}/{}[{}]", workload.namespace, workload.name, workload.kind)
}

/// The range of addresses that an end is.
pub(super) fn range(end: &str) -> Option<AddressRange> {
    let (first, last) = end.strip_suffix(EXTERNAL)?.split_once('-')?;
    Some(AddressRange::new(first.parse::<IpAddr>().unwrap(), last.parse().unwrap()))
}

fn external(range: AddressRange) -> String {
    format!("{}-{}{EXTERNAL}", range.first, range.last)
}

fn ends(place: &Place) -> Vec<String> {
    match place {
        Place::Workload(workload) => vec![name(workload)],
        Place::World(ranges) => {
            let known = ranges.iter().filter(|range| range.first.is_ipv4());
            known.map(|range| external(*range)).collect()
        }
        // np-guard knows no nodes and no names.
        Place::Nodes(_) | Place::Names(_) => Vec::new(),
    }
}

pub(super) fn transports(transports: &Transports) -> String {
    if PROTOCOLS.iter().all(|(_, protocol)| transports.is_whole(*protocol)) {
        return "All Connections".to_owned();
    }
    let ports = |protocol| {
        let ranges = transports.ports(protocol).map(|range| match (range.start(), range.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        });
        ranges.collect::<Vec<_>>().join(",")
    };
    let some = PROTOCOLS.map(|(name, protocol)| (name, ports(protocol)));
    let some = some.iter().filter(|(_, ports)| !ports.is_empty());
    some.map(|(name, ports)| format!("{name} {ports}")).collect::<Vec<_>>().join(",")
}

/// Sets of hundreds of lines are compared as a whole, and told by what differs.
pub(super) fn assert_same(folder: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) {
    let only = |one: &BTreeSet<String>, other| one.difference(other).cloned().collect::<Vec<_>>();
    let (more, less) = (only(ours, theirs), only(theirs, ours));
    assert!(ours == theirs, "{folder}: ours only {more:#?}, theirs only {less:#?}");
}
