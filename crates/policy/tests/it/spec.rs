//! The tiers: where the reference implementation differs from the text, the text (tiers.md, 5.3), and what
//! the text says beside that (1.4).

use std::time::Duration;

use netenf_policy::domain::{Answer, Asker, Data, Record, Scope, Settings};
use netenf_policy::{Cluster, DomainCache, Engine, Packet, Protocol};
use rstest::rstest;

use crate::world::World;

fn world() -> World {
    World::of(
        "namespace x ns=x
         namespace y ns=y
         node n1 192.168.0.1 node=n1
         node n2 192.168.0.2 node=n2
         pod x/a 10.0.0.1 app=a node=n1 ports=web/tcp/80
         pod x/b 10.0.0.2 app=b node=n1 ports=web/tcp/80
         pod y/c 10.0.1.3 app=c node=n2",
    )
}

#[rstest]
#[case::d01_baseline_is_per_direction("np x/i app=b Ingress\ncnp b Baseline 1 ns(ns=x)\n egress Deny ns(*)", &["x/b y/c tcp:80 no"])]
#[case::d02_empty_ingress_isolates("np x/i * Ingress", &["y/c x/a tcp:80 no"])]
#[case::d03_deny_of_a_named_port("cnp n Admin 1 ns(*)\n ingress Deny ns(*) : @web", &["y/c x/a tcp:80 no", "y/c x/a tcp:81 yes", "y/c x/a udp:80 yes"])]
#[case::d04_d05_nodes_are_their_addresses("cnp n Admin 1 ns(*)\n egress Deny nodes(node=n2)", &["x/a y/c tcp:80 yes", "x/a 192.168.0.2 tcp:80 no", "x/a 192.168.0.1 tcp:80 yes"])]
#[case::d06_a_block_that_cannot_be_read("np x/p * Ingress\n ingress none", &["203.0.113.9 x/a tcp:80 no"])]
#[case::d07_deny_with_an_unknown_peer("cnp n Admin 1 ns(*)\n ingress Deny ?", &["y/c x/a tcp:80 no", "203.0.113.9 x/a icmp no"])]
#[case::d08_a_pod_to_itself("np x/p * Ingress Egress", &["x/a x/a tcp:80 yes"])]
#[case::d09_a_named_port_is_not_port_zero("np x/p * Ingress\n ingress : tcp:web", &["y/c x/a tcp:0 no", "y/c x/a tcp:80 yes"])]
#[case::d12_icmp_under_ports("np x/p * Ingress\n ingress : tcp:80", &["y/c x/a icmp no"])]
#[case::d12b_icmp_without_ports("np x/p * Ingress\n ingress ns(*)", &["y/c x/a icmp yes"])]
#[case::d13_the_running_pod_has_the_address("pod x/job 10.0.0.1 app=job finished\nnp x/p app=job Ingress", &["y/c 10.0.0.1 tcp:80 yes"])]
#[case::d14_a_completed_pod_has_no_address("pod x/job 10.0.0.9 app=job finished\nnp x/p * Ingress", &["y/c 10.0.0.9 tcp:80 yes"])]
#[case::d15_ties_by_name("cnp zz Admin 1 ns(*)\n ingress Accept ns(*)\ncnp aa Admin 1 ns(*)\n ingress Deny ns(*)", &["y/c x/a tcp:80 no"])]
#[case::d16_accept_of_egress_is_not_ingress("cnp n Admin 1 ns(*)\n egress Accept ns(*)\nnp x/p * Ingress", &["y/c x/a tcp:80 no", "y/c 203.0.113.9 tcp:80 yes"])]
#[case::d17_pass_leaves_the_tier("cnp n Admin 1 ns(*)\n ingress Pass ns(*)\ncnp o Admin 2 ns(*)\n ingress Deny ns(*)\ncnp p Baseline 1 ns(*)\n ingress Accept ns(*)", &["y/c x/a tcp:80 yes"])]
#[case::d18_pass_of_baseline_is_the_default("cnp n Baseline 1 ns(*)\n ingress Pass ns(*)\ncnp o Baseline 2 ns(*)\n ingress Deny ns(*)", &["y/c x/a tcp:80 yes"])]
#[case::d19_namespaces_are_not_outside("cnp n Admin 1 ns(*)\n ingress Deny ns(*)", &["203.0.113.9 x/a tcp:80 yes", "y/c x/a tcp:80 no"])]
#[case::d20_networks_hold_pods("cnp n Admin 1 ns(*)\n egress Deny net(0.0.0.0/0)", &["x/a y/c tcp:80 no", "x/a 203.0.113.9 tcp:80 no", "fd00::1 fd00::2 tcp:80 yes"])]
#[case::d22_end_port("np x/p * Ingress\n ingress : tcp:80-90", &["y/c x/a tcp:79 no", "y/c x/a tcp:80 yes", "y/c x/a tcp:85 yes", "y/c x/a tcp:90 yes", "y/c x/a tcp:91 no"])]
#[case::d23_except_and_another_policy("np x/p * Ingress\n ingress block(203.0.113.0/24!203.0.113.9/32)\nnp x/q * Ingress\n ingress block(203.0.113.9/32)", &["203.0.113.9 x/a tcp:80 yes", "203.0.113.8 x/a tcp:80 yes"])]
#[case::d24_blocks_hold_pods("np x/p * Ingress\n ingress block(10.0.1.0/24)", &["y/c x/a tcp:80 yes"])]
#[case::d25_host_network_is_no_pod("pod y/h 192.168.0.2 app=c host\nnp x/p * Ingress\n ingress pods(*;app=c)", &["192.168.0.2 x/a tcp:80 no"])]
#[case::d26_an_invalid_selector("np x/p * Ingress\n ingress ns(ns=|)", &["y/c x/a tcp:80 no"])]
#[case::no_implicit_isolation("cnp n Admin 1 ns(*)\n ingress Accept ns(ns=x)", &["y/c x/a tcp:80 yes", "203.0.113.9 x/a tcp:80 yes"])]
#[case::accept_with_an_unknown_peer("cnp n Admin 1 ns(*)\n ingress Accept ? ns(*)\n ingress Deny ns(*)", &["y/c x/a tcp:80 no"])]
#[case::pass_with_an_unknown_peer_denies("cnp n Admin 1 ns(*)\n ingress Pass ?", &["y/c x/a tcp:80 no"])]
#[case::deny_with_an_unknown_port("cnp n Admin 1 ns(*)\n ingress Deny ns(ns=none) : ?", &["y/c x/a tcp:80 no"])]
#[case::accept_with_an_unknown_port("cnp n Admin 1 ns(*)\n ingress Accept ns(*) : ? tcp:80\n ingress Deny ns(*)", &["y/c x/a tcp:80 no"])]
#[case::a_rule_without_ports_is_every_protocol("cnp n Admin 1 ns(*)\n ingress Deny ns(*)", &["y/c x/a icmp no", "y/c x/a sctp:1 no"])]
#[case::a_rule_with_ports_is_no_icmp("cnp n Admin 1 ns(*)\n ingress Deny ns(*) : tcp:1-65535 udp sctp", &["y/c x/a icmp yes", "y/c x/a udp:1 no"])]
#[case::a_node_reaches_its_own_pods("cnp n Admin 1 ns(*)\n ingress Deny net(0.0.0.0/0)", &["node/n1 x/a tcp:80 yes", "node/n2 x/a tcp:80 no"])]
#[case::host_network_pods_are_never_subjects("pod y/h 192.168.0.2 app=c host\ncnp n Admin 1 ns(*)\n ingress Deny net(0.0.0.0/0)\n egress Deny net(0.0.0.0/0)", &["192.168.0.2 203.0.113.9 tcp:80 yes", "203.0.113.9 192.168.0.2 tcp:80 yes"])]
#[case::priority_goes_before_name("cnp aa Admin 9 ns(*)\n ingress Deny ns(*)\ncnp zz Admin 1 ns(*)\n ingress Accept ns(*)", &["y/c x/a tcp:80 yes"])]
#[case::admin_goes_before_network_policy("np x/p * Ingress\ncnp n Admin 9 ns(*)\n ingress Accept ns(ns=y)", &["y/c x/a tcp:80 yes", "x/b x/a tcp:80 no"])]
#[case::network_policy_goes_before_baseline("np x/p app=a Ingress\n ingress ns(*)\ncnp n Baseline 1 ns(*)\n ingress Deny ns(*)", &["y/c x/a tcp:80 yes", "y/c x/b tcp:80 no"])]
fn the_text_decides(#[case] policies: &str, #[case] probes: &[&str]) {
    let mut world = world();
    world.read(policies);
    for probe in probes {
        assert!(world.line(&format!("probe {probe}")));
    }
}

