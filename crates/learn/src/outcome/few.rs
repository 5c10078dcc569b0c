//! A sorted map for one entry, or a few.
//!
//! Nearly all hold one entry: a B-tree would give each a leaf of eleven places.

/// Entries, sorted by key.
#[derive(Debug, Clone)]
pub(super) struct Few<K, V>(Vec<(K, V)>);

// === impl Few ===

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Few<K, V> {
    /// The value of `key`, made if it is not there.
    pub(super) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.0.binary_search_by(|(known, _)| known.cmp(&key)).unwrap_or_else(|at| {
            if self.0.len() == self.0.capacity() {
                self.0.reserve_exact(1 + self.0.len() / 2);
            }
            self.0.insert(at, (key, V::default()));
            at
        });
        &mut self.0[at].1
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;

    #[test]
    fn entries_are_sorted_and_each_key_is_once() {
        let mut few = Few::<u16, u32>::default();
        for key in [443, 80, 443, 8080, 80, 443] {
            *few.entry(key) += 1;
        }
        assert_eq!(few.iter().collect::<Vec<_>>(), [(&80, &2), (&443, &3), (&8080, &1)]);
    }
}
