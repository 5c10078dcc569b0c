//! Bounded caches: what comes again on every line is built once and shared.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// How many entries a cache holds; a full one starts over.
const ENTRIES: usize = 65_536;

/// How many bytes of keys a cache holds.
const BYTES: usize = 32 << 20;

/// The longest key that is kept: what is longer is hardly seen twice.
const KEY: usize = 16 << 10;

/// Values by the bytes that they were built from.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    values: HashMap<Box<[u8]>, V, RandomState>,
    bytes: usize,
}

/// Shared texts.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: HashSet<Arc<str>, RandomState>,
    bytes: usize,
}

// === impl Cache ===

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self { values: HashMap::default(), bytes: 0 }
    }
}

impl<V: Clone> Cache<V> {
    /// The value of `key`, if it is there.
    #[inline]
    pub(crate) fn known(&self, key: &[u8]) -> Option<V> {
        self.values.get(key).cloned()
    }

    /// The value of `key`, built if it is not there.
    pub(crate) fn value(&mut self, key: &[u8], build: impl FnOnce() -> V) -> V {
        let Ok(value) = self.try_value(key, || Ok::<_, Infallible>(build()));
        value
    }

    /// The value of `key`, built if it is not there and can be.
    #[inline]
    pub(crate) fn try_value<E>(
        &mut self,
        key: &[u8],
        build: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        if let Some(value) = self.values.get(key) {
            return Ok(value.clone());
        }
        let value = build()?;
        self.keep(key, &value);
        Ok(value)
    }

    fn keep(&mut self, key: &[u8], value: &V) {
        if key.len() > KEY {
            return;
        }
        if self.values.len() >= ENTRIES || self.bytes >= BYTES {
            self.values.clear();
            self.bytes = 0;
        }
        self.bytes += key.len();
        self.values.insert(key.into(), value.clone());
    }
}

// === impl Names ===

impl Names {
    /// The shared text equal to `name`.
    pub(crate) fn share(&mut self, name: &str) -> Arc<str> {
        if let Some(shared) = self.names.get(name) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = name.into();
        if name.len() <= KEY {
            if self.names.len() >= ENTRIES || self.bytes >= BYTES {
                self.names.clear();
                self.bytes = 0;
            }
            self.bytes += name.len();
            self.names.insert(Arc::clone(&shared));
        }
        shared
    }
}

#[cfg(test)]
mod tests;
