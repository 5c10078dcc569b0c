use netenf_k8s::Index;
use netenf_k8s::object::{Object, read};
use rstest::rstest;

use super::{State, trim};
use crate::kind::Presence;

fn trimmed(object: Object) -> Object {
    match object {
        Object::Pod(it) => trim::pod(it),
        Object::Node(it) => trim::node(it),
        Object::ReplicaSet(it) => trim::replica_set(it),
        Object::Deployment(it) => trim::deployment(it),
        Object::StatefulSet(it) => trim::stateful_set(it),
        Object::DaemonSet(it) => trim::daemon_set(it),
        Object::Job(it) => trim::job(it),
        Object::CronJob(it) => trim::cron_job(it),
        other => panic!("no case is of {other:?}"),
    }
}

const METADATA: &str = "{name: web, namespace: shop, labels: {app: web}, \
    annotations: {kubectl.kubernetes.io/last-applied-configuration: bulk}, \
    managedFields: [{manager: bulk}], \
    ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: '1', controller: true}]}";

const POD: &str = "{nodeName: one, hostNetwork: false, serviceAccountName: web, \
    volumes: [{name: data, hostPath: {path: /bulk}}], \
    containers: [{name: web, image: bulk, env: [{name: PASSWORD, value: bulk}], ports: [{name: http, containerPort: 8080}]}], \
    initContainers: [{name: proxy, restartPolicy: Always, image: bulk, ports: [{containerPort: 15008}]}]}";

/// The index knows as much of what was trimmed, and nothing of the bulk is left.
#[rstest]
#[case::pod("v1", "Pod", &format!("spec: {POD}\nstatus: {{phase: Running, podIPs: [{{ip: 10.0.0.1}}], startTime: '2026-01-01T00:00:00Z', conditions: [{{type: bulk, status: 'True'}}]}}"))]
#[case::replica_set("apps/v1", "ReplicaSet", &format!("spec: {{selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}"))]
#[case::deployment("apps/v1", "Deployment", &format!("spec: {{selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}"))]
#[case::stateful_set("apps/v1", "StatefulSet", &format!("spec: {{serviceName: web, volumeClaimTemplates: [{{metadata: {{name: bulk}}}}], selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}"))]
#[case::daemon_set("apps/v1", "DaemonSet", &format!("spec: {{selector: {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}"))]
#[case::job("batch/v1", "Job", &format!("spec: {{template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}"))]
#[case::cron_job("batch/v1", "CronJob", &format!("spec: {{schedule: '* * * * *', jobTemplate: {{spec: {{template: {{metadata: {{labels: {{app: web}}}}, spec: {POD}}}}}}}}}"))]
#[case::node(
    "v1",
    "Node",
    "spec: {podCIDR: 10.1.0.0/24, podCIDRs: [10.1.0.0/24]}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.1}], images: [{names: [bulk]}]}"
)]
fn what_is_trimmed_tells_the_index_as_much(
    #[case] version: &str,
    #[case] kind: &str,
    #[case] rest: &str,
) {
    let text = format!("apiVersion: {version}\nkind: {kind}\nmetadata: {METADATA}\n{rest}\n");
    let (objects, diagnostics) = read("case", &text);
    assert_eq!(diagnostics, []);
    let short: Vec<Object> = objects.iter().cloned().map(trimmed).collect();
    assert!(!format!("{short:?}").contains("bulk"), "{short:?}");
    // Sorted by words, since the maps of an index have no order.
    let words = |objects: Vec<Object>| {
        let text = format!("{:?}", Index::of(objects));
        let mut words: Vec<String> = text.split([' ', ',', '{', '}']).map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(words(short), words(objects));
}

#[rstest]
#[case(State::Synced, Presence::Required, None)]
#[case(State::Absent, Presence::Optional, None)]
#[case(State::Absent, Presence::Required, Some("not served: its definition is not installed"))]
#[case(State::Starting, Presence::Optional, Some("not listed yet"))]
#[case(State::Forbidden("why".into()), Presence::Optional, Some("forbidden: why"))]
#[case(State::Failing("why".into()), Presence::Required, Some("failing: why"))]
fn only_what_is_known_is_ready(
    #[case] state: State,
    #[case] presence: Presence,
    #[case] expected: Option<&str>,
) {
    assert_eq!(state.fault(presence).as_deref(), expected);
}
