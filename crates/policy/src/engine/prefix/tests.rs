use proptest::prelude::*;

use super::*;

/// Blocks near each other, so that they nest, touch and are equal.
fn block() -> impl Strategy<Value = IpNet> {
    let v4 = (0_u32..64, 24_u8..=32).prop_map(|(low, length)| {
        IpNet::new(IpAddr::V4((0x0A00_0000 + low).into()), length).unwrap()
    });
    let v6 = (0_u128..64, 120_u8..=128)
        .prop_map(|(low, length)| IpNet::new(IpAddr::V6(low.into()), length).unwrap());
    let all = prop_oneof![Just("0.0.0.0/0"), Just("::/0"), Just("255.255.255.255/32")]
        .prop_map(|text| text.parse().unwrap());
    prop_oneof![6 => v4, 3 => v6, 1 => all]
}

fn rule() -> impl Strategy<Value = Vec<(IpNet, Vec<IpNet>)>> {
    proptest::collection::vec((block(), proptest::collection::vec(block(), 0..3)), 1..4)
}

proptest! {
    #[test]
    fn an_address_is_in_the_blocks_that_contain_it(rules in proptest::collection::vec(rule(), 0..70)) {
        let mut builder = Builder::default();
        for (position, rule) in (0_u32..).zip(&rules) {
            let blocks: Vec<(IpNet, &[IpNet])> =
                rule.iter().map(|(cidr, except)| (*cidr, except.as_slice())).collect();
            builder.add(&blocks, position);
        }
        let prefixes = builder.build();
        let v4 = (0_u32..66).map(|low| IpAddr::V4((0x0A00_0000 + low).into()));
        let v6 = (0_u128..66).map(|low| IpAddr::V6(low.into()));
        let edges = ["255.255.255.255", "ffff::", "::ffff:10.0.0.1"].map(|text| text.parse().unwrap());
        for address in v4.chain(v6).chain(edges) {
            let rows = prefixes.rows(address);
            for (position, rule) in rules.iter().enumerate() {
                let expected = rule.iter().any(|(cidr, except)| {
                    cidr.contains(&address) && !except.iter().any(|out| out.contains(&address))
                });
                let bit = rows.word(position / 64) >> (position % 64) & 1 == 1;
                prop_assert_eq!(bit, expected, "{} in {:?}", address, rule);
                let told = rows.summary(0) >> (position / 64) & 1 == 1;
                prop_assert!(told || !expected);
            }
        }
    }
}
