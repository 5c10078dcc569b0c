//! A map and a vector whose copies share what was not changed since, so that publishing a snapshot and
//! changing one entry afterwards both cost little.

use std::net::IpAddr;
use std::sync::Arc;

/// Branches of the map, and leaves of a branch.
const FAN: usize = 64;
/// Entries of a chunk of the vector.
const CHUNK: usize = 128;

/// Values by address. A look-up is two steps by hash and a search among the few entries of a leaf.
#[derive(Debug, Clone)]
pub(super) struct AddressMap<V> {
    branches: Arc<[Branch<V>]>,
}

type Branch<V> = Arc<[Leaf<V>]>;
type Leaf<V> = Arc<Vec<(IpAddr, V)>>;

/// A vector in chunks.
#[derive(Debug, Clone)]
pub(super) struct Chunks<T> {
    chunks: Arc<Vec<Arc<Vec<T>>>>,
}

// === impl AddressMap ===

impl<V: Clone> Default for AddressMap<V> {
    fn default() -> Self {
        let leaf = Arc::new(Vec::new());
        let branch: Branch<V> = vec![leaf; FAN].into();
        Self { branches: vec![branch; FAN].into() }
    }
}

impl<V: Clone> AddressMap<V> {
    pub(super) fn value(&self, address: &IpAddr) -> Option<&V> {
        let (branch, leaf) = place(address);
        let leaf = &self.branches[branch][leaf];
        let at = leaf.binary_search_by(|(known, _)| known.cmp(address)).ok()?;
        Some(&leaf[at].1)
    }

    /// Sets the value of an address, or removes it.
    pub(super) fn set(&mut self, address: IpAddr, value: Option<V>) {
        let (branch, leaf) = place(&address);
        let branch = &mut Arc::make_mut(&mut self.branches)[branch];
        let leaf = Arc::make_mut(&mut Arc::make_mut(branch)[leaf]);
        match (leaf.binary_search_by(|(known, _)| known.cmp(&address)), value) {
            (Ok(at), Some(value)) => leaf[at].1 = value,
            (Ok(at), None) => drop(leaf.remove(at)),
            (Err(at), Some(value)) => leaf.insert(at, (address, value)),
            (Err(_), None) => {}
        }
    }
}

/// Branch and leaf of an address: addresses of one network are consecutive, so their bits are mixed.
fn place(address: &IpAddr) -> (usize, usize) {
    let bits = match address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => {
            let bits = address.to_bits().to_be_bytes();
            let half = |from: usize| {
                bits[from..from + 8].iter().fold(0_u64, |half, byte| half << 8 | u64::from(*byte))
            };
            half(0).rotate_left(29) ^ half(8)
        }
    };
    let mixed = (bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    (usize::from(mixed[0] >> 2), usize::from(mixed[1] >> 2))
}

// === impl Chunks ===

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Arc::default() }
    }
}

impl<T: Clone> Chunks<T> {
    pub(super) fn value(&self, index: u32) -> Option<&T> {
        let index = index as usize;
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// Sets a value; those before it that were never set are set too.
    pub(super) fn set(&mut self, index: u32, value: &T) {
        let (chunk, place) = (index as usize / CHUNK, index as usize % CHUNK);
        let chunks = Arc::make_mut(&mut self.chunks);
        while chunks.len() <= chunk {
            chunks.push(Arc::new(Vec::new()));
        }
        let chunk = Arc::make_mut(&mut chunks[chunk]);
        if chunk.len() <= place {
            chunk.resize(place + 1, value.clone());
        }
        chunk[place] = value.clone();
    }
}

#[cfg(test)]
mod tests;
