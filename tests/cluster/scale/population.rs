//! The cluster that flows come from, as objects of an API server.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use netenf_testkit::generate::{Placed, Population, Program};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Requests that are under way at once.
const WORKERS: usize = 16;

/// Creates everything, and returns how many pods there are.
pub(super) async fn create(client: &Client, population: &Population) -> usize {
    let namespaces: BTreeSet<&str> =
        population.programs.iter().map(|program| program.namespace.as_str()).collect();
    for name in namespaces.iter().filter(|name| **name != "kube-system") {
        make::<Namespace>(&Api::all(client.clone()), json!({"metadata": {"name": name}})).await;
    }
    for (name, address) in &population.nodes {
        let nodes = Api::<Node>::all(client.clone());
        make(&nodes, json!({"metadata": {"name": name}})).await;
        let status = json!({"status": {"addresses": [{"type": "InternalIP", "address": address}]}});
        nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    }
    // No pod is admitted before its account is there.
    for name in namespaces {
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), name);
        while accounts.get_opt("default").await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    }
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let share = population.programs.iter().skip(worker).step_by(WORKERS);
        let (client, share) = (client.clone(), share.cloned().collect::<Vec<_>>());
        workers.spawn(async move {
            for program in &share {
                create_program(&client, program).await;
            }
        });
    }
    workers.join_all().await;
    population.programs.iter().map(|program| program.pods.len()).sum()
}

async fn create_program(client: &Client, program: &Program) {
    let Program { namespace, name, kind, hash, pods } = program;
    let template = json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
    });
    let selector = json!({"matchLabels": {"app": name}});
    let object = json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"selector": selector, "template": template},
    });
    let owner = match *kind {
        "Deployment" => {
            let owner = make::<Deployment>(&api(client, namespace), object).await;
            let mut replicas = json!({
                "metadata": {"name": format!("{name}-{hash}"), "ownerReferences": [owner]},
                "spec": {"selector": selector, "template": template},
            });
            replicas["metadata"]["labels"] = json!({"app": name});
            make::<ReplicaSet>(&api(client, namespace), replicas).await
        }
        "StatefulSet" => {
            let mut object = object;
            object["spec"]["serviceName"] = json!(name);
            make::<StatefulSet>(&api(client, namespace), object).await
        }
        _ => make::<DaemonSet>(&api(client, namespace), object).await,
    };
    for pod in pods {
        create_pod(&api(client, namespace), (name, &owner), pod).await;
    }
}

async fn create_pod(pods: &Api<Pod>, (name, owner): (&str, &Value), pod: &Placed) {
    let object = json!({
        "metadata": {"name": pod.name, "labels": {"app": name}, "ownerReferences": [owner]},
        "spec": {
            "nodeName": pod.node,
            "containers": [{"name": "main", "image": "example.com/main:1"}],
        },
    });
    make::<Pod>(pods, object).await;
    let address = &pod.address;
    let status =
        json!({"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}});
    pods.patch_status(&pod.name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

fn api<K>(client: &Client, namespace: &str) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
{
    Api::namespaced(client.clone(), namespace)
}

/// Creates it, and returns a reference by which it owns others.
async fn make<K>(api: &Api<K>, object: Value) -> Value
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Serialize + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    let made = api.create(&PostParams::default(), &object).await.unwrap();
    json!(made.controller_owner_ref(&()).unwrap())
}
