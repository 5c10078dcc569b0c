//! Pods that are gone, kept for a while so that late flows resolve (DESIGN §3).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use netenf_learn::Timestamp;

use super::apply::unlink;
use super::{Key, Pod};

/// Pods that are gone.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) struct Tombstones {
    pods: BTreeMap<Grave, Pod>,
    by_name: HashMap<Key, BTreeSet<Grave>>,
    by_generate_name: HashMap<Key, BTreeSet<Grave>>,
    by_address: HashMap<IpAddr, BTreeSet<Grave>>,
}

/// When a pod went, its namespace and name, and its UID: pods of one name are told apart by that.
type Grave = (Timestamp, Key, Option<Arc<str>>);

// === impl Tombstones ===

impl Tombstones {
    /// Keeps a pod that went at `at`. It held its addresses until then, unless it had finished before.
    pub(super) fn bury(&mut self, key: Key, mut pod: Pod, at: Timestamp) {
        pod.end = Some(pod.end.map_or(at, |end| end.min(at)));
        let grave: Grave = (at, key, pod.uid.clone());
        self.remove(&grave);
        for address in pod.own_addresses() {
            self.by_address.entry(*address).or_default().insert(grave.clone());
        }
        if let Some(generated) = pod.generated(&grave.1) {
            self.by_generate_name.entry(generated).or_default().insert(grave.clone());
        }
        self.by_name.entry(grave.1.clone()).or_default().insert(grave.clone());
        self.pods.insert(grave, pod);
    }

    /// The pod of that name that went last.
    pub(super) fn named(&self, key: &Key) -> Option<&Pod> {
        self.pods.get(self.by_name.get(key)?.last()?)
    }

    /// The pods whose names were generated from that beginning.
    pub(super) fn generated(&self, key: &Key) -> impl Iterator<Item = &Pod> {
        self.all(self.by_generate_name.get(key))
    }

    /// The pods that held the address.
    pub(super) fn at(&self, address: IpAddr) -> impl Iterator<Item = &Pod> {
        self.all(self.by_address.get(&address))
    }

    /// Drops the pods that went before `first`.
    pub(super) fn forget(&mut self, first: Timestamp) {
        while let Some(grave) = self.pods.keys().next().filter(|grave| grave.0 < first).cloned() {
            self.remove(&grave);
        }
    }

    fn remove(&mut self, grave: &Grave) {
        let Some(pod) = self.pods.remove(grave) else { return };
        for address in pod.own_addresses() {
            unlink(&mut self.by_address, address, grave);
        }
        if let Some(generated) = pod.generated(&grave.1) {
            unlink(&mut self.by_generate_name, &generated, grave);
        }
        unlink(&mut self.by_name, &grave.1, grave);
    }

    fn all(&self, graves: Option<&BTreeSet<Grave>>) -> impl Iterator<Item = &Pod> {
        graves.into_iter().flatten().filter_map(|grave| self.pods.get(grave))
    }
}
