//! Names of proposals and policies (DESIGN D6), and of DNS names.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::identity::Workload;
use crate::observation::Direction;

/// The longest a label value may be; `promoted-from` holds a policy's name.
const LONGEST: usize = 63;

/// The name of a workload's proposal or policy: `<kind>-<name>-<ingress|egress>`.
///
/// Where that is over 63 characters the workload's name is cut and the first 8 hex digits of the
/// SHA-256 of `namespace/kind/name` follow, so that names stay valid, distinct and stable.
pub fn policy_name(workload: &Workload, direction: Direction) -> String {
    let kind = workload.kind.to_lowercase();
    let suffix = match direction {
        Direction::Ingress => "ingress",
        Direction::Egress => "egress",
    };
    let plain = format!("{kind}-{}-{suffix}", workload.name);
    if plain.len() <= LONGEST {
        return plain;
    }
    let identity = format!("{}/{}/{}", workload.namespace, workload.kind, workload.name);
    let hash = short_hash(&identity);
    let room = LONGEST.saturating_sub(kind.len() + hash.len() + suffix.len() + 3);
    let cut: String = workload.name.chars().take(room).collect();
    // A cut may end in a dot or a dash, and "x.-1f" is no valid name: the dash must follow a letter or digit.
    let cut = cut.trim_end_matches(['.', '-']);
    format!("{kind}-{cut}-{hash}-{suffix}")
}

/// Whether Kubernetes allows it as the name of an object.
pub fn is_object_name(text: &str) -> bool {
    let inner = |c: char| is_lower(c) || matches!(c, '-' | '.');
    text.len() <= 253 && is_bounded_by(text, is_lower) && text.chars().all(inner)
}

/// Whether Kubernetes allows it as the name of a namespace.
pub fn is_namespace_name(text: &str) -> bool {
    text.len() <= LONGEST && !text.contains('.') && is_object_name(text)
}

/// Whether Kubernetes allows it as a label of an object.
pub fn is_label(key: &str, value: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_object_name)
        && is_label_part(name)
        && (value.is_empty() || is_label_part(value))
}

fn is_label_part(text: &str) -> bool {
    let outer = |c: char| c.is_ascii_alphanumeric();
    let inner = |c: char| outer(c) || matches!(c, '-' | '.' | '_');
    text.len() <= LONGEST && is_bounded_by(text, outer) && text.chars().all(inner)
}

fn is_lower(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

fn is_bounded_by(text: &str, outer: impl Fn(char) -> bool) -> bool {
    text.starts_with(&outer) && text.ends_with(&outer)
}

/// The first 8 hex digits of the SHA-256 of `text`.
pub fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(4).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The name that a program meant when the resolver's search list was appended to it (case B49):
/// `huggingface.co.ai.svc.cluster.local.` is `huggingface.co`.
///
/// Names of services (one label before the namespace) stay as they are.
pub fn without_search_domain(name: &str, cluster_domain: &str) -> String {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let Some(inside) = name.strip_suffix(cluster_domain).and_then(|rest| rest.strip_suffix('.'))
    else {
        return name;
    };
    let meant = match inside.strip_suffix(".svc") {
        Some(with_namespace) => {
            with_namespace.rsplit_once('.').map_or(with_namespace, |(rest, _)| rest)
        }
        None if inside == "svc" => return name,
        None => inside,
    };
    if meant.contains('.') { meant.to_owned() } else { name }
}

#[cfg(test)]
mod tests;
