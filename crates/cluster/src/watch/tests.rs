use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use netenf_k8s::Index;
use netenf_k8s::object::{Object, read};
use prometheus_client::registry::Registry;
use rstest::rstest;
use tower::service_fn;

use super::{Change, State, Watches, trim};
use crate::kind::{Kind, Presence};

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

const GONE: &str = r#"{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old resource version"}}"#;

/// What a server says that has pods only, and another pod at each list. The first watch of them is from a
/// version that it forgot; the next one is silent.
async fn answer(request: Request<Body>, lists: Arc<AtomicUsize>) -> Response<Body> {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let listed = lists.load(Ordering::Relaxed);
    let (code, text) = match (request.uri().path(), is_watch, listed) {
        ("/api/v1/pods", true, 1) => (200, format!("{GONE}\n")),
        ("/api/v1/pods", true, _) => std::future::pending().await,
        ("/api/v1/pods", false, _) => {
            lists.fetch_add(1, Ordering::Relaxed);
            let pod = format!(r#"{{"metadata": {{"name": "pod-{listed}", "namespace": "shop"}}}}"#);
            (200, format!(r#"{{"metadata": {{"resourceVersion": "7"}}, "items": [{pod}]}}"#))
        }
        _ => (404, r#"{"kind": "Status", "code": 404, "reason": "NotFound"}"#.to_owned()),
    };
    Response::builder().status(code).body(Body::from(text.into_bytes())).unwrap()
}

/// "410 Gone" is what a server says to a watch from a version that it no longer has (Kubernetes' documentation,
/// "API Concepts", efficient detection of changes).
#[tokio::test(start_paused = true)]
async fn a_kind_is_listed_again_where_the_server_forgot_what_came_in_between() {
    let lists = Arc::new(AtomicUsize::new(0));
    let server = service_fn(move |request| {
        let lists = lists.clone();
        async move { Ok::<_, Infallible>(answer(request, lists).await) }
    });
    let client = Client::new(server, "default");
    let mut watches = Watches::start(&client, &mut Registry::default());
    let mut listed = Vec::new();
    while listed.len() < 2 {
        match watches.changes.recv().await.unwrap() {
            Change::Replaced(Kind::Pod, objects) => listed.push(objects),
            Change::Replaced(kind, objects) => assert_eq!((kind, objects), (kind, Vec::new())),
            other => panic!("the server told nothing of {other:?}"),
        }
    }
    let names = listed.iter().flatten().map(|object| match object {
        Object::Pod(pod) => pod.metadata.name.as_deref().unwrap_or_default(),
        other => panic!("{other:?} is no pod"),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["pod-0", "pod-1"]);
    let states = watches.states.borrow();
    assert_eq!((&states[&Kind::Pod], &states[&Kind::Node]), (&State::Synced, &State::Absent));
}
