//! Fields that the API does not have.

use k8s_openapi::api::networking::v1::NetworkPolicy;
use serde_json::Value;

use super::Diagnostic;

/// Members of every object; `status` was one of a NetworkPolicy's for a while.
const MEMBERS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Tells the fields of a NetworkPolicy's document that reading passed over, as the API server does: a
/// misspelled selector is none, and selects everything.
pub(super) fn of_policy(place: &str, document: &Value, policy: &NetworkPolicy) -> Vec<Diagnostic> {
    let known = serde_json::to_value(&policy.spec).unwrap_or_default();
    let members = document.as_object().into_iter().flatten();
    let strangers =
        members.filter(|(name, value)| !MEMBERS.contains(&&***name) && !value.is_null());
    let mut paths: Vec<String> = strangers.map(|(name, _)| name.clone()).collect();
    compare("spec", document.get("spec").unwrap_or(&Value::Null), &known, &mut paths);
    let (namespace, name) = (policy.metadata.namespace.as_deref(), policy.metadata.name.as_deref());
    let object =
        format!("NetworkPolicy {}/{}", namespace.unwrap_or("default"), name.unwrap_or("?"));
    let message = "is not known: the API server drops it, so it has no effect";
    let tell = |path| Diagnostic {
        place: format!("{place}: {object}: {path}"),
        message: message.to_owned(),
    };
    paths.into_iter().map(tell).collect()
}

/// Gathers the paths of what is in `written` and not in `known`; null is no value of any field.
fn compare(path: &str, written: &Value, known: &Value, paths: &mut Vec<String>) {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            for (name, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                let path = format!("{path}.{name}");
                match known.get(name) {
                    Some(known) => compare(&path, value, known, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(written), Value::Array(known)) => {
            for (index, (value, known)) in written.iter().zip(known).enumerate() {
                compare(&format!("{path}[{index}]"), value, known, paths);
            }
        }
        _ => {}
    }
}
