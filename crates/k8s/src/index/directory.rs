//! What the learner asks of the index.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use netenf_learn::directory::{ApiServerTarget, DnsTarget, Holder, PodEntry, ServiceTarget};
use netenf_learn::{Directory, PodName, Timestamp, Workload};
use netenf_policy::{Labels, Protocol, Selector};

use super::{DEEPEST, Index, Key, NodeAddress, Pod, service};
use crate::object::Kind;

/// Where every distribution of Kubernetes has its DNS service.
const DNS_SERVICE: (&str, &str) = ("kube-system", "kube-dns");

impl Directory for Index {
    fn is_empty(&self) -> bool {
        Index::is_empty(self)
    }

    fn covers(&self, namespace: &str) -> bool {
        // A policy says nothing of who is in its namespace.
        let objects = self.covered.get(namespace).into_iter().flatten();
        objects.map(|(kind, _)| kind).any(|kind| *kind != Kind::NetworkPolicy)
    }

    fn pod(&self, namespace: &str, name: &PodName) -> Option<PodEntry> {
        match name {
            PodName::Exact(name) => {
                let key = (Arc::from(namespace), name.clone());
                let pod = self.pods.get(&key).or_else(|| self.tombstones.named(&key))?;
                Some(self.entry(pod))
            }
            PodName::Generated(prefix) => {
                let key = (Arc::from(namespace), prefix.clone());
                match self.by_generate_name.get(&key) {
                    Some(pods) => self.common(pods.iter().filter_map(|key| self.pods.get(key))),
                    None => self.common(self.tombstones.generated(&key)),
                }
            }
        }
    }

    fn has_workload(&self, workload: &Workload) -> bool {
        self.workloads.contains_key(workload)
    }

    fn owner(&self, workload: &Workload) -> Workload {
        self.top(workload)
    }

    fn workload_by_labels(&self, namespace: &str, labels: &Labels) -> Option<Workload> {
        let namespace = Arc::from(namespace);
        let carried = self
            .tops_in(&namespace)
            .filter(|(_, entry)| !entry.selector.is_empty() && entry.selector.matches(labels));
        let mut carried = carried.map(|(workload, _)| workload);
        let first = carried.next()?;
        carried.next().is_none().then(|| first.clone())
    }

    fn holder(&self, address: IpAddr, time: Option<Timestamp>) -> Option<Holder> {
        if let Some(pod) = self.pod_at(address, time) {
            return Some(Holder::Pod(self.entry(pod)));
        }
        let mut listed = self.api_server.values().flatten();
        if listed.any(|(_, addresses)| addresses.contains(&address)) {
            return Some(Holder::ApiServer);
        }
        let (kind, name) = self.node_at(address)?;
        Some(Holder::Node { name: name.clone(), router: kind != NodeAddress::Own })
    }

    fn is_reused(&self, address: IpAddr) -> bool {
        // One pod may hold it for a part of the time only, so the answer may differ with a single one too.
        let mut holders = self.holders(address);
        let first = holders.next();
        let is_timed = |pod: &Pod| pod.start.is_some() || pod.end.is_some();
        first.is_some_and(is_timed) || holders.next().is_some()
    }

    fn service(&self, address: IpAddr, port: u16, protocol: Protocol) -> Option<ServiceTarget> {
        self.service_target(address, port, protocol)
    }

    fn selector(&self, workload: &Workload) -> Option<Selector> {
        self.workloads.get(workload).map(|entry| entry.selector.clone())
    }

    fn declares(&self, workload: &Workload, port: u16, protocol: Protocol) -> bool {
        let declared = self.workloads.get(workload).is_some_and(|entry| {
            entry.ports.iter().any(|one| one.number == port && one.protocol == protocol)
        });
        declared || self.is_target(workload, port, protocol)
    }

    fn node_of(&self, address: IpAddr) -> Option<Arc<str>> {
        self.pod_at(address, None)?.node.clone()
    }

    fn dns(&self) -> Option<DnsTarget> {
        let key: Key = (DNS_SERVICE.0.into(), DNS_SERVICE.1.into());
        let by_service = self.services.get(&key).filter(|service| !service.selector.is_empty());
        let label: Labels = [("k8s-app", "kube-dns")].into_iter().collect();
        let selector = match by_service {
            Some(service) => service.selector.clone(),
            None => label,
        };
        let pods = self.workloads_in(&key.0);
        let pods = pods.filter(|(_, entry)| entry.labels.contains_all(&selector));
        let ports: Vec<_> = pods.map(|(_, entry)| &entry.ports).collect();
        if by_service.is_none() && ports.is_empty() {
            return None;
        }
        let asked =
            by_service.and_then(|service| service.ports.iter().find(|port| port.port == 53));
        let target = asked.and_then(|asked| {
            let own = ports
                .iter()
                .find_map(|ports| service::resolve(&asked.target, asked.protocol, ports));
            own.or_else(|| service::resolve(&asked.target, asked.protocol, &[]))
        });
        let selector = Selector::of_labels(selector);
        Some(DnsTarget { namespace: key.0, selector, port: target.unwrap_or(53) })
    }

