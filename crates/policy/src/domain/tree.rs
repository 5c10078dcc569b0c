//! A tree of names by their labels from the root on, so that all names below one stand together.

use std::collections::BTreeMap;

use super::Name;

/// Values by name.
#[derive(Debug, Clone)]
pub struct Tree<T> {
    value: Option<T>,
    children: BTreeMap<Box<str>, Tree<T>>,
}

// === impl Tree ===

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Self { value: None, children: BTreeMap::new() }
    }
}

impl<T> Tree<T> {
    /// The value at `name`.
    pub fn value(&self, name: &Name) -> Option<&T> {
        self.node(name)?.value.as_ref()
    }

    /// The value at `name`, made if there is none.
    pub fn value_or_default(&mut self, name: &Name) -> &mut T
    where
        T: Default,
    {
        self.place(name).get_or_insert_default()
    }

    /// Sets the value at `name`.
    pub fn insert(&mut self, name: &Name, value: T) {
        *self.place(name) = Some(value);
    }

    fn place(&mut self, name: &Name) -> &mut Option<T> {
        let mut node = self;
        for label in name.labels() {
            node = node.children.entry(label.into()).or_default();
        }
        &mut node.value
    }

    /// Removes the value at `name`, and what leads nowhere afterwards.
    pub fn remove(&mut self, name: &Name) -> Option<T> {
        let labels: Vec<&str> = name.labels().collect();
        self.remove_below(&labels)
    }

    fn remove_below(&mut self, labels: &[&str]) -> Option<T> {
        let Some((first, rest)) = labels.split_first() else { return self.value.take() };
        let child = self.children.get_mut(*first)?;
        let removed = child.remove_below(rest);
        if child.value.is_none() && child.children.is_empty() {
            self.children.remove(*first);
        }
        removed
    }

    /// The values on the way to `name`, and whether it is the name's own.
    pub fn path(&self, name: &Name) -> impl Iterator<Item = (&T, Step)> {
        let mut node = Some(self);
        let mut labels = name.labels().peekable();
        std::iter::from_fn(move || {
            let label = labels.next()?;
            node = node.and_then(|node| node.children.get(label));
            let step = if labels.peek().is_some() { Step::Above } else { Step::Name };
            node.map(|node| (node.value.as_ref(), step))
        })
        .filter_map(|(value, step)| value.map(|value| (value, step)))
    }

    /// The values below `name`, its own not among them.
    pub fn below(&self, name: &Name) -> impl Iterator<Item = &T> {
        let mut open: Vec<&Self> =
            self.node(name).into_iter().flat_map(|node| node.children.values()).collect();
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.children.values());
            Some(node.value.as_ref())
        })
        .flatten()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.value.is_none() && self.children.is_empty()
    }

    fn node(&self, name: &Name) -> Option<&Self> {
        let mut node = self;
        for label in name.labels() {
            node = node.children.get(label)?;
        }
        Some(node)
    }
}

/// How a value on the way to a name relates to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// At a name above.
    Above,
    /// At the name itself.
    Name,
}
