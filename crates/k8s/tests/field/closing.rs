//! Whatever stands in a cluster-wide policy, reading it never fails, and what is not understood never allows more.

use std::sync::Arc;
use std::time::Duration;

use netenf_k8s::{Index, object};
use netenf_policy::{Cluster, Packet, Transport};
use netenf_policy::{Protocol, cluster_policy::Effective};
use proptest::prelude::*;
use proptest::sample::{Index as Pick, select};
use serde_json::{Value, json};

/// Two namespaces, a policy of the one, and cluster-wide policies after the one in question.
const WORLD: &str = "
{kind: Namespace, metadata: {name: x, labels: {ns: x}}}
---
{kind: Namespace, metadata: {name: y, labels: {ns: y}}}
---
{kind: Node, metadata: {name: n, labels: {os: linux}}, status: {addresses: [{type: InternalIP, address: 192.168.0.1}]}}
---
{kind: Pod, metadata: {name: a, namespace: x, labels: {app: a}}, spec: {containers: [{name: c, ports: [{name: web, containerPort: 80}]}]}, status: {phase: Running, podIP: 10.0.0.1}}
---
{kind: Pod, metadata: {name: b, namespace: x, labels: {app: b}}, spec: {containers: []}, status: {phase: Running, podIP: 10.0.0.2}}
---
{kind: Pod, metadata: {name: c, namespace: y, labels: {app: a}}, spec: {containers: []}, status: {phase: Running, podIP: 10.0.1.3}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: p, namespace: x}, spec: {podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {}}]}]}}
---
{apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy, metadata: {name: after}, spec: {tier: Admin, priority: 900, subject: {namespaces: {}}, egress: [{action: Deny, to: [{networks: [203.0.113.0/24]}], protocols: [{tcp: {destinationPort: {number: 80}}}]}]}}
---
{apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy, metadata: {name: open}, spec: {tier: Admin, priority: 800, subject: {namespaces: {}}, ingress: [{action: Accept, from: [{namespaces: {}}], protocols: [{udp: {destinationPort: {number: 53}}}]}]}}
---
{apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy, metadata: {name: last}, spec: {tier: Baseline, priority: 900, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {matchLabels: {ns: y}}}]}]}}
";

const VERSIONS: [(&str, &str); 4] = [
    ("v1alpha1", "AdminNetworkPolicy"),
    ("v1alpha1", "BaselineAdminNetworkPolicy"),
    ("v1alpha2", "ClusterNetworkPolicy"),
    ("v1beta1", "ClusterNetworkPolicy"),
];

/// Members that these kinds have, and one that none has.
const MEMBERS: [&str; 28] = [
    "tier",
    "priority",
    "subject",
    "ingress",
    "egress",
    "name",
    "action",
    "from",
    "to",
    "ports",
    "protocols",
    "namespaces",
    "pods",
    "namespaceSelector",
    "podSelector",
    "nodes",
    "networks",
    "domainNames",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "tcp",
    "destinationPort",
    "range",
    "start",
    "unheard",
];

const WORDS: [&str; 12] = [
    "Admin",
    "Baseline",
    "Accept",
    "Allow",
    "Deny",
    "Pass",
    "0.0.0.0/0",
    "010.0.0.0/8",
    "*.example.com",
    "In",
    "Exists",
    "",
];

/// The cluster with the policy in question.
fn cluster((version, kind): (&str, &str), spec: &Value) -> Cluster {
    let mut index = Index::of(object::read("world", WORLD).0);
    let version = format!("policy.networking.k8s.io/{version}");
    let policy =
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "p"}, "spec": spec});
    for object in object::read("policy", &policy.to_string()).0 {
        index.apply(object);
    }
    index.cluster()
}

/// The verdicts on packets between all addresses of the world and one outside.
fn verdicts(cluster: &Cluster) -> Vec<(Packet, bool)> {
    let addresses = ["10.0.0.1", "10.0.0.2", "10.0.1.3", "192.168.0.1", "203.0.113.9"];
    let addresses = addresses.map(|address| address.parse().unwrap());
    let transports =
        [Transport::Port(Protocol::Tcp, 80), Transport::Port(Protocol::Udp, 53), Transport::Other];
    let pairs = addresses.iter().flat_map(|source| addresses.map(|other| (*source, other)));
    let packets = pairs.flat_map(|(source, destination)| {
        transports.map(|transport| Packet { source, destination, transport })
    });
    packets.map(|it| (it, cluster.explain(&it, Duration::ZERO).allowed())).collect()
}

/// Any document, of members that may be known.
fn garbage() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..1001_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(&WORDS[..]).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 64, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(select(&MEMBERS[..]), inner, 0..5)
                .prop_map(|members| json!(members)),
        ]
    })
}

