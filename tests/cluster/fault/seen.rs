//! What there is in a namespace, in a form in which two runs can be compared.

use std::sync::LazyLock;

use http::Request;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{admin, connect};

pub(super) const PROPOSALS: &str =
    "networkenforcer.kubewarden.io/v1alpha1/namespaces/NAMESPACE/workloadnetworkpolicyproposals";
pub(super) const POLICIES: &str =
    "networkenforcer.kubewarden.io/v1alpha1/namespaces/NAMESPACE/workloadnetworkpolicies";
pub(super) const NATIVE: &str = "networking.k8s.io/v1/namespaces/NAMESPACE/networkpolicies";

const KINDS: [&str; 3] = [PROPOSALS, POLICIES, NATIVE];

/// What differs between runs: times, and what the API server counts by.
const OF_A_RUN: [&str; 7] = [
    "acknowledgedAt",
    "creationTimestamp",
    "lastTransitionTime",
    "managedFields",
    "promotedAt",
    "resourceVersion",
    "uid",
];

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static ADMIN: LazyLock<kube::Client> = LazyLock::new(|| RUNTIME.block_on(connect(admin())));

/// All our objects and native ones of the namespace, without what is `left_out`. Asked for directly: kubectl
/// costs a hundred times as much, and this is asked often.
pub(super) fn seen(namespace: &str, left_out: &[&str]) -> Vec<Value> {
    let all = KINDS.iter().flat_map(|kind| listed(&kind.replace("NAMESPACE", namespace)));
    all.map(|object| plain(object, namespace, left_out)).collect()
}

/// The objects at a path below `/apis`.
pub(super) fn listed(path: &str) -> Vec<Value> {
    let request = Request::get(format!("/apis/{path}")).body(Vec::new()).unwrap();
    let mut list: Value = RUNTIME.block_on(ADMIN.request(request)).unwrap();
    std::mem::take(list["items"].as_array_mut().unwrap())
}

/// Patches one object at a path below `/apis`; whether it is there.
pub(super) fn patch(path: &str, patch: &Value) -> bool {
    let request = Request::patch(format!("/apis/{path}"))
        .header("Content-Type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())
        .unwrap();
    match RUNTIME.block_on(ADMIN.request::<Value>(request)) {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.code == 404 => false,
        Err(error) => panic!("{path}: {error}"),
    }
}

fn plain(mut object: Value, namespace: &str, left_out: &[&str]) -> Value {
    strip(&mut object, left_out);
    let text = object.to_string().replace(namespace, "NAMESPACE");
    serde_json::from_str(&text).unwrap()
}

fn strip(value: &mut Value, left_out: &[&str]) {
    match value {
        Value::Object(fields) => {
            let is_out = |field: &str| OF_A_RUN.contains(&field) || left_out.contains(&field);
            fields.retain(|field, _| !is_out(field));
            fields.values_mut().for_each(|value| strip(value, left_out));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, left_out)),
        _ => {}
    }
}

/// Where two values differ, and how.
pub(super) fn differences(place: &str, one: &Value, other: &Value) -> Vec<String> {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let mut names: Vec<&String> = ones.keys().chain(others.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let each = names.into_iter();
            each.flat_map(|name| differences(&format!("{place}.{name}"), &one[name], &other[name]))
                .collect()
        }
        (Value::Array(ones), Value::Array(others)) => {
            let each = 0..ones.len().max(others.len());
            let at = |all: &[Value], at: usize| all.get(at).cloned().unwrap_or_default();
            each.flat_map(|index| {
                let place = format!("{place}[{index}]");
                differences(&place, &at(ones, index), &at(others, index))
            })
            .collect()
        }
        _ if one == other => Vec::new(),
        _ => vec![format!("{place}: {one} is not {other}")],
    }
}
