//! A set of rules, as bits over their positions, of which only the words that hold a bit are stored.
//!
//! A verdict is the lowest position that is in several rows at once: the rules whose subject, peer and
//! ports match. The summary has a bit for each word that is not empty, so that 64 words are ruled out by
//! one comparison.

/// Rules by position: a pair of numbers for each block of 64 words (which of them are stored, and where the
/// first of these is), and the words behind them. All in one place, for a verdict's sake.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    data: Box<[u64]>,
    blocks: u32,
}

/// Collects positions into a row; kept between uses, since it is as large as all rules.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    words: Vec<u64>,
}

// === impl Row ===

impl Row {
    /// How many blocks there are: beyond them the row is empty.
    pub(super) fn blocks(&self) -> usize {
        self.blocks as usize
    }

    /// Which words of a block hold a bit.
    pub(super) fn summary(&self, block: usize) -> u64 {
        if block < self.blocks() { self.data[block * 2] } else { 0 }
    }

    /// The bits of a word.
    pub(super) fn word(&self, word: usize) -> u64 {
        let (block, bit) = (word / 64, 1 << (word % 64));
        let summary = self.summary(block);
        if summary & bit == 0 {
            return 0;
        }
        let before = (summary & (bit - 1)).count_ones() as usize;
        // The place was made from an index of this slice.
        let first = usize::try_from(self.data[block * 2 + 1]).unwrap_or(usize::MAX);
        self.data.get(first.saturating_add(before)).copied().unwrap_or_default()
    }

    /// Whether no rule is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// The row of these positions, in whichever order.
    pub(super) fn of(positions: &[u32]) -> Self {
        if !positions.is_sorted() {
            let mut sorted = positions.to_vec();
            sorted.sort_unstable();
            return Self::of(&sorted);
        }
        let mut words: Vec<(usize, u64)> = Vec::new();
        for position in positions {
            let (word, bit) = (*position as usize / 64, 1 << (position % 64));
            match words.last_mut() {
                Some((last, bits)) if *last == word => *bits |= bit,
                _ => words.push((word, bit)),
            }
        }
        Self::of_words(&words)
    }

    fn of_words(words: &[(usize, u64)]) -> Self {
        let blocks = words.last().map_or(0, |(word, _)| word / 64 + 1);
        let mut data = vec![0; blocks * 2 + words.len()].into_boxed_slice();
        for (place, (word, bits)) in (blocks * 2..).zip(words) {
            let block = word / 64 * 2;
            if data[block] == 0 {
                data[block + 1] = place as u64;
            }
            data[block] |= 1 << (word % 64);
            data[place] = *bits;
        }
        Self { data, blocks: u32::try_from(blocks).unwrap_or(u32::MAX) }
    }

    fn stored(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = (0..self.blocks())
            .flat_map(|block| Bits(self.summary(block)).map(move |bit| block * 64 + bit));
        words.zip(self.data.iter().skip(self.blocks() * 2).copied())
    }
}

// === impl Scratch ===

impl Scratch {
    /// Adds all of a row.
    pub(super) fn add(&mut self, row: &Row) {
        let needed = row.blocks() * 64;
        if self.words.len() < needed {
            self.words.resize(needed, 0);
        }
        for (word, bits) in row.stored() {
            self.words[word] |= bits;
        }
    }

    /// What was added, and starts anew.
    pub(super) fn take(&mut self) -> Row {
        let stored = self.words.iter().enumerate().filter(|(_, bits)| **bits != 0);
        let words: Vec<(usize, u64)> = stored.map(|(word, bits)| (word, *bits)).collect();
        for (word, _) in &words {
            self.words[*word] = 0;
        }
        Row::of_words(&words)
    }
}

/// The places of the bits of a word.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        place
    }
}

#[cfg(test)]
mod tests;
