use rstest::rstest;

use super::*;

fn text(ranges: &[AddressRange]) -> String {
    let one = |range: &AddressRange| format!("{}-{}", range.first, range.last);
    ranges.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn parsed(blocks: &str) -> Vec<IpNet> {
    blocks.split_whitespace().map(|block| block.parse().unwrap()).collect()
}

const V6: &str = "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";

#[rstest]
#[case::nothing("", &format!("0.0.0.0-255.255.255.255 {V6}"))]
#[case::everything("0.0.0.0/0 ::/0", &format!("0.0.0.0-255.255.255.255 {V6}"))]
#[case::a_block_in_another(
    "10.0.0.0/8 10.1.0.0/16",
    &format!("0.0.0.0-9.255.255.255 10.0.0.0-10.0.255.255 10.1.0.0-10.1.255.255 10.2.0.0-10.255.255.255 11.0.0.0-255.255.255.255 {V6}")
)]
#[case::at_both_ends("0.0.0.0/32 255.255.255.255/32", &format!("0.0.0.0-0.0.0.0 0.0.0.1-255.255.255.254 255.255.255.255-255.255.255.255 {V6}"))]
#[case::v6(
    "fd00::/8",
    "0.0.0.0-255.255.255.255 ::-fcff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fd00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fe00::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
)]
fn addresses_are_divided_at_bounds(#[case] blocks: &str, #[case] expected: &str) {
    let ranges = divide(&parsed(blocks));
    assert_eq!(text(&ranges), expected);
    assert_eq!(text(&join(ranges)), format!("0.0.0.0-255.255.255.255 {V6}"));
}

#[rstest]
#[case::one("10.0.0.0/8", "10.0.0.0/8")]
#[case::the_rest("0.0.0.0-9.255.255.255", "0.0.0.0/5 8.0.0.0/7")]
#[case::all_of_v6("::/0", "::/0")]
fn a_range_is_blocks(#[case] range: &str, #[case] expected: &str) {
    let range = match range.split_once('-') {
        Some((first, last)) => AddressRange::new(first.parse().unwrap(), last.parse().unwrap()),
        None => AddressRange::from(range.parse::<IpNet>().unwrap()),
    };
    assert_eq!(range.blocks(), parsed(expected));
}

#[rstest]
#[case::nothing("", "0.0.0.0-255.255.255.255")]
#[case::all("0.0.0.0/0", "")]
#[case::in_the_middle(
    "10.0.0.0/8 12.0.0.0/8",
    "0.0.0.0-9.255.255.255 11.0.0.0-11.255.255.255 13.0.0.0-255.255.255.255"
)]
#[case::at_both_ends("0.0.0.0/1 255.0.0.0/8", "128.0.0.0-254.255.255.255")]
fn gaps_are_what_is_left(#[case] blocks: &str, #[case] expected: &str) {
    let ranges: Vec<AddressRange> = parsed(blocks).into_iter().map(AddressRange::from).collect();
    assert_eq!(text(&gaps(divide([])[0], &ranges)), expected);
}

#[rstest]
#[case::nothing("", &[])]
#[case::all_of_both("0.0.0.0/0 ::/0", &["0.0.0.0/0", "::/0"])]
#[case::one_address("10.0.0.1/32", &["10.0.0.1/32"])]
#[case::all_without_some(
    "0.0.0.0-9.255.255.255 11.0.0.0-255.255.255.255", &["0.0.0.0/0 without 10.0.0.0/8"]
)]
#[case::a_block_without_some("10.0.0.0-10.0.0.255 10.0.2.0-10.255.255.255", &["10.0.0.0/8 without 10.0.1.0/24"])]
#[case::a_block_without_its_start("10.1.0.0-10.255.255.255", &["10.0.0.0/8 without 10.0.0.0/16"])]
#[case::blocks_that_are_far_apart("10.0.0.0/8 192.168.0.0/16", &["10.0.0.0/8", "192.168.0.0/16"])]
#[case::no_blocks("10.0.0.5-10.0.0.250", &["10.0.0.5-10.0.0.250"])]
#[case::a_block_and_none("10.0.0.0/24 192.168.0.5-192.168.0.250", &["10.0.0.0/24", "192.168.0.5-192.168.0.250"])]
#[case::each_family_by_itself(
    "10.0.0.0/8 fd00::-fd00::ffff:ffff:ffff:ffff", &["10.0.0.0/8", "fd00::/64"]
)]
fn ranges_are_told_in_few_words(#[case] ranges: &str, #[case] expected: &[&str]) {
    let range = |text: &str| match text.split_once('-') {
        Some((first, last)) => AddressRange::new(first.parse().unwrap(), last.parse().unwrap()),
        None => AddressRange::from(text.parse::<IpNet>().unwrap()),
    };
    let ranges: Vec<AddressRange> = ranges.split_whitespace().map(range).collect();
    assert_eq!(words(&ranges), expected);
}

#[test]
fn a_range_has_gaps_inside_only() {
    let [whole, first, last] = ["10.0.0.0/30", "10.0.0.0/32", "10.0.0.3/32"]
        .map(|block| AddressRange::from(block.parse::<IpNet>().unwrap()));
    assert_eq!(text(&gaps(whole, &[first, last])), "10.0.0.1-10.0.0.2");
    assert_eq!(gaps(whole, &[whole]), []);
}
