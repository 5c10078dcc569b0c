//! The definitions that the API server gets.

use std::collections::BTreeSet;

use kube::CustomResourceExt;
use netenf_api::{WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use rstest::rstest;
use serde_json::{Value, json};

fn proposal() -> Value {
    serde_json::to_value(WorkloadNetworkPolicyProposal::crd()).unwrap()
}

fn policy() -> Value {
    serde_json::to_value(WorkloadNetworkPolicy::crd()).unwrap()
}

fn version(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]
}

fn schema(definition: &Value) -> &Value {
    &version(definition)["schema"]["openAPIV3Schema"]
}

/// Every schema below `schema` with its path; `[]` is an item of a list.
fn walk<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    found.push((path.to_owned(), schema));
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), found);
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(key) {
            walk(inner, &format!("{path}{suffix}"), found);
        }
    }
}

fn all(definition: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    walk(schema(definition), "", &mut found);
    found
}

/// The schema at a path such as `.spec.istio.rules[]`.
fn at<'a>(definition: &'a Value, path: &str) -> &'a Value {
    all(definition).into_iter().find(|(candidate, _)| candidate == path).unwrap().1
}

fn paths_with(definition: &Value, key: &str) -> BTreeSet<String> {
    all(definition)
        .into_iter()
        .filter(|(_, schema)| schema.get(key).is_some())
        .map(|(path, _)| path)
        .collect()
}

#[rstest]
#[case::proposal(
    proposal(),
    "WorkloadNetworkPolicyProposal",
    "workloadnetworkpolicyproposals",
    "wnpp"
)]
#[case::policy(policy(), "WorkloadNetworkPolicy", "workloadnetworkpolicies", "wnp")]
fn the_kinds_are_namespaced_and_have_a_status_of_their_own(
    #[case] definition: Value,
    #[case] kind: &str,
    #[case] plural: &str,
    #[case] short: &str,
) {
    let spec = &definition["spec"];
    assert_eq!(
        definition["metadata"],
        json!({
            "name": format!("{plural}.networkenforcer.kubewarden.io"),
            "annotations": {"helm.sh/resource-policy": "keep"},
        })
    );
    assert_eq!(spec["group"], netenf_api::GROUP);
    assert_eq!(spec["scope"], "Namespaced");
    assert_eq!(spec["names"]["kind"], kind);
    assert_eq!(spec["names"]["plural"], plural);
    assert_eq!(spec["names"]["shortNames"], json!([short]));
    assert_eq!(spec["names"]["categories"], json!(["netenf"]));
    assert_eq!(version(&definition)["name"], netenf_api::VERSION);
    assert_eq!(version(&definition)["served"], true);
    assert_eq!(version(&definition)["storage"], true);
    assert_eq!(version(&definition)["subresources"], json!({"status": {}}));
}

#[rstest]
#[case::proposal(proposal(), &[
    "Kind string .spec.targetRef.kind",
    "Workload string .spec.targetRef.name",
    "Direction string .spec.direction",
    "Backend string .spec.backend",
    "Rules integer .status.ruleCount",
    "Uncovered integer .status.uncoveredCount",
    "Last-New-Rule date .status.lastNewRule",
    "Age date .metadata.creationTimestamp",
])]
#[case::policy(policy(), &[
    "Mode string .spec.mode",
    "Active Violations integer .status.activeViolationCount",
    "Workload string .spec.targetRef.name",
    "Direction string .spec.direction",
    r#"Enforced string .status.conditions[?(@.type=="Enforced")].status"#,
    "Age date .metadata.creationTimestamp",
])]
fn columns_show_what_a_person_needs(#[case] definition: Value, #[case] expected: &[&str]) {
    let columns = version(&definition)["additionalPrinterColumns"].as_array().unwrap();
    let text = |column: &Value, key: &str| column[key].as_str().unwrap().to_owned();
    let shown: Vec<String> = columns
        .iter()
        .map(|column| ["name", "type", "jsonPath"].map(|key| text(column, key)).join(" "))
        .collect();
    assert_eq!(shown, expected);
}

#[rstest]
#[case::proposal(proposal())]
#[case::policy(policy())]
fn every_property_is_described(#[case] definition: Value) {
    let undescribed: Vec<String> = all(&definition)
        .into_iter()
        .filter(|(path, _)| !path.ends_with("[]") && !path.ends_with("{}"))
        .filter(|(_, schema)| schema["description"].as_str().is_none_or(str::is_empty))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(undescribed, [""; 0]);
}

#[rstest]
#[case::proposal(proposal())]
#[case::policy(policy())]
fn every_schema_has_a_type(#[case] definition: Value) {
    for (path, schema) in all(&definition) {
        let typed = schema.get("type").is_some_and(Value::is_string)
            || schema["x-kubernetes-int-or-string"] == true;
        assert!(typed, "{path}: {schema}");
        for forbidden in ["$ref", "oneOf", "anyOf", "allOf", "not", "uniqueItems"] {
            assert!(schema.get(forbidden).is_none(), "{path} has {forbidden}");
        }
    }
}

