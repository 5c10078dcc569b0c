//! Corrections to derived schemas, so that they read as if written for Kubernetes.

use schemars::Schema;
use serde_json::{Map, Value};

/// Makes `null` no value of any property of a struct.
///
/// Schemars gives an `Option` the value `null`; the API server would then store it and `has()` would
/// hold for it in a validation rule. Without it the API server drops a `null` as it does for
/// built-in kinds.
pub(crate) fn without_null(schema: &mut Schema) {
    let properties = schema.ensure_object().get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if let Value::Object(property) = property {
            drop_null(property);
        }
    }
}

fn drop_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    let Some(Value::Array(choices)) = property.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = choices.as_slice() {
        let only = only.clone();
        property.remove("anyOf");
        for (name, value) in only {
            property.entry(name).or_insert(value);
        }
    }
}

/// Marks every label selector below `schema` as atomic, as it is in the built-in kinds.
///
/// Else two field managers would merge their labels into a selector that neither of them meant.
pub(crate) fn atomic_selectors(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        mark_selectors(object);
    }
}

fn mark_selectors(schema: &mut Map<String, Value>) {
    let is_selector =
        schema.get("properties").is_some_and(|properties| properties.get("matchLabels").is_some());
    if is_selector {
        schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        return;
    }
    for value in schema.values_mut() {
        match value {
            Value::Object(object) => mark_selectors(object),
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(mark_selectors);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
