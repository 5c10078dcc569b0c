use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use netenf_learn::directory::{Holder, PodEntry};
use netenf_learn::{Directory, PodName, Timestamp, Workload};
use rstest::rstest;
use serde_json::json;

use super::REMEMBERED;
use crate::object::{self, ClusterKind, Kind, Object};
use crate::{Diagnostic, Index};

mod sequence;

/// Objects of a text; policies may be told of.
fn objects(text: &str) -> Vec<Object> {
    let is_unread = |told: &&Diagnostic| told.message.contains("left out");
    let (objects, told) = object::read("test", text);
    assert_eq!(told.iter().find(is_unread), None);
    objects
}

fn object(text: &str) -> Object {
    objects(text).remove(0)
}

/// A pod of a `StatefulSet`, made again at each `hour` under its name, each on a node of its own.
fn again(hour: i64) -> Object {
    let text = json!({
        "kind": "Pod",
        "metadata": {
            "name": "db-0", "namespace": "shop", "uid": format!("u{hour}"),
            "generateName": "db-", "creationTimestamp": format!("2026-09-01T{hour:02}:00:00Z"),
        },
        "spec": {"nodeName": format!("n{hour}"), "containers": []},
        "status": {
            "phase": "Running", "podIP": "10.1.0.1",
            "startTime": format!("2026-09-01T{hour:02}:00:01Z"),
        },
    });
    object(&text.to_string())
}

/// The given time of the first of September.
fn at(time: &str) -> Timestamp {
    let time: jiff::Timestamp = format!("2026-09-01T{time}Z").parse().unwrap();
    Timestamp(i64::try_from(time.as_nanosecond()).unwrap())
}

/// The node of the pod that held the address of `again` at that time.
fn node_at(index: &Index, time: Option<&str>) -> Option<Arc<str>> {
    match index.holder("10.1.0.1".parse().unwrap(), time.map(at))? {
        Holder::Pod(pod) => pod.node,
        Holder::Node { .. } | Holder::ApiServer => None,
    }
}

const WORLD: &str = "
{kind: Namespace, metadata: {name: shop, labels: {team: a}}}
---
{kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, address: 10.0.0.4}]}}
---
{kind: Pod, metadata: {name: web-a, generateName: web-, namespace: shop, labels: {app: web, one: a}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}, spec: {nodeName: n1, containers: []}, status: {podIP: 10.1.0.9}}
";

