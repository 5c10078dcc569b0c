//! Who is at which address: pods, nodes, and what names were resolved to it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use crate::cluster::{Key, Node, Phase, Pod};
use crate::domain::Asker;
use crate::evaluate::Side;

use super::Engine;
use super::scope::Member;
use super::snapshot::{AtNodes, Occupant, Place, Told};
use super::table::place;

/// All who claim an address.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Pods at addresses that several claim, in the order in which they have it; an address that one pod
    /// claims stands in the snapshot alone.
    contested: HashMap<IpAddr, BTreeSet<(Phase, Key)>>,
    /// Names of the nodes at their addresses.
    nodes: HashMap<IpAddr, BTreeSet<Arc<str>>>,
}

// === impl Engine ===

impl Engine {
    /// A pod is there, or is another than before.
    pub fn apply_pod(&mut self, mut pod: Pod) {
        let key = (pod.namespace.clone(), pod.name.clone());
        if self.cluster.pods.get(&key) == Some(&pod) {
            return;
        }
        self.withdraw(&key);
        self.share(&mut pod);
        let key = (pod.namespace.clone(), pod.name.clone());
        let owner = pod.owns_addresses();
        let (addresses, phase) = (pod.addresses.clone(), pod.phase);
        self.cluster.pods.insert(key.clone(), pod);
        if owner {
            let shared = Arc::new(key);
            for address in addresses {
                self.claim(address, phase, &shared);
            }
        }
    }

    /// A pod is gone, and what it alone was told of names.
    pub fn delete_pod(&mut self, namespace: &str, name: &str) {
        let key: Key = (namespace.into(), name.into());
        self.withdraw(&key);
        let changed = self.cluster.domains.forget(&Asker::Pod(key.0, key.1));
        self.refresh_names(changed);
    }

    /// A node is there, or is another than before.
    pub fn apply_node(&mut self, node: Node) {
        if self.cluster.nodes.get(&node.name) == Some(&node) {
            return;
        }
        self.delete_node(&node.name);
        for address in &node.addresses {
            self.claims.nodes.entry(*address).or_default().insert(node.name.clone());
        }
        let addresses = node.addresses.clone();
        self.cluster.nodes.insert(node.name.clone(), node);
        for address in addresses {
            self.refresh_nodes(address);
        }
    }

    /// A node is gone.
    pub fn delete_node(&mut self, name: &str) {
        let Some(node) = self.cluster.nodes.remove(name) else { return };
        for address in node.addresses {
            if let Some(names) = self.claims.nodes.get_mut(&address) {
                names.remove(name);
                if names.is_empty() {
                    self.claims.nodes.remove(&address);
                }
            }
            self.refresh_nodes(address);
        }
    }

    /// Takes the storage of what is known already: namespaces, nodes, labels and ports are few.
    fn share(&mut self, pod: &mut Pod) {
        if let Some((name, _)) = self.cluster.namespaces.get_key_value(&pod.namespace) {
            pod.namespace = name.clone();
        }
        if let Some((name, _)) = pod.node.as_ref().and_then(|n| self.cluster.nodes.get_key_value(n))
        {
            pod.node = Some(name.clone());
        }
        if !pod.owns_addresses() {
            return;
        }
        let namespace_labels = self.cluster.namespace_labels(&pod.namespace);
        let member = Member {
            namespace: &pod.namespace,
            namespace_labels: &namespace_labels,
            labels: &pod.labels,
        };
        let shared = self.identities.enlist(&member, pod, &self.scopes, &self.parts);
        (pod.labels, pod.ports) = shared;
    }

    /// Removes a pod from the cluster and its addresses.
    fn withdraw(&mut self, key: &Key) {
        let Some(pod) = self.cluster.pods.remove(key) else { return };
        if !pod.owns_addresses() {
            return;
        }
        for address in &pod.addresses {
            let Some(contested) = self.claims.contested.get_mut(address) else {
                let occupant = self.snapshot.ends.value(address).and_then(|one| one.pod.as_ref());
                if occupant.is_some_and(|occupant| *occupant.key == *key) {
                    self.occupy(*address, None);
                }
                continue;
            };
            contested.remove(&(pod.phase, key.clone()));
            let first = contested.first().map(|(_, key)| Arc::new(key.clone()));
            if contested.len() < 2 {
                self.claims.contested.remove(address);
            }
            self.occupy(*address, first.as_ref());
        }
        self.identities.release(&pod);
    }

