//! The sets of pods that policies select, each once, and which of them a pod is in.

use std::collections::HashMap;
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
    by_label: HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>,
    by_namespace: HashMap<Arc<str>, Vec<u32>>,
    by_namespace_label: HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>,
    rest: Vec<u32>,
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

// === impl Index ===

impl Index {
    fn lists(&mut self, scope: &Scope) -> Vec<&mut Vec<u32>> {
        let (map, needed) = match (needed(&scope.pods), &scope.namespaces) {
            (Some(needed), _) => (&mut self.by_label, needed),
            (None, Namespaces::Named(name)) => {
                return vec![self.by_namespace.entry(name.clone()).or_default()];
            }
            (None, Namespaces::Labels(selector)) => match self::needed(selector) {
                Some(needed) => (&mut self.by_namespace_label, needed),
                None => return vec![&mut self.rest],
            },
        };
        // One after the other: a list cannot be borrowed twice, and values may repeat.
        for (key, value) in &needed {
            map.entry(key.clone()).or_default().entry(value.clone()).or_default();
        }
        let wanted = |key: &Arc<str>, value: &Arc<str>| {
            needed.iter().any(|(one, other)| one == key && other == value)
        };
        let first = needed.first().map(|(key, _)| key);
        let values = first.and_then(|key| map.get_mut(key).map(|values| (key, values)));
        let lists = values.into_iter().flat_map(|(key, values)| {
            values.iter_mut().filter(move |(value, _)| wanted(key, value)).map(|(_, list)| list)
        });
        lists.collect()
    }

    fn remove(&mut self, scope: &Scope, number: u32) {
        for list in self.lists(scope) {
            list.retain(|one| *one != number);
        }
        // Policies that come and go leave nothing behind.
        let by_label = match (needed(&scope.pods), &scope.namespaces) {
            (Some(needed), _) => Some((&mut self.by_label, needed)),
            (None, Namespaces::Named(name)) => {
                if self.by_namespace.get(name).is_some_and(Vec::is_empty) {
                    self.by_namespace.remove(name);
                }
                None
            }
            (None, Namespaces::Labels(selector)) => {
                needed(selector).map(|needed| (&mut self.by_namespace_label, needed))
            }
        };
        if let Some((map, needed)) = by_label
            && let Some((key, _)) = needed.first()
            && let Some(values) = map.get_mut(key)
        {
            for (_, value) in &needed {
                if values.get(value).is_some_and(Vec::is_empty) {
                    values.remove(value);
                }
            }
            if values.is_empty() {
                map.remove(key);
            }
        }
    }

    fn candidates(&self, member: &Member<'_>) -> impl Iterator<Item = u32> {
        let by_label = |map: &'_ HashMap<Arc<str>, HashMap<Arc<str>, Vec<u32>>>,
                        labels: &Labels| {
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
        self.index.lists(&scope).into_iter().for_each(|list| list.push(number));
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
                changes.added.lists(scope).into_iter().for_each(|list| list.push(number));
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
