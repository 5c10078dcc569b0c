use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_copy_keeps_what_it_held(
        changes in proptest::collection::vec((any::<bool>(), 0_u32..300, proptest::option::of(0_u32..9)), 0..300),
        at in 0_usize..300,
    ) {
        let (mut map, mut expected) = (AddressMap::default(), BTreeMap::new());
        let mut copies = None;
        for (index, (v6, low, value)) in changes.into_iter().enumerate() {
            let address = if v6 { IpAddr::V6(u128::from(low).into()) } else { IpAddr::V4(low.into()) };
            if index == at {
                copies = Some((map.clone(), expected.clone()));
            }
            map.set(address, value);
            match value {
                Some(value) => expected.insert(address, value),
                None => expected.remove(&address),
            };
        }
        for (map, expected) in copies.into_iter().chain([(map, expected)]) {
            for low in 0..300_u32 {
                for address in [IpAddr::V6(u128::from(low).into()), IpAddr::V4(low.into())] {
                    prop_assert_eq!(map.value(&address), expected.get(&address));
                }
            }
        }
    }
}

#[test]
fn a_vector_keeps_what_a_copy_held() {
    let mut chunks = Chunks::default();
    (0..1_000).for_each(|index| chunks.set(index, &index));
    let copy = chunks.clone();
    chunks.set(500, &7);
    assert_eq!(
        (copy.value(500), chunks.value(500), chunks.value(1_000)),
        (Some(&500), Some(&7), None)
    );
}
