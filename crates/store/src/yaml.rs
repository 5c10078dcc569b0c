//! Neat YAML for Git: what a person declares and what was learned, in one stable order.
//!
//! Only name, namespace, labels and annotations of the metadata are written; `null`, empty lists and an
//! empty status are not. Two-space indentation, lists at the indentation of their key, as kubectl does.

mod arrange;
pub(crate) mod node;

use netenf_k8s::lifecycle::{Key, Resource, Revision};
use serde::Serialize;

use crate::error::StoreError;
use node::Node;

/// The object as neat YAML. Reading it and writing it again gives the same bytes.
pub fn to_neat_yaml(object: &Resource) -> Result<String, StoreError> {
    neat(object, || object.key())
}

/// A revision of the history as neat YAML.
pub(crate) fn revision_yaml(revision: &Revision) -> Result<String, StoreError> {
    neat(revision, || revision.object.key())
}

fn neat(value: &impl Serialize, key: impl Fn() -> Key) -> Result<String, StoreError> {
    let format = |cause: String| StoreError::Format { key: key(), cause };
    let node = tree(value).map_err(|error| format(error.to_string()))?;
    let options = serde_saphyr::ser_options! {
        // Lines are never folded: a diff shows what changed, not where it was wrapped.
        folded_wrap_chars: usize::MAX,
    };
    serde_saphyr::to_string_with_options(&arrange::arrange(node), options)
        .map_err(|error| format(error.to_string()))
}

/// The value as a tree. JSON keeps the order of the fields and every string as it is.
pub(crate) fn tree(value: &impl Serialize) -> Result<Node, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(value)?)
}

#[cfg(test)]
mod tests;
