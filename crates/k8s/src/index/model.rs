//! The cluster as policies are evaluated on it.

use std::sync::Arc;

use netenf_policy::cluster::{self, Cluster};
use netenf_policy::{ClusterPolicy, DomainCache};

use super::{Index, Key, Pod};

impl Index {
    /// The cluster-wide policies that were among the objects, sorted by kind and name.
    pub fn cluster_policies(&self) -> &[Arc<ClusterPolicy>] {
        &self.cluster_policies
    }

    /// The nodes, with the addresses of their status, sorted by name.
    pub fn nodes(&self) -> impl Iterator<Item = &cluster::Node> {
        self.nodes.values().map(|node| &node.model)
    }

    /// All that policies depend on but what names were resolved to, which no object says.
    pub fn cluster(&self) -> Cluster {
        let namespaces = self.namespaces.keys();
        let network_policies = self.policies.iter().map(|policy| {
            let key = (policy.namespace.clone(), policy.name.clone());
            (key, Arc::new(policy.clone()))
        });
        let cluster_policies = self.cluster_policies.iter().map(|policy| {
            let key = (policy.kind.clone(), policy.name.clone());
            (key, policy.clone())
        });
        Cluster {
            namespaces: namespaces
                .map(|name| (name.clone(), self.namespace_labels(name)))
                .collect(),
            pods: self.pods.iter().map(|(key, pod)| (key.clone(), pod.model(key))).collect(),
            nodes: self.nodes().map(|node| (node.name.clone(), node.clone())).collect(),
            network_policies: network_policies.collect(),
            cluster_policies: cluster_policies.collect(),
            domains: DomainCache::default(),
        }
    }
}

// === impl Pod ===

impl Pod {
    fn model(&self, (namespace, name): &Key) -> cluster::Pod {
        let named = self.ports.iter().filter_map(|port| {
            let name = port.name.clone()?;
            Some(cluster::NamedPort { name, protocol: port.protocol, number: port.number })
        });
        cluster::Pod {
            namespace: namespace.clone(),
            name: name.clone(),
            phase: self.phase,
            host_network: self.host_network,
            labels: self.labels.clone(),
            addresses: self.addresses.clone(),
            ports: named.collect(),
            node: self.node.clone(),
        }
    }
}
