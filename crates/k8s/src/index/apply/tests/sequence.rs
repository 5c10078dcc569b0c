//! Whatever was applied, deleted and listed: the index is that of what is left.

use std::collections::BTreeMap;

use netenf_learn::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{Kind, Object, object};
use crate::Index;

/// Kind, namespace and name.
type Identity = (Kind, String, String);

/// What happens to objects, which are texts so that a failure can be read.
#[derive(Debug, Clone)]
enum Step {
    Apply(String),
    Delete(String),
    /// Those that are of the kind of the first.
    Replace(Vec<String>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => document().prop_map(Step::Apply),
        3 => document().prop_map(Step::Delete),
        1 => prop::collection::vec(document(), 1..8).prop_map(Step::Replace),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let document = prop_oneof![
        4 => pod(),
        3 => workload(),
        1 => service(),
        2 => listing(),
        1 => node(),
        1 => policy(),
    ];
    document.prop_map(|document| document.to_string())
}

fn labels() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({"app": "a"}),
        json!({"app": "a", "tier": "x"}),
        json!({"app": "b", "pod-template-hash": "h"}),
    ])
}

/// Few names, so that most of what comes meets what is there.
fn metadata(
    labels: impl Strategy<Value = Value>,
    owners: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let owner = select(owners).prop_map(|kind| match kind {
        "" => json!([]),
        kind => {
            json!([{"apiVersion": "v1", "kind": kind, "name": "a", "uid": "u", "controller": true}])
        }
    });
    (select(vec!["a", "b", "kubernetes"]), select(vec!["shop", "default"]), labels, owner).prop_map(
        |(name, namespace, labels, owners)| {
            json!({"name": name, "namespace": namespace, "labels": labels, "ownerReferences": owners})
        },
    )
}

fn ports() -> impl Strategy<Value = Value> {
    select(vec![
        json!([]),
        json!([{"name": "web", "containerPort": 80}]),
        json!([{"containerPort": 81}, {"name": "web", "containerPort": 80}, {"containerPort": 81}]),
    ])
}

/// One of two pods of a name, of which the second was created later.
fn pod() -> impl Strategy<Value = Value> {
    let address = select(vec!["10.1.0.1", "10.1.0.2", "fd00::1"]);
    let phase = select(vec!["Pending", "Running", "Failed"]);
    let own = metadata(labels(), &["", "ReplicaSet", "Job", "Rollout"]);
    (own, 1..=2, address, phase, ports(), any::<bool>()).prop_map(
        |(mut metadata, life, address, phase, ports, host_network)| {
            metadata["uid"] = json!(format!("u{life}"));
            metadata["creationTimestamp"] = json!(format!("2026-09-01T0{life}:00:00Z"));
            metadata["generateName"] = json!(format!("{address}-"));
            json!({
                "kind": "Pod", "metadata": metadata,
                "spec": {
                    "hostNetwork": host_network, "nodeName": "a", "serviceAccountName": phase,
                    "containers": [{"name": "c", "ports": ports}],
                },
                "status": {"phase": phase, "podIP": address},
            })
        },
    )
}

fn workload() -> impl Strategy<Value = Value> {
    let kind = select(vec!["Deployment", "ReplicaSet", "Job", "Rollout"]);
    let own = metadata(Just(json!({})), &["", "Deployment", "Rollout"]);
    let requirements = select(vec![
        json!([]),
        json!([{"key": "tier", "operator": "Exists"}, {"key": "app", "operator": "Exists"}]),
        json!([{"key": "app", "operator": "Exists"}, {"key": "tier", "operator": "Exists"}]),
    ]);
    (kind, own, labels(), requirements, ports(), any::<bool>()).prop_map(
        |(kind, metadata, labels, requirements, ports, has_template)| {
            let template = json!({
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "ports": ports}]},
            });
            let template = if has_template { template } else { json!({}) };
            let selector = json!({"matchLabels": labels, "matchExpressions": requirements});
            let spec = json!({"selector": selector, "template": template});
            json!({"kind": kind, "metadata": metadata, "spec": spec})
        },
    )
}

fn service() -> impl Strategy<Value = Value> {
    let address = select(vec!["10.96.0.1", "10.96.0.2"]);
    (metadata(Just(json!({})), &[""]), labels(), address, 30_001..30_003).prop_map(
        |(metadata, selector, address, node_port)| {
            let ports = json!([{"port": 80, "nodePort": node_port}]);
            let spec = json!({"clusterIP": address, "selector": selector, "ports": ports});
            json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        },
    )
}

