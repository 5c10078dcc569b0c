//! Generated clusters: workloads of all kinds with their pods, services, nodes, DNS and the API server.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_k8s::{Index, Object, object};
use netenf_learn::{End, Endpoint, Entities, PodName, Workload, WorkloadName};
use netenf_policy::{End as PolicyEnd, Labels, Pod};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Kinds of workloads; the first three get proposals.
const KINDS: [&str; 7] =
    ["Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout", "Pod"];

/// What is generated of a workload.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    kind: usize,
    namespace: usize,
    replicas: usize,
    revisions: usize,
    expressions: bool,
    host_network: bool,
    service: bool,
    named_port: bool,
    families: Families,
}

/// Of which families the addresses of pods are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Families {
    V4,
    V6,
    Both,
}

prop_compose! {
    fn shape()(
        kind in 0..KINDS.len(), namespace in 0..2usize, replicas in 1..3usize,
        revisions in 1..3usize, expressions in any::<bool>(),
        host_network in prop::bool::weighted(0.1), service in any::<bool>(),
        named_port in any::<bool>(),
    ) -> Shape {
        let families = Families::V4;
        Shape { kind, namespace, replicas, revisions, expressions, host_network, service, named_port, families }
    }
}

/// A pod, and all that nodes can report of it.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) address: IpAddr,
    /// A second one, of the other family.
    second: Option<IpAddr>,
    pub(crate) labels: Vec<(String, String)>,
    /// The topmost owner.
    pub(crate) workload: Workload,
    pub(crate) host_network: bool,
}

/// Something that can be talked to and is no pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// An address outside.
    Outside,
    /// The API server.
    ApiServer,
    /// A node.
    Node,
}

/// A generated cluster.
#[derive(Clone)]
pub(crate) struct World {
    shapes: Vec<Shape>,
    pub(crate) members: Vec<Member>,
    /// Cluster addresses of services with the workload behind them.
    pub(crate) services: Vec<(IpAddr, Workload)>,
    texts: Vec<Value>,
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    prop::collection::vec(shape(), 1..5).prop_map(|shapes| World::new(&shapes))
}

/// Clusters whose pods have addresses of either family or both.
pub(crate) fn dual_stack_world() -> impl Strategy<Value = World> {
    let families = prop::sample::select(vec![Families::V4, Families::V6, Families::Both]);
    // Nodes have addresses of IPv4 only, and pods on their network have theirs.
    let shape = (shape(), families).prop_map(|(shape, families)| {
        if shape.host_network { shape } else { Shape { families, ..shape } }
    });
    prop::collection::vec(shape, 1..5).prop_map(|shapes| World::new(&shapes))
}

impl std::fmt::Debug for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(&self.shapes).finish()
    }
}

