//! A set of rules, as bits over their positions, of which only the words that hold a bit are stored.
//!
//! A verdict is the lowest position that is in several rows at once: the rules whose subject, peer and
//! ports match. The summary has a bit for each word that is not empty, so that 64 words are ruled out by
//! one comparison.

/// Rules by position.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Row {
    blocks: Box<[Block]>,
    words: Box<[u64]>,
}

/// 64 words: which of them are stored, and where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Block {
    summary: u64,
    first: u32,
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
        self.blocks.len()
    }

    /// Which words of a block hold a bit.
    pub(super) fn summary(&self, block: usize) -> u64 {
        self.blocks.get(block).map_or(0, |block| block.summary)
    }

    /// The bits of a word.
    pub(super) fn word(&self, word: usize) -> u64 {
        let Some(block) = self.blocks.get(word / 64) else { return 0 };
        let bit = 1 << (word % 64);
        if block.summary & bit == 0 {
            return 0;
        }
        let before = (block.summary & (bit - 1)).count_ones();
        self.words[(block.first + before) as usize]
    }

    /// Whether no rule is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The row of these positions, in whichever order.
    pub(super) fn of(positions: &[u32]) -> Self {
        let mut sorted: Vec<u32> = positions.to_vec();
        sorted.sort_unstable();
        let mut words: Vec<(usize, u64)> = Vec::new();
        for position in sorted {
            let (word, bit) = (position as usize / 64, 1 << (position % 64));
            match words.last_mut() {
                Some((last, bits)) if *last == word => *bits |= bit,
                _ => words.push((word, bit)),
            }
        }
        Self::of_words(&words)
    }

    fn of_words(words: &[(usize, u64)]) -> Self {
        let count = words.last().map_or(0, |(word, _)| word / 64 + 1);
        let mut blocks = vec![Block::default(); count].into_boxed_slice();
        for (index, (word, _)) in words.iter().enumerate() {
            let block = &mut blocks[word / 64];
            if block.summary == 0 {
                block.first = u32::try_from(index).unwrap_or(u32::MAX);
            }
            block.summary |= 1 << (word % 64);
        }
        Self { blocks, words: words.iter().map(|(_, bits)| *bits).collect() }
    }

    /// The positions, in order.
    pub(super) fn positions(&self) -> Vec<u32> {
        let bits = |(word, bits): (usize, u64)| Bits(bits).map(move |bit| word * 64 + bit);
        self.stored().flat_map(bits).filter_map(|position| u32::try_from(position).ok()).collect()
    }

    fn stored(&self) -> impl Iterator<Item = (usize, u64)> {
        let blocks = self.blocks.iter().enumerate();
        let words =
            blocks.flat_map(|(block, one)| Bits(one.summary).map(move |bit| block * 64 + bit));
        words.zip(self.words.iter().copied())
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
pub(super) struct Bits(pub(super) u64);

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