#[rstest]
#[case::pod(
    "{kind: Pod, metadata: {name: web-b, generateName: web-, namespace: shop, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}, spec: {serviceAccountName: robot, containers: [{name: c, ports: [{containerPort: 80}]}]}, status: {podIPs: [{ip: 10.1.0.8}, {ip: 10.1.0.9}]}}"
)]
#[case::bare_pod(
    "{kind: Pod, metadata: {name: bare, namespace: alone}, status: {podIP: 10.1.0.9}}"
)]
#[case::pod_on_the_hosts_network(
    "{kind: Pod, metadata: {name: agent, namespace: alone}, spec: {hostNetwork: true, nodeName: n1, containers: []}, status: {podIP: 10.0.0.4}}"
)]
#[case::replica_set(
    "{kind: ReplicaSet, metadata: {name: web-1, namespace: shop, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: u, controller: true}]}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}"
)]
#[case::deployment(
    "{kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}"
)]
#[case::stateful_set(
    "{kind: StatefulSet, metadata: {name: db, namespace: alone}, spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}}}}"
)]
#[case::daemon_set(
    "{kind: DaemonSet, metadata: {name: agent, namespace: alone}, spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}}}}"
)]
#[case::job(
    "{kind: Job, metadata: {name: report-1, namespace: alone, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: report, uid: u, controller: true}]}, spec: {template: {metadata: {labels: {app: report}}, spec: {containers: []}}}}"
)]
#[case::cron_job(
    "{kind: CronJob, metadata: {name: report, namespace: alone}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {metadata: {labels: {app: report}}, spec: {containers: []}}}}}}"
)]
#[case::service(
    "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.96.0.9, selector: {app: web}, ports: [{port: 80, nodePort: 30080}]}}"
)]
#[case::slice(
    "{kind: EndpointSlice, addressType: IPv4, metadata: {name: web-x, namespace: shop, labels: {kubernetes.io/service-name: web}}, endpoints: [{addresses: [10.1.0.9], targetRef: {kind: Pod, name: web-a}}], ports: [{name: '', port: 80}]}"
)]
#[case::endpoints_of_the_api_server(
    "{kind: Endpoints, metadata: {name: kubernetes, namespace: default}, subsets: [{addresses: [{ip: 10.0.0.2}], ports: [{port: 6443}]}]}"
)]
#[case::node(
    "{kind: Node, metadata: {name: n0}, spec: {podCIDR: 10.1.0.0/24}, status: {addresses: [{type: InternalIP, address: 10.0.0.4}]}}"
)]
#[case::namespace("{kind: Namespace, metadata: {name: alone}}")]
#[case::policy_that_is_told_of(
    "{kind: NetworkPolicy, metadata: {name: p, namespace: alone}, spec: {podSelector: {}, policyTypes: [Sideways]}}"
)]
#[case::cluster_policy_that_is_told_of(
    "{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: {name: p}, spec: {priority: 2, subject: {}}}"
)]
#[case::ours(
    "{apiVersion: networkenforcer.kubewarden.io/v1alpha1, kind: WorkloadNetworkPolicy, metadata: {name: web, namespace: alone}, spec: {backend: kubernetes}}"
)]
#[case::without_a_template(
    "{apiVersion: x/v1, kind: Other, metadata: {name: web, namespace: alone}}"
)]
#[case::of_a_kind_that_is_not_known(
    "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}}"
)]
fn a_deleted_object_is_as_if_it_had_never_been_there(#[case] text: &str) {
    let expected = Index::of(objects(WORLD));
    let deleted = |one: &Object| {
        let mut index = Index::of(objects(WORLD).into_iter().chain([one.clone()]));
        index.delete(one, at("10:00:00"));
        index
    };
    let replaced = |one: &Object| {
        let mut index = Index::of(objects(WORLD).into_iter().chain([one.clone()]));
        let left = objects(WORLD).into_iter().filter(|left| left.kind() == one.kind());
        index.replace(&one.kind(), left, at("10:00:00"));
        index
    };
    let one = object(text);
    for mut index in [deleted(&one), replaced(&one)] {
        index.forget(at("10:06:00"));
        assert_eq!(index, expected);
    }
}

/// An address belongs to the pod that was alive at the flow's time (DESIGN §3). The pod of 10 o'clock went at
/// 10:30, that of 11 o'clock when that of 12 o'clock was made.
#[rstest]
#[case::before("09:00:00", None)]
#[case::first("10:20:00", Some("n10"))]
#[case::between("10:45:00", None)]
#[case::second("11:20:00", Some("n11"))]
#[case::third("12:20:00", Some("n12"))]
fn pods_that_are_gone_hold_their_addresses_as_long_as_they_lived(
    #[case] time: &str,
    #[case] expected: Option<&str>,
) {
    let mut index = Index::of([again(10)]);
    index.delete(&again(10), at("10:30:00"));
    index.apply(again(11));
    index.apply(again(12));
    assert_eq!(node_at(&index, Some(time)), expected.map(Arc::from));
    assert_eq!(node_at(&index, None), Some("n12".into()));
    assert!(index.is_reused("10.1.0.1".parse().unwrap()));
}

#[test]
fn of_pods_of_one_name_the_later_one_is_there_whichever_comes_first() {
    let indices = [Index::of([again(10), again(11)]), Index::of([again(11), again(10)])];
    for mut index in indices {
        let times = [Some("10:20:00"), Some("11:20:00"), None];
        let nodes = times.map(|time| node_at(&index, time).unwrap());
        assert_eq!(nodes, ["n10", "n11", "n11"].map(Arc::from));
        // What comes late of the first is not of the second.
        index.delete(&again(10), at("12:00:00"));
        assert_eq!(node_at(&index, None), Some("n11".into()));
    }
}

