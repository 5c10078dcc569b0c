//! Taking objects in.

use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use k8s_openapi::api::core::v1::{self as core, PodSpec};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use netenf_learn::{Timestamp, Workload};
use netenf_policy::Protocol;
use netenf_policy::cluster::{self, Phase};

use super::{Endpoint, Index, Key, NamedPort, NodeAddress, Pod, PortsAt, controller, key};
use crate::lower;
use crate::object::{self, Object, labels};

/// Annotations in which network plugins write a node's further addresses: routers and tunnels (case B38).
const NODE_ADDRESSES: [&str; 9] = [
    "network.cilium.io/ipv4-cilium-host",
    "network.cilium.io/ipv6-cilium-host",
    "io.cilium.network.ipv4-cilium-host",
    "io.cilium.network.ipv6-cilium-host",
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
    "projectcalico.org/IPv6VXLANTunnelAddr",
    "flannel.alpha.coreos.com/public-ip",
];

impl Index {
    /// Takes in an object, in place of an older version of it.
    pub fn apply(&mut self, object: Object) {
        match object {
            Object::Pod(pod) => self.apply_pod(pod),
            Object::Service(service) => self.apply_service(service),
            Object::EndpointSlice(slice) => self.apply_slice(&slice),
            Object::Endpoints(endpoints) => self.apply_endpoints(&endpoints),
            Object::Node(node) => self.apply_node(node),
            Object::Namespace(namespace) => {
                let name: Arc<str> = namespace.metadata.name.as_deref().unwrap_or_default().into();
                self.namespaces.insert(name, labels(namespace.metadata.labels.as_ref()));
            }
            Object::NetworkPolicy(policy) => self.apply_policy(&policy),
            Object::ClusterPolicy(policy) => self.apply_cluster_policy(&policy),
            Object::Proposal(_) | Object::Policy(_) => {}
            workload => self.apply_workload(workload),
        }
    }

    fn apply_policy(&mut self, policy: &NetworkPolicy) {
        // It says nothing of who is in its namespace, which it does not cover.
        let key = key(&policy.metadata);
        self.note_controller_of(&key, &policy.metadata);
        // A policy without a spec is one whose spec is empty, for the API server too: it isolates every pod.
        let spec = policy.spec.clone().unwrap_or_default();
        let (policy, diagnostics) = lower::network_policy("NetworkPolicy", &key.0, &key.1, &spec);
        self.diagnostics.insert(key.clone(), diagnostics);
        match self.policy_at.entry(key) {
            Entry::Occupied(at) => self.policies[*at.get()] = policy,
            Entry::Vacant(at) => {
                at.insert(self.policies.len());
                self.policies.push(policy);
            }
        }
    }

    fn apply_cluster_policy(&mut self, policy: &object::ClusterPolicy) {
        let (policy, diagnostics) = lower::cluster_policy(policy);
        let key = (policy.kind.clone(), policy.name.clone());
        self.cluster_diagnostics.insert(key, diagnostics);
        let place = self
            .cluster_policies
            .binary_search_by_key(&(&policy.kind, &policy.name), |it| (&it.kind, &it.name));
        match place {
            Ok(at) => self.cluster_policies[at] = Arc::new(policy),
            Err(at) => self.cluster_policies.insert(at, Arc::new(policy)),
        }
    }

    pub(super) fn cover(&mut self, metadata: &ObjectMeta) -> Key {
        let (namespace, name) = key(metadata);
        if !self.covered.contains(&namespace) {
            self.covered.insert(namespace.clone());
        }
        (namespace, name)
    }

    /// Notes who controls the object `this`.
    pub(super) fn own(&mut self, this: &Workload, metadata: &ObjectMeta) -> Option<Workload> {
        let owner = controller(metadata)?;
        let owner = Workload::new(this.namespace.clone(), owner.kind.as_str(), owner.name.as_str());
        if let Some(old) = self.owners.insert(this.clone(), owner.clone())
            && let Some(others) = self.controlled.get_mut(&old)
        {
            others.remove(this);
        }
        self.controlled.entry(owner.clone()).or_default().insert(this.clone());
        Some(owner)
    }

