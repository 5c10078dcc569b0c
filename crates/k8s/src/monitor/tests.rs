use netenf_api::{Violation, ViolationReason, WorkloadNetworkPolicy};
use netenf_learn::proposal::{Peer, SeenEnd};
use netenf_policy::Labels;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn guard(mode: &str, spec: &Value) -> Guard {
    let mut spec = spec.clone();
    spec["mode"] = json!(mode);
    spec["backend"] = json!(if spec.get("istio").is_some() { "istio" } else { "kubernetes" });
    let spec = serde_json::from_value(spec).unwrap();
    Guard::new("WorkloadNetworkPolicy", "shop", "deployment-web-egress", &spec).unwrap()
}

pub(super) fn egress(rules: &Value) -> Guard {
    guard(
        "monitor",
        &json!({"kubernetes": {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Egress"], "egress": rules}}),
    )
}

pub(super) fn pod(name: &str) -> SeenEnd {
    SeenEnd {
        peer: Peer {
            kind: Some("Deployment".into()),
            namespace: Some("shop".into()),
            name: Some(name.into()),
            ..Peer::default()
        },
        labels: Some([("app", name)].into_iter().collect::<Labels>()),
    }
}

pub(super) fn kind(kind: &str, name: Option<&str>, address: Option<&str>) -> SeenEnd {
    let address = address.map(|address| address.parse().unwrap());
    let peer =
        Peer { kind: Some(kind.into()), name: name.map(Into::into), address, ..Peer::default() };
    SeenEnd { peer, labels: None }
}

pub(super) fn edge(source: SeenEnd, destination: SeenEnd, port: u16) -> SeenEdge {
    SeenEdge {
        source: source.into(),
        destination: destination.into(),
        protocol: netenf_policy::Protocol::Tcp,
        port,
        port_names: Vec::new(),
        count: 3,
        observations: 3,
        learned: true,
        skipped: None,
        first: Some(learn::Timestamp::from_seconds(100)),
        last: Some(learn::Timestamp::from_seconds(200)),
    }
}

fn edge_named(source: SeenEnd, destination: SeenEnd, port: u16, name: &str) -> SeenEdge {
    SeenEdge { port_names: vec![name.into()], ..edge(source, destination, port) }
}

pub(super) fn index() -> Index {
    read("
{kind: Node, metadata: {name: n2}, status: {addresses: [{type: InternalIP, address: 10.0.0.5}]}}
---
{kind: EndpointSlice, addressType: IPv4, metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}, endpoints: [{addresses: [10.0.0.2]}, {addresses: [10.0.0.3]}], ports: [{name: https, port: 6443, protocol: TCP}]}
")
}

pub(super) fn read(text: &str) -> Index {
    let (objects, told) = crate::object::read("test", text);
    assert_eq!(told, []);
    Index::of(objects)
}

#[rstest]
#[case::allowed(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}], "ports": [{"port": 5432}]}]), edge(pod("web"), pod("db"), 5432), false)]
#[case::other_port(json!([{"to": [{"podSelector": {"matchLabels": {"app": "db"}}}], "ports": [{"port": 5432}]}]), edge(pod("web"), pod("db"), 6379), true)]
#[case::not_selected(json!([]), edge(pod("api"), pod("db"), 5432), false)]
#[case::ingress_is_not_meant(json!([]), edge(pod("db"), pod("web"), 80), false)]
#[case::range(json!([{"ports": [{"port": 30000, "endPort": 31500}]}]), edge(pod("web"), pod("db"), 30_074), false)]
#[case::outside(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]), edge(pod("web"), kind("External", None, Some("203.0.113.7")), 443), false)]
#[case::other_outside(json!([{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]), edge(pod("web"), kind("External", None, Some("198.51.100.7")), 443), true)]
// The API server's rules are by the addresses of its endpoints; which of them was used is not known.
#[case::api_server(json!([{"to": [{"ipBlock": {"cidr": "10.0.0.3/32"}}], "ports": [{"port": 6443}]}]), edge(pod("web"), kind("ApiServer", None, None), 6443), false)]
#[case::api_server_denied(json!([{"to": [{"ipBlock": {"cidr": "10.0.9.0/24"}}]}]), edge(pod("web"), kind("ApiServer", None, None), 6443), true)]
#[case::node_by_its_address(json!([{"to": [{"ipBlock": {"cidr": "10.0.0.5/32"}}]}]), edge(pod("web"), kind("Node", Some("n2"), None), 10_250), false)]
#[case::other_node(json!([{"to": [{"ipBlock": {"cidr": "10.0.0.5/32"}}]}]), edge(pod("web"), kind("Node", Some("n9"), None), 10_250), true)]
#[case::nobody_knows_where(json!([{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]), edge(pod("web"), kind("Network", Some("pvt"), None), 80), true)]
#[case::nobody_knows_where_but_anywhere(json!([{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]}]), edge(pod("web"), kind("Network", Some("pvt"), None), 80), true)]
#[case::nobody_knows_which_pod(json!([{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]), edge(pod("web"), kind("Pod", Some("gone"), None), 80), true)]
#[case::whoever_it_is(json!([{"ports": [{"port": 80}]}]), edge(pod("web"), kind("Network", Some("pvt"), None), 80), false)]
#[case::by_the_ports_name(json!([{"to": [{"podSelector": {}}], "ports": [{"port": "pg"}]}]), edge_named(pod("web"), pod("db"), 5432, "pg"), false)]
#[case::by_another_ports_name(json!([{"to": [{"podSelector": {}}], "ports": [{"port": "http"}]}]), edge_named(pod("web"), pod("db"), 5432, "pg"), true)]
fn seen_traffic_is_judged_by_real_semantics(
    #[case] rules: Value,
    #[case] edge: SeenEdge,
    #[case] expected: bool,
) {
    let found = denied(&index(), &[egress(&rules)], std::slice::from_ref(&edge));
    assert_eq!(!found.is_empty(), expected, "{found:?}");
    if let [one] = found.as_slice() {
        assert_eq!(one.policy, ("shop".to_owned(), "deployment-web-egress".to_owned()));
        assert_eq!((one.direction, &one.edge), (Direction::Egress, &edge));
    }
}

/// The union of all policies that select an end decides.
#[test]
fn another_policy_may_allow_it() {
    let edges = [edge(pod("web"), pod("db"), 5432)];
    let none = egress(&json!([]));
    let mut other = egress(&json!([{}]));
    "hand-written".clone_into(&mut other.name);
    assert_eq!(denied(&index(), &[none.clone(), other], &edges), []);
    let native = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: open, namespace: shop}, \
        spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}}";
    let native = Index::of(crate::object::read("test", native).0);
    assert_eq!(denied(&native, &[none], &edges), []);
}