impl World {
    fn new(shapes: &[Shape]) -> Self {
        let mut world = Self {
            shapes: shapes.to_vec(),
            members: Vec::new(),
            services: Vec::new(),
            texts: Vec::new(),
        };
        for node in 1..3 {
            let address = format!("10.0.0.{}", node + 3);
            world.texts.push(json!({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{node}")},
                "status": {"addresses": [{"type": "InternalIP", "address": address}]},
            }));
        }
        world.texts.push(json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "kubernetes", "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "endpoints": [{"addresses": ["10.0.0.2", "10.0.0.3"]}],
            "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
        }));
        world.texts.push(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "kube-dns", "namespace": "kube-system"},
            "spec": {"clusterIP": "10.96.0.10", "selector": {"k8s-app": "kube-dns"},
                "ports": [{"name": "dns", "port": 53, "targetPort": 5353, "protocol": "UDP"}]},
        }));
        for (number, shape) in shapes.iter().enumerate() {
            world.add(number, shape);
        }
        let dns = Shape {
            kind: 0,
            namespace: 9,
            replicas: 1,
            revisions: 1,
            expressions: false,
            host_network: false,
            service: false,
            named_port: false,
            families: Families::V4,
        };
        world.add(99, &dns);
        world
    }

    fn add(&mut self, number: usize, shape: &Shape) {
        let is_dns = number == 99;
        let namespace =
            if is_dns { "kube-system".to_owned() } else { format!("space-{}", shape.namespace) };
        let name = if is_dns { "coredns".to_owned() } else { format!("work-{number}") };
        let kind = KINDS[shape.kind];
        let (key, value) =
            if is_dns { ("k8s-app", "kube-dns".to_owned()) } else { ("app", name.clone()) };
        let labels = json!({key: value, "tier": "any"});
        let selector = if shape.expressions {
            json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]})
        } else {
            json!({"matchLabels": {key: value}})
        };
        let spec = json!({
            "hostNetwork": shape.host_network,
            "containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}],
        });
        let template = json!({"metadata": {"labels": labels}, "spec": spec});
        let meta = json!({"name": name, "namespace": namespace});
        match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" => self.texts.push(json!({
                "apiVersion": "apps/v1", "kind": kind, "metadata": meta,
                "spec": {"selector": selector, "template": template, "serviceName": ""},
            })),
            "CronJob" => self.texts.push(json!({
                "apiVersion": "batch/v1", "kind": kind, "metadata": meta,
                "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
            })),
            "Job" => self.texts.push(json!({
                "apiVersion": "batch/v1", "kind": kind, "metadata": meta, "spec": {"template": template},
            })),
            _ => {}
        }
        let workload = Workload::new(&*namespace, kind, &*name);
        if shape.service && kind != "Pod" {
            let address = format!("10.96.1.{number}");
            let target = if shape.named_port { json!("http") } else { json!(8080) };
            self.texts.push(json!({
                "apiVersion": "v1", "kind": "Service", "metadata": meta,
                "spec": {"clusterIP": address, "selector": {key: value},
                    "ports": [{"port": 80, "targetPort": target}]},
            }));
            self.services.push((address.parse().unwrap(), workload.clone()));
        }
        let revisions = if matches!(kind, "Deployment" | "Rollout") { shape.revisions } else { 1 };
        for revision in 0..revisions {
            self.add_revision(number, shape, revision, &workload, (key, &value), &spec);
        }
    }

    fn add_revision(
        &mut self,
        number: usize,
        shape: &Shape,
        revision: usize,
        workload: &Workload,
        (key, value): (&str, &str),
        spec: &Value,
    ) {
        let (kind, name, namespace) = (&*workload.kind, &*workload.name, &*workload.namespace);
        let mut labels =
            vec![(key.to_owned(), value.to_owned()), ("tier".to_owned(), "any".to_owned())];
        let hash = format!("hash{revision}");
        let owner = match kind {
            "Deployment" | "Rollout" => {
                let hash_key = if kind == "Rollout" {
                    "rollouts-pod-template-hash"
                } else {
                    "pod-template-hash"
                };
                labels.push((hash_key.to_owned(), hash.clone()));
                let set = format!("{name}-{hash}");
                self.texts.push(json!({
                    "apiVersion": "apps/v1", "kind": "ReplicaSet",
                    "metadata": {"name": set, "namespace": namespace, "ownerReferences": [owner(kind, name)]},
                    "spec": {
                        "selector": {"matchLabels": {key: value, hash_key: hash}},
                        "template": {"metadata": {"labels": {key: value, "tier": "any", hash_key: hash}}, "spec": spec},
                    },
                }));
                Some(owner("ReplicaSet", &set))
            }
            "CronJob" => {
                let job = format!("{name}-29000000");
                labels.push(("job-name".to_owned(), job.clone()));
                self.texts.push(json!({
                    "apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": job, "namespace": namespace, "ownerReferences": [owner(kind, name)]},
                    "spec": {"template": {"metadata": {"labels": {key: value, "job-name": job}}, "spec": spec}},
                }));
                Some(owner("Job", &job))
            }
            "Pod" => None,
            _ => Some(owner(kind, name)),
        };
        let replicas = if kind == "Pod" { 1 } else { shape.replicas };
        for replica in 0..replicas {
            let pod = if kind == "Pod" {
                name.to_owned()
            } else {
                format!("{name}-{revision}-{replica}")
            };
            let node = 1 + (number + replica) % 2;
            let number_of_pod = 10 + revision * 10 + replica;
            let v4 = if shape.host_network {
                format!("10.0.0.{}", node + 3)
            } else {
                format!("10.244.{number}.{number_of_pod}")
            };
            let v6 = format!("fd00:244:0:{number}::{number_of_pod:x}");
            let addresses = match shape.families {
                Families::V4 => vec![v4],
                Families::V6 => vec![v6],
                Families::Both => vec![v4, v6],
            };
            let ips: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
            let own: serde_json::Map<String, Value> =
                labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
            let mut spec = spec.clone();
            spec["nodeName"] = json!(format!("n{node}"));
            self.texts.push(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod, "namespace": namespace, "labels": own,
                    "ownerReferences": owner.clone().map_or(json!([]), |owner| json!([owner]))},
                "spec": spec, "status": {"podIP": addresses[0], "podIPs": ips},
            }));
            self.members.push(Member {
                namespace: namespace.to_owned(),
                name: pod,
                node: format!("n{node}"),
                address: addresses[0].parse().unwrap(),
                second: addresses.get(1).map(|address| address.parse().unwrap()),
                labels: labels.clone(),
                workload: workload.clone(),
                host_network: shape.host_network,
            });
        }
    }

    /// The cluster's objects as an index; `order` says in which order they come.
    pub(crate) fn index(&self, reverse: bool) -> Arc<Index> {
        let mut objects: Vec<Object> = Vec::new();
        for value in &self.texts {
            let (read, told) = object::read("world", &value.to_string());
            assert_eq!(told, [], "generated objects are readable: {value}");
            objects.extend(read);
        }
        if reverse {
            objects.reverse();
        }
        Arc::new(Index::of(objects))
    }
}

