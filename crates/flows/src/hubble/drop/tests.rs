use super::NAMED;

#[test]
fn numbers_are_sorted_for_the_search() {
    assert!(NAMED.is_sorted_by(|left, right| left.0 < right.0));
}