const OPEN: &str = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deployment-web-egress, namespace: shop, ownerReferences: [OWNER]}, \
    spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}}";
const OWNER: &str = "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicy, name: deployment-web-egress, uid: u, controller: true}";

/// What ours became is what protecting would replace; what is foreign stays in force (DESIGN section 5).
#[rstest]
#[case::what_ours_became(OWNER, 1)]
#[case::foreign("", 0)]
fn a_native_policy_of_our_name_counts_unless_ours_became_it(
    #[case] owner: &str,
    #[case] expected: usize,
) {
    let index = read(&OPEN.replace("OWNER", owner));
    let edges = [edge(pod("web"), pod("db"), 5432)];
    assert_eq!(denied(&index, &[egress(&json!([]))], &edges).len(), expected);
}

#[test]
fn istio_policies_judge_identities_at_the_server() {
    let spec = |principal: &str| {
        guard(
            "monitor",
            &json!({"istio": {"selector": {"matchLabels": {"app": "db"}}, "rules": [
                {"from": [{"source": {"principals": [principal]}}], "to": [{"operation": {"ports": ["5432"]}}]},
            ]}}),
        )
    };
    let mut caller = kind("ServiceAccount", Some("web"), None);
    caller.peer.identity = Some("cluster.local/ns/shop/sa/web".into());
    let edges = [edge(caller, pod("db"), 5432)];
    assert_eq!(denied(&index(), &[spec("cluster.local/ns/shop/sa/web")], &edges), []);
    let found = denied(&index(), &[spec("cluster.local/ns/shop/sa/other")], &edges);
    assert_eq!((found.len(), found[0].direction), (1, Direction::Ingress));
    // Over plain text there is no identity, which not even `*` admits; a prefix or suffix less so.
    for anyone in ["*", "cluster.local/*", "*/sa/web"] {
        assert_eq!(denied(&index(), &[spec(anyone)], &edges), [], "{anyone}");
        let plain = [edge(pod("web"), pod("db"), 5432)];
        assert_eq!(denied(&index(), &[spec(anyone)], &plain).len(), 1, "{anyone}");
    }
    let elsewhere = [edge(pod("web"), pod("api"), 5432)];
    assert_eq!(denied(&index(), &[spec("x")], &elsewhere), []);
}

