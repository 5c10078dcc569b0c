use rstest::rstest;

use super::*;
use crate::reach::Place;
use crate::reach::tests::{index, place, reach};

/// A policy tells 10.1.0.0/30 from the rest of 10.0.0.0/8.
const POLICY: &str = "policy x {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: \
                      {cidr: 10.0.0.0/8, except: [10.1.0.0/30]}}]}]}";

fn block(text: &str) -> AddressRange {
    text.parse::<ipnet::IpNet>().unwrap().into()
}

fn word(end: &End) -> String {
    match end {
        End::Pod(pod) => format!("{} {:?}", pod.name.as_deref().unwrap_or("?"), pod.addresses),
        End::Node { name, addresses, .. } => format!("{name} {addresses:?}"),
        End::Address(address) => address.to_string(),
        End::Name(_) | End::Unknown => unreachable!("addresses are meant"),
    }
}

#[rstest]
#[case::of_one_family("10.0.0.0/8", &["10.0.0.0/16", "10.1.0.0/30", "10.1.0.4-10.255.255.255"])]
#[case::inside_one_range("10.1.2.0/24", &["10.1.2.0/24"])]
#[case::of_the_other("fd00::/8", &["fd00::/8"])]
fn a_block_is_divided_as_policies_do(#[case] block: &str, #[case] expected: &[&str]) {
    let within = reach(&index(&[POLICY])).within(self::block(block));
    let told: Vec<String> =
        within.into_iter().map(|range| place(&Place::World(vec![range]))).collect();
    assert_eq!(told, expected);
}

#[rstest]
#[case::of_each_range_one("10.0.0.0/8", &[], &["10.0.0.0", "10.1.0.0", "10.1.0.4"])]
#[case::one_that_is_free_and_the_holders(
    "10.1.0.0/29",
    &["pod a at=10.1.0.0,fd00::1", "node n1 at=10.1.0.1", "pod b at=10.2.0.0"],
    &["10.1.0.2", "10.1.0.4", "a [10.1.0.0]", "n1 [10.1.0.1]"],
)]
#[case::holders_only_where_none_is_free(
    "10.1.0.0/31",
    &["pod a at=10.1.0.0", "pod b at=10.1.0.1"],
    &["a [10.1.0.0]", "b [10.1.0.1]"],
)]
#[case::what_has_finished_holds_nothing("10.1.0.0/32", &["pod a at=10.1.0.0 phase=Failed"], &["10.1.0.0"])]
#[case::a_pod_on_the_hosts_network_is_its_node(
    "10.1.0.0/32",
    &["node n1 at=10.1.0.0", "pod a at=10.1.0.0 on=n1 host=true"],
    &["n1 [10.1.0.0]"],
)]
#[case::of_the_other_family("fd00::/126", &["pod a at=10.1.0.0,fd00::"], &["fd00::1", "a [fd00::]"])]
fn ends_stand_for_all_addresses_of_a_block(
    #[case] block: &str,
    #[case] objects: &[&str],
    #[case] expected: &[&str],
) {
    let index = index(&[&[POLICY], objects].concat());
    let ends = reach(&index).ends_within(&index, self::block(block));
    assert_eq!(ends.iter().map(word).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case::one_of_each_range(&[], &["0.0.0.0", "10.0.0.0", "10.1.0.0", "10.1.0.4", "11.0.0.0"])]
#[case::one_that_is_free(&["pod a at=10.1.0.0"], &["0.0.0.0", "10.0.0.0", "10.1.0.1", "10.1.0.4", "11.0.0.0"])]
#[case::none_where_all_are_held(
    &["pod a at=10.1.0.0", "pod b at=10.1.0.1", "pod c at=10.1.0.2", "node n1 at=10.1.0.3"],
    &["0.0.0.0", "10.0.0.0", "10.1.0.4", "11.0.0.0"],
)]
fn ends_stand_for_the_world(#[case] objects: &[&str], #[case] expected: &[&str]) {
    let index = index(&[&[POLICY], objects].concat());
    let ends = reach(&index).ends_of_world(&index);
    assert_eq!(ends.iter().map(word).collect::<Vec<_>>(), expected);
}
