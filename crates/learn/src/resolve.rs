//! Who an end of an observation is.
//!
//! With cluster objects, they decide: the pod by its name, then the address at the time, then the
//! workload that the source names. Without them the source is believed, and labels that Kubernetes'
//! own controllers set tell the workload; a pod's name is never cut to guess one.

use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::Labels;

use crate::classify::Skip;
use crate::directory::{Directory, Holder, PodEntry};
use crate::identity::{Party, Workload};
use crate::label::is_volatile;
use crate::name::{is_label, is_namespace_name, is_object_name};
use crate::observation::{End, Endpoint, Entities, Network, PodName};
use crate::time::Timestamp;

/// Note on a peer behind which other callers hide (case B67).
pub(crate) const WAYPOINT: &str = "waypoint: callers are hidden here, limit them on the waypoint";
/// Note on a pod that Cilium does not manage (case B58).
pub(crate) const UNMANAGED: &str =
    "not managed by Cilium: restart the pod, or the policy will not match";
/// Note on a router address (case B38).
pub(crate) const ROUTER: &str = "router address, original client unknown: came through a NodePort or LoadBalancer with externalTrafficPolicy Cluster";

/// Who an end is, with what flows told of it in passing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) party: Party,
    /// Lasting labels of the pod.
    pub(crate) labels: Option<Labels>,
    pub(crate) note: Option<&'static str>,
}

/// Resolves `end` as it was at `time`.
pub(crate) fn resolve(
    directory: &dyn Directory,
    end: &End,
    time: Option<Timestamp>,
) -> Result<Resolved, Skip> {
    let endpoint = &*end.endpoint;
    if let Some(namespace) = endpoint.namespace.as_ref().filter(|_| !is_possible(endpoint)) {
        return Ok(impossible(namespace, endpoint));
    }
    if let (Some(namespace), Some(pod)) = (&endpoint.namespace, &endpoint.pod) {
        return by_pod(directory, end, namespace, pod, time);
    }
    if let (Some(namespace), Some(named)) = (&endpoint.namespace, &endpoint.workload) {
        let named = Workload::new(namespace.clone(), named.kind.clone(), named.name.clone());
        return Ok(of_known(directory, directory.owner(&named), endpoint));
    }
    if let Some(found) = end.address.and_then(|address| by_address(directory, end, address, time)) {
        return Ok(found);
    }
    if let Some(namespace) = endpoint.namespace.as_ref().filter(|_| !endpoint.labels.is_empty()) {
        return Ok(of_labels(namespace, endpoint));
    }
    by_entity(end)
}

/// Whether the same end may be someone else at another time.
pub(crate) fn depends_on_time(directory: &dyn Directory, end: &End) -> bool {
    let endpoint = &*end.endpoint;
    let by_name = match (&endpoint.namespace, &endpoint.pod, &endpoint.workload) {
        (Some(namespace), Some(pod), _) => directory.pod(namespace, pod).is_some(),
        (Some(_), None, Some(_)) => true,
        (Some(_) | None, ..) => false,
    };
    !by_name && end.address.is_some_and(|address| directory.is_reused(address))
}

/// The pod of another cluster, if it is one: Cilium's nodes are named `cluster/node`.
pub(crate) fn remote(node: Option<&str>, endpoint: &Endpoint) -> Option<Party> {
    let cluster = endpoint.cluster.as_ref().filter(|_| is_remote(node, endpoint))?;
    let workload = endpoint.workload.as_ref().map(|workload| workload.name.clone());
    Some(Party::Remote {
        cluster: cluster.clone(),
        namespace: endpoint.namespace.clone(),
        name: workload.or_else(|| endpoint.pod.as_ref().map(pod_name)),
    })
}

/// Whether the endpoint is of another cluster than the node that reports it.
pub(crate) fn is_remote(node: Option<&str>, endpoint: &Endpoint) -> bool {
    let (Some(cluster), Some(node)) = (&endpoint.cluster, node) else { return false };
    node.split_once('/').is_some_and(|(own, _)| own != &**cluster)
}

/// Whether the end is known by a DNS name alone.
pub(crate) fn is_by_dns_name(end: &End) -> bool {
    let endpoint = &*end.endpoint;
    end.address.is_none()
        && !end.names.is_empty()
        && endpoint.pod.is_none()
        && endpoint.workload.is_none()
}

/// Addresses that Istio ambient gives to the kubelet's probes (case B44).
pub(crate) fn is_ambient_probe(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets() == [169, 254, 7, 127],
        IpAddr::V6(v6) => {
            v6.segments() == [0xfd16, 0x9254, 0x7127, 0x1337, 0xffff, 0xffff, 0xffff, 0xffff]
        }
    }
}

