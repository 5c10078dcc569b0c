//! Who talks to whom, counted: one line a pair, port and verdict, whatever number of packets were reported.

use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;

use netenf_api::PeerRef;
use netenf_k8s::end::peer;
use netenf_k8s::{Index, render};
use netenf_learn::classify::Skip;
use netenf_learn::proposal::Denial;
use netenf_learn::{Observation, State, Timestamp, Traffic};

use super::filter;
use crate::error::CommandError;
use crate::output::{self, Table};

/// What makes flows one group. Denials come first: they are what people look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_denied: std::cmp::Reverse<bool>,
    source: PeerRef,
    destination: PeerRef,
    protocol: String,
    port: Option<u16>,
    verdict: String,
    by: Option<String>,
}

/// How much of it was seen.
#[derive(Debug, Clone, Default)]
struct Seen {
    count: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// How many connections of skipped flows are told apart; further ones count each time they are reported.
const TOLD_APART: usize = 1 << 20;

/// Addresses and ports of both ends.
type Connection = (Option<IpAddr>, Option<IpAddr>, Option<u16>, Option<u16>, &'static str);

/// The groups.
#[derive(Default)]
pub(super) struct Groups {
    groups: BTreeMap<Key, Seen>,
    connections: HashSet<Connection>,
}

// === impl Groups ===

impl Groups {
    /// Adds a flow that teaches nothing: a person looks for it all the same.
    pub(super) fn skip(&mut self, index: &Index, flow: &Observation, skip: Skip) {
        let (source, destination) = (flow.source.address, flow.destination.address);
        let ports = (flow.source_port, flow.destination_port);
        let connection = (source, destination, ports.0, ports.1, skip.name());
        let is_known = self.connections.contains(&connection);
        if self.connections.len() < TOLD_APART {
            self.connections.insert(connection);
        }
        let key = Key {
            is_denied: std::cmp::Reverse(false),
            source: peer(index, &flow.source, flow.time),
            destination: peer(index, &flow.destination, flow.time),
            protocol: filter::protocol(&flow.transport),
            port: flow.destination_port,
            verdict: word(skip.name()),
            by: flow.denied_by.as_ref().map(ToString::to_string),
        };
        self.add(key, u64::from(!is_known), flow.time, flow.time);
    }

    pub(super) fn traffic(&mut self, traffic: &Traffic) {
        let verdict = match traffic.state {
            State::Alive => "ALLOWED",
            State::Unanswered => "UNANSWERED",
            State::Refused => "REFUSED",
            State::Ambiguous => "AMBIGUOUS",
        };
        let key = Key {
            is_denied: std::cmp::Reverse(false),
            source: render::peer(&traffic.source),
            destination: render::peer(&traffic.destination),
            protocol: traffic.protocol.to_string(),
            port: traffic.port,
            verdict: verdict.to_owned(),
            by: None,
        };
        self.add(key, traffic.count, traffic.first, traffic.last);
    }

    pub(super) fn denial(&mut self, denial: &Denial) {
        let protocol = denial.protocol.map(|protocol| render::protocol(protocol).to_string());
        let key = Key {
            is_denied: std::cmp::Reverse(true),
            source: render::peer(&denial.source.peer),
            destination: render::peer(&denial.destination.peer),
            protocol: protocol.unwrap_or_default(),
            port: denial.port,
            verdict: "DENIED".to_owned(),
            by: denial.by.as_ref().map(ToString::to_string),
        };
        self.add(key, denial.count, denial.first, denial.last);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups as a table.
    pub(super) fn table(&self, is_wide: bool) -> String {
        let mut titles = vec!["FROM", "TO", "PORT", "COUNT", "LAST", "VERDICT"];
        if is_wide {
            titles.extend(["FIRST", "POLICY"]);
        }
        let mut table = Table::new(&titles);
        for (key, seen) in &self.groups {
            let mut row = vec![
                output::peer_with_address(&key.source),
                output::peer_with_address(&key.destination),
                key.port.map(|port| format!("{port}/")).unwrap_or_default() + &key.protocol,
                seen.count.to_string(),
                time(seen.last),
                key.verdict.clone(),
            ];
            if is_wide {
                row.extend([time(seen.first), key.by.clone().unwrap_or_default()]);
            }
            table.row(row);
        }
        if table.is_empty() { String::new() } else { table.text(true) }
    }

    /// The groups as JSON, one a line.
    pub(super) fn json(&self) -> Result<String, CommandError> {
        let mut text = String::new();
        for (key, seen) in &self.groups {
            let record = serde_json::json!({
                "source": key.source,
                "destination": key.destination,
                "protocol": (!key.protocol.is_empty()).then_some(&key.protocol),
                "port": key.port,
                "verdict": key.verdict,
                "count": seen.count,
                "firstSeen": seen.first.and_then(render::time),
                "lastSeen": seen.last.and_then(render::time),
                "deniedBy": key.by,
            });
            text.push_str(&output::json_line(&record)?);
        }
        Ok(text)
    }

    fn add(&mut self, key: Key, count: u64, first: Option<Timestamp>, last: Option<Timestamp>) {
        let seen = self.groups.entry(key).or_default();
        seen.count = seen.count.saturating_add(count);
        seen.first = seen.first.into_iter().chain(first).min();
        seen.last = seen.last.max(last);
    }
}

/// `NodeLocal` as a verdict: `NODE-LOCAL`.
fn word(name: &str) -> String {
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(letter.to_ascii_uppercase());
    }
    word
}

fn time(time: Option<Timestamp>) -> String {
    time.and_then(render::time).map(|time| output::time(time.0)).unwrap_or_default()
}