/// d21: names count in Accept rules for egress; elsewhere they match nothing.
#[rstest]
#[case::accept("egress Accept dns(*.example.com)", true)]
#[case::exact("egress Accept dns(a.b.example.com)", true)]
#[case::other_name("egress Accept dns(*.example.org)", false)]
#[case::apex("egress Accept dns(b.example.com)", false)]
#[case::not_in_deny("egress Deny dns(*.example.com)\n egress Accept dns(*.example.com)", true)]
#[case::not_in_pass("egress Pass dns(*.example.com)", false)]
#[case::not_for_ingress("ingress Accept dns(*.example.com)", false)]
fn names_count_in_accept_rules_for_egress(#[case] rule: &str, #[case] expected: bool) {
    let resolver = "10.96.0.10".parse().unwrap();
    let settings = Settings { resolvers: [resolver].into(), ..Settings::default() };
    let cluster = Cluster { domains: DomainCache::new(settings), ..Cluster::default() };
    let mut world = World::with(Engine::new(cluster));
    world.read("namespace x ns=x\npod x/a 10.0.0.1 app=a");
    let data = Data::Address("203.0.113.7".parse().unwrap());
    let ttl = Duration::from_secs(40);
    let record = Record { owner: "a.b.Example.com.", ttl, data };
    let question = "A.b.example.com";
    let answer = Answer { resolver, asker: Asker::Node, question, records: vec![record] };
    world.engine.observe(&answer, Duration::ZERO).unwrap();
    world.read(&format!(
        "cnp n Admin 1 ns(*)\n {rule}\ncnp o Admin 2 ns(*)\n egress Deny net(0.0.0.0/0)"
    ));
    world.expect("x/a", "203.0.113.7", "tcp:443", expected, &rule);
    world.expect("x/a", "203.0.113.8", "tcp:443", false, &"another address");
    let (source, destination) = (world.address("x/a"), world.address("203.0.113.7"));
    let packet = Packet::new(source, destination, Protocol::Tcp, 443);
    // 40 seconds and the grace of 10.
    for (now, known) in [(49, true), (50, false)] {
        let now = Duration::from_secs(now);
        let ruling = world.engine.publish().verdict(&packet, now);
        assert_eq!(ruling.allowed(), expected && known);
        assert_eq!(world.engine.explain(&packet, now).allowed(), expected && known);
    }
}

