//! Watches against a genuine server: what they tell is what the server holds.

use std::time::Duration;

use netenf_cluster::Kind;
use netenf_cluster::watch::{Change, State, Watches};
use netenf_k8s::Object;
use netenf_testkit::control_plane::{Client, ControlPlane};
use prometheus_client::registry::Registry;
use tokio::time::timeout;

use crate::{admin, apply, connect, create_namespace, eventually, plane};

const SOON: Duration = Duration::from_mins(1);

async fn watches(client: &Client) -> Watches {
    Watches::start(&connect(client).await, &mut Registry::default())
}

/// A change of native policies in the namespace, as words; nothing for other changes.
fn told(change: &Change, namespace: &str) -> Option<String> {
    let name = |object: &Object| match object {
        Object::NetworkPolicy(policy)
            if policy.metadata.namespace.as_deref() == Some(namespace) =>
        {
            policy.metadata.name.clone()
        }
        _ => None,
    };
    match change {
        Change::Replaced(Kind::NetworkPolicy, objects) => {
            let names: Vec<String> = objects.iter().filter_map(name).collect();
            Some(format!("all: {}", names.join(" ")))
        }
        Change::Replaced(..) | Change::Unreadable(_) => None,
        Change::Applied(object) => name(object).map(|name| format!("applied {name}")),
        Change::Deleted(object) => name(object).map(|name| format!("deleted {name}")),
    }
}

/// The next changes of native policies in the namespace.
async fn next<const N: usize>(watches: &mut Watches, namespace: &str) -> [String; N] {
    let mut found = Vec::new();
    while found.len() < N {
        let change = timeout(SOON, watches.changes.recv()).await;
        let change = change.unwrap_or_else(|_| panic!("only {found:?} came")).unwrap();
        found.extend(told(&change, namespace));
    }
    found.try_into().unwrap()
}

fn policy(name: &str, namespace: &str) -> String {
    format!(
        "{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{podSelector: {{}}}}}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_told_twice_when_the_server_restarts() {
    let mut plane = plane();
    let create = |plane: &ControlPlane, name| {
        let create = ["create", "-f", "-"];
        plane.admin().kubectl_reading(&policy(name, "default"), &create).unwrap();
    };
    let delete = |plane: &ControlPlane, name| {
        plane.admin().kubectl(&["delete", "networkpolicy", name]).unwrap();
    };
    create(&plane, "old");
    let mut watches = watches(plane.admin()).await;
    assert_eq!(next(&mut watches, "default").await, ["all: old"]);

    create(&plane, "new");
    delete(&plane, "old");
    assert_eq!(next(&mut watches, "default").await, ["applied new", "deleted old"]);

    plane.restart_api_server().unwrap();
    create(&plane, "newest");
    delete(&plane, "new");
    create(&plane, "last");
    // The watch is resumed where it broke. A new server that does not know that place has it list again.
    let [first] = next(&mut watches, "default").await;
    if let Some(listed) = first.strip_prefix("all: ") {
        assert!(
            ["last newest", "new newest last"].iter().any(|it| it.contains(listed)),
            "{listed}"
        );
    } else {
        let rest = next(&mut watches, "default").await;
        assert_eq!(
            (first.as_str(), rest),
            ("applied newest", ["deleted new", "applied last"].map(str::to_owned))
        );
    }
    let states = watches.states.clone();
    eventually(SOON, "every kind is synced again", || {
        states.borrow().iter().all(|(kind, state)| state.fault(kind.presence()).is_none())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_takes_its_time_gets_every_change() {
    create_namespace("slow");
    let mut watches = watches(admin()).await;
    // More than the channel holds; nobody receives meanwhile.
    let names: Vec<String> = (0..1500).map(|number| format!("policy-{number:04}")).collect();
    let all: Vec<String> = names.iter().map(|name| policy(name, "slow")).collect();
    let created = admin().kubectl_reading(&all.join("\n---\n"), &["create", "-f", "-"]);
    created.unwrap();
    let mut known = std::collections::BTreeSet::new();
    while known.len() < names.len() {
        let change = timeout(SOON, watches.changes.recv()).await.unwrap().unwrap();
        let told = told(&change, "slow").unwrap_or_default();
        let new: Vec<&str> =
            told.split_whitespace().filter(|it| it.starts_with("policy")).collect();
        for name in new {
            assert!(known.insert(name.to_owned()), "{name} came twice");
        }
    }
    admin().kubectl(&["delete", "namespace", "slow", "--wait=false"]).unwrap();
}

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: adminnetworkpolicies.policy.networking.k8s.io
  annotations: {api-approved.kubernetes.io: 'unapproved, for a test'}
spec:
  group: policy.networking.k8s.io
  scope: Cluster
  names: {kind: AdminNetworkPolicy, listKind: AdminNetworkPolicyList, plural: adminnetworkpolicies, singular: adminnetworkpolicy}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

/// What is told of that kind next: names of all objects, or of the one that changed.
async fn next_admin_policies(watches: &mut Watches) -> Vec<String> {
    loop {
        let change = timeout(SOON, watches.changes.recv()).await.unwrap().unwrap();
        let objects = match change {
            Change::Replaced(Kind::AdminNetworkPolicy, objects) => objects,
            Change::Applied(object @ Object::ClusterPolicy(_)) => vec![object],
            _ => continue,
        };
        let names = objects.iter().map(|object| match object {
            Object::ClusterPolicy(policy) => policy.name().to_owned(),
            other => panic!("{other:?} is of another kind"),
        });
        return names.collect();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_comes_later_is_watched_and_one_that_goes_is_no_fault() {
    let mut watches = watches(admin()).await;
    assert_eq!(next_admin_policies(&mut watches).await, [""; 0]);
    let states = watches.states.clone();
    let state = || states.borrow()[&Kind::AdminNetworkPolicy].clone();
    eventually(SOON, "the kind is absent", || state() == State::Absent).await;

    apply(DEFINITION);
    let established = [
        "wait",
        "--for=condition=Established",
        "crd/adminnetworkpolicies.policy.networking.k8s.io",
    ];
    admin().kubectl(&established).unwrap();
    apply(
        "{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: {name: tenants}, spec: {priority: 1}}",
    );
    let mut found = Vec::new();
    while found.is_empty() {
        found = next_admin_policies(&mut watches).await;
    }
    assert_eq!((found, state()), (vec!["tenants".to_owned()], State::Synced));

    admin().kubectl(&["delete", "crd", "adminnetworkpolicies.policy.networking.k8s.io"]).unwrap();
    while !next_admin_policies(&mut watches).await.is_empty() {}
    eventually(SOON, "the kind is absent again", || state() == State::Absent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_may_not_be_read_are_told_by_name() {
    let account = ControlPlane::shared().service_account("kube-system", "default").unwrap();
    let watches = watches(&account).await;
    let states = watches.states.clone();
    eventually(SOON, "every kind is forbidden", || {
        states.borrow().values().all(|state| matches!(state, State::Forbidden(_)))
    })
    .await;
    assert_eq!(
        states.borrow()[&Kind::Pod],
        State::Forbidden(
            "pods is forbidden: User \"system:serviceaccount:kube-system:default\" cannot list resource \
             \"pods\" in API group \"\" at the cluster scope"
                .to_owned()
        )
    );
}
