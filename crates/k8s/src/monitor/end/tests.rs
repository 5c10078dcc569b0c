use rstest::rstest;
use serde_json::json;

use super::*;
use crate::monitor::denied;
use crate::monitor::tests::{cluster_policy, edge, egress, index, kind, pod, read};

/// Pods of `db` as they run: two on the pod network with one label more each, one that has finished, and one on
/// the host's network.
const PODS: &str = "
{kind: Deployment, metadata: {name: db, namespace: shop}, spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}}}}
---
{kind: ReplicaSet, metadata: {name: db-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: db, uid: u, controller: true}]}, spec: {selector: {matchLabels: {app: db}}}}
---
{kind: Pod, metadata: {name: db-a, namespace: shop, labels: {app: db, track: old}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-1, uid: u, controller: true}]}, spec: {containers: []}, status: {phase: Running, podIPs: [{ip: 10.244.1.10}, {ip: 'fd00::10'}]}}
---
{kind: Pod, metadata: {name: db-b, namespace: shop, labels: {app: db, track: new}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-1, uid: u, controller: true}]}, spec: {containers: []}, status: {phase: Running, podIP: 10.244.2.10}}
---
{kind: Pod, metadata: {name: db-c, namespace: shop, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-1, uid: u, controller: true}]}, spec: {containers: []}, status: {phase: Failed, podIP: 10.244.3.10}}
---
{kind: Pod, metadata: {name: db-d, namespace: shop, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: db-1, uid: u, controller: true}]}, spec: {hostNetwork: true, containers: []}, status: {phase: Running, podIP: 10.0.0.9}}
";

/// Blocks match the addresses of pods too (tiers reference, 1.4.10); which pod of a workload it was is not known.
#[rstest]
#[case::of_all_pods("app=db", "10.244.0.0/16", false)]
#[case::of_one_pod("app=db", "10.244.2.10/32", false)]
#[case::of_one_pod_by_its_other_family("app=db", "fd00::/64", false)]
#[case::of_no_pod("app=db", "10.244.9.0/24", true)]
#[case::of_a_pod_that_has_finished("app=db", "10.244.3.10/32", true)]
#[case::of_a_pod_on_the_hosts_network("app=db", "10.0.0.9/32", true)]
#[case::of_a_pod_with_the_labels_that_were_seen("app=db,track=new", "10.244.2.10/32", false)]
#[case::of_a_pod_with_other_labels("app=db,track=old", "10.244.2.10/32", true)]
#[case::of_anyone_but_nobody_has_the_labels("app=db,track=gone", "0.0.0.0/0", true)]
fn blocks_match_the_pods_that_may_have_been_seen(
    #[case] labels: &str,
    #[case] block: &str,
    #[case] expected: bool,
) {
    let mut destination = pod("db");
    let pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
    destination.labels = Some(pairs.collect());
    let edges = [edge(pod("web"), destination, 5432)];
    let guard = egress(&json!([{"to": [{"ipBlock": {"cidr": block}}]}]));
    assert_eq!(!denied(&read(PODS), &[guard], &edges).is_empty(), expected);
}

#[test]
fn a_denied_network_that_holds_every_pod_of_a_workload_denies_it() {
    let by = |network: &str| {
        let (mut index, rule) =
            (read(PODS), format!("{{action: Deny, to: [{{networks: [{network}]}}]}}"));
        index.apply(cluster_policy("Admin", &rule));
        let edges = [edge(pod("web"), pod("db"), 5432)];
        denied(&index, &[egress(&json!([{}]))], &edges).len()
    };
    assert_eq!((by("10.244.2.0/24"), by("'10.244.0.0/16', 'fd00::/64'")), (0, 1));
}

/// A rule for nodes sees the API server and a node by the node that has the address.
#[rstest]
#[case::of_the_api_server("{role: main}", kind("ApiServer", None, None), false)]
#[case::of_other_nodes("{role: other}", kind("ApiServer", None, None), true)]
#[case::of_a_node("{role: main}", kind("Node", Some("n1"), None), false)]
#[case::of_a_node_by_an_address_that_was_seen(
    "{role: main}",
    kind("Node", Some("n1"), Some("10.9.0.1")),
    false
)]
#[case::of_a_node_that_is_known_by_its_address(
    "{role: main}",
    kind("Node", Some("gone"), Some("10.0.0.2")),
    false
)]
#[case::of_an_address_outside("{role: main}", kind("External", None, Some("10.0.0.2")), true)]
fn rules_for_nodes_see_nodes(
    #[case] labels: &str,
    #[case] destination: SeenEnd,
    #[case] expected: bool,
) {
    let mut index = index();
    let node = "{kind: Node, metadata: {name: n1, labels: {role: main}}, status: {addresses: [{type: InternalIP, address: 10.0.0.2}]}}";
    index.apply(crate::object::read("test", node).0.remove(0));
    let rule = format!("{{action: Accept, to: [{{nodes: {{matchLabels: {labels}}}}}]}}");
    index.apply(cluster_policy("Admin", &rule));
    let edges = [edge(pod("web"), destination, 6443)];
    assert_eq!(!denied(&index, &[egress(&json!([]))], &edges).is_empty(), expected);
}
