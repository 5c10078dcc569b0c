//! The kinds of cases that the cyclonus generator makes, combined as it combines them: one policy on x/a whose
//! peers, ports, target or rules are varied, each direction on its own; and policies in conflict, and changes.
//!
//! What is expected is written down per kind, as the pods and the ports that it means; a list of peers or ports
//! means what its parts mean together.

use std::collections::BTreeSet;

use crate::e2e;
use crate::world::World;

const PODS: [&str; 9] = ["x/a", "x/b", "x/c", "y/a", "y/b", "y/c", "z/a", "z/b", "z/c"];
const PORTS: [&str; 6] = ["tcp:80", "tcp:81", "udp:80", "udp:81", "sctp:80", "sctp:81"];

/// A peer of a policy in x, and the pods that it means.
const PEERS: [(&str, &str); 10] = [
    ("ns(ns=x)", "x/a x/b x/c"),
    ("ns(*)", "x/a x/b x/c y/a y/b y/c z/a z/b z/c"),
    ("own(*)", "x/a x/b x/c"),
    ("pods(ns=x;*)", "x/a x/b x/c"),
    ("pods(*;*)", "x/a x/b x/c y/a y/b y/c z/a z/b z/c"),
    ("own(pod=c)", "x/c"),
    ("pods(ns=x;pod=c)", "x/c"),
    ("pods(*;pod=c)", "x/c y/c z/c"),
    ("block(10.0.1.0/24)", "y/a y/b y/c"),
    ("block(10.0.1.0/24!10.0.1.0/31)", "y/c"),
];

/// A port, and what it means; `same` is a name that pods give to three ports of different protocols.
const PORT_KINDS: [(&str, &str); 13] = [
    ("tcp", "tcp:80 tcp:81"),
    ("udp", "udp:80 udp:81"),
    ("sctp", "sctp:80 sctp:81"),
    ("tcp:81", "tcp:81"),
    ("udp:81", "udp:81"),
    ("sctp:81", "sctp:81"),
    ("tcp:80-81", "tcp:80 tcp:81"),
    ("tcp:serve-81-tcp", "tcp:81"),
    ("udp:serve-81-udp", "udp:81"),
    ("sctp:serve-81-sctp", "sctp:81"),
    ("udp:serve-81-tcp", ""),
    ("tcp:same", "tcp:81"),
    ("udp:same", "udp:80"),
];

const ALL: &str = "x/a x/b x/c y/a y/b y/c z/a z/b z/c";
const ALL_PORTS: &str = "tcp:80 tcp:81 udp:80 udp:81 sctp:80 sctp:81";
/// The base policy's rules, and what they mean.
const INGRESS: (&str, &str) = ("pods(ns=x|y;pod=b|c)", "x/b x/c y/b y/c");
const EGRESS: (&str, &str) = ("pods(ns=y|z;pod=a|b)", "y/a y/b z/a z/b");
const BASE_PORT: (&str, &str) = ("tcp:80", "tcp:80");

/// Rules of one direction: peers and ports as text, and the pods and ports that are meant.
#[derive(Debug, Clone)]
struct Half {
    rule: String,
    pods: BTreeSet<&'static str>,
    ports: BTreeSet<&'static str>,
}

