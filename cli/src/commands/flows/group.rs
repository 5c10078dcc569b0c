//! Who talks to whom, counted: one line a pair and port, whatever number of packets were reported.

use netenf_k8s::render;
use netenf_learn::Timestamp;
use netenf_learn::proposal::{Outcome, Peer};
use netenf_policy::Protocol;

use crate::error::CommandError;
use crate::output::{self, Table};

/// One group.
struct Group<'a> {
    source: &'a Peer,
    destination: &'a Peer,
    protocol: Option<Protocol>,
    port: Option<u16>,
    verdict: &'static str,
    count: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    by: Option<String>,
}

/// The groups as a table.
pub(super) fn table(outcome: &Outcome, wide: bool) -> String {
    let mut titles = vec!["FROM", "TO", "PORT", "COUNT", "LAST", "VERDICT"];
    if wide {
        titles.extend(["FIRST", "POLICY"]);
    }
    let mut table = Table::new(&titles);
    for group in groups(outcome) {
        let mut row = vec![
            output::peer_with_address(&render::peer(group.source)),
            output::peer_with_address(&render::peer(group.destination)),
            port(&group),
            group.count.to_string(),
            time(group.last),
            group.verdict.to_owned(),
        ];
        if wide {
            row.extend([time(group.first), group.by.unwrap_or_default()]);
        }
        table.row(row);
    }
    if table.is_empty() { String::new() } else { table.text(true) }
}

/// The groups as JSON, one a line.
pub(super) fn json(outcome: &Outcome) -> Result<String, CommandError> {
    let mut text = String::new();
    for group in groups(outcome) {
        let record = serde_json::json!({
            "source": render::peer(group.source),
            "destination": render::peer(group.destination),
            "protocol": group.protocol.map(|protocol| render::protocol(protocol).to_string()),
            "port": group.port,
            "verdict": group.verdict,
            "count": group.count,
            "firstSeen": group.first.and_then(render::time),
            "lastSeen": group.last.and_then(render::time),
            "deniedBy": group.by,
        });
        text.push_str(&output::json_line(&record)?);
    }
    Ok(text)
}

/// Whether there is no group.
pub(super) fn is_empty(outcome: &Outcome) -> bool {
    outcome.edges.is_empty() && outcome.denials.is_empty()
}

fn groups(outcome: &Outcome) -> Vec<Group<'_>> {
    let allowed = outcome.edges.iter().map(|edge| Group {
        source: &edge.source.peer,
        destination: &edge.destination.peer,
        protocol: Some(edge.protocol),
        port: Some(edge.port),
        verdict: "ALLOWED",
        count: edge.count,
        first: edge.first,
        last: edge.last,
        by: None,
    });
    let denied = outcome.denials.iter().map(|denial| Group {
        source: &denial.source.peer,
        destination: &denial.destination.peer,
        protocol: denial.protocol,
        port: denial.port,
        verdict: "DENIED",
        count: denial.count,
        first: denial.first,
        last: denial.last,
        by: denial.by.as_ref().map(ToString::to_string),
    });
    let mut groups: Vec<Group<'_>> = denied.chain(allowed).collect();
    // Denials first: they are what people look for.
    groups.sort_by_key(|group| {
        (group.verdict != "DENIED", group.source, group.destination, group.protocol, group.port)
    });
    groups
}

fn port(group: &Group<'_>) -> String {
    let protocol =
        group.protocol.map(|protocol| render::protocol(protocol).to_string()).unwrap_or_default();
    match group.port {
        Some(port) => format!("{port}/{protocol}"),
        None => protocol,
    }
}

fn time(time: Option<Timestamp>) -> String {
    time.and_then(render::time)
        .map(|time| time.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}