fn listing() -> impl Strategy<Value = Value> {
    let service = select(vec!["a", "kubernetes"]);
    let service = service.prop_map(|name| json!({"kubernetes.io/service-name": name}));
    let address = select(vec!["10.1.0.1", "10.0.0.2"]);
    (metadata(service, &[""]), address, any::<bool>()).prop_map(|(metadata, address, is_slice)| {
        let target = json!({"kind": "Pod", "name": "a"});
        let ports = json!([{"port": 6443}]);
        if is_slice {
            let endpoints = json!([{"addresses": [address], "targetRef": target}]);
            json!({"kind": "EndpointSlice", "addressType": "IPv4", "metadata": metadata, "endpoints": endpoints, "ports": ports})
        } else {
            let subset = json!({"addresses": [{"ip": address, "targetRef": target}], "ports": ports});
            json!({"kind": "Endpoints", "metadata": metadata, "subsets": [subset]})
        }
    })
}

/// A node, of which several claim an address for different reasons, or a namespace.
fn node() -> impl Strategy<Value = Value> {
    let kind = select(vec!["Node", "Namespace"]);
    let address = || select(vec!["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    (kind, select(vec!["a", "b", "shop"]), labels(), address(), address()).prop_map(
        |(kind, name, labels, own, router)| {
            json!({
                "kind": kind,
                "metadata": {
                    "name": name, "labels": labels,
                    "annotations": {"flannel.alpha.coreos.com/public-ip": router},
                },
                "spec": {"podCIDR": "10.0.0.0/30"},
                "status": {"addresses": [{"type": "InternalIP", "address": own}]},
            })
        },
    )
}

/// A native or a cluster-wide policy, of some of which something is told.
fn policy() -> impl Strategy<Value = Value> {
    let kind = select(vec!["NetworkPolicy", "AdminNetworkPolicy", "BaselineAdminNetworkPolicy"]);
    let types = select(vec!["Ingress", "Sideways"]);
    (kind, metadata(labels(), &[""]), types).prop_map(|(kind, mut metadata, types)| {
        let group = if kind == "NetworkPolicy" {
            "networking.k8s.io/v1"
        } else {
            metadata["namespace"].take();
            "policy.networking.k8s.io/v1alpha1"
        };
        let spec = json!({"podSelector": {}, "policyTypes": [types], "priority": 1, "subject": {}});
        json!({"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec})
    })
}

/// What is left, kept in the plainest way.
#[derive(Default)]
struct Left(BTreeMap<Identity, Object>);

impl Left {
    fn identity(object: &Object) -> Identity {
        let (namespace, name) = object.place();
        (object.kind(), namespace.unwrap_or_default().to_owned(), name.to_owned())
    }

    /// Names of pods are taken by later pods.
    fn is_late(&self, object: &Object) -> bool {
        let uid = |object: &Object| match object {
            Object::Pod(pod) => pod.metadata.uid.clone(),
            _ => None,
        };
        self.0.get(&Self::identity(object)).is_some_and(|known| uid(known) > uid(object))
    }

    fn apply(&mut self, object: &Object) {
        if !self.is_late(object) {
            self.0.insert(Self::identity(object), object.clone());
        }
    }

    fn delete(&mut self, object: &Object) {
        let is_this = |known: &Object| match (known, object) {
            (Object::Pod(known), Object::Pod(pod)) => known.metadata.uid == pod.metadata.uid,
            _ => true,
        };
        if self.0.get(&Self::identity(object)).is_some_and(is_this) {
            self.0.remove(&Self::identity(object));
        }
    }

    fn replace(&mut self, kind: &Kind, objects: &[Object]) {
        for object in objects {
            self.apply(object);
        }
        let listed: Vec<Identity> = objects.iter().map(Self::identity).collect();
        self.0.retain(|identity, _| identity.0 != *kind || listed.contains(identity));
    }
}

proptest! {
    /// The indices are compared map by map, so that all that can be asked of them is answered alike.
    #[test]
    fn the_index_is_that_of_what_is_left(
        steps in prop::collection::vec(step(), 1..40),
        order in any::<prop::sample::Index>(),
    ) {
        let (mut index, mut left) = (Index::default(), Left::default());
        for (step, second) in steps.into_iter().zip(0..) {
            let at = Timestamp::from_seconds(second);
            match step {
                Step::Apply(document) => {
                    left.apply(&object(&document));
                    index.apply(object(&document));
                }
                Step::Delete(document) => {
                    left.delete(&object(&document));
                    index.delete(&object(&document), at);
                }
                Step::Replace(documents) => {
                    let mut objects: Vec<Object> = documents.iter().map(|it| object(it)).collect();
                    let kind = objects[0].kind();
                    objects.retain(|object| object.kind() == kind);
                    left.replace(&kind, &objects);
                    index.replace(&kind, objects, at);
                }
            }
        }
        index.forget(Timestamp(i64::MAX));
        let mut objects: Vec<Object> = left.0.into_values().collect();
        prop_assert_eq!(&index, &Index::of(objects.clone()));
        let first = if objects.is_empty() { 0 } else { order.index(objects.len()) };
        objects.rotate_left(first);
        objects.reverse();
        prop_assert_eq!(&index, &Index::of(objects));
    }
}