fn words(text: &'static str) -> BTreeSet<&'static str> {
    text.split_whitespace().collect()
}

fn half(peers: (&str, &'static str), ports: (&str, &'static str)) -> Half {
    let rule =
        if ports.0.is_empty() { peers.0.to_owned() } else { format!("{} : {}", peers.0, ports.0) };
    Half { rule, pods: words(peers.1), ports: words(ports.1) }
}

fn world() -> World {
    let mut world = e2e::world(&PODS);
    for pod in PODS {
        let (_, name) = pod.split_once('/').unwrap();
        let address = world.address(pod);
        let ports =
            "serve-80-tcp/tcp/80,serve-81-tcp/tcp/81,serve-81-udp/udp/81,serve-81-sctp/sctp/81";
        let same = "same/tcp/81,same/udp/80,same/sctp/81";
        world.line(&format!("pod {pod} {address} pod={name} ports={ports},{same}"));
    }
    world
}

/// Asks for every pair of pods and every port whether it is reachable if `allowed` says so.
fn check(world: &mut World, case: &str, allowed: impl Fn(&str, &str, &str) -> bool) {
    for source in PODS {
        for destination in PODS {
            for port in PORTS {
                let expected = source == destination || allowed(source, destination, port);
                let case = format!("{case}: {source} to {destination} {port}");
                world.expect(source, destination, port, expected, &case);
            }
        }
    }
}

/// Applies the base policy with these halves and checks all cells that have x/a at an end.
fn one(ingress: &Half, egress: &Half) {
    let mut world = world();
    let policy = format!(
        "np x/base pod=a Ingress Egress\n ingress {}\n egress {}",
        ingress.rule, egress.rule
    );
    world.read(&policy);
    check(&mut world, &policy, |source, destination, port| {
        let into =
            destination != "x/a" || ingress.pods.contains(source) && ingress.ports.contains(port);
        let out =
            source != "x/a" || egress.pods.contains(destination) && egress.ports.contains(port);
        into && out
    });
}

/// Puts a half in the place of the base policy's, for each direction. Gives the number of cases.
fn both(changed: &dyn Fn((&'static str, &'static str)) -> Half) -> usize {
    one(&changed(INGRESS), &half(EGRESS, BASE_PORT));
    one(&half(INGRESS, BASE_PORT), &changed(EGRESS));
    2
}

/// All lists of one and of two of these.
fn lists(kinds: &[(&'static str, &'static str)]) -> Vec<(String, BTreeSet<&'static str>)> {
    let mut lists = Vec::new();
    for (index, (text, meant)) in kinds.iter().enumerate() {
        lists.push(((*text).to_owned(), words(meant)));
        for (other, also) in &kinds[index + 1..] {
            lists.push((
                format!("{text} {other}"),
                words(meant).union(&words(also)).copied().collect(),
            ));
        }
    }
    lists
}

#[test]
fn peers_of_every_kind_and_pair() {
    let mut cases = both(&|_| half(("", ALL), BASE_PORT));
    for (text, pods) in lists(&PEERS) {
        cases += both(&|_| Half {
            rule: format!("{text} : tcp:80"),
            pods: pods.clone(),
            ports: words("tcp:80"),
        });
    }
    assert_eq!(cases, 112);
}

#[test]
fn ports_of_every_kind_and_pair() {
    let mut cases = both(&|peers| half(peers, ("", ALL_PORTS)));
    for (text, ports) in lists(&PORT_KINDS) {
        cases += both(&|peers| Half {
            rule: format!("{} : {text}", peers.0),
            pods: words(peers.1),
            ports: ports.clone(),
        });
    }
    assert_eq!(cases, 184);
}

#[test]
fn rules_and_default_labels() {
    let mut cases = both(&|_| half(("none", ""), BASE_PORT));
    cases += both(&|_| half(("", ALL), ("", ALL_PORTS)));
    cases += both(&|_| half(("ns(name=z)", "z/a z/b z/c"), BASE_PORT));
    assert_eq!(cases, 6);
}

#[test]
fn targets_by_namespace_and_selector() {
    for (namespace, selector, targets) in [
        ("x", "pod=a", "x/a"),
        ("y", "pod=a", "y/a"),
        ("z", "pod=a", "z/a"),
        ("x", "*", "x/a x/b x/c"),
        ("x", "pod=a|b", "x/a x/b"),
        ("x", "pod!=a", "x/b x/c"),
    ] {
        let mut world = world();
        let policy = format!(
            "np {namespace}/base {selector} Ingress Egress\n ingress {} : tcp:80\n egress {} : tcp:80",
            INGRESS.0, EGRESS.0
        );
        world.read(&policy);
        let (targets, from, to) = (words(targets), words(INGRESS.1), words(EGRESS.1));
        check(&mut world, &policy, |source, destination, port| {
            let into = !targets.contains(destination) || from.contains(source) && port == "tcp:80";
            let out = !targets.contains(source) || to.contains(destination) && port == "tcp:80";
            into && out
        });
    }
}

/// Policies that pull in different directions: x/b is the source, y/c the destination.
#[test]
fn allowing_and_denying_at_once() {
    let nobody = "ns(this-will-never-happen=qrs123)";
    let nowhere = "block(0.0.0.0/31)";
    let everywhere = "block(0.0.0.0/0)";
    let out = |rule: &str| format!("np x/one-{} pod=b Egress\n {rule}\n", rule.len());
    let into = |rule: &str| format!("np y/one-{} pod=c Ingress\n {rule}\n", rule.len());
    let (deny_out, deny_in) = ("np x/deny pod=b Egress\n", "np y/deny pod=c Ingress\n");
    // Policies, whether egress of x/b is open, whether ingress of y/c is.
    let cases = [
        (deny_out.to_owned() + &into("ingress"), false, true),
        (out("egress") + deny_in, true, false),
        (deny_out.to_owned() + &out("egress"), true, true),
        (deny_in.to_owned() + &into("ingress"), true, true),
        (deny_out.to_owned() + &out("egress ns(*)"), true, true),
        (deny_out.to_owned() + &out(&format!("egress {everywhere}")), true, true),
        (out(&format!("egress {nowhere}")) + &out("egress ns(*)"), true, true),
        (out(&format!("egress {nobody}")) + &out(&format!("egress {everywhere}")), true, true),
        (deny_in.to_owned() + &into("ingress ns(*)"), true, true),
        (deny_in.to_owned() + &into(&format!("ingress {everywhere}")), true, true),
        (into(&format!("ingress {nowhere}")) + &into("ingress ns(*)"), true, true),
        (into(&format!("ingress {nobody}")) + &into(&format!("ingress {everywhere}")), true, true),
        (out(&format!("egress {nowhere}")), false, true),
        (out(&format!("egress {nobody}")), false, true),
        (into(&format!("ingress {nowhere}")), true, false),
        (into(&format!("ingress {nobody}")), true, false),
    ];
    for (policies, egress, ingress) in cases {
        let mut world = world();
        world.read(&policies);
        check(&mut world, &policies, |source, destination, _| {
            (egress || source != "x/b") && (ingress || destination != "y/c")
        });
    }
}

/// Creating, changing and deleting policies, namespaces, pods and labels takes effect at once.
#[test]
fn actions_take_effect() {
    const BASE: &str = "np x/base pod=a Ingress\n ingress pods(ns=x|y;pod=b|c) : tcp:80";
    let mut world = world();
    world.read(BASE);
    world.expect("y/b", "x/a", "tcp:80", true, &"created");
    world.expect("y/b", "x/a", "udp:81", false, &"created");
    world.read("np x/base pod=a Ingress\n ingress pods(ns=x|y;pod=b|c) : udp:serve-81-udp");
    world.expect("y/b", "x/a", "tcp:80", false, &"updated");
    world.expect("y/b", "x/a", "udp:81", true, &"updated");
    world.read("delete x/base");
    world.expect("z/a", "x/a", "tcp:80", true, &"deleted");
    world.read(BASE);
    world.read("namespace y2 ns=y\npod y2/a 10.0.7.1 pod=a\npod y2/b 10.0.7.2 pod=b");
    world.expect("y2/b", "x/a", "tcp:80", true, &"namespace created");
    world.expect("y2/a", "x/a", "tcp:80", false, &"namespace created");
    world.read("gone y2/a\ngone y2/b");
    world.expect("10.0.7.2", "x/a", "tcp:80", false, &"namespace deleted");
    world.read("pod x/d 10.0.0.9 pod=d");
    world.expect("x/d", "x/a", "tcp:80", false, &"pod created");
    world.read("label x/d pod=b");
    world.expect("x/d", "x/a", "tcp:80", true, &"pod labelled");
    world.read("gone x/d");
    world.expect("10.0.0.9", "x/a", "tcp:80", false, &"pod deleted");
    world.read("np x/base pod=a Ingress\n ingress ns(new-ns=qrs)");
    world.expect("y/a", "x/a", "tcp:80", false, &"namespace without label");
    world.read("namespace y ns=y,new-ns=qrs");
    world.expect("y/a", "x/a", "tcp:80", true, &"namespace labelled");
    world.read("namespace y ns=y");
    world.expect("y/a", "x/a", "tcp:80", false, &"label removed");
}
