use rstest::rstest;

use super::*;

#[rstest]
#[case::in_order(&[1, 2, 3, 4], &[1, 2, 3])]
#[case::backwards(&[4, 3, 2, 1], &[1, 2, 3])]
#[case::each_once(&[2, 2, 1, 2], &[1, 2])]
#[case::none(&[], &[])]
fn the_smallest_few_are_kept(#[case] values: &[u32], #[case] expected: &[u32]) {
    let mut list: Box<[u32]> = Box::default();
    for value in values {
        keep_few(&mut list, value, 3);
    }
    assert_eq!(*list, *expected);
}

#[rstest]
#[case::nobody(&[], &[])]
#[case::one(&[(1, false)], &[1])]
#[case::two(&[(1, false), (2, false), (1, false)], &[1, 2])]
#[case::many(&[(4, false), (3, false), (2, false), (1, false)], &[1, 2, 3, 4])]
fn watchers_are_asked_later(#[case] nodes: &[(u32, bool)], #[case] expected: &[u32]) {
    let mut watchers = Watchers::NOBODY;
    for (node, answers) in nodes {
        watchers.add(*node, *answers);
    }
    let asked: Vec<u32> = (0..9).filter(|wanted| watchers.any(|node| node == *wanted)).collect();
    assert_eq!(asked, expected);
    watchers.add(9, true);
    assert!(watchers.any(|_| false), "one answered");
}

#[test]
fn edges_that_share_a_connection_are_told_in_any_order() {
    assert_eq!(Together::of([2, 1].into_iter()), Together::of([1, 2].into_iter()));
    assert_eq!(Together::of([3, 1, 2].into_iter()).edges(), [1, 2, 3]);
}
