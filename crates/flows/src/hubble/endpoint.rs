//! Who an end of a Hubble flow is: pod, labels and reserved identities.

use std::sync::Arc;

use netenf_learn::{Endpoint, Entities, PodName, WorkloadName};

use super::wire;
use crate::cache::Names;
use crate::value::Text;

/// The label that holds a pod's namespace.
const NAMESPACE: &str = "io.kubernetes.pod.namespace";

/// An endpoint that was read before.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) endpoint: Arc<Endpoint>,
    /// Domain names that it was allowed by (`fqdn:` labels).
    pub(super) names: Vec<Arc<str>>,
}

/// Labels of an endpoint, taken apart.
#[derive(Default)]
struct Labels<'a> {
    kubernetes: Vec<(Arc<str>, Arc<str>)>,
    names: Vec<Arc<str>>,
    entities: Entities,
    namespace: Option<&'a str>,
}

/// Reads an endpoint.
pub(super) fn known(endpoint: &wire::Endpoint<'_>, names: &mut Names) -> Known {
    let mut labels = Labels::default();
    for label in endpoint.labels.iter().flatten() {
        labels.add(label.as_str(), names);
    }
    labels.kubernetes.sort_unstable();
    let identity = endpoint.identity.map_or(0, |identity| identity.0);
    let namespace = Text::filled(endpoint.namespace.as_ref()).or(labels.namespace);
    let pod = Text::filled(endpoint.pod_name.as_ref());
    let cluster = Text::filled(endpoint.cluster_name.as_ref());
    let endpoint = Endpoint {
        cluster: cluster.map(|cluster| names.share(cluster)),
        namespace: namespace.map(|namespace| names.share(namespace)),
        pod: pod.map(|pod| PodName::Exact(names.share(pod))),
        workload: endpoint.workloads.iter().flatten().find_map(|found| workload(found, names)),
        labels: labels.kubernetes,
        entities: labels.entities.with(entities_of(identity)),
        network: None,
        identity: None,
    };
    Known { endpoint: Arc::new(endpoint), names: labels.names }
}

/// A workload with both its names.
fn workload(workload: &wire::Workload<'_>, names: &mut Names) -> Option<WorkloadName> {
    let kind = Text::filled(workload.kind.as_ref())?;
    let name = Text::filled(workload.name.as_ref())?;
    Some(WorkloadName { kind: names.share(kind), name: names.share(name) })
}

impl<'a> Labels<'a> {
    /// Sorts one label in by its source.
    fn add(&mut self, label: &'a str, names: &mut Names) {
        let (source, label) = split_source(label);
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        match source {
            "reserved" => self.entities = self.entities.with(entity(key)),
            "fqdn" => self.names.push(names.share(key)),
            "k8s" | "any" | "unspec" if key == NAMESPACE => self.namespace = Some(value),
            "k8s" | "any" | "unspec" if !key.starts_with("io.cilium.") => {
                self.kubernetes.push((names.share(key), names.share(value)));
            }
            _ => {}
        }
    }
}

/// Cilium's `source:key=value`; a label without a source is one of Kubernetes.
fn split_source(label: &str) -> (&str, &str) {
    match label.split_once(':') {
        Some((source, rest)) if !source.contains('=') => (source, rest),
        _ => ("k8s", label),
    }
}

/// The reserved identity of this name.
fn entity(name: &str) -> Entities {
    match name {
        "host" => Entities::HOST,
        "world" | "world-ipv4" | "world-ipv6" => Entities::WORLD,
        "unmanaged" => Entities::UNMANAGED,
        "health" => Entities::HEALTH,
        "init" => Entities::INIT,
        "remote-node" => Entities::REMOTE_NODE,
        "kube-apiserver" => Entities::KUBE_APISERVER,
        "ingress" => Entities::INGRESS,
        _ => Entities::default(),
    }
}

/// The reserved identity of this number.
fn entities_of(identity: u32) -> Entities {
    match identity {
        1 => Entities::HOST,
        2 | 9 | 10 => Entities::WORLD,
        3 => Entities::UNMANAGED,
        4 => Entities::HEALTH,
        5 => Entities::INIT,
        6 => Entities::REMOTE_NODE,
        7 => Entities::KUBE_APISERVER,
        8 => Entities::INGRESS,
        _ => Entities::default(),
    }
}
