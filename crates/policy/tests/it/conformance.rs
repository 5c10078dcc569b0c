//! The conformance tests of the Network Policy API (v0.3.0), replayed: 30 tests, 112 parts, 397 probes.
//!
//! `conformance.txt` says in our words what each applies, changes and expects.

use crate::world::World;

const TABLE: &str = include_str!("conformance.txt");

/// Four houses of two pods each, and pods on the network of their nodes.
fn world() -> World {
    let mut world = World::default();
    let houses = [
        ("gryffindor", "harry-potter"),
        ("slytherin", "draco-malfoy"),
        ("hufflepuff", "cedric-diggory"),
        ("ravenclaw", "luna-lovegood"),
        ("forbidden-forrest", "centaur"),
    ];
    for (number, (house, set)) in houses.into_iter().enumerate() {
        world.line(&format!("namespace {house} house={house}"));
        for index in 0..2 {
            world.line(&format!("node n{index} 172.18.0.{index} os=linux"));
            let (address, host) = match house {
                "forbidden-forrest" => (format!("172.18.0.{index}"), "host"),
                _ => (format!("10.244.{index}.{number}"), ""),
            };
            let ports = "ports=web/tcp/80,dns/udp/53";
            let labels = format!("house={house},pod={set}-{index}");
            world.line(&format!(
                "pod {house}/{set}-{index} {address} {labels} node=n{index} {ports} {host}"
            ));
        }
    }
    world
}

#[test]
fn the_conformance_tests_hold() {
    let (mut tests, mut parts, mut probes) = (0, 0, 0);
    for test in TABLE.split("\n\n") {
        let mut world = world();
        let mut name = "";
        for line in test.lines() {
            if let Some(test) = line.strip_prefix("test ") {
                (name, tests) = (test, tests + 1);
            } else if line == "part" {
                parts += 1;
            } else if world.line(line) {
                probes += 1;
            }
        }
        assert!(!name.is_empty());
    }
    assert_eq!((tests, parts, probes), (30, 112, 397));
}