    fn apply_pod(&mut self, pod: core::Pod) {
        let (namespace, name) = self.cover(&pod.metadata);
        let own = Workload::new(namespace.clone(), "Pod", name.clone());
        let owner = controller(&pod.metadata);
        // A static pod's mirror is "controlled" by its node, which is no workload.
        let owner = owner.filter(|owner| owner.kind != "Node").map_or(own, |owner| {
            Workload::new(namespace.clone(), owner.kind.as_str(), owner.name.as_str())
        });
        let spec = pod.spec.unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let phase = match status.phase.as_deref() {
            Some("Running") => Phase::Running,
            Some("Succeeded" | "Failed") => Phase::Finished,
            // Also a phase that is not known, and a pod without status: it may have its address already.
            _ => Phase::Pending,
        };
        let containers = status.container_statuses.iter().flatten();
        let ends = containers.filter_map(|container| {
            container.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref().map(timestamp)
        });
        let host_network = spec.host_network == Some(true);
        let mut addresses: Vec<IpAddr> =
            status.pod_ips.iter().flatten().filter_map(|ip| ip.ip.parse().ok()).collect();
        addresses.extend(status.pod_ip.as_deref().and_then(|ip| ip.parse::<IpAddr>().ok()));
        addresses.sort_unstable();
        addresses.dedup();
        let entry = Pod {
            labels: labels(pod.metadata.labels.as_ref()),
            owner,
            host_network,
            node: spec.node_name.as_deref().map(Arc::from),
            ports: ports(&spec),
            generate_name: pod.metadata.generate_name.as_deref().map(Arc::from),
            account: spec.service_account_name.as_deref().unwrap_or("default").into(),
            start: status.start_time.as_ref().map(timestamp),
            // A finished pod owns no address any more; where it does not say when it finished, at once.
            end: (phase == Phase::Finished).then(|| ends.max().unwrap_or(Timestamp(i64::MIN))),
            phase,
            addresses,
        };
        self.insert_pod((namespace, name), entry);
    }

    fn insert_pod(&mut self, key: Key, pod: Pod) {
        if let Some(old) = self.pods.remove(&key) {
            if let Some(pods) = self.pods_of.get_mut(&old.owner) {
                pods.remove(&key);
            }
            for address in &old.addresses {
                if let Some(holders) = self.by_address.get_mut(address) {
                    holders.remove(&key);
                }
            }
            if let Some(pods) = self.pods_as.get_mut(&(key.0.clone(), old.account)) {
                pods.remove(&key);
            }
            if let Some(generated) = old.generate_name.map(|name| (key.0.clone(), name))
                && let Some(pods) = self.by_generate_name.get_mut(&generated)
            {
                pods.remove(&key);
            }
        }
        if !pod.host_network {
            for address in &pod.addresses {
                self.by_address.entry(*address).or_default().insert(key.clone());
            }
        }
        if let Some(generate_name) = &pod.generate_name {
            let generated = (key.0.clone(), generate_name.clone());
            self.by_generate_name.entry(generated).or_default().insert(key.clone());
        }
        let account = (key.0.clone(), pod.account.clone());
        self.pods_as.entry(account).or_default().insert(key.clone());
        self.note_owner_of(&pod);
        self.pods_of.entry(pod.owner.clone()).or_default().insert(key.clone());
        self.pods.insert(key, pod);
    }

