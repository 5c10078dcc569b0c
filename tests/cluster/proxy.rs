//! The proxy before an API server does what tests of faults suppose of it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use netenf_testkit::control_plane::proxy::{Fate, Proxy, Stage};
use netenf_testkit::control_plane::{Client, ControlPlane};
use tokio::time::timeout;

use crate::{admin, apply, connect, create_namespace, refusal};

const SOON: Duration = Duration::from_mins(1);

/// An account that may do everything in a namespace of that name, and a proxy for it.
fn proxied(namespace: &str) -> (Proxy, Client) {
    create_namespace(namespace);
    apply(&format!(
        "apiVersion: v1
kind: ServiceAccount
metadata: {{name: asking, namespace: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: asking, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}
subjects: [{{kind: ServiceAccount, name: asking, namespace: {namespace}}}]
"
    ));
    let plane = ControlPlane::shared();
    let proxy = Proxy::start(plane).unwrap();
    let client = proxy.client(&plane.service_account(namespace, "asking").unwrap()).unwrap();
    (proxy, client)
}

fn config_maps(namespace: &str) -> String {
    let list = ["get", "configmaps", "-n", namespace, "-o=name", "--field-selector"];
    admin().kubectl(&[&list[..], &["metadata.name!=kube-root-ca.crt"]].concat()).unwrap()
}

#[test]
fn a_request_is_passed_on_in_the_clients_name_and_recorded() {
    let (proxy, client) = proxied("passing");
    let who = ["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    assert_eq!(client.kubectl(&who).unwrap(), "system:serviceaccount:passing:asking");
    refusal(client.kubectl(&["get", "--raw=/api/v1/namespaces/default/configmaps"]));
    let records = proxy.records();
    let last = records.last().unwrap();
    let said = (last.request.method.as_str(), last.request.path.as_str(), last.status);
    assert_eq!(said, ("GET", "/api/v1/namespaces/default/configmaps", Some(403)));

    let by_certificate = ControlPlane::shared().user("jane", None).unwrap();
    assert!(proxy.client(&by_certificate).is_err(), "a certificate does not go through");
}

/// What is answered in place of the API server, and the two ways of being cut off from it.
#[test]
fn a_request_fails_before_or_after_it_was_carried_out() {
    let (proxy, client) = proxied("failing");
    let create =
        |name| client.kubectl(&["create", "configmap", name, "-n=failing", "--validate=false"]);
    let at = |stage: fn(Stage) -> bool, fate| {
        proxy.decide(
            move |request, now| {
                if request.method == "POST" && stage(now) { fate } else { Fate::Pass }
            },
        );
    };
    let busy = Fate::Answer { status: 500, retry_after: None };

    at(|stage| stage == Stage::Asked, busy);
    assert!(refusal(create("one")).contains("the proxy of a test says so"));
    at(|stage| stage == Stage::Asked, Fate::Cut);
    assert!(refusal(create("two")).contains("EOF"));
    assert_eq!(config_maps("failing"), "", "the API server saw nothing");
    assert_eq!(proxy.records().last().unwrap().status, None);

    at(|stage| stage == Stage::Answered(201), busy);
    assert!(refusal(create("three")).contains("the proxy of a test says so"));
    at(|stage| stage == Stage::Answered(201), Fate::Cut);
    assert!(refusal(create("four")).contains("EOF"));
    assert_eq!(config_maps("failing"), "configmap/four\nconfigmap/three\n");
}

/// kubectl waits as long as it is asked to, which only the header says.
#[test]
fn a_busy_server_says_when_to_come_again() {
    let (proxy, client) = proxied("busy");
    let asked = Arc::new(AtomicUsize::new(0));
    proxy.decide(move |request, stage| {
        let is_first = request.is_about("configmaps")
            && stage == Stage::Asked
            && asked.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first {
            Fate::Answer { status: 429, retry_after: Some(Duration::from_secs(2)) }
        } else {
            Fate::Pass
        }
    });
    client.kubectl(&["get", "configmaps", "-n=busy"]).unwrap();
    let records = proxy.records();
    let asked: Vec<_> =
        records.iter().filter(|record| record.request.is_about("configmaps")).collect();
    assert_eq!(asked.iter().map(|it| it.status).collect::<Vec<_>>(), [Some(429), Some(200)]);
    assert!(asked[1].at - asked[0].at >= Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_each_change_when_it_happens() {
    let (_proxy, client) = proxied("following");
    let maps: Api<ConfigMap> = Api::namespaced(connect(&client).await, "following");
    let parameters = WatchParams::default().fields("metadata.name=news").disable_bookmarks();
    let stream = timeout(SOON, maps.watch(&parameters, "0")).await.unwrap().unwrap();
    let mut events = pin!(stream);
    let manifest =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: news, namespace: following}}";
    apply(manifest);
    let event = timeout(SOON, events.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Added(_)), "{event:?}");
    admin().kubectl(&["delete", "configmap/news", "-n=following"]).unwrap();
    let event = timeout(SOON, events.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Deleted(_)), "{event:?}");
}

#[test]
fn the_cluster_looks_like_one_namespace_to_those_who_list_it() {
    let (_, all) = proxied("seen");
    create_namespace("unseen");
    for namespace in ["seen", "unseen"] {
        admin().kubectl(&["create", "configmap", "here", "-n", namespace]).unwrap();
    }
    let plane = ControlPlane::shared();
    let proxy = Proxy::start_for_namespace(plane, "seen").unwrap();
    let account = plane.service_account("seen", "asking").unwrap();
    let client = proxy.client(&account).unwrap();
    let list = "get configmaps -A -o=jsonpath={.items[*].metadata.namespace} --field-selector=metadata.name=here";
    let list: Vec<&str> = list.split(' ').collect();
    assert_eq!(client.kubectl(&list).unwrap(), "seen");
    // Without it the account would have to be allowed to see all.
    refusal(all.kubectl(&list));
}
