use rstest::rstest;

use super::*;
use crate::object;

/// Objects in this order and backwards: whatever comes first, the answers are the same.
fn indexes(text: &str) -> [Index; 2] {
    let (objects, told) = object::read("test", text);
    assert_eq!(told, []);
    [Index::of(objects.clone()), Index::of(objects.into_iter().rev())]
}

fn word(end: &End) -> String {
    match end {
        End::Pod(pod) => {
            format!("{}/{} {:?}", pod.namespace, pod.name.as_deref().unwrap_or("?"), pod.addresses)
        }
        End::Node { name, labels, addresses } => {
            let labels: Vec<_> = labels.iter().map(|(key, _)| key).collect();
            format!("node {name} {labels:?} {addresses:?}")
        }
        End::Address(address) => address.to_string(),
        End::Name(name) => name.to_string(),
        End::Unknown => "unknown".to_owned(),
    }
}

const NODE: &str = "{kind: Node, metadata: {name: n1, labels: {role: edge}}, status: {addresses: [{type: InternalIP, address: 10.0.0.1}, {type: InternalIP, address: 'fd00::1'}]}}";

/// A pod of `shop` with fields of its spec and of its status.
fn pod(name: &str, spec: &str, status: &str) -> String {
    format!(
        "{{kind: Pod, metadata: {{name: {name}, namespace: shop, ownerReferences: [{{apiVersion: apps/v1, kind: \
         DaemonSet, name: agent, uid: u, controller: true}}]}}, spec: {{containers: [], {spec}}}, status: {{{status}}}}}"
    )
}

#[rstest]
#[case::nobody("10.0.9.9", "10.0.9.9")]
#[case::a_node_by_this_address_only("fd00::1", "node n1 [\"role\"] [fd00::1]")]
#[case::a_pod_by_this_address_only("10.244.0.1", "shop/two [10.244.0.1]")]
#[case::the_running_one_of_two("10.244.0.2", "shop/later [10.244.0.2]")]
#[case::the_first_of_two_that_run("10.244.0.3", "shop/one [10.244.0.3]")]
#[case::not_a_finished_one("10.244.0.4", "10.244.0.4")]
#[case::the_node_of_a_pod_on_its_network("10.0.0.1", "node n1 [\"role\"] [10.0.0.1]")]
fn an_address_is_whose_it_is_now(#[case] address: &str, #[case] expected: &str) {
    let running = |name, ips: &str| pod(name, "", &format!("phase: Running, podIPs: [{ips}]"));
    let objects = [
        NODE.to_owned(),
        running("two", "{ip: 10.244.0.1}, {ip: 'fd00:244::1'}"),
        pod("early", "", "phase: Pending, podIP: 10.244.0.2"),
        running("later", "{ip: 10.244.0.2}"),
        running("other", "{ip: 10.244.0.3}"),
        running("one", "{ip: 10.244.0.3}"),
        pod("done", "", "phase: Succeeded, podIP: 10.244.0.4"),
        pod("agent", "nodeName: n1, hostNetwork: true", "phase: Running, podIP: 10.0.0.1"),
    ];
    for index in indexes(&objects.join("\n---\n")) {
        assert_eq!(word(&index.end_at(address.parse().unwrap())), expected);
    }
}

#[rstest]
#[case::no_such_workload(&[], "none")]
#[case::those_that_run(
    &[("a", "", "phase: Running, podIP: 10.244.0.1"), ("b", "", "phase: Failed")],
    "shop/a [10.244.0.1]",
)]
#[case::where_none_runs_one_that_may_come(&[("a", "", "phase: Succeeded")], "shop/? []")]
#[case::the_node_of_a_pod_on_its_network(
    &[("a", "nodeName: n1, hostNetwork: true", "podIP: 10.0.0.1")],
    "node n1 [\"role\"] [10.0.0.1, fd00::1]",
)]
#[case::of_a_node_that_is_not_known_the_pod_tells_the_address(
    &[("a", "nodeName: n2, hostNetwork: true", "podIP: 10.0.0.2")],
    "node n2 [] [10.0.0.2]",
)]
#[case::any_node_where_none_runs(
    &[("a", "hostNetwork: true", "phase: Succeeded")],
    "node n1 [\"role\"] [10.0.0.1, fd00::1]",
)]
fn a_workload_is_its_pods(#[case] pods: &[(&str, &str, &str)], #[case] expected: &str) {
    let pods = pods.iter().map(|(name, spec, status)| pod(name, spec, status));
    let objects: Vec<String> = pods.chain([NODE.to_owned()]).collect();
    for index in indexes(&objects.join("\n---\n")) {
        let ends = index.ends_of(&Workload::new("shop", "DaemonSet", "agent"));
        let words = ends.map(|ends| ends.iter().map(word).collect::<Vec<_>>().join(", "));
        assert_eq!(words.as_deref().unwrap_or("none"), expected);
    }
}

#[test]
fn some_node_runs_a_workload_where_no_node_is_known() {
    for index in indexes(&pod("a", "hostNetwork: true", "phase: Succeeded")) {
        let ends = index.ends_of(&Workload::new("shop", "DaemonSet", "agent")).unwrap();
        assert_eq!(ends.iter().map(word).collect::<Vec<_>>(), ["node  [] []"]);
    }
}

#[rstest]
#[case::a_job_that_is_done("Job", &["Succeeded", "Failed"], "")]
#[case::a_job_that_runs("Job", &["Failed", "Running"], "shop/pod-1 []")]
#[case::a_workload_that_starts_others("DaemonSet", &["Failed"], "shop/? []")]
fn finished_pods_are_none(#[case] kind: &str, #[case] phases: &[&str], #[case] expected: &str) {
    let pods = phases.iter().enumerate().map(|(number, phase)| {
        let pod = pod(&format!("pod-{number}"), "", &format!("phase: {phase}"));
        pod.replace("DaemonSet", kind)
    });
    for index in indexes(&pods.collect::<Vec<_>>().join("\n---\n")) {
        let ends = index.ends_of(&Workload::new("shop", kind, "agent")).unwrap();
        assert_eq!(ends.iter().map(word).collect::<Vec<_>>().join(", "), expected);
    }
}

#[test]
fn a_finished_pod_is_none() {
    for index in
        indexes("{kind: Pod, metadata: {name: web, namespace: shop}, status: {phase: Failed}}")
    {
        assert_eq!(index.ends_of(&Workload::new("shop", "Pod", "web")), Some(vec![]));
    }
}

#[test]
fn what_is_controlled_is_no_workload_of_its_own() {
    let set = "{kind: ReplicaSet, apiVersion: apps/v1, metadata: {name: web-1, namespace: shop, ownerReferences: \
               [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}, spec: {replicas: 0, \
               selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}";
    for index in indexes(set) {
        let all: Vec<&Workload> = index.top_workloads().collect();
        assert_eq!(all, [&Workload::new("shop", "Deployment", "web")]);
    }
}

#[test]
fn an_owner_without_a_kind_controls_nothing() {
    let pod = "{kind: Pod, metadata: {name: web, namespace: shop, ownerReferences: [{name: web, controller: true}]}}";
    let [index, _] = indexes(pod);
    let all: Vec<&Workload> = index.top_workloads().collect();
    assert_eq!(all, [&Workload::new("shop", "Pod", "web")]);
}
