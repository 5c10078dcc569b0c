//! Label selectors, as `metav1.LabelSelector` defines them.

use std::sync::Arc;

use crate::label::Labels;

/// A label selector: all labels and all requirements must hold. An empty one selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    /// `matchLabels`.
    pub labels: Labels,
    /// `matchExpressions`.
    pub requirements: Vec<Requirement>,
}

/// One of `matchExpressions`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    /// The label's key.
    pub key: Arc<str>,
    /// How the key's value is compared.
    pub operator: Operator,
}

/// Operator of a requirement, with its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// The key is there and its value is one of these.
    In(Vec<Arc<str>>),
    /// The key is absent, or its value is none of these.
    NotIn(Vec<Arc<str>>),
    /// The key is there.
    Exists,
    /// The key is absent.
    DoesNotExist,
}

// === impl Selector ===

impl Selector {
    /// A selector for exactly these labels.
    pub fn of_labels(labels: Labels) -> Self {
        Self { labels, requirements: Vec::new() }
    }

    /// Whether the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.requirements.is_empty()
    }

    /// Whether something with `labels` is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        labels.contains_all(&self.labels)
            && self.requirements.iter().all(|requirement| requirement.holds(labels))
    }
}

// === impl Requirement ===

impl Requirement {
    /// Whether `labels` meet the requirement.
    pub fn holds(&self, labels: &Labels) -> bool {
        let value = labels.value(&self.key);
        match &self.operator {
            Operator::In(values) => value.is_some_and(|value| values.iter().any(|v| &**v == value)),
            Operator::NotIn(values) => {
                !value.is_some_and(|value| values.iter().any(|v| &**v == value))
            }
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}
