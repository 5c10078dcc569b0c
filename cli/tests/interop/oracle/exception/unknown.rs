//! Rules of cluster-wide policies that hold something that is not understood.

use netenf_policy::Side;
use serde_json::{Value, json};

use super::correction::is_refused;
use crate::oracle::document::{Document, fields, rules};

/// Spells what such a rule means: one that accepts matches nothing, every other one denies everything. What is denied on
/// the way in can only be spelled for pods.
pub(super) fn close(document: &mut Document, side: Side) {
    let (field, peers) = fields(side);
    for policy in document.cluster_policies() {
        let closed: Vec<Value> = rules(policy, side)
            .iter()
            .filter_map(|rule| match (is_in(rule, side), rule["action"].as_str()) {
                (false, _) => Some(rule.clone()),
                (true, Some("Allow" | "Accept")) => None,
                (true, _) => Some(json!({"action": "Deny", peers: everyone(side)})),
            })
            .collect();
        policy["spec"][field] = closed.into();
    }
}

fn everyone(side: Side) -> Value {
    match side {
        Side::Egress => json!([{"networks": ["0.0.0.0/0", "::/0"]}]),
        Side::Ingress => json!([{"namespaces": {}}]),
    }
}

/// Whether there is such a thing in a rule.
pub(super) fn is_in(rule: &Value, side: Side) -> bool {
    let items = |field: &str| rule[field].as_array().into_iter().flatten();
    let is_empty = |item: &Value| item.as_object().is_some_and(serde_json::Map::is_empty);
    let peers = || items(fields(side).1);
    let ports = || items("ports").chain(items("protocols"));
    peers().chain(ports()).any(is_empty)
        || peers().any(|peer| peer["namespaces"].is_object() && is_refused(&peer["namespaces"]))
        || ports().any(|port| is_inverted(&port["portRange"]))
}

/// "The Start value must be less than End", but no server of v1alpha1 sees to it.
fn is_inverted(range: &Value) -> bool {
    range["start"].as_u64() > range["end"].as_u64()
}
