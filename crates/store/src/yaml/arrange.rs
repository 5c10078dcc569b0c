//! The order of keys, and what is left out.

use super::node::Node;

/// Keys of the root of an object.
const ROOT: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];
/// All that is written of the metadata.
const METADATA: &[&str] = &["name", "namespace", "labels", "annotations"];

/// Brings `node`, the root of an object or of a revision, into the one order.
pub(super) fn arrange(node: Node) -> Node {
    arrange_below("", node)
}

/// Brings what stands below `key` into the one order.
fn arrange_below(key: &str, node: Node) -> Node {
    match node {
        Node::List(items) => {
            Node::List(items.into_iter().map(|item| arrange_below(key, item)).collect())
        }
        Node::Map(entries) => Node::Map(arrange_entries(key, entries)),
        other
        @ (Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::Text(_)) => other,
    }
}

fn arrange_entries(key: &str, entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let order = order(key);
    let rank = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    let mut arranged: Vec<(String, Node)> = entries
        .into_iter()
        .filter(|(name, _)| key != "metadata" || METADATA.contains(&name.as_str()))
        // What is named by a person is no field: a label may have any name.
        .map(|(name, value)| {
            let value = if is_free(key) { value } else { arrange_below(&name, value) };
            (name, value)
        })
        .filter(|(name, value)| !is_left_out(name, value))
        .collect();
    // Stable: what the table does not name keeps the order of the types.
    arranged.sort_by_key(|(name, _)| rank(name));
    arranged
}

/// The order of the keys in a mapping that stands below `key`, as people write them.
fn order(key: &str) -> &'static [&'static str] {
    match key {
        "" | "object" => ROOT,
        "metadata" => METADATA,
        "kubernetes" => &["podSelector", "policyTypes", "ingress", "egress"],
        "ingress" | "egress" => &["from", "to", "ports"],
        "ports" => &["protocol", "port", "endPort"],
        "from" | "to" => &["ipBlock", "namespaceSelector", "podSelector"],
        "podSelector" | "namespaceSelector" | "selector" => &["matchLabels", "matchExpressions"],
        "conditions" => &["type", "status", "reason", "message", "lastTransitionTime"],
        _ => &[],
    }
}

/// Whether the keys below `key` are a person's.
fn is_free(key: &str) -> bool {
    matches!(key, "labels" | "annotations" | "matchLabels")
}

fn is_left_out(name: &str, value: &Node) -> bool {
    match value {
        Node::Null => true,
        Node::List(items) => items.is_empty(),
        // Counts alone say nothing.
        Node::Map(entries) if name == "status" => {
            entries.iter().all(|(_, value)| value.is_nothing())
        }
        Node::Map(entries) => entries.is_empty() && is_free(name),
        Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::Text(_) => false,
    }
}
