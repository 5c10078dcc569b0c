//! Labels and what selects them.

use netenf_testkit::generate::random::Random;
use serde_json::{Value, json};

use super::{NAMESPACES, is_rare, some};

const KEYS: [&str; 2] = ["app", "role"];
const VALUES: [&str; 2] = ["a", "b"];

/// Labels of a pod, a namespace or a node.
pub(super) fn labels(random: &mut Random) -> Value {
    let keys = KEYS.iter().filter(|_| random.happens(80)).collect::<Vec<_>>();
    keys.into_iter().map(|key| (*key, *random.pick(&VALUES))).collect()
}

/// A selector of pods or nodes.
pub(super) fn of_objects(random: &mut Random) -> Value {
    selector(random, &KEYS, &VALUES)
}

/// A selector of namespaces, by their names too.
pub(super) fn of_namespaces(random: &mut Random) -> Value {
    match random.below(3) {
        0 => selector(random, &["kubernetes.io/metadata.name"], &NAMESPACES),
        _ => of_objects(random),
    }
}

fn selector(random: &mut Random, keys: &[&str], values: &[&str]) -> Value {
    match random.below(5) {
        0 => json!({}),
        1 | 2 => json!({"matchLabels": {*random.pick(keys): random.pick(values)}}),
        3 => json!({"matchExpressions": [expression(random, keys, values)]}),
        _ => json!({
            "matchLabels": {*random.pick(keys): random.pick(values)},
            "matchExpressions": [expression(random, keys, values)],
        }),
    }
}

fn expression(random: &mut Random, keys: &[&str], values: &[&str]) -> Value {
    let key = random.pick(keys);
    match random.below(4) {
        0 => json!({"key": key, "operator": "In", "values": some(random, values)}),
        1 => json!({"key": key, "operator": "NotIn", "values": some(random, values)}),
        2 => json!({"key": key, "operator": "Exists"}),
        _ => json!({"key": key, "operator": "DoesNotExist"}),
    }
}

/// A selector that an API server refuses, and that matches nothing.
pub(super) fn refused(random: &mut Random) -> Value {
    let expression = match random.below(3) {
        0 => json!({"key": "app", "operator": "In", "values": []}),
        1 => json!({"key": "app", "operator": "Exists", "values": ["a"]}),
        _ => json!({"key": "app", "operator": "Like", "values": ["a"]}),
    };
    json!({"matchExpressions": [expression]})
}

/// The selector of a peer, which rarely is one that is refused.
pub(super) fn of_peer(random: &mut Random) -> Value {
    if is_rare(random) { refused(random) } else { of_objects(random) }
}
