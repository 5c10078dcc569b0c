//! The sets of pods that policies select, each once, and which of them a pod is in.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::label::Labels;
use crate::selector::{Operator, Selector};

/// Number of the scope of all pods. No pod lists it: what holds for all is kept once, in the tables.
pub(super) const EVERY_POD: u32 = 0;

/// A set of pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) namespaces: Namespaces,
    pub(super) pods: Selector,
}

/// Whose pods.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Namespaces {
    /// Those of one namespace, whatever its labels.
    Named(Arc<str>),
    /// Those of namespaces by labels.
    Labels(Selector),
}

/// All scopes that policies use, by number.
#[derive(Debug)]
pub(super) struct Scopes {
    numbers: HashMap<Scope, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: Index,
    /// Scopes that no pod was asked about yet.
    added: Vec<u32>,
    /// Whether some scope lost its last use.
    orphaned: bool,
}

#[derive(Debug)]
struct Slot {
    scope: Option<Scope>,
    uses: u32,
}

/// Scopes by something that every pod in them has, so that a pod is asked about few.
#[derive(Debug, Default)]
struct Index {
    by_label: ByLabel,
    by_namespace: HashMap<Arc<str>, Vec<u32>>,
    by_namespace_label: ByLabel,
    rest: Vec<u32>,
}

/// Lists by key and value of a label.
type ByLabel = HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>;

/// A list of the index that a scope is in.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    Label(Arc<str>, Arc<str>),
    Namespace(Arc<str>),
    NamespaceLabel(Arc<str>, Arc<str>),
    Rest,
}

/// What a pod is asked by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) namespace: &'a str,
    pub(super) namespace_labels: &'a Labels,
    pub(super) labels: &'a Labels,
}

/// What changed since the pods were asked last.
pub(super) struct Changes {
    added: Index,
    gone: Vec<u32>,
}

// === impl Scope ===

impl Scope {
    fn holds(&self, member: &Member<'_>) -> bool {
        let namespace = match &self.namespaces {
            Namespaces::Named(name) => **name == *member.namespace,
            Namespaces::Labels(selector) => selector.matches(member.namespace_labels),
        };
        namespace && self.pods.matches(member.labels)
    }

    fn is_every_pod(&self) -> bool {
        let everywhere = match &self.namespaces {
            Namespaces::Named(_) => false,
            Namespaces::Labels(selector) => selector.is_empty(),
        };
        everywhere && self.pods.is_empty()
    }
}

/// Labels of which everything that a selector selects has one; `None` if there are no such labels.
fn needed(selector: &Selector) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    if let Some((key, value)) = selector.labels.iter().next() {
        return Some(vec![(key.into(), value.into())]);
    }
    selector.requirements.iter().find_map(|requirement| match &requirement.operator {
        Operator::In(values) => {
            Some(values.iter().map(|value| (requirement.key.clone(), value.clone())).collect())
        }
        Operator::NotIn(_) | Operator::Exists | Operator::DoesNotExist => None,
    })
}

/// The lists that a scope is in, each once: values may repeat.
fn homes(scope: &Scope) -> BTreeSet<Home> {
    if let Some(needed) = needed(&scope.pods) {
        return needed.into_iter().map(|(key, value)| Home::Label(key, value)).collect();
    }
    let selector = match &scope.namespaces {
        Namespaces::Named(name) => return [Home::Namespace(name.clone())].into(),
        Namespaces::Labels(selector) => selector,
    };
    match needed(selector) {
        Some(needed) => {
            needed.into_iter().map(|(key, value)| Home::NamespaceLabel(key, value)).collect()
        }
        None => [Home::Rest].into(),
    }
}

fn listed<'a>(lists: &'a mut ByLabel, key: &Arc<str>, value: &Arc<str>) -> &'a mut Vec<u32> {
    lists.entry(key.clone()).or_default().entry(value.clone()).or_default()
}

fn unlisted(lists: &mut ByLabel, key: &str, value: &str) {
    if let Some(values) = lists.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            lists.remove(key);
        }
    }
}

// === impl Index ===

impl Index {
    fn add(&mut self, scope: &Scope, number: u32) {
        for home in homes(scope) {
            self.list(&home).push(number);
        }
    }

    /// Policies that come and go leave nothing behind.
    fn remove(&mut self, scope: &Scope, number: u32) {
        for home in homes(scope) {
            let list = self.list(&home);
            list.retain(|one| *one != number);
            if list.is_empty() {
                self.forget(&home);
            }
        }
    }

