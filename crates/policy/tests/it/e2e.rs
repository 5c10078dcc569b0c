//! The truth tables of Kubernetes' end-to-end tests of NetworkPolicy (1.36): 42, 3 for UDP and 3 for SCTP.
//!
//! `e2e.txt` says in our words which pods there are, what is applied and which cells of the table differ from
//! "reachable". A pod to itself is left out there; here it is always reachable.

use crate::world::World;

const TABLE: &str = include_str!("e2e.txt");

/// A world of these pods: the number of the namespace and of the pod are in the address.
pub(crate) fn world(pods: &[&str]) -> World {
    let mut world = World::default();
    for namespace in ["x", "y", "z"] {
        world.line(&format!("namespace {namespace} ns={namespace}"));
    }
    for pod in pods {
        let (namespace, name) = pod.split_once('/').unwrap();
        let at = |text: &str, first: u8| text.as_bytes()[0] - first;
        let address = format!("10.0.{}.{}", at(namespace, b'x'), at(name, b'a'));
        let port =
            |port: &str, protocol: &str| format!("serve-{port}-{protocol}/{protocol}/{port}");
        let ports: Vec<String> = ["tcp", "udp", "sctp"]
            .iter()
            .flat_map(|protocol| [port("80", protocol), port("81", protocol)])
            .collect();
        world.line(&format!("pod {pod} {address} pod={name} ports={}", ports.join(",")));
    }
    world
}

fn meant(pattern: &str, pod: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => pod.starts_with(prefix),
        None => pattern == pod,
    }
}

/// Checks every cell: reachable, unless the last of `exceptions` that means the cell says otherwise.
pub(crate) fn reach(world: &mut World, pods: &[&str], port: &str, exceptions: &[&str], case: &str) {
    for source in pods {
        for destination in pods {
            let cell = |exception: &&&str| {
                let (from, to) = exception[1..].split_once('>').unwrap();
                meant(from, source) && meant(to, destination)
            };
            let last = exceptions.iter().rfind(cell);
            let expected = source == destination || last.is_none_or(|last| last.starts_with('+'));
            let case = format!("{case}: {source} to {destination}");
            world.expect(source, destination, port, expected, &case);
        }
    }
}

#[test]
fn the_truth_tables_hold() {
    let mut tests = 0;
    for test in TABLE.split("\n\n") {
        let mut lines = test.lines();
        let name = lines.next().unwrap();
        let pods: Vec<&str> = lines.next().unwrap().split_whitespace().skip(1).collect();
        let mut world = world(&pods);
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["reach", port, exceptions @ ..] = &words[..] {
                world.read("");
                reach(&mut world, &pods, port, exceptions, name);
            } else {
                world.line(line);
            }
        }
        tests += 1;
    }
    assert_eq!(tests, 42 + 3 + 3);
}
