use proptest::prelude::*;

use super::*;

fn positions(row: &Row) -> Vec<u32> {
    let bits = |word| Bits(row.word(word)).map(move |bit| u32::try_from(word * 64 + bit).unwrap());
    (0..row.blocks() * 64).flat_map(bits).collect()
}

proptest! {
    #[test]
    fn a_row_holds_its_positions_and_no_other(set in proptest::collection::btree_set(0_u32..20_000, 0..200)) {
        let sorted: Vec<u32> = set.iter().copied().collect();
        let row = Row::of(&sorted);
        prop_assert_eq!(positions(&row), sorted);
        for block in 0..=row.blocks() {
            for word in 0..64 {
                let stored = row.summary(block) >> word & 1 == 1;
                prop_assert_eq!(stored, row.word(block * 64 + word) != 0);
            }
        }
    }

    #[test]
    fn adding_is_the_union(
        one in proptest::collection::btree_set(0_u32..9_000, 0..50),
        other in proptest::collection::btree_set(0_u32..9_000, 0..50),
    ) {
        let mut scratch = Scratch::default();
        for set in [&one, &other] {
            scratch.add(&Row::of(&set.iter().copied().collect::<Vec<_>>()));
        }
        let union: Vec<u32> = one.union(&other).copied().collect();
        prop_assert_eq!(scratch.take(), Row::of(&union));
        prop_assert!(scratch.take().is_empty());
    }
}