    fn claim(&mut self, address: IpAddr, phase: Phase, key: &Arc<Key>) {
        let occupant = self.snapshot.ends.value(&address).and_then(|place| place.pod.as_ref());
        let Some(occupant) = occupant.filter(|occupant| occupant.key != *key) else {
            return self.occupy(address, Some(key));
        };
        let other = occupant.key.clone();
        let contested = self.claims.contested.entry(address).or_default();
        if contested.is_empty() {
            let phase = self.cluster.pods.get(&*other).map(|pod| pod.phase).unwrap_or_default();
            contested.insert((phase, (*other).clone()));
        }
        contested.insert((phase, (**key).clone()));
        let first = contested.first().map(|(_, key)| Arc::new(key.clone()));
        self.occupy(address, first.as_ref());
    }

    fn occupy(&mut self, address: IpAddr, key: Option<&Arc<Key>>) {
        let pod = key.and_then(|key| Some((key, self.cluster.pods.get(&**key)?)));
        let pod = pod.and_then(|(key, pod)| {
            let identity = self.identities.number_of(pod)?;
            let (ports, node) = (pod.ports.clone(), pod.node.clone());
            Some(Occupant { key: key.clone(), identity, ports, node })
        });
        let nodes = self.snapshot.ends.value(&address).and_then(|place| place.nodes.clone());
        self.place(address, Place { pod, nodes });
    }

    fn place(&mut self, address: IpAddr, place: Place) {
        let somebody = place.pod.is_some() || place.nodes.is_some();
        self.snapshot.ends.set(address, somebody.then_some(place));
    }

    fn refresh_nodes(&mut self, address: IpAddr) {
        let pod = self.snapshot.ends.value(&address).and_then(|place| place.pod.clone());
        let names = self.claims.nodes.get(&address);
        let nodes = names.map(|names| {
            let peer = [0, 1].map(|side: usize| {
                let labels = names.iter().filter_map(|name| self.cluster.nodes.get(name));
                for node in labels {
                    let rows = self.parts[side].nodes.iter();
                    for (_, row) in rows.filter(|(selector, _)| selector.matches(&node.labels)) {
                        self.scratch.add(row);
                    }
                }
                self.scratch.take()
            });
            Arc::new(AtNodes { names: names.iter().cloned().collect(), peer })
        });
        self.place(address, Place { pod, nodes });
    }

    /// Looks up anew the rules whose peers are nodes.
    pub(super) fn refresh_all_nodes(&mut self) {
        let addresses: Vec<IpAddr> = self.claims.nodes.keys().copied().collect();
        for address in addresses {
            self.refresh_nodes(address);
        }
    }

    /// Takes the patterns of the egress rules: only names that a pattern means which came or went may be of another
    /// class than before.
    pub(super) fn rebuild_names(&mut self) {
        let changed = self.names.rebuild(&self.parts[place(Side::Egress)].patterns);
        let domains = &self.cluster.domains;
        let addresses = changed.iter().flat_map(|pattern| domains.addresses(pattern));
        let addresses: BTreeSet<IpAddr> = addresses.collect();
        self.refresh_names(addresses);
        self.snapshot.classes = self.names.rows.clone();
    }

    /// Looks up anew of which classes the names of these addresses are.
    pub(super) fn refresh_names(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        for address in addresses {
            let told = self.told(address);
            let before = self.snapshot.names.value(&address).map_or(&[][..], |told| told);
            if *told != *before {
                self.snapshot.names.set(address, (!told.is_empty()).then(|| told.into()));
            }
        }
    }

    /// What was told of an address, in order of who was told. Names of one class are one entry.
    fn told(&self, address: IpAddr) -> Vec<Told> {
        let told = self.cluster.domains.known(address).filter_map(|known| {
            let class = self.names.class(known.name)?;
            Some(Told { asker: known.asker.clone(), class, expires: known.expires })
        });
        let mut told: Vec<Told> = told.collect();
        told.sort_by(|one, other| {
            let key = |told: &Told| (told.class, Reverse(told.expires));
            one.asker.cmp(&other.asker).then_with(|| key(one).cmp(&key(other)))
        });
        told.dedup_by(|next, first| next.asker == first.asker && next.class == first.class);
        told
    }
}