/// A pod without a UID, as in an export that was stripped of them, is known by its name.
#[test]
fn a_pod_without_a_uid_is_the_one_of_its_name() {
    let stripped = object("{kind: Pod, metadata: {name: db-0, namespace: shop}}");
    let mut index = Index::of([again(10), stripped.clone()]);
    assert_eq!(index, Index::of([stripped.clone()]));
    index.delete(&stripped, at("10:00:00"));
    index.forget(at("11:00:00"));
    assert_eq!(index, Index::default());
}

#[rstest]
#[case::by_name(PodName::Exact("db-0".into()))]
#[case::by_the_beginning_of_its_name(PodName::Generated("db-".into()))]
fn a_pod_that_is_gone_is_known_for_five_minutes(#[case] name: PodName) {
    let mut index = Index::of([again(10)]);
    let expected = index.pod("shop", &name);
    assert!(expected.is_some());
    index.delete(&again(10), at("10:30:00"));
    index.forget(Timestamp(at("10:30:00").0 + i64::try_from(REMEMBERED.as_nanos()).unwrap()));
    assert_eq!(index.pod("shop", &name), expected);
    assert_eq!(index.ends_of(&Workload::new("shop", "Pod", "db-0")), None);
    index.forget(at("10:35:00.000000001"));
    assert_eq!(index, Index::default());
}

/// A Job is collected before its pods.
#[test]
fn pods_that_go_after_their_job_are_its_cron_jobs() {
    let pod = "{kind: Pod, metadata: {name: report-1-x, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: report-1, uid: u, controller: true}]}}";
    let job = "{kind: Job, metadata: {name: report-1, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: report, uid: u, controller: true}]}, spec: {template: {}}}";
    let name = PodName::Exact("report-1-x".into());
    let owner = |index: &Index| index.pod("shop", &name).map(|pod: PodEntry| pod.workload);
    let mut index = Index::of([object(pod), object(job)]);
    let report = Some(Workload::new("shop", "CronJob", "report"));
    index.delete(&object(job), at("10:00:00"));
    assert_eq!(owner(&index), report);
    assert_eq!(index.top_workloads().next(), None);
    index.delete(&object(pod), at("10:00:10"));
    assert_eq!(owner(&index), report);
    index.forget(at("10:06:00"));
    assert_eq!(index, Index::default());
}

#[test]
fn an_object_that_is_made_again_is_not_forgotten_with_the_old_one() {
    let set = |owner: &str| {
        object(&format!(
            "{{kind: ReplicaSet, metadata: {{name: web-1, namespace: shop, ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: {owner}, uid: u, controller: true}}]}}}}"
        ))
    };
    let mut index = Index::of([set("old")]);
    index.delete(&set("old"), at("10:00:00"));
    index.apply(set("web"));
    index.forget(at("11:00:00"));
    assert_eq!(index, Index::of([set("web")]));
}

/// A new version takes the place of the old one in all that was told by it.
#[rstest]
#[case::owner_that_is_none_any_more(
    "{kind: ReplicaSet, metadata: {name: web-1, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}}",
    "{kind: ReplicaSet, metadata: {name: web-1, namespace: shop}}"
)]
#[case::labels_of_a_pod(
    "{kind: Pod, metadata: {name: web-b, namespace: shop, labels: {app: other}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}}",
    "{kind: Pod, metadata: {name: web-b, namespace: shop, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: u, controller: true}]}}"
)]
#[case::service_of_a_slice(
    "{kind: EndpointSlice, addressType: IPv4, metadata: {name: x, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}, endpoints: [{addresses: [10.0.0.2]}], ports: [{port: 6443}]}",
    "{kind: EndpointSlice, addressType: IPv4, metadata: {name: x, namespace: default, labels: {kubernetes.io/service-name: web}}, endpoints: [{addresses: [10.0.0.2]}], ports: [{port: 6443}]}"
)]
#[case::template_of_a_kind_that_is_not_known(
    "{apiVersion: x/v1, kind: Other, metadata: {name: web, namespace: alone, ownerReferences: [{apiVersion: x/v1, kind: Owner, name: web, uid: u, controller: true}]}, spec: {template: {metadata: {labels: {app: web}}}}}",
    "{apiVersion: x/v1, kind: Other, metadata: {name: web, namespace: alone}, spec: {workloadRef: {name: web}}}"
)]
fn nothing_is_left_of_an_older_version(#[case] older: &str, #[case] newer: &str) {
    let with = |versions: &[&str]| {
        let versions = versions.iter().map(|text| object(text));
        Index::of(objects(WORLD).into_iter().chain(versions))
    };
    assert_eq!(with(&[older, newer]), with(&[newer]));
}

