//! The judge is able to say no: what we write, with one thing broken, is refused for that thing.

use serde_json::{Value, json};

use crate::{demo, judge, learned, ztunnel};

/// One thing to break: a JSON pointer and what to put there (`null` takes it out), and the words of
/// the refusal.
type Fault = (&'static str, Value, &'static str);

/// The document of that name in a stream.
fn document(stream: &str, name: &str) -> Value {
    let documents = stream.split("---\n");
    let mut documents = documents.map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
    documents.find(|document| document["metadata"]["name"] == name).unwrap()
}

fn doctored(document: &Value, pointer: &str, value: &Value) -> String {
    let mut document = document.clone();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(fields) if value.is_null() => drop(fields.remove(last).unwrap()),
        Value::Object(fields) => drop(fields.insert(last.to_owned(), value.clone())),
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value.clone(),
        other => panic!("{pointer} is in {other}"),
    }
    document.to_string()
}

#[track_caller]
fn is_refused(document: &Value, faults: &[Fault]) {
    judge::create(&document.to_string()).all();
    for (pointer, value, reason) in faults {
        let said = judge::create(&doctored(document, pointer, value)).reason();
        assert!(said.contains(reason), "{pointer} = {value}: {said}");
    }
}

#[test]
fn a_broken_network_policy_is_refused() {
    let folder = learned(&demo(), &[]);
    let exported = folder.run(&["export", "--assume-protect"]);
    let long = "a".repeat(254);
    is_refused(
        &document(&exported, "statefulset-db-ingress"),
        &[
            ("/spec/ingress/0/ports/0/port", json!(0), "must be between 1 and 65535"),
            ("/spec/ingress/0/ports/0/port", json!("Http"), "must contain only alpha-numeric"),
            ("/spec/ingress/0/ports/0/protocol", json!("ICMP"), "Unsupported value: \"ICMP\""),
            ("/spec/ingress/0/from/0", json!({}), "must specify a peer"),
            (
                "/spec/ingress/0/from/0",
                json!({"ipBlock": {"cidr": "10.0.0.0"}}),
                "must be a valid CIDR value",
            ),
            ("/spec/podSelector/matchLabels", json!({"app": "a b"}), "a valid label must be"),
            ("/metadata/name", json!(long), "must be no more than 253"),
            ("/metadata/namespace", json!("Shop"), "metadata.namespace: Invalid value"),
            ("/metadata/namespace", Value::Null, "metadata.namespace: Required value"),
            ("/spec/tiers", json!([]), "unknown field \"spec.tiers\""),
            ("/spec/policyTypes", Value::Null, ".spec.policyTypes is stored as [\"Ingress\"]"),
            (
                "/spec/ingress/0/ports/0/protocol",
                Value::Null,
                ".spec.ingress[0].ports[0].protocol is stored as \"TCP\"",
            ),
            ("/spec/egress", json!([]), ".spec.egress is not stored"),
        ],
    );
}

#[test]
fn a_broken_authorization_policy_is_refused() {
    let folder = learned(&ztunnel(), &[]);
    folder.run(&["promote", "--all"]);
    is_refused(
        &document(&folder.run(&["export"]), "deployment-web-ingress"),
        &[
            ("/spec/action", json!("PERMIT"), "Unsupported value: \"PERMIT\""),
            ("/spec/rule", json!([]), "unknown field \"spec.rule\""),
            (
                "/spec/rules/0/to/0/operation/ports/0",
                json!(8080),
                "must be of type string: \"integer\"",
            ),
            ("/spec/selector/matchLabels", json!({"": "web"}), "key must not be empty"),
            ("/metadata/name", json!("a".repeat(254)), "must be no more than 253"),
        ],
    );
}

#[test]
fn a_broken_proposal_is_refused() {
    let folder = learned(&demo(), &[]);
    let proposal = document(&folder.proposals(), "statefulset-db-ingress");
    let rules = vec![proposal["status"]["rules"][0].clone(); 6000];
    is_refused(
        &proposal,
        &[
            ("/status/rules", json!(rules), "is too large for etcd"),
            ("/spec/backend", json!("istio"), "backend must match exactly one populated backend"),
            ("/spec/direction", json!("Sideways"), "Unsupported value: \"Sideways\""),
            ("/spec/mode", json!("protect"), "unknown field \"spec.mode\""),
            ("/status/ruleCount", json!("many"), "must be of type integer: \"string\""),
            ("/status/rule", json!([]), "unknown field \"status.rule\""),
        ],
    );
}

#[test]
fn a_changed_backend_is_refused() {
    let folder = learned(&demo(), &[]);
    let stored = document(&folder.proposals(), "statefulset-db-ingress");
    judge::update(&stored.to_string(), &stored.to_string()).all();
    let changed = doctored(&stored, "/spec/backend", &json!("istio"));
    let said = judge::update(&stored.to_string(), &changed).reason();
    assert!(said.contains("backend is immutable"), "{said}");
}

#[test]
fn only_a_sound_definition_is_accepted() {
    for name in ["workloadnetworkpolicies", "workloadnetworkpolicyproposals"] {
        let path = judge::definitions().join(format!("{name}.yaml"));
        let text = std::fs::read_to_string(path).unwrap();
        judge::create(&text).all();
        let faults = [
            ("self == oldSelf", "self == oldSelfie", "undeclared reference to 'oldSelfie'"),
            ("scope: Namespaced", "scope: Namespaced\n  size: 1", "unknown field \"spec.size\""),
            ("type: object", "maxProperties: 9", "type: Required value"),
            ("                type: string\n", "", "type: Required value"),
            ("scope: Namespaced", "scope: Everywhere", "Unsupported value: \"Everywhere\""),
            ("storage: true", "storage: false", "must have exactly one version marked as storage"),
        ];
        for (from, to, reason) in faults {
            assert!(text.contains(from), "{name} has no {from:?}");
            let said = judge::create(&text.replacen(from, to, 1)).reason();
            assert!(said.contains(reason), "{name}, {from:?}: {said}");
        }
    }
}
