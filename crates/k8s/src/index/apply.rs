//! Taking objects in, and letting them go.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use netenf_learn::Timestamp;
use netenf_policy::Protocol;

use super::{DEFAULT_NAMESPACE, Index, Key, NamedPort, key};
use crate::enforcer;
use crate::object::{Kind, Object, labels};

/// How long pods that are gone are remembered, so that late flows resolve (DESIGN §3).
const REMEMBERED: Duration = Duration::from_mins(5);

impl Index {
    /// Takes in an object, in place of an older version of it. Where a pod has the name of another one (its UID
    /// differs), the one that was created later is there, and the other is gone since then.
    pub fn apply(&mut self, object: Object) {
        self.sight(&object);
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

    /// Lets go of an object that was deleted at `at`: all but its identity is of no interest. Pods, and whom
    /// other objects belonged to, are remembered until they are [forgotten](Self::forget).
    pub fn delete(&mut self, object: &Object, at: Timestamp) {
        // A newer pod may have the name already.
        if let Object::Pod(pod) = object
            && self.is_of_another(&pod.metadata)
        {
            return;
        }
        self.remove(&object.kind(), &identity(object), at);
    }

    /// Takes in `objects` as all there are of their `kind` at `at`, as a watch lists them that starts again:
    /// what else there was of it has been deleted.
    pub fn replace(
        &mut self,
        kind: &Kind,
        objects: impl IntoIterator<Item = Object>,
        at: Timestamp,
    ) {
        let mut gone = self.keys_of(kind);
        for object in objects {
            gone.remove(&identity(&object));
            self.apply(object);
        }
        for key in gone {
            self.remove(kind, &key, at);
        }
    }

    /// Forgets what was deleted more than five minutes before `now`.
    pub fn forget(&mut self, now: Timestamp) {
        let length = i64::try_from(REMEMBERED.as_nanos()).unwrap_or(i64::MAX);
        let first = Timestamp(now.0.saturating_sub(length));
        self.tombstones.forget(first);
        self.forget_owners(first);
    }

    fn sight(&mut self, object: &Object) {
        let sighting = match object {
            Object::DaemonSet(set) => enforcer::of_daemon_set(set),
            Object::Node(node) => enforcer::of_node(node),
            _ => return,
        };
        let key = (object.kind(), identity(object));
        match sighting {
            Some(sighting) => drop(self.dataplanes.insert(key, sighting)),
            None => drop(self.dataplanes.remove(&key)),
        }
    }

    fn remove(&mut self, kind: &Kind, key: &Key, at: Timestamp) {
        if matches!(kind, Kind::DaemonSet | Kind::Node) {
            self.dataplanes.remove(&(kind.clone(), key.clone()));
        }
        match kind {
            Kind::Pod => self.bury_pod(key, at),
            Kind::Service => self.remove_service(key),
            Kind::EndpointSlice | Kind::Endpoints => self.remove_listing(kind, key),
            Kind::Node => self.remove_node(&key.1),
            Kind::Namespace => {
                self.namespaces.remove(&key.1);
            }
            Kind::NetworkPolicy => self.remove_policy(key),
            Kind::ClusterPolicy(kind) => self.remove_cluster_policy(*kind, &key.1),
            Kind::Proposal | Kind::Policy => {}
            Kind::ReplicaSet
            | Kind::Deployment
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::Job
            | Kind::CronJob
            | Kind::Other(_) => self.remove_workload(kind, key, at),
        }
    }

    /// All that is known of a kind.
    fn keys_of(&self, kind: &Kind) -> BTreeSet<Key> {
        let cluster_wide = |name: &Arc<str>| (Arc::from(DEFAULT_NAMESPACE), name.clone());
        match kind {
            Kind::Node => self.nodes.keys().map(cluster_wide).collect(),
            Kind::Namespace => self.namespaces.keys().map(cluster_wide).collect(),
            Kind::ClusterPolicy(kind) => {
                self.cluster_policies_of(*kind).map(cluster_wide).collect()
            }
            namespaced => {
                let all = self.covered.iter().flat_map(|(namespace, objects)| {
                    objects
                        .iter()
                        .map(move |(kind, name)| (kind, (namespace.clone(), name.clone())))
                });
                all.filter(|(kind, _)| *kind == namespaced).map(|(_, key)| key).collect()
            }
        }
    }

    pub(super) fn cover(&mut self, kind: Kind, metadata: &ObjectMeta) -> Key {
        let (namespace, name) = key(metadata);
        let objects = self.covered.entry(namespace.clone()).or_default();
        objects.insert((kind, name.clone()));
        (namespace, name)
    }

    pub(super) fn uncover(&mut self, kind: &Kind, (namespace, name): &Key) {
        if let Some(objects) = self.covered.get_mut(namespace) {
            objects.remove(&(kind.clone(), name.clone()));
            if objects.is_empty() {
                self.covered.remove(namespace);
            }
        }
    }
}

/// Namespace and name of an object. Those of kinds that are cluster-wide say no namespace, and are known by name.
fn identity(object: &Object) -> Key {
    let (namespace, name) = object.place();
    (namespace.unwrap_or(DEFAULT_NAMESPACE).into(), name.into())
}

/// Takes `value` from those at `key`; where none is left, nothing is.
pub(super) fn unlink<K: Eq + Hash, V: Ord>(map: &mut HashMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(values) = map.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            map.remove(key);
        }
    }
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

pub(super) fn timestamp(time: &Time) -> Timestamp {
    Timestamp(i64::try_from(time.0.as_nanosecond()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
