//! Policies of all tiers from their objects to verdicts: cases with the right verdicts, the API's own vectors, and
//! whatever policies other people wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use netenf_k8s::{Diagnostic, Index, Object, object};
use netenf_policy::cluster_policy::Effective;
use netenf_policy::{Engine, Packet, Protocol, Transport};
use rstest::rstest;
use serde_json::{Value, json};

/// Verdicts that the list of cases leaves open or that our decisions settle: both ends of 25 are on one node, and a
/// node may always reach its own pods.
const SETTLED: [(&str, &str); 4] =
    [("e00", "DENY"), ("e15", "DENY"), ("e21", "ALLOW"), ("e25", "ALLOW")];

/// Kinds by the name of their list in a case.
const LISTS: [(&str, &str, &str); 7] = [
    ("Namespaces", "v1", "Namespace"),
    ("Pods", "v1", "Pod"),
    ("Nodes", "v1", "Node"),
    ("NetworkPolicies", "networking.k8s.io/v1", "NetworkPolicy"),
    ("ANPs", "policy.networking.k8s.io/v1alpha1", "AdminNetworkPolicy"),
    ("BANPs", "policy.networking.k8s.io/v1alpha1", "BaselineAdminNetworkPolicy"),
    ("CNPs", "policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy"),
];

/// The index of a case.
fn index_of(case: &Value) -> Index {
    let lists = LISTS.iter().filter(|(name, _, _)| case.get(name).is_some());
    let objects = lists.flat_map(|(name, version, kind)| {
        let kind = format!("{kind}List");
        let list = json!({"apiVersion": version, "kind": kind, "items": case[name]});
        let (objects, told) = object::read("case", &list.to_string());
        assert_eq!(told, []);
        objects
    });
    Index::of(objects)
}

fn packet(packet: &Value) -> Packet {
    let address = |field: &str| packet[field].as_str().unwrap().parse().unwrap();
    let port = u16::try_from(packet["DPort"].as_u64().unwrap()).unwrap();
    let transport = match packet["Proto"].as_str().unwrap() {
        "TCP" => Transport::Port(Protocol::Tcp, port),
        "UDP" => Transport::Port(Protocol::Udp, port),
        "SCTP" => Transport::Port(Protocol::Sctp, port),
        _ => Transport::Other,
    };
    Packet { source: address("Src"), destination: address("Dst"), transport }
}

/// The verdicts of both evaluators, which must be the same.
fn verdicts(case: &Value) -> Vec<&'static str> {
    let cluster = index_of(case).cluster();
    let snapshot = Engine::new(cluster.clone()).publish();
    let allowed = case["Packets"].as_array().unwrap().iter().map(|one| {
        let packet = packet(one);
        let explained = cluster.explain(&packet, Duration::ZERO).allowed();
        assert_eq!(snapshot.verdict(&packet, Duration::ZERO).allowed(), explained, "{one}");
        explained
    });
    allowed.map(|allowed| if allowed { "ALLOW" } else { "DENY" }).collect()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_case_of_the_tiers_has_the_right_verdicts() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let folder = shared.join("peers/knp-oracle/cases");
    let list = json_of(&folder.join("index.json"));
    let cases = list.as_object().unwrap();
    assert_eq!(cases.len(), 27);
    for (file, about) in cases {
        let name = file.trim_end_matches(".json");
        let settled = SETTLED.iter().find(|(known, _)| *known == name);
        let right = about["right verdicts"].as_array().unwrap().iter();
        let right: Vec<&str> = match settled {
            Some((_, verdict)) => vec![verdict],
            None => right.map(|verdict| verdict.as_str().unwrap()).collect(),
        };
        assert_eq!(verdicts(&json_of(&folder.join(file))), right, "{file}: {}", about["title"]);
    }
}

