use std::sync::Arc;

use super::{Cache, ENTRIES, KEY, Names};

#[test]
fn a_value_is_built_once() {
    let mut cache = Cache::default();
    let first = cache.value(b"web", || Arc::new(1));
    let second = cache.value(b"web", || Arc::new(2));
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn what_cannot_be_built_is_not_kept() {
    let mut cache: Cache<u8> = Cache::default();
    assert_eq!(cache.try_value(b"web", || Err("no")), Err("no"));
    assert_eq!(cache.try_value(b"web", || Ok::<_, &str>(7)), Ok(7));
}

#[test]
fn a_full_cache_starts_over() {
    let mut cache = Cache::default();
    for number in 0..=ENTRIES {
        cache.value(&number.to_le_bytes(), || number);
    }
    assert_eq!(cache.values.len(), 1);
    assert_eq!(cache.bytes, 8);
}

#[test]
fn long_keys_are_not_kept() {
    let mut cache = Cache::default();
    cache.value(&vec![0; KEY + 1], || 1);
    assert!(cache.values.is_empty());
}

#[test]
fn names_are_bounded_and_shared() {
    let mut names = Names::default();
    assert!(Arc::ptr_eq(&names.share("n1"), &names.share("n1")));
    for number in 0..2 * ENTRIES {
        names.share(&number.to_string());
    }
    assert!(names.names.len() <= ENTRIES);
    names.share(&"x".repeat(KEY + 1));
    assert!(names.bytes <= ENTRIES * 6);
}
