//! Label sets.

use std::sync::Arc;

/// A set of labels, sorted by key, each key once. Copies share their storage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<[(Arc<str>, Arc<str>)]>);

// === impl Labels ===

impl Labels {
    /// The value of `key`.
    pub fn value(&self, key: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        Some(&self.0[at].1)
    }

    /// The labels in order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels whose key `keep` accepts.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(key, _)| keep(key)).cloned().collect())
    }

    /// The labels that both sets hold with the same value.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let shared = |(key, value): &&(Arc<str>, Arc<str>)| other.value(key) == Some(value);
        Self(self.0.iter().filter(shared).cloned().collect())
    }

    /// Whether every label of `other` is in this set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|(key, value)| self.value(key) == Some(value))
    }
}

impl<K: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(K, V)> for Labels {
    /// Builds a set; of a key that comes more than once the last value stays.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let map: std::collections::BTreeMap<Arc<str>, Arc<str>> =
            labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(map.into_iter().collect())
    }
}