fn owner(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": true})
}

impl Member {
    /// The end as a node reports it: it knows the workloads of its own pods only, by their direct owners.
    pub(crate) fn end(&self, local: bool) -> End {
        if self.host_network {
            let entities = if local { Entities::HOST } else { Entities::REMOTE_NODE };
            let endpoint = Arc::new(Endpoint { entities, ..Endpoint::default() });
            return End { endpoint, address: Some(self.address), names: Vec::new() };
        }
        let known = local && &*self.workload.kind != "Pod" && &*self.workload.kind != "Rollout";
        let workload = known.then(|| WorkloadName {
            kind: self.workload.kind.clone(),
            name: self.workload.name.clone(),
        });
        let mut labels: Vec<(Arc<str>, Arc<str>)> = self
            .labels
            .iter()
            .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
            .collect();
        labels.sort();
        let endpoint = Endpoint {
            namespace: Some(self.namespace.as_str().into()),
            pod: Some(PodName::Exact(self.name.as_str().into())),
            workload,
            labels,
            ..Endpoint::default()
        };
        End { endpoint: Arc::new(endpoint), address: Some(self.address), names: Vec::new() }
    }

    /// All of its addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        [self.address].into_iter().chain(self.second)
    }

    pub(crate) fn labels(&self) -> Labels {
        self.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }

    /// The pod as policies see it.
    pub(crate) fn policy_end(&self) -> PolicyEnd {
        if self.host_network {
            return PolicyEnd::Address(self.address);
        }
        PolicyEnd::Pod(Pod {
            namespace: self.namespace.as_str().into(),
            namespace_labels: [(netenf_k8s::render::NAMESPACE_NAME, self.namespace.as_str())]
                .into_iter()
                .collect(),
            labels: self.labels(),
            addresses: vec![self.address],
            ..Pod::default()
        })
    }
}

impl Place {
    pub(crate) fn address(self) -> IpAddr {
        match self {
            Self::Outside => "203.0.113.9".parse().unwrap(),
            Self::ApiServer => "10.0.0.2".parse().unwrap(),
            Self::Node => "10.0.0.5".parse().unwrap(),
        }
    }

    pub(crate) fn end(self) -> End {
        let entities = match self {
            Self::Outside => Entities::WORLD,
            Self::ApiServer => Entities::KUBE_APISERVER,
            Self::Node => Entities::REMOTE_NODE,
        };
        let endpoint = Arc::new(Endpoint { entities, ..Endpoint::default() });
        End { endpoint, address: Some(self.address()), names: Vec::new() }
    }
}