/// A peer that every version knows in both directions, or (the last two) for egress.
fn peer(known: usize) -> impl Strategy<Value = Value> {
    let peers = [
        json!({"namespaces": {}}),
        json!({"namespaces": {"matchLabels": {"ns": "x"}}}),
        json!({"pods": {"namespaceSelector": {}, "podSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}}}),
        json!({"networks": ["203.0.113.0/24", "10.0.0.0/31"]}),
        json!({"nodes": {"matchLabels": {"os": "linux"}}}),
    ];
    select(peers[..known].to_vec())
}

fn rule(
    peers: &'static str,
    known: usize,
    actions: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let protocols = [
        json!([]),
        json!([{"tcp": {"destinationPort": {"number": 80}}}]),
        json!([{"udp": {"destinationPort": {"range": {"start": 50, "end": 60}}}}, {"sctp": {"destinationPort": {"number": 9}}}]),
    ];
    (select(actions), prop::collection::vec(peer(known), 1..3), select(protocols.to_vec()))
        .prop_map(move |(action, list, protocols)| {
            json!({"action": action, peers: list, "protocols": protocols})
        })
}

/// The spec of a ClusterNetworkPolicy with rules of these actions.
fn spec(actions: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let rules = |peers, known| prop::collection::vec(rule(peers, known, actions), 1..4);
    (select(vec!["Admin", "Baseline"]), peer(3), rules("from", 3), rules("to", 5)).prop_map(
        |(tier, subject, ingress, egress)| {
            json!({"tier": tier, "priority": 5, "subject": subject, "ingress": ingress, "egress": egress})
        },
    )
}

/// The places of a document, as JSON pointers.
fn places(at: &str, value: &Value, places: &mut Vec<String>) {
    places.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                self::places(&format!("{at}/{index}"), item, places);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                self::places(&format!("{at}/{name}"), member, places);
            }
        }
        _ => {}
    }
}

/// `spec` with something that nobody knows at a place: in place of what is there, or beside its members.
fn spoiled(spec: &Value, below: &[&str], pick: Pick, beside: bool) -> Value {
    let mut all = Vec::new();
    for at in below {
        places(at, spec.pointer(at).unwrap(), &mut all);
    }
    let mut spec = spec.clone();
    let place = spec.pointer_mut(&all[pick.index(all.len())]).unwrap();
    match place.as_object_mut().filter(|_| beside) {
        Some(members) => {
            members.insert("unheard".to_owned(), json!({"of": 1}));
        }
        None => *place = json!({"unheard": {"of": 1}}),
    }
    spec
}

/// Checks that whatever `spoiled` allows, `spec` allows too.
fn never_more(spec: &Value, spoiled: &Value) -> Result<(), TestCaseError> {
    let (before, after) =
        (verdicts(&cluster(VERSIONS[2], spec)), verdicts(&cluster(VERSIONS[2], spoiled)));
    for ((packet, before), (_, after)) in before.into_iter().zip(after) {
        prop_assert!(before || !after, "{packet:?}\n{spec}\n{spoiled}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every rule keeps its place, so that explanations point at what is written.
    #[test]
    fn anything_is_read(version in select(&VERSIONS[..]), spec in garbage()) {
        let cluster = cluster(version, &spec);
        let key = (Arc::from(version.1), Arc::from("p"));
        let policy = &cluster.cluster_policies[&key];
        for (name, rules) in [("ingress", &policy.ingress), ("egress", &policy.egress)] {
            if let Some(written) = spec.get(name).and_then(Value::as_array) {
                prop_assert_eq!(written.len(), rules.len());
            }
        }
        verdicts(&cluster);
    }

    #[test]
    fn what_is_unheard_of_in_a_rule_never_allows_more(
        spec in spec(&["Accept", "Deny", "Pass"]), pick in any::<Pick>(), beside in any::<bool>(),
    ) {
        let spoiled = spoiled(&spec, &["/ingress", "/egress"], pick, beside);
        never_more(&spec, &spoiled)?;
        let key = (Arc::from(VERSIONS[2].1), Arc::from("p"));
        let policy = &cluster(VERSIONS[2], &spoiled).cluster_policies[&key];
        let mut rules = policy.ingress.iter().chain(&policy.egress);
        prop_assert!(rules.any(|rule| rule.effective() != Effective::AsWritten), "{spoiled}");
    }

    /// Without Pass: a Pass that is not kept leaves the decision to what comes after it.
    #[test]
    fn what_is_unheard_of_in_a_policy_never_allows_more(
        spec in spec(&["Accept", "Deny"]), pick in any::<Pick>(), beside in any::<bool>(),
    ) {
        let spoiled = spoiled(&spec, &["/tier", "/priority", "/subject"], pick, beside);
        never_more(&spec, &spoiled)?;
    }
}
