use proptest::prelude::*;

use super::*;

fn transports() -> impl Strategy<Value = Transports> {
    let range = (0..3_usize, 0..20_u16, 0..8_u16);
    (prop::collection::vec(range, 0..6), any::<bool>()).prop_map(|(ranges, other)| {
        let mut set = Transports { other, ..Transports::default() };
        for (protocol, first, length) in ranges {
            set.insert(Protocol::ALL[protocol], first..=first + length);
        }
        set
    })
}

fn every_transport() -> impl Iterator<Item = Transport> {
    let ports = |protocol| (0..40).map(move |port| Transport::Port(protocol, port));
    Protocol::ALL.into_iter().flat_map(ports).chain([Transport::Other])
}

proptest! {
    #[test]
    fn sets_are_what_they_contain(one in transports(), other in transports()) {
        let (both, either, less) =
            (one.intersection(&other), one.union(&other), one.difference(&other));
        for transport in every_transport() {
            let (a, b) = (one.contains(transport), other.contains(transport));
            prop_assert_eq!(both.contains(transport), a && b);
            prop_assert_eq!(either.contains(transport), a || b);
            prop_assert_eq!(less.contains(transport), a && !b);
        }
        prop_assert_eq!(less.union(&both), one);
    }

    /// One set has one form: equal sets compare equal however they were made.
    #[test]
    fn a_set_and_what_it_leaves_are_everything(one in transports()) {
        let all = Transports::all();
        prop_assert!(all.is_all() && all.difference(&all).is_empty());
        prop_assert_eq!(all.difference(&all.difference(&one)), one);
    }
}

#[test]
fn port_0_is_no_port() {
    let mut set = Transports::default();
    set.insert(Protocol::Tcp, 0..=0);
    assert!(set.is_empty());
    set.insert(Protocol::Tcp, 0..=u16::MAX);
    assert!(set.is_whole(Protocol::Tcp));
}