/// A list of cluster-wide policies of one kind says nothing of another kind.
#[test]
fn a_list_replaces_the_objects_of_its_kind_only() {
    let policy = |kind: &str, name: &str| {
        object(&format!(
            "{{apiVersion: policy.networking.k8s.io/v1alpha1, kind: {kind}, metadata: {{name: {name}}}, spec: {{priority: 2, subject: {{namespaces: {{}}}}}}}}"
        ))
    };
    let admin = |name: &str| policy("AdminNetworkPolicy", name);
    let baseline = policy("BaselineAdminNetworkPolicy", "default");
    let mut index = Index::of([admin("a"), admin("b"), baseline.clone()]);
    let kind = Kind::ClusterPolicy(ClusterKind::AdminNetworkPolicy);
    index.replace(&kind, [admin("b"), admin("c")], at("10:00:00"));
    assert_eq!(index, Index::of([admin("b"), admin("c"), baseline]));
}

/// The `number`th pod and its Job, of a `CronJob`; in names `{}` stands for the number.
fn made(number: i64, job: &str, pod: &str) -> [Object; 2] {
    let named = |pattern: &str| pattern.replace("{}", &number.to_string());
    let metadata = |name: &str, kind: &str, owner: &str| ObjectMeta {
        name: Some(named(name)),
        namespace: Some("shop".to_owned()),
        uid: Some(number.to_string()),
        creation_timestamp: Some(Time(jiff::Timestamp::from_second(number).unwrap())),
        generate_name: Some(named("{}-")),
        labels: Some([("number".to_owned(), number.to_string())].into()),
        owner_references: Some(vec![OwnerReference {
            kind: kind.to_owned(),
            name: named(owner),
            controller: Some(true),
            ..OwnerReference::default()
        }]),
        ..ObjectMeta::default()
    };
    let address = format!("10.1.{}.{}", 100 + number / 100 % 100, 100 + number % 100);
    let status = PodStatus { pod_ip: Some(address), ..PodStatus::default() };
    [
        Object::Job(Job { metadata: metadata(job, "CronJob", "top"), ..Job::default() }),
        Object::Pod(Pod {
            metadata: metadata(pod, "Job", job),
            status: Some(status),
            ..Pod::default()
        }),
    ]
}

/// Every second a pod is made, and its predecessor goes with a word or is taken the name without one.
#[rstest]
#[case::of_one_name("db", "db-0")]
#[case::of_ever_new_names("web", "web-{}")]
#[case::with_their_owners("report-{}", "report-{}-x")]
fn memory_does_not_grow_with_pods_that_are_made_again(#[case] owner: &str, #[case] name: &str) {
    let mut index = Index::default();
    let mut sizes = BTreeSet::new();
    // All numbers have as many digits, so that an index of as much is as long when it is written out.
    for number in 10_000..20_000 {
        let now = Timestamp::from_seconds(number);
        for object in made(number, owner, name) {
            index.apply(object.clone());
            if name.contains("{}") || number % 2 == 0 {
                index.delete(&object, now);
            }
        }
        if number % 1000 == 0 {
            index.forget(now);
            sizes.insert(format!("{index:?}").len());
        }
    }
    // The first is of one pod, all others are of five minutes.
    assert_eq!(sizes.len(), 2);
    for object in made(19_999, owner, name) {
        index.delete(&object, Timestamp::from_seconds(20_000));
    }
    index.forget(Timestamp::from_seconds(30_000));
    assert_eq!(index, Index::default());
}