    fn list(&mut self, home: &Home) -> &mut Vec<u32> {
        match home {
            Home::Label(key, value) => listed(&mut self.by_label, key, value),
            Home::Namespace(name) => self.by_namespace.entry(name.clone()).or_default(),
            Home::NamespaceLabel(key, value) => listed(&mut self.by_namespace_label, key, value),
            Home::Rest => &mut self.rest,
        }
    }

    fn forget(&mut self, home: &Home) {
        match home {
            Home::Label(key, value) => unlisted(&mut self.by_label, key, value),
            Home::Namespace(name) => drop(self.by_namespace.remove(name)),
            Home::NamespaceLabel(key, value) => unlisted(&mut self.by_namespace_label, key, value),
            Home::Rest => {}
        }
    }

    fn candidates(&self, member: &Member<'_>) -> impl Iterator<Item = u32> {
        let by_label = |map: &ByLabel, labels: &Labels| {
            let lists = labels.iter().filter_map(|(key, value)| map.get(key)?.get(value));
            lists.flatten().copied().collect::<Vec<u32>>()
        };
        let mut found = by_label(&self.by_label, member.labels);
        found.extend(by_label(&self.by_namespace_label, member.namespace_labels));
        found.extend(self.by_namespace.get(member.namespace).into_iter().flatten());
        found.extend(&self.rest);
        found.into_iter()
    }
}

// === impl Scopes ===

impl Default for Scopes {
    fn default() -> Self {
        let every = Scope {
            namespaces: Namespaces::Labels(Selector::default()),
            pods: Selector::default(),
        };
        Self {
            numbers: [(every.clone(), EVERY_POD)].into(),
            slots: vec![Slot { scope: Some(every), uses: 1 }],
            free: Vec::new(),
            index: Index::default(),
            added: Vec::new(),
            orphaned: false,
        }
    }
}

impl Scopes {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The number of a scope, used once more.
    pub(super) fn number(&mut self, scope: Scope) -> u32 {
        if scope.is_every_pod() {
            return EVERY_POD;
        }
        if let Some(number) = self.numbers.get(&scope) {
            self.slots[*number as usize].uses += 1;
            return *number;
        }
        let slot = Slot { scope: Some(scope.clone()), uses: 1 };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.index.add(&scope, number);
        self.numbers.insert(scope, number);
        self.added.push(number);
        number
    }

    /// A scope is used once less.
    pub(super) fn release(&mut self, number: u32) {
        if number != EVERY_POD {
            let slot = &mut self.slots[number as usize];
            slot.uses -= 1;
            self.orphaned |= slot.uses == 0;
        }
    }

    /// The scopes that a pod is in, sorted.
    pub(super) fn of(&self, member: &Member<'_>) -> Vec<u32> {
        self.among(&self.index, member)
    }

    /// The scopes that pods are to be asked about, and those that are gone. Their numbers are free
    /// afterwards: each pod's list has to be updated.
    pub(super) fn take_changes(&mut self) -> Option<Changes> {
        let added = std::mem::take(&mut self.added);
        let orphaned = std::mem::take(&mut self.orphaned);
        if added.is_empty() && !orphaned {
            return None;
        }
        let mut changes = Changes { added: Index::default(), gone: Vec::new() };
        if orphaned {
            self.collect(&mut changes.gone);
        }
        for number in added {
            if let Some(scope) = &self.slots[number as usize].scope {
                changes.added.add(scope, number);
            }
        }
        Some(changes)
    }

    fn collect(&mut self, gone: &mut Vec<u32>) {
        for (number, slot) in (0_u32..).zip(&mut self.slots) {
            let Some(scope) = slot.scope.take_if(|_| slot.uses == 0) else { continue };
            self.numbers.remove(&scope);
            self.index.remove(&scope, number);
            gone.push(number);
            self.free.push(number);
        }
    }

    /// The new list of a pod that had `known`; `None` if it stays the same.
    pub(super) fn updated(
        &self,
        known: &[u32],
        member: &Member<'_>,
        changes: &Changes,
    ) -> Option<Vec<u32>> {
        let added = self.among(&changes.added, member);
        let gone = |number: &u32| changes.gone.binary_search(number).is_ok();
        if added.is_empty() && !known.iter().any(gone) {
            return None;
        }
        let kept = known.iter().filter(|number| !gone(number));
        let mut all: Vec<u32> = kept.copied().chain(added).collect();
        all.sort_unstable();
        all.dedup();
        Some(all)
    }

    fn among(&self, index: &Index, member: &Member<'_>) -> Vec<u32> {
        let holds = |number: &u32| {
            self.slots[*number as usize].scope.as_ref().is_some_and(|scope| scope.holds(member))
        };
        let mut found: Vec<u32> = index.candidates(member).filter(holds).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests;