/// The documents with which the API's own schema is tested, and what is told of those that it refuses.
#[rstest]
#[case::cidr("to: [{networks: [10.0.0.0/24, 'fd00::/8']}]", None)]
#[case::cluster_wide_deny("to: [{namespaces: {}}]", None)]
#[case::deny_with_ports(
    "to: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}, {udp: {destinationPort: {number: 53}}}, {sctp: {destinationPort: {number: 9003}}}]",
    None
)]
#[case::deny_with_named_ports(
    "to: [{namespaces: {}}], protocols: [{destinationNamedPort: web}]",
    None
)]
#[case::port_range(
    "to: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {range: {start: 8080, end: 9090}}}}]",
    None
)]
#[case::invalid_cidr("to: [{networks: [10.0.0.300/24]}]", Some("to[0].networks[0]"))]
#[case::named_port_and_networks(
    "to: [{networks: [10.0.0.0/24]}], protocols: [{destinationNamedPort: web}]",
    Some("protocols[0]")
)]
#[case::unknown_action("action: Reject, to: [{namespaces: {}}]", Some("action"))]
#[case::start_is_end(
    "to: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {range: {start: 8080, end: 8080}}}}]",
    Some("protocols[0].tcp.destinationPort.range")
)]
#[case::start_after_end(
    "to: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {range: {start: 9090, end: 8080}}}}]",
    Some("protocols[0].tcp.destinationPort.range")
)]
fn the_vectors_of_the_api_are_told_apart(
    #[case] rule: &str,
    #[case] refused: Option<&str>,
    #[values("v1alpha2", "v1beta1")] version: &str,
) {
    let action = if rule.starts_with("action") { "" } else { "action: Deny, " };
    let text = format!(
        "{{apiVersion: policy.networking.k8s.io/{version}, kind: ClusterNetworkPolicy, metadata: {{name: p}}, \
          spec: {{tier: Admin, priority: 10, subject: {{namespaces: {{}}}}, egress: [{{{action}{rule}}}]}}}}"
    );
    let (objects, told) = object::read("vector", &text);
    assert_eq!(told, []);
    let index = Index::of(objects);
    let places: Vec<&str> = index.diagnostics().map(|it| it.place.as_str()).collect();
    let place = refused.map(|path| format!("ClusterNetworkPolicy p: spec.egress[0].{path}"));
    assert_eq!(places, place.iter().map(String::as_str).collect::<Vec<_>>());
    let effective = index.cluster_policies()[0].egress[0].effective();
    assert_eq!(effective == Effective::DenyAll, refused.is_some());
}

/// What is told of policies that other people wrote: which, what, and how often. The API refuses all of it.
const TOLD: [(&str, &str, usize); 3] = [
    (
        "AdminNetworkPolicy gress-rules-gryffindor",
        "is missing: it is read as the empty one, which selects all",
        11,
    ),
    (
        "AdminNetworkPolicy ingress-to-ravenclaw",
        "is missing: it is read as the empty one, which selects all",
        1,
    ),
    (
        "NetworkPolicy ns1/egress-empty-port-range",
        "port and endPort make no range: the port matches nothing",
        1,
    ),
];

#[test]
fn other_peoples_policies_are_understood() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let mut files = Vec::new();
    gather(&shared.join("corpora/manifests"), &mut files);
    let (mut policies, mut told) = (0, BTreeMap::new());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let (objects, read) = object::read("file", &text);
        let is_policy =
            |it: &Object| matches!(it, Object::NetworkPolicy(_) | Object::ClusterPolicy(_));
        let index = Index::of(objects.into_iter().filter(is_policy));
        policies += index.policies().len() + index.cluster_policies().len();
        let of_policies = read.iter().filter(|it| format!("{it:?}").contains("Policy"));
        for Diagnostic { place, message } in of_policies.chain(index.diagnostics()) {
            let object = place.rsplit_once(": ").map_or(&**place, |(object, _)| object);
            *told.entry((object.to_owned(), message.clone())).or_insert(0) += 1;
        }
    }
    let expected = TOLD.map(|(object, message, count)| ((object.into(), message.into()), count));
    assert_eq!(told, BTreeMap::from(expected));
    assert!(policies > 250, "{policies} policies were read");
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(&path, files);
        } else if path.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json") {
            files.push(path);
        }
    }
}