#[rstest]
#[case::proposal(proposal())]
#[case::policy(policy())]
fn null_is_no_value_of_our_fields(#[case] definition: Value) {
    let ours: Vec<String> = paths_with(&definition, "nullable")
        .into_iter()
        .filter(|path| !path.starts_with(".spec.kubernetes.") && path != ".status")
        .collect();
    assert_eq!(ours, [""; 0]);
}

#[rstest]
#[case::proposal(proposal())]
#[case::policy(policy())]
fn rules_stand_on_the_spec_and_on_the_backend(#[case] definition: Value) {
    assert_eq!(
        paths_with(&definition, "x-kubernetes-validations"),
        [".spec", ".spec.backend"].map(str::to_owned).into()
    );
    let rules = |path| at(&definition, path)["x-kubernetes-validations"].as_array().unwrap();
    assert_eq!(
        rules(".spec.backend"),
        &[json!({"rule": "self == oldSelf", "message": "backend is immutable"})]
    );
    assert_eq!(rules(".spec").len(), 5);
}

/// What the seed requires, no more; what is ours beyond it is optional.
#[rstest]
#[case::root("", json!(["spec"]))]
#[case::spec(".spec", json!(["backend"]))]
#[case::istio(".spec.istio", json!(["selector"]))]
#[case::istio_rule(".spec.istio.rules[]", Value::Null)]
#[case::istio_from(".spec.istio.rules[].from[]", Value::Null)]
#[case::istio_source(".spec.istio.rules[].from[].source", Value::Null)]
#[case::istio_to(".spec.istio.rules[].to[]", Value::Null)]
#[case::istio_operation(".spec.istio.rules[].to[].operation", Value::Null)]
#[case::kubernetes(".spec.kubernetes", Value::Null)]
#[case::target(".spec.targetRef", json!(["kind", "name"]))]
#[case::status(".status", Value::Null)]
fn required_fields_are_those_of_the_seed(#[case] path: &str, #[case] expected: Value) {
    for definition in [proposal(), policy()] {
        assert_eq!(at(&definition, path)["required"], expected, "{path}");
    }
}

#[test]
fn defaults_are_those_of_the_seed() {
    let definition = policy();
    assert_eq!(at(&definition, ".spec.mode")["default"], "monitor");
    assert_eq!(at(&definition, ".status.violationCount")["default"], 0);
    assert_eq!(at(&definition, ".status.activeViolationCount")["default"], 0);
    for definition in [proposal(), policy()] {
        let in_spec: Vec<String> = paths_with(&definition, "default")
            .into_iter()
            .filter(|path| path.starts_with(".spec") && path != ".spec.mode")
            .collect();
        assert_eq!(in_spec, [""; 0]);
    }
}

#[rstest]
#[case::backend(".spec.backend", json!(["kubernetes", "istio"]))]
#[case::mode(".spec.mode", json!(["monitor", "protect"]))]
#[case::direction(".spec.direction", json!(["Ingress", "Egress"]))]
#[case::action(".status.violations[].action", json!(["monitor", "protect"]))]
#[case::reason(".status.violations[].reason", json!(["NoRule", "DeniedByPolicy", "Unknown"]))]
#[case::tier(
    ".status.violations[].decidedBy.tier",
    json!(["Admin", "NetworkPolicy", "Baseline"])
)]
#[case::kind(
    ".spec.targetRef.kind",
    json!(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob", "Pod"])
)]
fn words_are_those_of_the_design(#[case] path: &str, #[case] expected: Value) {
    assert_eq!(at(&policy(), path)["enum"], expected);
}

#[test]
fn lists_of_violations_are_bounded() {
    let definition = policy();
    let max = json!(netenf_api::violation::MAX_VIOLATIONS);
    for path in [".status.violations", ".status.acknowledgedViolations"] {
        assert_eq!(at(&definition, path)["maxItems"], max);
    }
}

#[rstest]
#[case::proposal(proposal())]
#[case::policy(policy())]
fn managers_share_conditions_by_type_and_no_selector(#[case] definition: Value) {
    let conditions = at(&definition, ".status.conditions");
    assert_eq!(conditions["x-kubernetes-list-type"], "map");
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    let selectors = all(&definition)
        .into_iter()
        .filter(|(path, _)| path.ends_with("elector"))
        .collect::<Vec<_>>();
    assert_eq!(selectors.len(), 9);
    for (path, selector) in selectors {
        assert_eq!(selector["x-kubernetes-map-type"], "atomic", "{path}");
    }
}
