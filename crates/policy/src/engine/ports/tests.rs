use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Near the edges of blocks, where ranges begin and end.
fn number() -> impl Strategy<Value = u16> {
    (select(&[0_u16, 1, 2, 80, 255][..]), -2_i32..=2).prop_map(|(block, by)| {
        u16::try_from((i32::from(block) * 256 + by).clamp(0, 65_535)).unwrap()
    })
}

fn protocol() -> impl Strategy<Value = Protocol> {
    select(&[Protocol::Tcp, Protocol::Udp, Protocol::Sctp][..])
}

fn name() -> impl Strategy<Value = Arc<str>> {
    select(&["web", "dns"][..]).prop_map(Arc::from)
}

fn port() -> impl Strategy<Value = PortMatch> {
    let range = prop_oneof![
        1 => Just(PortRange::Any),
        6 => (number(), number()).prop_map(|(one, other)| PortRange::Numbers(one, other)),
        2 => name().prop_map(PortRange::Named),
    ];
    (protocol(), range).prop_map(|(protocol, range)| PortMatch { protocol, range })
}

proptest! {
    /// Each rule has ports, or none, or a name of any protocol.
    #[test]
    fn a_port_is_in_the_ranges_that_contain_it(
        rules in vec((option::weighted(0.9, vec(port(), 0..3)), option::weighted(0.2, name())), 0..80),
        named in vec((name(), protocol(), number()), 0..3),
    ) {
        let mut builder = Builder::default();
        for (position, (ports, name)) in (0..).zip(&rules) {
            match ports {
                None => builder.any(position),
                Some(ports) => ports.iter().for_each(|port| builder.of(port, position)),
            }
            if let Some(name) = name {
                builder.named(name, position);
            }
        }
        let table = builder.build();
        let named: Vec<NamedPort> = named
            .into_iter()
            .map(|(name, protocol, number)| NamedPort { name, protocol, number })
            .collect();
        let has = |name: &Arc<str>, transport: Transport| {
            named.iter().any(|port| {
                port.name == *name && transport == Transport::Port(port.protocol, port.number)
            })
        };
        let numbers = [0, 1, 2, 80, 81, 255].map(|block| (-3..=3).map(move |by| block * 256 + by));
        let numbers = numbers.into_iter().flatten().filter_map(|port| u16::try_from(port).ok());
        let transports = numbers.flat_map(|port| {
            [Protocol::Tcp, Protocol::Udp, Protocol::Sctp].map(|of| Transport::Port(of, port))
        });
        for transport in transports.chain([Transport::Portless(Protocol::Udp), Transport::Other]) {
            let rows = table.rows(transport, &named);
            for (position, (ports, name)) in rules.iter().enumerate() {
                let matches = |port: &PortMatch| {
                    transport.protocol() == Some(port.protocol)
                        && match &port.range {
                            PortRange::Any => true,
                            PortRange::Numbers(first, last) => {
                                transport.port().is_some_and(|port| *first <= port && port <= *last)
                            }
                            PortRange::Named(name) => has(name, transport),
                        }
                };
                let expected = ports.as_ref().is_none_or(|ports| ports.iter().any(matches))
                    || name.as_ref().is_some_and(|name| has(name, transport));
                let bit = rows.word(position / 64) >> (position % 64) & 1 == 1;
                prop_assert_eq!(bit, expected, "{:?} in {:?}", transport, rules[position]);
                prop_assert!(rows.summary(0) >> (position / 64) & 1 == 1 || !expected);
            }
        }
    }
}