    fn apply_slice(&mut self, slice: &EndpointSlice) {
        let (namespace, name) = self.cover(&slice.metadata);
        let label = slice
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("kubernetes.io/service-name"));
        let service: Arc<str> = label.map_or(name.clone(), |service| service.as_str().into());
        let ports: Vec<NamedPort> = slice
            .ports
            .iter()
            .flatten()
            .filter_map(|port| {
                named_port(port.name.as_deref(), port.protocol.as_deref(), port.port?)
            })
            .collect();
        let addresses = slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
        let addresses: Vec<IpAddr> = addresses.filter_map(|address| address.parse().ok()).collect();
        self.note_api_server((&namespace, &service), &name, vec![(tcp(&ports), addresses)]);
        let pods = slice.endpoints.iter().filter_map(|endpoint| endpoint.target_ref.as_ref());
        let pods = pods.filter(|target| target.kind.as_deref() == Some("Pod"));
        let pods: Vec<Arc<str>> =
            pods.filter_map(|target| target.name.as_deref()).map(Arc::from).collect();
        let endpoints = endpoints_of(&namespace, pods, &ports).collect();
        self.endpoints.entry((namespace, service)).or_default().insert(name, endpoints);
    }

    fn apply_endpoints(&mut self, endpoints: &core::Endpoints) {
        let (namespace, service) = self.cover(&endpoints.metadata);
        let mut all = Vec::new();
        let mut listed = Vec::new();
        for subset in endpoints.subsets.iter().flatten() {
            let ports: Vec<NamedPort> = subset
                .ports
                .iter()
                .flatten()
                .filter_map(|port| {
                    named_port(port.name.as_deref(), port.protocol.as_deref(), port.port)
                })
                .collect();
            let addresses = subset.addresses.iter().flatten();
            let pods = addresses.clone().filter_map(|address| address.target_ref.as_ref());
            let pods = pods.filter_map(|target| target.name.as_deref()).map(Arc::from).collect();
            all.extend(endpoints_of(&namespace, pods, &ports));
            let addresses = addresses.filter_map(|address| address.ip.parse().ok()).collect();
            listed.push((tcp(&ports), addresses));
        }
        self.note_api_server((&namespace, &service), &service, listed);
        self.endpoints.entry((namespace, service.clone())).or_default().insert(service, all);
    }

    /// The API server announces itself as the endpoints of `default/kubernetes` (DESIGN D5).
    fn note_api_server(&mut self, service: (&str, &str), by: &Arc<str>, listed: Vec<PortsAt>) {
        if service == ("default", "kubernetes") {
            self.api_server.insert(by.clone(), listed);
        }
    }

    fn apply_node(&mut self, node: core::Node) {
        let name: Arc<str> = node.metadata.name.as_deref().unwrap_or_default().into();
        if self.nodes.contains_key(&name) {
            self.node_addresses.retain(|_, (node, _)| *node != name);
        }
        let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
        let addresses: Vec<IpAddr> =
            addresses.filter_map(|address| address.address.parse().ok()).collect();
        for address in &addresses {
            self.node_addresses.insert(*address, (name.clone(), NodeAddress::Own));
        }
        let annotations = node.metadata.annotations.iter().flatten();
        for (_, value) in annotations.filter(|(key, _)| NODE_ADDRESSES.contains(&key.as_str())) {
            if let Ok(address) = value.parse::<IpAddr>() {
                self.node_addresses.entry(address).or_insert((name.clone(), NodeAddress::Router));
            }
        }
        let spec = node.spec.unwrap_or_default();
        let ranges = spec.pod_cidrs.unwrap_or_default().into_iter().chain(spec.pod_cidr);
        for range in ranges.filter_map(|range| range.parse::<IpNet>().ok()) {
            // Bridges and tunnels take the first addresses of a node's range; pods never get them.
            let first = range.network();
            for address in [Some(first), range.hosts().next()].into_iter().flatten() {
                self.node_addresses.entry(address).or_insert((name.clone(), NodeAddress::Likely));
            }
        }
        let labels = labels(node.metadata.labels.as_ref());
        self.nodes.insert(name.clone(), cluster::Node { name, labels, addresses });
    }
}

fn tcp(ports: &[NamedPort]) -> Vec<u16> {
    let tcp = ports.iter().filter(|port| port.protocol == Protocol::Tcp);
    tcp.map(|port| port.number).collect()
}

/// The endpoints of one object.
fn endpoints_of(
    namespace: &Arc<str>,
    pods: Vec<Arc<str>>,
    ports: &[NamedPort],
) -> impl Iterator<Item = Endpoint> {
    pods.into_iter().map(|pod| Endpoint { pod: (namespace.clone(), pod), ports: ports.to_vec() })
}

/// Ports that containers declare, sidecars too: those are init containers that are started again.
pub(super) fn ports(spec: &PodSpec) -> Vec<NamedPort> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|it| it.restart_policy.as_deref() == Some("Always"));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|it| it.ports.iter().flatten());
    ports
        .filter_map(|port| {
            named_port(port.name.as_deref(), port.protocol.as_deref(), port.container_port)
        })
        .collect()
}

pub(super) fn named_port(
    name: Option<&str>,
    protocol: Option<&str>,
    number: i32,
) -> Option<NamedPort> {
    let name = name.filter(|name| !name.is_empty()).map(Arc::from);
    let number = u16::try_from(number).ok().filter(|number| *number > 0)?;
    Some(NamedPort { name, protocol: protocol_of(protocol)?, number })
}

pub(super) fn protocol_of(protocol: Option<&str>) -> Option<Protocol> {
    match protocol.unwrap_or("TCP") {
        "TCP" => Some(Protocol::Tcp),
        "UDP" => Some(Protocol::Udp),
        "SCTP" => Some(Protocol::Sctp),
        _ => None,
    }
}

fn timestamp(time: &Time) -> Timestamp {
    Timestamp(i64::try_from(time.0.as_nanosecond()).unwrap_or(i64::MAX))
}