fn denied_once(port: u16) -> Denied {
    Denied {
        policy: ("shop".to_owned(), "deployment-web-egress".to_owned()),
        direction: Direction::Egress,
        edge: edge(pod("web"), pod("db"), port),
        rule: None,
    }
}

/// Neither pods, client ports nor the mode are part of a violation's identity (case B80).
#[test]
fn a_violation_keeps_its_id() {
    let id = |denied: &Denied, mode| violation(denied, mode).unwrap().id;
    let one = denied_once(6379);
    assert_eq!(id(&one, Mode::Monitor), id(&one, Mode::Protect));
    assert_ne!(id(&one, Mode::Monitor), id(&denied_once(6380), Mode::Monitor));
    let mut other = one.clone();
    other.direction = Direction::Ingress;
    assert_ne!(id(&one, Mode::Monitor), id(&other, Mode::Monitor));
    let mut later = one.clone();
    (later.edge.count, later.edge.last) = (99, Some(learn::Timestamp::from_seconds(999)));
    assert_eq!(id(&one, Mode::Monitor), id(&later, Mode::Monitor));
}

fn policy() -> WorkloadNetworkPolicy {
    serde_json::from_value(json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1", "kind": "WorkloadNetworkPolicy",
        "metadata": {"name": "deployment-web-egress", "namespace": "shop"},
        "spec": {"backend": "kubernetes", "kubernetes": {"podSelector": {"matchLabels": {"app": "web"}}}},
    }))
    .unwrap()
}

#[test]
fn a_recurrence_adds_to_its_record_and_an_acknowledged_one_stays_acknowledged() {
    let mut policy = policy();
    let of = |port| violation(&denied_once(port), Mode::Monitor).unwrap();
    record(&mut policy, vec![of(6379)]);
    record(&mut policy, vec![of(6379), of(6380)]);
    let status = policy.status.as_mut().unwrap();
    assert_eq!((status.violation_count, status.active_violation_count), (9, 2));
    assert_eq!(
        status.violations.iter().map(|one| one.count).collect::<Vec<_>>().iter().sum::<i64>(),
        9
    );
    let at = status.violations.iter().position(|one| one.dst_port == Some(6379)).unwrap();
    let acknowledged = status.violations.remove(at);
    let at = acknowledged.last_seen.clone();
    status.acknowledged_violations.push(netenf_api::AcknowledgedViolation {
        violation: acknowledged,
        reason: "known".to_owned(),
        acknowledged_at: at,
        acknowledged_by: None,
        previous_mode: None,
    });
    record(&mut policy, vec![of(6379)]);
    assert_eq!(reported(&policy, vec![of(6379)]), [], "a person knows of it");
    let status = policy.status.unwrap();
    assert_eq!(status.active_violation_count, 1);
    assert_eq!(status.acknowledged_violations[0].violation.count, 9);
}

#[test]
fn violations_of_one_id_are_one_and_the_newest_come_first() {
    let of = |port, last| {
        let mut one = denied_once(port);
        one.edge.last = Some(learn::Timestamp::from_seconds(last));
        violation(&one, Mode::Monitor).unwrap()
    };
    let all = gathered(vec![of(6379, 10), of(6380, 20), of(6379, 30)]);
    let shown: Vec<_> =
        all.iter().map(|one| (one.dst_port, one.count, one.last_seen.0.as_second())).collect();
    assert_eq!(shown, [(Some(6379), 6, 30), (Some(6380), 3, 20)]);
}