/// Whether the address is link-local.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Whether an object with these names and labels can be in any cluster.
fn is_possible(endpoint: &Endpoint) -> bool {
    let is_kind = |kind: &str| !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric());
    let mut lasting = endpoint.labels.iter().filter(|(key, _)| !is_volatile(key));
    endpoint.namespace.as_deref().is_none_or(is_namespace_name)
        && endpoint.workload.as_ref().is_none_or(|it| is_kind(&it.kind) && is_object_name(&it.name))
        && lasting.all(|(key, value)| is_label(key, value))
}

/// A pod that cannot be as it is told: it is listed, and is in no rule and has no proposal, which the API
/// server would refuse.
fn impossible(namespace: &Arc<str>, endpoint: &Endpoint) -> Resolved {
    let workload = endpoint.workload.as_ref().map(|named| named.name.clone());
    let name = workload.or_else(|| endpoint.pod.as_ref().map(pod_name)).unwrap_or_default();
    plain(Party::Pod { namespace: namespace.clone(), name })
}

fn by_pod(
    directory: &dyn Directory,
    end: &End,
    namespace: &Arc<str>,
    pod: &PodName,
    time: Option<Timestamp>,
) -> Result<Resolved, Skip> {
    let endpoint = &*end.endpoint;
    if directory.is_empty() {
        return Ok(inferred(namespace, pod, endpoint));
    }
    if let Some(entry) = directory.pod(namespace, pod) {
        return Ok(of_pod(&entry, endpoint));
    }
    let named = claimed(directory, namespace, endpoint);
    let holder = end.address.and_then(|address| directory.holder(address, time));
    match (holder, named) {
        // The address is another pod's: the report contradicts itself (case B28).
        (Some(Holder::Pod(holder)), named) if named.as_ref() != Some(&holder.workload) => {
            Err(Skip::InconsistentEndpoint)
        }
        (_, Some(workload)) => Ok(of_known(directory, workload, endpoint)),
        (_, None) if !directory.covers(namespace) => Ok(inferred(namespace, pod, endpoint)),
        // No rule is for a pod that the cluster does not know; existing policies are asked about its labels.
        (_, None) => {
            let party = Party::Pod { namespace: namespace.clone(), name: pod_name(pod) };
            let labels = Some(labels_of(endpoint)).filter(|labels| !labels.is_empty());
            Ok(Resolved { labels, ..plain(party) })
        }
    }
}

/// The workload that the source claims, if the cluster knows it.
fn claimed(
    directory: &dyn Directory,
    namespace: &Arc<str>,
    endpoint: &Endpoint,
) -> Option<Workload> {
    let named = endpoint.workload.as_ref().map(|named| {
        directory.owner(&Workload::new(namespace.clone(), named.kind.clone(), named.name.clone()))
    });
    named
        .filter(|workload| directory.has_workload(workload))
        .or_else(|| directory.workload_by_labels(namespace, &labels_of(endpoint)))
}

fn by_address(
    directory: &dyn Directory,
    end: &End,
    address: IpAddr,
    time: Option<Timestamp>,
) -> Option<Resolved> {
    match directory.holder(address, time)? {
        Holder::Pod(entry) => Some(of_pod(&entry, &end.endpoint)),
        Holder::Node { name, router: false } => Some(plain(Party::Node { name, workload: None })),
        Holder::Node { name: node, router: true } => {
            Some(Resolved { party: Party::Router { node }, labels: None, note: Some(ROUTER) })
        }
        Holder::ApiServer => Some(plain(Party::ApiServer)),
    }
}

fn by_entity(end: &End) -> Result<Resolved, Skip> {
    let endpoint = &*end.endpoint;
    let entities = endpoint.entities;
    let is = |entity| entities.contains(entity);
    if let Some(network) = &endpoint.network {
        return Ok(plain(match network {
            Network::Host(name) => Party::Node { name: name.clone(), workload: None },
            network => Party::Network(network.clone()),
        }));
    }
    if is(Entities::HEALTH) {
        return Err(Skip::Health);
    }
    if is(Entities::INIT) {
        return Err(Skip::TransientIdentity);
    }
    if is(Entities::INGRESS) {
        return Ok(plain(Party::IngressProxy));
    }
    if is(Entities::KUBE_APISERVER) {
        return Ok(plain(Party::ApiServer));
    }
    let node = is(Entities::HOST) || is(Entities::REMOTE_NODE);
    Ok(match (end.address, end.names.first()) {
        (Some(address), _) if node && !is_link_local(address) => {
            plain(Party::Node { name: address.to_string().into(), workload: None })
        }
        (Some(address), _) if is(Entities::UNMANAGED) => plain(Party::Unmanaged(address)),
        (Some(address), _) => plain(Party::External(address)),
        (None, Some(name)) => plain(Party::Name(name.clone())),
        (None, None) => plain(Party::Unknown),
    })
}

