use rstest::rstest;

use crate::reach::tests::map;

/// Nothing but what a rule allows leaves `app=web`; nothing comes in.
const CLOSED: &str =
    "policy closed {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress, Egress]}";

/// A policy for all pods with these rules for what leaves them.
fn egress(rules: &str) -> String {
    format!(
        "cluster-policy out {{tier: Admin, priority: 1, subject: {{namespaces: {{}}}}, egress: [{rules}]}}"
    )
}

#[rstest]
#[case::nodes_alike_are_one_place(
    &["node n1 at=10.0.0.1", "node n2 at=10.0.0.2", "pod web app=web"], "",
    &["web > n1,n2: all", "web > 0.0.0.0/0: all", "n1,n2 > web: all", "0.0.0.0/0 > web: all"],
)]
#[case::a_node_reaches_its_own_pods(
    &["node n1 at=10.0.0.1", "node n2 at=10.0.0.2", "pod web app=web on=n1", CLOSED], "",
    &["n1,n2 > web: all partly"],
)]
#[case::rules_tell_nodes_apart(
    &["node n1 role=edge", "node n2 role=core", "node n3 role=core", "pod web app=web", CLOSED],
    "{action: Accept, to: [{nodes: {matchLabels: {role: core}}}]}",
    &["web > n2,n3: all"],
)]
#[case::names_that_a_rule_names(
    &["pod web app=web", CLOSED],
    "{action: Accept, to: [{domainNames: ['*.example.com', example.org]}], protocols: [{tcp: {destinationPort: {number: 443}}}]}",
    &["web > *.example.com,example.org: Tcp 443..=443"],
)]
#[case::a_name_below_another_gets_both(
    &["pod web app=web", CLOSED],
    "{action: Accept, to: [{domainNames: ['*.example.com']}], protocols: [{tcp: {destinationPort: {number: 443}}}]}, \
     {action: Accept, to: [{domainNames: [any0.example.com]}], protocols: [{tcp: {destinationPort: {number: 80}}}]}",
    &["web > any0.example.com: Tcp 80..=80, Tcp 443..=443", "web > *.example.com: Tcp 443..=443"],
)]
#[case::a_name_that_is_denied(
    &["pod web app=web"],
    "{action: Deny, to: [{networks: [0.0.0.0/0]}]}, {action: Accept, to: [{domainNames: [example.org]}]}",
    &["0.0.0.0/0 > web: all"],
)]
fn what_is_no_workload_is_a_place(
    #[case] objects: &[&str],
    #[case] rules: &str,
    #[case] expected: &[&str],
) {
    let policy = egress(rules);
    assert_eq!(map(&[objects, &[policy.as_str()]].concat()), expected);
}
