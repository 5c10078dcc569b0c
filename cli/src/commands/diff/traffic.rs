//! Recorded traffic that would be denied, as it is printed.

use std::collections::BTreeMap;

use netenf_api::{Mode, UncoveredPeer};
use netenf_k8s::Index;
use netenf_k8s::monitor::{self, Denied};
use netenf_k8s::{preflight, render};
use netenf_learn::proposal::SeenEdge;
use netenf_store::Resource;
use serde_json::json;

use super::cell;
use crate::error::CommandError;
use crate::output;
use crate::wiring::{store::Session, traffic};

/// Traffic that is recorded, and what of it would be denied.
pub(super) struct Traffic<'a> {
    recorded: u64,
    denied: Vec<(Denied, Option<&'a UncoveredPeer>)>,
}

// === impl Traffic ===

impl<'a> Traffic<'a> {
    pub(super) fn of(
        session: &Session,
        objects: &[&'a Resource],
        index: &Index,
        edges: &[SeenEdge],
    ) -> Self {
        let objects = traffic::deciding(session, objects);
        let uncovered: BTreeMap<(String, String), &[UncoveredPeer]> = objects
            .iter()
            .map(|object| ((object.key().namespace, object.key().name), object.uncovered()))
            .collect();
        let listed = |one: &Denied| preflight::listed(uncovered.get(&one.policy)?, one);
        let denied = traffic::denied(session, &objects, index, edges);
        Self {
            recorded: edges.iter().map(|edge| edge.count).sum(),
            denied: denied
                .into_iter()
                .map(|one| {
                    let item = listed(&one);
                    (one, item)
                })
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.denied.is_empty()
    }

    /// Connections, each once, though both of its ends may deny it: what is denied of one stands together.
    fn count(&self, wanted: impl Fn(Option<&UncoveredPeer>) -> bool) -> u64 {
        let denied = self.denied.iter().filter(|(_, item)| wanted(*item));
        let mut edges: Vec<&SeenEdge> = denied.map(|(one, _)| &one.edge).collect();
        edges.dedup();
        edges.iter().map(|edge| edge.count).sum()
    }

    pub(super) fn json(&self) -> Result<String, CommandError> {
        let items = self.denied.iter().filter_map(|(one, item)| {
            let mut value = json!(monitor::violation(one, Mode::Protect)?);
            value["uncovered"] = json!(item.map(|item| &item.id));
            value["accepted"] = json!(item.is_some_and(|item| item.accepted));
            Some(value)
        });
        output::json(&json!({
            "recorded": self.recorded,
            "denied": self.count(|_| true),
            "uncovered": self.count(|item| item.is_some()),
            "items": items.collect::<Vec<_>>(),
        }))
    }

    pub(super) fn markdown(&self) -> String {
        let mut text =
            "| Policy | From | To | Port | Count | Reason | Uncovered |\n|---|---|---|---|---|---|---|\n"
                .to_owned();
        for row in self.rows() {
            let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }

    pub(super) fn text(&self) -> String {
        let titles = ["POLICY", "FROM", "TO", "PORT", "COUNT", "REASON", "UNCOVERED"];
        let mut table = output::Table::new(&titles);
        self.rows().for_each(|row| table.row(row));
        let rows = if table.is_empty() { String::new() } else { table.text(true) };
        let (denied, listed) = (self.count(|_| true), self.count(|item| item.is_some()));
        let recorded = self.recorded;
        let also =
            if denied == 0 { String::new() } else { format!(", listed as uncovered: {listed}") };
        format!("{rows}recorded connections that would be denied: {denied} of {recorded}{also}\n")
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let peer = |peer| output::peer_with_address(&render::peer(peer));
        self.denied.iter().map(move |(one, item)| {
            let edge = &one.edge;
            vec![
                format!("{}/{}", one.policy.0, one.policy.1),
                peer(&edge.source.peer),
                peer(&edge.destination.peer),
                format!("{}/{}", edge.port, render::protocol(edge.protocol)),
                edge.count.to_string(),
                reason(one),
                item.map(|item| {
                    let accepted = if item.accepted { "(accepted)" } else { "" };
                    format!("{}{accepted}", item.id)
                })
                .unwrap_or_default(),
            ]
        })
    }
}

/// Why it would be denied: by a rule of another tier, which is named, or for want of one.
fn reason(denied: &Denied) -> String {
    denied.rule.as_ref().map_or_else(
        || "no-rule".to_owned(),
        |rule| format!("denied-by-{}/{}", rule.object.kind, rule.object.name),
    )
}
