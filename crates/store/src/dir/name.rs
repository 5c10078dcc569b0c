//! Names before they become paths.

use netenf_k8s::lifecycle::{Key, Kind};

use crate::error::StoreError;

/// Checks that namespace and name of `key` are those of a Kubernetes object.
pub(super) fn check(key: &Key) -> Result<(), StoreError> {
    check_pair(&key.namespace, &key.name)
}

/// Checks that both are those of a Kubernetes object.
pub(super) fn check_pair(namespace: &str, name: &str) -> Result<(), StoreError> {
    if !is_label(namespace) {
        return Err(invalid("namespace", namespace));
    }
    let labels = name.split('.').all(is_part);
    if name.len() > 253 || !labels { Err(invalid("name", name)) } else { Ok(()) }
}

/// Checks the name of a blob.
pub(super) fn check_blob(name: &str) -> Result<(), StoreError> {
    if is_label(name) { Ok(()) } else { Err(invalid("name of a state", name)) }
}

/// The name of the file of a new object.
pub(super) fn file(key: &Key) -> String {
    let suffix = match key.kind {
        Kind::Proposal => "proposal",
        Kind::Policy => "policy",
    };
    format!("{}.{suffix}.yaml", key.name)
}

/// Whether `text` holds `name` as a whole, and not as a part of another name.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '-';
    text.match_indices(name).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Text from files, names included, without what could steer a terminal.
pub(super) fn shown(path: &std::path::Path) -> String {
    let mut shown = String::new();
    for character in path.to_string_lossy().chars() {
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// RFC 1123: a label.
fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

fn is_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn invalid(what: &'static str, name: &str) -> StoreError {
    StoreError::InvalidName { what, name: name.to_owned() }
}