fn of_pod(entry: &PodEntry, endpoint: &Endpoint) -> Resolved {
    let workload = Some(entry.workload.clone());
    if entry.host_network {
        let name = entry.node.clone().unwrap_or_else(|| entry.workload.name.clone());
        return plain(Party::Node { name, workload });
    }
    let note = if entry.waypoint {
        Some(WAYPOINT)
    } else if endpoint.entities.contains(Entities::UNMANAGED) {
        Some(UNMANAGED)
    } else {
        None
    };
    Resolved { party: Party::Workload(entry.workload.clone()), labels: None, note }
}

/// The party of a workload of which the directory may know more than the source.
fn of_known(directory: &dyn Directory, workload: Workload, endpoint: &Endpoint) -> Resolved {
    match on_host(directory, &workload) {
        Some(node) => plain(node),
        None => of_workload(workload, endpoint),
    }
}

/// The node, or the nodes by the workload's name, that pods on the host's network are to policies.
pub(crate) fn on_host(directory: &dyn Directory, workload: &Workload) -> Option<Party> {
    if !directory.is_host_network(workload) {
        return None;
    }
    let nodes = directory.nodes_of(workload);
    let name = match nodes.as_slice() {
        [node] => node.clone(),
        _ => workload.name.clone(),
    };
    Some(Party::Node { name, workload: Some(workload.clone()) })
}

fn of_workload(workload: Workload, endpoint: &Endpoint) -> Resolved {
    // Pods of a workload always have labels: a source that shows none leaves them out.
    let labels = Some(labels_of(endpoint)).filter(|labels| !labels.is_empty());
    Resolved { party: Party::Workload(workload), labels, note: None }
}

fn of_labels(namespace: &Arc<str>, endpoint: &Endpoint) -> Resolved {
    let labels = labels_of(endpoint);
    Resolved {
        party: Party::Pods { namespace: namespace.clone(), labels: labels.clone() },
        labels: Some(labels),
        note: None,
    }
}

/// Without objects: the source's word, else labels that controllers set, else the labels alone.
fn inferred(namespace: &Arc<str>, pod: &PodName, endpoint: &Endpoint) -> Resolved {
    let named = endpoint.workload.as_ref().map(|named| (named.kind.clone(), named.name.clone()));
    let labelled = || by_controller_labels(pod, endpoint).filter(|(_, name)| is_object_name(name));
    if let Some((kind, name)) = named.or_else(labelled) {
        return of_workload(Workload::new(namespace.clone(), kind, name), endpoint);
    }
    if labels_of(endpoint).is_empty() {
        return plain(Party::Pod { namespace: namespace.clone(), name: pod_name(pod) });
    }
    of_labels(namespace, endpoint)
}

/// The workload that labels of Kubernetes' own controllers tell, together with a `generateName`.
fn by_controller_labels(pod: &PodName, endpoint: &Endpoint) -> Option<(Arc<str>, Arc<str>)> {
    let label = |wanted: &str| {
        endpoint.labels.iter().find(|(key, _)| &**key == wanted).map(|(_, value)| value)
    };
    let job = label("batch.kubernetes.io/job-name").or_else(|| label("job-name"));
    if let Some(job) = job {
        return Some(("Job".into(), job.clone()));
    }
    if let Some(name) = label("statefulset.kubernetes.io/pod-name") {
        return name.rsplit_once('-').map(|(set, _)| ("StatefulSet".into(), set.into()));
    }
    match pod {
        PodName::Generated(generated) => {
            let base = generated.strip_suffix('-')?;
            if let Some(hash) = label("pod-template-hash") {
                let deployment = base.strip_suffix(&**hash)?.strip_suffix('-')?;
                return Some(("Deployment".into(), deployment.into()));
            }
            let daemon = label("controller-revision-hash").is_some();
            daemon.then(|| ("DaemonSet".into(), base.into()))
        }
        // Goldmane names a pod without a controller by its own name; Hubble gives exact names only.
        PodName::Exact(_) => None,
    }
}

fn labels_of(endpoint: &Endpoint) -> Labels {
    let lasting = endpoint.labels.iter().filter(|(key, _)| !is_volatile(key));
    lasting.cloned().collect()
}

fn pod_name(pod: &PodName) -> Arc<str> {
    match pod {
        PodName::Exact(name) => name.clone(),
        PodName::Generated(prefix) => format!("{prefix}*").into(),
    }
}

fn plain(party: Party) -> Resolved {
    Resolved { party, labels: None, note: None }
}

#[cfg(test)]
mod tests;
