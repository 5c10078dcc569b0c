//! Pods with the same namespace and labels are one identity; identities in the same scopes are one class,
//! and a class has the rules that apply to it and that it is a peer of.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::{Cluster, NamedPort, Pod};
use crate::evaluate::Side;
use crate::label::Labels;

use super::row::{Row, Scratch};
use super::scope::{Member, Scopes};
use super::share::Chunks;
use super::table::{Parts, place};

/// The rules of a class in one direction: as subject and as peer.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) subject: Row,
    pub(super) peer: Row,
}

/// All identities and classes.
#[derive(Debug, Default)]
pub(super) struct Identities {
    numbers: HashMap<(Arc<str>, Labels), u32>,
    slots: Vec<Option<Identity>>,
    free: Vec<u32>,
    classes: HashMap<Arc<[u32]>, Class>,
    /// The rules of each identity, egress first, as snapshots see them.
    pub(super) rows: Chunks<[Arc<Rows>; 2]>,
    scratch: Scratch,
}

#[derive(Debug)]
struct Identity {
    namespace: Arc<str>,
    labels: Labels,
    ports: Arc<[NamedPort]>,
    scopes: Arc<[u32]>,
    uses: u32,
}

#[derive(Debug)]
struct Class {
    rows: [Arc<Rows>; 2],
    uses: u32,
}

// === impl Identities ===

impl Identities {
    /// Counts a pod among its identity. Gives its labels and ports as they are stored: pods of one identity
    /// mostly share both.
    pub(super) fn enlist(
        &mut self,
        member: &Member<'_>,
        pod: &Pod,
        scopes: &Scopes,
        parts: &[Parts; 2],
    ) -> (Labels, Arc<[NamedPort]>) {
        if let Some(number) = self.number_of(pod)
            && let Some(known) = &mut self.slots[number as usize]
        {
            known.uses += 1;
            let ports = if known.ports == pod.ports { &known.ports } else { &pod.ports };
            return (known.labels.clone(), ports.clone());
        }
        let of: Arc<[u32]> = scopes.of(member).into();
        let rows = self.enter(&of, parts);
        let (namespace, labels) = (pod.namespace.clone(), pod.labels.clone());
        let key = (namespace.clone(), labels.clone());
        let (ports, scopes) = (pod.ports.clone(), of);
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        self.slots[number as usize] = Some(Identity { namespace, labels, ports, scopes, uses: 1 });
        self.numbers.insert(key, number);
        self.rows.set(number, &rows);
        (pod.labels.clone(), pod.ports.clone())
    }

    /// The number of a pod's identity.
    pub(super) fn number_of(&self, pod: &Pod) -> Option<u32> {
        self.numbers.get(&(pod.namespace.clone(), pod.labels.clone())).copied()
    }

    /// A pod is no longer among its identity.
    pub(super) fn release(&mut self, pod: &Pod) {
        let Some(number) = self.number_of(pod) else { return };
        let slot = &mut self.slots[number as usize];
        let Some(identity) = slot else { return };
        identity.uses -= 1;
        if let Some(gone) = slot.take_if(|identity| identity.uses == 0) {
            self.numbers.remove(&(gone.namespace, gone.labels));
            self.free.push(number);
            self.leave(&gone.scopes);
        }
    }

    /// Asks the identities of a namespace anew in which scopes they are.
    pub(super) fn relabel(
        &mut self,
        namespace: &str,
        namespace_labels: &Labels,
        scopes: &Scopes,
        parts: &[Parts; 2],
    ) {
        self.update(parts, |identity| {
            if *identity.namespace != *namespace {
                return None;
            }
            let labels = &identity.labels;
            let found = scopes.of(&Member { namespace, namespace_labels, labels });
            (*found != *identity.scopes).then_some(found)
        });
    }

    /// Takes changed scopes, and the tables of the directions that were built, into account.
    pub(super) fn rebuild(
        &mut self,
        cluster: &Cluster,
        scopes: &mut Scopes,
        parts: &[Parts; 2],
        built: &[Side],
    ) {
        if let Some(changes) = scopes.take_changes() {
            let mut labels: HashMap<Arc<str>, Labels> = HashMap::new();
            self.update(parts, |identity| {
                let namespace_labels = labels
                    .entry(identity.namespace.clone())
                    .or_insert_with(|| cluster.namespace_labels(&identity.namespace));
                let (namespace, labels) = (&*identity.namespace, &identity.labels);
                let member = Member { namespace, namespace_labels, labels };
                scopes.updated(&identity.scopes, &member, &changes)
            });
        }
        for (scopes, class) in &mut self.classes {
            for at in built.iter().copied().map(place) {
                class.rows[at] = combine(scopes, &parts[at], &mut self.scratch);
            }
        }
        for (number, identity) in (0_u32..).zip(&self.slots) {
            let class = identity.as_ref().and_then(|one| self.classes.get(&one.scopes));
            if let Some(class) = class {
                self.rows.set(number, &class.rows);
            }
        }
    }

    fn update(
        &mut self,
        parts: &[Parts; 2],
        mut changed: impl FnMut(&Identity) -> Option<Vec<u32>>,
    ) {
        for number in 0..self.slots.len() {
            let Some(identity) = &mut self.slots[number] else { continue };
            let Some(found) = changed(identity) else { continue };
            let found: Arc<[u32]> = found.into();
            let before = std::mem::replace(&mut identity.scopes, found.clone());
            let rows = self.enter(&found, parts);
            self.leave(&before);
            self.rows.set(u32::try_from(number).unwrap_or(u32::MAX), &rows);
        }
    }

    fn enter(&mut self, scopes: &Arc<[u32]>, parts: &[Parts; 2]) -> [Arc<Rows>; 2] {
        if let Some(class) = self.classes.get_mut(scopes) {
            class.uses += 1;
            return class.rows.clone();
        }
        let rows = parts.each_ref().map(|parts| combine(scopes, parts, &mut self.scratch));
        self.classes.insert(scopes.clone(), Class { rows: rows.clone(), uses: 1 });
        rows
    }

    fn leave(&mut self, scopes: &Arc<[u32]>) {
        let Some(class) = self.classes.get_mut(scopes) else { return };
        class.uses -= 1;
        if class.uses == 0 {
            self.classes.remove(scopes);
        }
    }
}

/// The rules of what is in all of these scopes.
fn combine(scopes: &[u32], parts: &Parts, scratch: &mut Scratch) -> Arc<Rows> {
    let mut union = |rows: &[Row]| {
        // A scope that is not compiled yet has no rules yet.
        let rows = scopes.iter().filter_map(|scope| rows.get(*scope as usize));
        for row in rows {
            scratch.add(row);
        }
        scratch.take()
    };
    Arc::new(Rows { subject: union(&parts.subjects), peer: union(&parts.peers) })
}
