//! What the server says to our writes.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::NetworkPolicy;
use netenf_api::WorkloadNetworkPolicy;
use netenf_cluster::apply::{Cause, Ownership, WriteError, Writer};
use netenf_testkit::control_plane::{Client, ControlPlane};
use prometheus_client::registry::Registry;
use serde_json::json;

use crate::{admin, apply, connect, create_namespace};

async fn writer(client: &Client) -> Writer {
    Writer::new(connect(client).await, &mut Registry::default())
}

fn policy(namespace: &str, name: &str, mode: &str) -> WorkloadNetworkPolicy {
    let policy = json!({
        "apiVersion": "networkenforcer.kubewarden.io/v1alpha1",
        "kind": "WorkloadNetworkPolicy",
        "metadata": { "name": name, "namespace": namespace },
        "spec": {
            "mode": mode,
            "backend": "kubernetes",
            "kubernetes": { "podSelector": { "matchLabels": { "app": "web" } } },
        },
    });
    serde_json::from_value(policy).unwrap()
}

/// The failure and its cause, as people read them.
#[track_caller]
fn failure<T>(answer: Result<T, WriteError>) -> String {
    let Err(error) = answer else { panic!("it is written") };
    format!("{error}: {}", error.cause)
}

fn jsonpath(object: &str, namespace: &str, path: &str) -> String {
    let output = format!("-o=jsonpath={{{path}}}");
    admin().kubectl(&["get", object, "-n", namespace, &output]).unwrap()
}

#[tokio::test]
async fn what_a_person_set_stays_where_they_may_edit_and_is_taken_back_where_they_may_not() {
    create_namespace("ownership");
    let writer = writer(admin()).await;
    writer.apply(&policy("ownership", "web", "monitor"), Ownership::Shared).await.unwrap();
    let edit = r#"{"spec": {"mode": "protect"}}"#;
    admin().kubectl(&["patch", "wnp", "web", "-n=ownership", "--type=merge", "-p", edit]).unwrap();

    let refused = writer.apply(&policy("ownership", "web", "monitor"), Ownership::Shared).await;
    let refused = failure(refused);
    let expected = "cannot apply WorkloadNetworkPolicy ownership/web: somebody else changed it: \
                    Apply failed with 1 conflict: conflict with \"kubectl-patch\"";
    assert!(refused.starts_with(expected), "{refused}");
    assert_eq!(jsonpath("wnp/web", "ownership", ".spec.mode"), "protect");

    writer.apply(&policy("ownership", "web", "monitor"), Ownership::Sole).await.unwrap();
    assert_eq!(jsonpath("wnp/web", "ownership", ".spec.mode"), "monitor");
    let managers = jsonpath("wnp/web", "ownership", ".metadata.managedFields[*].manager");
    assert_eq!(managers, "netenf-agent");
}

#[tokio::test]
async fn each_failure_says_what_can_be_done() {
    create_namespace("failures");
    let writer = writer(admin()).await;
    let object = policy("failures", "web", "monitor");
    let old = writer.create(&object).await.unwrap();
    assert_eq!(
        failure(writer.create(&object).await),
        "cannot create WorkloadNetworkPolicy failures/web: there is one already"
    );
    let mut wrong = policy("failures", "wrong", "monitor");
    wrong.spec.kubernetes = None;
    let refused = failure(writer.apply(&wrong, Ownership::Shared).await);
    assert!(
        refused.starts_with(
            "cannot apply WorkloadNetworkPolicy failures/wrong: the API server refuses it: "
        ),
        "{refused}"
    );

    let mut fresh = writer.patch_status(&status(&old, 1)).await.unwrap();
    assert_eq!(jsonpath("wnp/web", "failures", ".status.violationCount"), "1");
    for answer in [
        writer.patch_status(&status(&old, 2)).await.map(|_| ()),
        writer.replace(&old).await.map(|_| ()),
        writer.delete(&old).await,
    ] {
        let error = answer.unwrap_err();
        assert!(matches!(error.cause, Cause::Conflict(_)), "{error:?}");
    }
    fresh.metadata.uid = Some("another".to_owned());
    let other = writer.delete(&fresh).await.unwrap_err();
    assert!(matches!(other.cause, Cause::Conflict(_)), "{other:?}");
    fresh.metadata.uid.clone_from(&old.metadata.uid);
    writer.delete(&fresh).await.unwrap();
    let gone = failure(writer.delete(&fresh).await);
    assert!(
        gone.starts_with("cannot delete WorkloadNetworkPolicy failures/web: it is not there: "),
        "{gone}"
    );
}

fn status(object: &WorkloadNetworkPolicy, violations: i64) -> WorkloadNetworkPolicy {
    let mut whole = serde_json::to_value(object).unwrap();
    whole["status"] = json!({ "violationCount": violations });
    serde_json::from_value(whole).unwrap()
}

#[tokio::test]
async fn annotations_are_set_and_removed_and_others_stay() {
    create_namespace("annotations");
    apply(
        "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: annotations, annotations: {own: stays, old: goes}}, spec: {podSelector: {}}}",
    );
    let object: NetworkPolicy = serde_json::from_str(
        &admin().kubectl(&["get", "networkpolicy/web", "-n=annotations", "-o=json"]).unwrap(),
    )
    .unwrap();
    let annotations: BTreeMap<String, Option<String>> =
        [("old".to_owned(), None), ("new".to_owned(), Some("comes".to_owned()))].into();
    writer(admin()).await.annotate(&object, &annotations).await.unwrap();
    let left = jsonpath("networkpolicy/web", "annotations", ".metadata.annotations");
    assert_eq!(left, r#"{"new":"comes","own":"stays"}"#);
}

#[tokio::test]
async fn who_may_not_write_is_told_what_is_missing() {
    let account = ControlPlane::shared().service_account("kube-public", "default").unwrap();
    let refused =
        failure(writer(&account).await.create(&policy("default", "web", "monitor")).await);
    assert_eq!(
        refused,
        "cannot create WorkloadNetworkPolicy default/web: the agent may not do that: \
         workloadnetworkpolicies.networkenforcer.kubewarden.io is forbidden: User \
         \"system:serviceaccount:kube-public:default\" cannot create resource \"workloadnetworkpolicies\" in \
         API group \"networkenforcer.kubewarden.io\" in the namespace \"default\""
    );
}
