//! Pods: what is kept of them, and how they are found.

use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{self as core, PodSpec, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_learn::{Timestamp, Workload};
use netenf_policy::cluster::Phase;

use super::apply::{named_port, timestamp, unlink};
use super::{Index, Key, NamedPort, Pod, controller, key};
use crate::object::{Kind, labels};

impl Index {
    pub(super) fn apply_pod(&mut self, pod: core::Pod) {
        let key = self.cover(Kind::Pod, &pod.metadata);
        let pod = Pod::read(&key, pod);
        match self.pods.get(&key).filter(|known| known.came_after(&pod)).map(Pod::began) {
            Some(end) => self.tombstones.bury(key, pod, end),
            None => self.insert_pod(key, pod),
        }
    }

    /// Whether another pod than this has its name.
    pub(super) fn is_of_another(&self, metadata: &ObjectMeta) -> bool {
        let known = self.pods.get(&key(metadata));
        known.is_some_and(|known| known.is_another(metadata.uid.as_deref()))
    }

    /// Lets go of a pod but for its tombstone.
    pub(super) fn bury_pod(&mut self, key: &Key, at: Timestamp) {
        self.uncover(&Kind::Pod, key);
        if let Some(pod) = self.unlink_pod(key) {
            self.untell(&pod);
            self.tombstones.bury(key.clone(), pod, at);
        }
    }

    fn insert_pod(&mut self, key: Key, pod: Pod) {
        let old = self.unlink_pod(&key);
        for address in pod.own_addresses() {
            self.by_address.entry(*address).or_default().insert(key.clone());
        }
        if let Some(generated) = pod.generated(&key) {
            self.by_generate_name.entry(generated).or_default().insert(key.clone());
        }
        let account = (key.0.clone(), pod.account.clone());
        self.pods_as.entry(account).or_default().insert(key.clone());
        self.pods_of.entry(pod.owner.clone()).or_default().insert(key.clone());
        self.note_owner_of(&pod);
        let (uid, began) = (pod.uid.clone(), pod.began());
        self.pods.insert(key.clone(), pod);
        let Some(old) = old else { return };
        self.untell(&old);
        // A StatefulSet makes its pods again under their names.
        if old.is_another(uid.as_deref()) {
            self.tombstones.bury(key, old, began);
        }
    }

    /// Takes a pod out of every map.
    fn unlink_pod(&mut self, key: &Key) -> Option<Pod> {
        let old = self.pods.remove(key)?;
        for address in old.own_addresses() {
            unlink(&mut self.by_address, address, key);
        }
        if let Some(generated) = old.generated(key) {
            unlink(&mut self.by_generate_name, &generated, key);
        }
        unlink(&mut self.pods_as, &(key.0.clone(), old.account.clone()), key);
        unlink(&mut self.pods_of, &old.owner, key);
        Some(old)
    }
}

// === impl Pod ===

impl Pod {
    fn read(key: &Key, pod: core::Pod) -> Self {
        let spec = pod.spec.unwrap_or_default();
        let status = pod.status.unwrap_or_default();
        let phase = match status.phase.as_deref() {
            Some("Running") => Phase::Running,
            Some("Succeeded" | "Failed") => Phase::Finished,
            // Also a phase that is not known, and a pod without status: it may have its address already.
            _ => Phase::Pending,
        };
        Self {
            uid: pod.metadata.uid.as_deref().map(Arc::from),
            created: pod.metadata.creation_timestamp.as_ref().map(timestamp),
            labels: labels(pod.metadata.labels.as_ref()),
            owner: owner(key, &pod.metadata),
            host_network: spec.host_network == Some(true),
            node: spec.node_name.as_deref().map(Arc::from),
            ports: ports(&spec),
            generate_name: pod.metadata.generate_name.as_deref().map(Arc::from),
            account: spec.service_account_name.as_deref().unwrap_or("default").into(),
            start: status.start_time.as_ref().map(timestamp),
            // A finished pod owns no address any more; where it does not say when it finished, at once.
            end: (phase == Phase::Finished).then(|| end(&status).unwrap_or(Timestamp(i64::MIN))),
            phase,
            addresses: addresses(&status),
        }
    }

    /// Whether it is another pod than the one with this UID, as far as both have one.
    fn is_another(&self, uid: Option<&str>) -> bool {
        self.uid.as_deref().zip(uid).is_some_and(|(own, uid)| own != uid)
    }

    /// Whether it is another pod, of a later time.
    fn came_after(&self, other: &Self) -> bool {
        let created = self.created.zip(other.created);
        self.is_another(other.uid.as_deref()) && created.is_some_and(|(own, other)| own > other)
    }

    /// When it took over its name, if it says so.
    fn began(&self) -> Timestamp {
        self.created.or(self.start).unwrap_or(Timestamp(i64::MIN))
    }

    /// The addresses that are not its node's.
    pub(super) fn own_addresses(&self) -> &[IpAddr] {
        if self.host_network { &[] } else { &self.addresses }
    }

    /// Its namespace and the beginning of its name, if that was generated.
    pub(super) fn generated(&self, key: &Key) -> Option<Key> {
        Some((key.0.clone(), self.generate_name.clone()?))
    }
}

/// The direct controller, or the pod itself.
fn owner((namespace, name): &Key, metadata: &ObjectMeta) -> Workload {
    // A static pod's mirror is "controlled" by its node, which is no workload.
    let (kind, name) = controller(metadata)
        .filter(|owner| owner.kind != "Node")
        .map_or(("Pod", &**name), |owner| (&owner.kind, &owner.name));
    Workload::new(namespace.clone(), kind, name)
}

fn end(status: &PodStatus) -> Option<Timestamp> {
    let containers = status.container_statuses.iter().flatten();
    let ends = containers.filter_map(|container| {
        container.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref().map(timestamp)
    });
    ends.max()
}

fn addresses(status: &PodStatus) -> Vec<IpAddr> {
    let all = status.pod_ips.iter().flatten().map(|ip| &ip.ip).chain(&status.pod_ip);
    let mut addresses: Vec<IpAddr> = all.filter_map(|ip| ip.parse().ok()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
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