#[test]
fn of_too_many_violations_the_newest_stay_and_the_rest_is_counted() {
    let mut policy = policy();
    let of = |port: u16| {
        let mut one = denied_once(port);
        one.edge.last = Some(learn::Timestamp::from_seconds(1_000 + i64::from(port)));
        violation(&one, Mode::Monitor).unwrap()
    };
    record(&mut policy, vec![of(150)]);
    record(&mut policy, (1..=150).map(of).collect());
    let told = reported(&policy, (1..=150).map(of).collect());
    let counts: Vec<_> = told.iter().map(|one| (one.dst_port, one.count)).collect();
    let expected: Vec<_> =
        (1..=150).map(|port| (Some(port), if port == 150 { 6 } else { 3 })).collect();
    assert_eq!(counts, expected, "what is cut is told, and what recurs with all of it");
    let status = policy.status.unwrap();
    assert_eq!((status.violations.len(), status.violations_truncated), (100, Some(50)));
    assert_eq!(status.violations[0].dst_port, Some(150));
    assert_eq!(status.violation_count, 453);
}

/// A cluster-wide policy on all pods with this egress rule.
pub(super) fn cluster_policy(tier: &str, rule: &str) -> crate::Object {
    let text = format!(
        "{{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {{name: guard}}, spec: \
         {{tier: {tier}, priority: 1, subject: {{namespaces: {{}}}}, egress: [{rule}]}}}}"
    );
    let (mut objects, told) = crate::object::read("test", &text);
    assert_eq!(told, []);
    objects.remove(0)
}

/// What every tier says counts: an Accept before ours, a Deny before and not one after, since ours isolate.
#[rstest]
#[case::accepted_before(
    "Admin",
    "{action: Accept, to: [{networks: [203.0.113.0/24]}]}",
    "[]",
    None
)]
#[case::accepted_by_name(
    "Admin",
    "{action: Accept, to: [{domainNames: ['*.example.com']}]}",
    "[]",
    None
)]
#[case::another_name(
    "Admin",
    "{action: Accept, to: [{domainNames: ['*.example.org']}]}",
    "[]",
    Some(ViolationReason::NoRule)
)]
#[case::passed(
    "Admin",
    "{action: Pass, to: [{networks: [0.0.0.0/0]}]}",
    "[]",
    Some(ViolationReason::NoRule)
)]
#[case::denied_before(
    "Admin",
    "{action: Deny, to: [{networks: [203.0.113.7/32]}]}",
    "[{}]",
    Some(ViolationReason::DeniedByPolicy)
)]
#[case::not_asked("Baseline", "{action: Deny, to: [{networks: [203.0.113.7/32]}]}", "[{}]", None)]
#[case::not_asked_either(
    "Baseline",
    "{action: Accept, to: [{networks: [203.0.113.7/32]}]}",
    "[]",
    Some(ViolationReason::NoRule)
)]
fn policies_of_every_tier_are_asked(
    #[case] tier: &str,
    #[case] rule: &str,
    #[case] ours: &str,
    #[case] reason: Option<ViolationReason>,
) {
    let mut outside = kind("External", None, Some("203.0.113.7"));
    outside.peer.names = vec!["api.example.com".into()];
    let edges = [edge(pod("web"), outside, 443)];
    let ours = egress(&serde_json::from_str(ours).unwrap());
    let index = Index::of([cluster_policy(tier, rule)]);
    assert_eq!(index.diagnostics().count(), 0);
    let found = denied(&index, &[ours], &edges);
    let records: Vec<Violation> =
        found.iter().map(|one| violation(one, Mode::Monitor).unwrap()).collect();
    assert_eq!(records.iter().map(|one| one.reason).collect::<Vec<_>>(), Vec::from_iter(reason));
    let decisions = records.into_iter().filter_map(|one| one.decided_by);
    let by_rule = decisions.filter(|one| one.rule.is_some());
    let expected =
        (reason == Some(ViolationReason::DeniedByPolicy)).then(|| netenf_api::Decision {
            tier: netenf_api::Tier::Admin,
            kind: Some("ClusterNetworkPolicy".to_owned()),
            namespace: None,
            name: Some("guard".to_owned()),
            rule: Some(0),
        });
    assert_eq!(by_rule.collect::<Vec<_>>(), Vec::from_iter(expected));
}
