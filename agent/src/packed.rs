//! Objects that are looked at seldom, in little memory: a rule of a proposal takes a few bytes then, and 4 kB as the
//! value that it is decoded to.

use std::fmt;
use std::marker::PhantomData;

use kube::Resource;
use kube::api::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The fastest; a proposal becomes a tenth of its text.
const LEVEL: i32 = 1;

/// An object, compressed.
pub(crate) struct Packed<K> {
    /// Its metadata, which is looked at often.
    pub(crate) metadata: ObjectMeta,
    bytes: Box<[u8]>,
    /// Of its text.
    length: usize,
    kind: PhantomData<fn() -> K>,
}

// === impl Packed ===

impl<K: Resource + Serialize + DeserializeOwned> Packed<K> {
    /// `None` if the object has no JSON text, which one of an API always has.
    pub(crate) fn new(object: &K) -> Option<Self> {
        let text = serde_json::to_vec(object).ok()?;
        let bytes = zstd::bulk::compress(&text, LEVEL).ok()?.into_boxed_slice();
        let metadata = object.meta().clone();
        Some(Self { metadata, bytes, length: text.len(), kind: PhantomData })
    }

    /// The object.
    pub(crate) fn get(&self) -> Option<K> {
        let text = zstd::bulk::decompress(&self.bytes, self.length).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

impl<K> fmt::Debug for Packed<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, length) = (&self.metadata.name, self.bytes.len());
        formatter.debug_struct("Packed").field("name", name).field("length", &length).finish()
    }
}

#[cfg(test)]
mod tests;
