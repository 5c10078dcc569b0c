//! What is in the cluster, as ends of connections that policies are asked about.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_learn::{Directory as _, Workload};
use netenf_policy::{End, Pod as PodEnd};

use super::{DEEPEST, Index, Key, NamedPort, Node, NodeAddress, Pod};

impl Index {
    /// Every workload that nothing else controls, sorted; pods without a controller are workloads.
    pub fn top_workloads(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.keys().filter(|workload| !self.owners.contains_key(*workload))
    }

    /// Every workload, controlled ones too, and every pod.
    pub fn every_workload(&self) -> impl Iterator<Item = Workload> {
        let pod = |(namespace, name): &Key| Workload::new(namespace.clone(), "Pod", name.clone());
        self.workloads.keys().cloned().chain(self.pods.keys().map(pod))
    }

    /// The workload as ends: its pods, or a pod of its template where none runs. `None` if there is no such
    /// workload.
    pub fn ends_of(&self, workload: &Workload) -> Option<Vec<End>> {
        let own = (workload.namespace.clone(), workload.name.clone());
        if *workload.kind == *"Pod"
            && let Some(pod) = self.pods.get(&own)
        {
            return Some(vec![self.pod_end(&own, pod)]);
        }
        let entry = self.workloads.get(workload)?;
        let mut keys = Vec::new();
        self.add_pods_of(workload, 0, &mut keys);
        let pods = keys.iter().filter_map(|key| Some((key, self.pods.get(key)?)));
        let running = pods.filter(|(_, pod)| pod.end.is_none());
        let mut ends: Vec<End> = running.map(|(key, pod)| self.pod_end(key, pod)).collect();
        if ends.is_empty() {
            ends.push(if entry.host_network {
                self.node_end(None, &[])
            } else {
                End::Pod(PodEnd {
                    labels: entry.labels.clone(),
                    ports: named(&entry.ports),
                    ..self.pod_in(&workload.namespace)
                })
            });
        }
        Some(ends)
    }

    /// What holds `address` now, with this one address: a pod, a node, or nothing in the cluster. Of several pods
    /// it is the running one, then the first by namespace and name.
    pub fn end_at(&self, address: IpAddr) -> End {
        let claims = self.by_address.get(&address).into_iter().flatten();
        let pods = claims.filter_map(|key| Some((key, self.pods.get(key)?)));
        let pods = pods.filter(|(_, pod)| pod.end.is_none());
        if let Some((key, pod)) = pods.min_by_key(|(_, pod)| pod.phase) {
            return End::Pod(PodEnd { addresses: vec![address], ..self.own_end(key, pod) });
        }
        match self.node_at(address) {
            Some((NodeAddress::Own, node)) => self.node_end(Some(node), &[address]),
            Some((NodeAddress::Router | NodeAddress::Likely, _)) | None => End::Address(address),
        }
    }

    /// Every address that a pod or a node has now.
    pub(crate) fn held_addresses(&self) -> BTreeSet<IpAddr> {
        let known = self.by_address.keys().chain(self.node_addresses.keys());
        let is_held = |address: &IpAddr| !matches!(self.end_at(*address), End::Address(_));
        known.copied().filter(is_held).collect()
    }

    /// The node as an end; `None` if there is no such node.
    pub fn end_of_node(&self, name: &str) -> Option<End> {
        self.nodes.get(name).map(|Node { model: node, .. }| End::Node {
            name: node.name.clone(),
            labels: node.labels.clone(),
            addresses: node.addresses.clone(),
        })
    }

    /// Whether an object of the namespace, or its own, is known.
    pub fn has_namespace(&self, namespace: &str) -> bool {
        self.namespaces.contains_key(namespace) || self.covered.contains_key(namespace)
    }

    /// Whether an IPv6 address of a pod or node is known.
    pub fn has_ipv6(&self) -> bool {
        self.by_address.keys().chain(self.node_addresses.keys()).any(IpAddr::is_ipv6)
    }

    /// Any pod of a namespace, of which nothing more is known.
    pub fn pod_in(&self, namespace: &Arc<str>) -> PodEnd {
        PodEnd {
            namespace: namespace.clone(),
            namespace_labels: self.namespace_labels(namespace),
            ..PodEnd::default()
        }
    }

    /// The addresses of the API server, as they are known.
    pub fn api_server_ends(&self) -> Vec<End> {
        let target = self.api_server();
        target.into_iter().flat_map(|target| target.addresses).map(|a| self.end_at(a)).collect()
    }

    /// A pod; on the host's network it is its node, of which it has the addresses.
    fn pod_end(&self, key: &Key, pod: &Pod) -> End {
        if !pod.host_network {
            return End::Pod(self.own_end(key, pod));
        }
        let known = pod.node.as_ref().and_then(|name| self.end_of_node(name));
        known.unwrap_or_else(|| self.node_end(pod.node.as_ref(), &pod.addresses))
    }

    fn own_end(&self, key: &Key, pod: &Pod) -> PodEnd {
        PodEnd {
            name: Some(key.1.clone()),
            node: pod.node.clone(),
            labels: pod.labels.clone(),
            addresses: pod.addresses.clone(),
            ports: named(&pod.ports),
            ..self.pod_in(&key.0)
        }
    }

    /// A node by these addresses of it; of one that is not among the objects nothing else is known.
    fn node_end(&self, name: Option<&Arc<str>>, addresses: &[IpAddr]) -> End {
        let known = name.and_then(|name| self.nodes.get(name));
        End::Node {
            name: name.cloned().unwrap_or_default(),
            labels: known.map(|node| node.model.labels.clone()).unwrap_or_default(),
            addresses: addresses.to_vec(),
        }
    }

    /// Adds the pods of the workload and of what it controls.
    fn add_pods_of(&self, workload: &Workload, depth: usize, pods: &mut Vec<Key>) {
        pods.extend(self.pods_of.get(workload).into_iter().flatten().cloned());
        for own in self.controlled.get(workload).into_iter().flatten().filter(|_| depth < DEEPEST) {
            self.add_pods_of(own, depth + 1, pods);
        }
    }
}

fn named(ports: &[NamedPort]) -> Vec<(Arc<str>, netenf_policy::Protocol, u16)> {
    let named = ports.iter().filter_map(|port| Some((port.name.clone()?, port)));
    named.map(|(name, port)| (name, port.protocol, port.number)).collect()
}

#[cfg(test)]
mod tests;
