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
        prop_assert_eq!(scratch.take(), Row::default());
    }
}

proptest! {
    #[test]
    fn rows_on_a_shelf_are_rows_alone(
        sets in proptest::collection::vec(proptest::collection::btree_set(0_u32..9_000, 0..20), 0..6),
    ) {
        let mut shelf = Shelf::default();
        let lists: Vec<Vec<u32>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
        for list in &lists {
            shelf.push(list);
        }
        shelf.close();
        for (index, list) in lists.iter().enumerate() {
            let (alone, shelved) = (Row::of(list), shelf.row(index).unwrap());
            for word in 0..200 {
                prop_assert_eq!(shelved.word(word), alone.word(word));
                prop_assert_eq!(shelved.summary(word), alone.summary(word));
            }
        }
        prop_assert!(shelf.row(lists.len()).is_none());
    }
}