/// A world whose pods may reach names below example.com and nothing else outside.
fn world_of_names(scope: Scope) -> World {
    let resolvers = [RESOLVER.parse().unwrap()].into();
    let settings = Settings { scope, resolvers, grace: Duration::ZERO, ..Settings::default() };
    let cluster = Cluster { domains: DomainCache::new(settings), ..Cluster::default() };
    let mut world = World::with(Engine::new(cluster));
    world.read(
        "namespace x ns=x
         pod x/a 10.0.0.1 app=a
         pod x/b 10.0.0.2 app=b
         pod x/c 10.0.0.3 app=c
         cnp n Admin 1 ns(*)
           egress Accept dns(*.example.com)
           egress Deny net(0.0.0.0/0)",
    );
    world
}

const RESOLVER: &str = "10.96.0.10";

/// Tells `pod` of namespace x that `name` has 203.0.113.7 for so many seconds.
fn tell(world: &mut World, pod: &str, name: &str, ttl: u64) {
    let data = Data::Address("203.0.113.7".parse().unwrap());
    let record = Record { owner: name, ttl: Duration::from_secs(ttl), data };
    let (resolver, asker) = (RESOLVER.parse().unwrap(), Asker::Pod("x".into(), pod.into()));
    let answer = Answer { resolver, asker, question: name, records: vec![record] };
    world.engine.observe(&answer, Duration::ZERO).unwrap();
}

/// Checks from which of the pods a, b, c the address can be reached after so many seconds.
fn reach(world: &mut World, expected: &str, seconds: u64) {
    for pod in ["a", "b", "c"] {
        let (source, destination) =
            (world.address(&format!("x/{pod}")), world.address("203.0.113.7"));
        let packet = Packet::new(source, destination, Protocol::Tcp, 443);
        let now = Duration::from_secs(seconds);
        let ruling = world.engine.publish().verdict(&packet, now);
        assert_eq!(ruling.allowed(), expected.contains(pod), "{pod} after {seconds} s");
        assert_eq!(world.engine.explain(&packet, now).allowed(), expected.contains(pod));
    }
}

#[test]
fn what_a_pod_was_told_is_for_it_alone() {
    let mut world = world_of_names(Scope::Pod);
    reach(&mut world, "", 0);
    tell(&mut world, "b", "a.example.com", 60);
    reach(&mut world, "b", 1);
    tell(&mut world, "c", "b.example.com", 120);
    tell(&mut world, "a", "other.example.org", 120);
    reach(&mut world, "bc", 1);
    reach(&mut world, "c", 60);
    world.read("gone x/c\npod x/c 10.0.0.3 app=c");
    reach(&mut world, "b", 1);
    world.engine.collect(Duration::from_mins(1));
    reach(&mut world, "", 1);
}

/// Names of the same rules are one entry, which lives as long as the last of them.
#[test]
fn the_name_that_lives_longest_counts() {
    for ttls in [[40, 100], [100, 40]] {
        let mut world = world_of_names(Scope::Node);
        tell(&mut world, "a", "a.example.com", ttls[0]);
        tell(&mut world, "a", "b.example.com", ttls[1]);
        reach(&mut world, "abc", 99);
        reach(&mut world, "", 100);
    }
}

/// A policy that comes later knows the names that were told before it.
#[test]
fn names_are_known_to_later_policies() {
    let mut world = world_of_names(Scope::Node);
    tell(&mut world, "a", "a.example.org", 100);
    reach(&mut world, "", 1);
    world.read("cnp m Admin 0 pods(ns=x;app=b)\n egress Accept dns(a.example.org)");
    reach(&mut world, "b", 1);
    world.engine.delete_cluster_policy("ClusterNetworkPolicy", "m");
    reach(&mut world, "", 1);
}
