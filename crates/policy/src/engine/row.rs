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

/// A row as it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct View<'a> {
    data: &'a [u64],
    blocks: u32,
}

/// Many rows behind each other: one place in memory for all of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelf {
    data: Vec<u64>,
    /// Where each row begins, and its number of blocks.
    rows: Vec<(usize, u32)>,
}

/// Collects positions into a row; kept between uses, since it is as large as all rules.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    words: Vec<u64>,
    /// Which words of each block hold a bit.
    summaries: Vec<u64>,
}

// === impl Row ===

impl Row {
    /// How many blocks there are: beyond them the row is empty.
    pub(super) fn blocks(&self) -> usize {
        self.blocks as usize
    }

    /// Which words of a block hold a bit.
    pub(super) fn summary(&self, block: usize) -> u64 {
        self.view().summary(block)
    }

    /// The bits of a word.
    pub(super) fn word(&self, word: usize) -> u64 {
        self.view().word(word)
    }

    pub(super) fn view(&self) -> View<'_> {
        View { data: &self.data, blocks: self.blocks }
    }

    /// The row of these positions, in whichever order.
    pub(super) fn of(positions: &[u32]) -> Self {
        if !positions.is_sorted() {
            let mut sorted = positions.to_vec();
            sorted.sort_unstable();
            return Self::of(&sorted);
        }
        Self::of_words(|| words_of(positions))
    }

    /// The row of these words, which come in order; they are gone through twice.
    fn of_words<I: Iterator<Item = (usize, u64)>>(words: impl Fn() -> I) -> Self {
        let (blocks, length) = size(words());
        let mut data = vec![0; length].into_boxed_slice();
        fill(&mut data, blocks, words());
        Self { data, blocks: u32::try_from(blocks).unwrap_or(u32::MAX) }
    }

    fn stored(&self) -> impl Iterator<Item = (usize, u64)> {
        let words = (0..self.blocks())
            .flat_map(|block| Bits(self.summary(block)).map(move |bit| block * 64 + bit));
        words.zip(self.data.iter().skip(self.blocks() * 2).copied())
    }
}

/// The words of positions that are in order.
fn words_of(positions: &[u32]) -> impl Iterator<Item = (usize, u64)> {
    let word = |position: &u32| *position as usize / 64;
    let bits = |of_word: &[u32]| of_word.iter().fold(0, |bits, one| bits | 1 << (one % 64));
    let words = positions.chunk_by(move |one, next| word(one) == word(next));
    words.map(move |of_word| (word(&of_word[0]), bits(of_word)))
}

/// How many blocks a row of these words has, and its length with them.
fn size(words: impl Iterator<Item = (usize, u64)>) -> (usize, usize) {
    let (count, blocks) = words.fold((0, 0), |(count, _), (word, _)| (count + 1, word / 64 + 1));
    (blocks, blocks * 2 + count)
}

/// Writes words, which come in order, to a row of zeros.
fn fill(row: &mut [u64], blocks: usize, words: impl Iterator<Item = (usize, u64)>) {
    for (place, (word, bits)) in (blocks * 2..).zip(words) {
        let block = word / 64 * 2;
        if row[block] == 0 {
            row[block + 1] = place as u64;
        }
        row[block] |= 1 << (word % 64);
        row[place] = bits;
    }
}

// === impl View ===

impl View<'_> {
    /// Which words of a block hold a bit.
    pub(super) fn summary(self, block: usize) -> u64 {
        if block < self.blocks as usize { self.data[block * 2] } else { 0 }
    }

    /// The bits of a word.
    pub(super) fn word(self, word: usize) -> u64 {
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
}

// === impl Shelf ===

impl Shelf {
    /// Adds the row of these positions, which are in order.
    pub(super) fn push(&mut self, positions: &[u32]) {
        let (blocks, length) = size(words_of(positions));
        let start = self.data.len();
        self.data.resize(start + length, 0);
        fill(&mut self.data[start..], blocks, words_of(positions));
        self.rows.push((start, u32::try_from(blocks).unwrap_or(u32::MAX)));
    }

    /// The row that was added at that place in the order.
    pub(super) fn row(&self, index: usize) -> Option<View<'_>> {
        let (start, blocks) = *self.rows.get(index)?;
        Some(View { data: &self.data[start..], blocks })
    }

    /// Gives back the room for more rows.
    pub(super) fn close(&mut self) {
        self.data.shrink_to_fit();
        self.rows.shrink_to_fit();
    }
}

// === impl Scratch ===

impl Scratch {
    /// Adds all of a row.
    pub(super) fn add(&mut self, row: &Row) {
        if self.summaries.len() < row.blocks() {
            self.summaries.resize(row.blocks(), 0);
            self.words.resize(row.blocks() * 64, 0);
        }
        for (block, summary) in self.summaries.iter_mut().enumerate().take(row.blocks()) {
            *summary |= row.summary(block);
        }
        for (word, bits) in row.stored() {
            self.words[word] |= bits;
        }
    }

    /// What was added, and starts anew.
    pub(super) fn take(&mut self) -> Row {
        let row = Row::of_words(|| places(&self.summaries).map(|word| (word, self.words[word])));
        for word in places(&self.summaries) {
            self.words[word] = 0;
        }
        self.summaries.fill(0);
        row
    }
}

/// The words that blocks with these summaries hold.
fn places(summaries: &[u64]) -> impl Iterator<Item = usize> {
    let blocks = summaries.iter().enumerate();
    blocks.flat_map(|(block, summary)| Bits(*summary).map(move |bit| block * 64 + bit))
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