    fn api_server(&self) -> Option<ApiServerTarget> {
        let listed = || self.api_server.values().flatten();
        let port = *listed().flat_map(|(ports, _)| ports).min()?;
        let listed = listed().filter(|(ports, _)| ports.contains(&port));
        let addresses: BTreeSet<IpAddr> =
            listed.flat_map(|(_, addresses)| addresses).copied().collect();
        Some(ApiServerTarget { addresses: addresses.into_iter().collect(), port })
    }

    fn node_addresses(&self, node: Option<&str>) -> Vec<IpAddr> {
        self.addresses_of_nodes(|name, kind| {
            kind != NodeAddress::Likely && node.is_none_or(|node| node == name)
        })
    }

    fn is_host_network(&self, workload: &Workload) -> bool {
        self.workloads.get(workload).is_some_and(|entry| entry.host_network)
    }

    fn running_as(&self, namespace: &str, account: &str) -> Vec<Workload> {
        let pods = self.pods_as.get(&(Arc::from(namespace), Arc::from(account)));
        let pods = pods.into_iter().flatten().filter_map(|key| self.pods.get(key));
        let users: BTreeSet<Workload> = pods.map(|pod| self.top(&pod.owner)).collect();
        users.into_iter().collect()
    }

    fn selected_too(&self, workload: &Workload) -> Vec<Workload> {
        let Some(own) = self.workloads.get(workload) else { return Vec::new() };
        // What it controls is itself; on the host's network nothing is selected.
        let others = self.tops_in(&workload.namespace).filter(|(other, entry)| {
            *other != workload
                && !entry.host_network
                && !entry.labels.is_empty()
                && own.selector.matches(&entry.labels)
        });
        others.map(|(other, _)| other.clone()).collect()
    }

    fn port_names(&self, workload: &Workload, port: u16, protocol: Protocol) -> Vec<Arc<str>> {
        let ports = self.workloads.get(workload).map(|entry| &entry.ports).into_iter().flatten();
        let named = ports.filter(|one| one.number == port && one.protocol == protocol);
        let names: BTreeSet<Arc<str>> = named.filter_map(|one| one.name.clone()).collect();
        names.into_iter().collect()
    }

    fn nodes_of(&self, workload: &Workload) -> Vec<Arc<str>> {
        let mut nodes = BTreeSet::new();
        self.add_nodes_of(workload, 0, &mut nodes);
        nodes.into_iter().collect()
    }

    fn labels(&self, workload: &Workload) -> Option<Labels> {
        self.workloads.get(workload).map(|entry| entry.labels.clone())
    }
}

impl Index {
    /// Adds the nodes of the workload's pods, and of the pods of what it controls.
    fn add_nodes_of(&self, workload: &Workload, depth: usize, nodes: &mut BTreeSet<Arc<str>>) {
        let pods = self.pods_of.get(workload).into_iter().flatten();
        nodes.extend(pods.filter_map(|key| self.pods.get(key)?.node.clone()));
        for own in self.controlled.get(workload).into_iter().flatten().filter(|_| depth < DEEPEST) {
            self.add_nodes_of(own, depth + 1, nodes);
        }
    }

    /// The first of `pods`, if all are one workload's: a `StatefulSet` and a `DaemonSet` of one name make pods of
    /// one prefix.
    fn common<'a>(&self, mut pods: impl Iterator<Item = &'a Pod>) -> Option<PodEntry> {
        let first = self.entry(pods.next()?);
        pods.all(|pod| self.top(&pod.owner) == first.workload).then_some(first)
    }

    fn entry(&self, pod: &Pod) -> PodEntry {
        let label = |key: &str| pod.labels.value(key);
        PodEntry {
            workload: self.top(&pod.owner),
            host_network: pod.host_network,
            node: pod.node.clone(),
            // istiod labels the pods of a waypoint's Gateway so.
            waypoint: label("gateway.networking.k8s.io/gateway-class-name")
                == Some("istio-waypoint")
                || label("gateway.istio.io/managed") == Some("istio.io-mesh-controller"),
        }
    }

    /// The pod that held `address` at `time`; where several did, the one that got it last.
    fn pod_at(&self, address: IpAddr, time: Option<Timestamp>) -> Option<&Pod> {
        // Times in pod statuses are whole seconds.
        const SECOND: i64 = 1_000_000_000;
        let held = |pod: &&Pod| match time {
            Some(time) => {
                pod.start.is_none_or(|start| start.0 <= time.0.saturating_add(SECOND))
                    && pod.end.is_none_or(|end| time.0 <= end.0.saturating_add(SECOND))
            }
            None => pod.end.is_none(),
        };
        self.holders(address).filter(held).max_by_key(|pod| pod.start)
    }

    /// The pods that have or had the address, those that are gone first.
    fn holders(&self, address: IpAddr) -> impl Iterator<Item = &Pod> {
        let pods = self.by_address.get(&address).into_iter().flatten();
        self.tombstones.at(address).chain(pods.filter_map(|key| self.pods.get(key)))
    }
}
