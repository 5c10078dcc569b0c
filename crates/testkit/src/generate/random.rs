//! `SplitMix64`: a small generator of random numbers that is the same everywhere and for ever.

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

// === impl Random ===

impl Random {
    /// The sequence that follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * (bound as u128);
        usize::try_from(product >> 64).unwrap_or_default()
    }

    /// A number below `bound`, far more often a small one: a tenth of the numbers get over half of the draws.
    pub fn skewed(&mut self, bound: usize) -> usize {
        let once = self.below(bound);
        let twice = self.below(once + 1);
        self.below(twice + 1)
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// True in `per_cent` of a hundred draws.
    pub fn happens(&mut self, per_cent: usize) -> bool {
        self.below(100) < per_cent
    }

    /// A port as clients get them from Linux.
    pub fn client_port(&mut self) -> u16 {
        u16::try_from(32_768 + self.below(28_232)).unwrap_or(u16::MAX)
    }

    /// Text of `length` letters out of `alphabet`.
    pub fn letters(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(*self.pick(alphabet))).collect()
    }
}
