//! NetworkPolicy (networking.k8s.io/v1): the corner cases, topic by topic.

use rstest::rstest;

use crate::world::World;

/// Namespaces x and y with pods a, b each, named ports that differ, a node, and what is no plain pod.
fn world() -> World {
    World::of(
        "namespace x team=x
         namespace y team=y
         node n1 172.18.0.1 os=linux
         node n2 172.18.0.2 os=linux
         pod x/a 10.0.0.1,fd00::1 app=a node=n1 ports=web/tcp/80,dns/udp/53
         pod x/b 10.0.0.2 app=b node=n1 ports=web/tcp/8080
         pod y/a 10.0.1.1,fd00::11 app=a node=n2 ports=web/tcp/80
         pod y/b 10.0.1.2 app=b node=n2 ports=web/udp/80
         pod x/host 172.18.0.1 app=a node=n1 ports=web/tcp/80 host
         pod x/done 10.0.0.9 app=a node=n1 finished
         pod x/start 10.0.0.8 app=a node=n1 pending",
    )
}

const OUTSIDE: &str = "203.0.113.9";

#[rstest]
#[case::pod_selector_empty_is_all_pods("np x/p * Ingress", &["y/a x/a tcp:80 no", "y/a x/b tcp:80 no", "x/a y/a tcp:80 yes"])]
#[case::egress_needs_its_type("np x/p * Ingress", &["x/a y/a tcp:80 yes"])]
#[case::ingress_without_rules_denies_all("np x/p app=a Ingress", &["x/b x/a tcp:80 no", "203.0.113.9 x/a tcp:80 no", "y/a x/a icmp no"])]
#[case::empty_rule_allows_everything("np x/p * Ingress\n ingress", &["y/a x/a tcp:80 yes", "203.0.113.9 x/a icmp yes", "172.18.0.2 x/a udp:1 yes"])]
#[case::absent_from_is_any_source("np x/p * Ingress\n ingress : tcp:80", &["203.0.113.9 x/a tcp:80 yes", "172.18.0.2 x/a tcp:80 yes", "203.0.113.9 x/a tcp:81 no"])]
#[case::absent_ports_are_all_protocols("np x/p * Ingress\n ingress own(app=b)", &["x/b x/a icmp yes", "x/b x/a sctp:7 yes", "y/b x/a icmp no"])]
#[case::icmp_never_matches_ports("np x/p * Ingress\n ingress : tcp udp sctp", &["x/b x/a icmp no", "x/b x/a sctp:7 yes"])]
#[case::port_absent_is_every_port_of_the_protocol("np x/p * Ingress\n ingress : udp", &["x/b x/a udp:1 yes", "x/b x/a udp:65535 yes", "x/b x/a tcp:1 no"])]
#[case::end_port_is_inclusive("np x/p * Ingress\n ingress : tcp:80-90 tcp:95-95", &["x/b x/a tcp:79 no", "x/b x/a tcp:80 yes", "x/b x/a tcp:90 yes", "x/b x/a tcp:91 no", "x/b x/a tcp:95 yes"])]
#[case::named_port_is_that_of_the_destination("np x/p * Ingress\n ingress : tcp:web", &["y/a x/a tcp:80 yes", "y/a x/b tcp:80 no", "y/a x/b tcp:8080 yes", "y/a x/a udp:80 no"])]
#[case::named_port_has_its_protocol("np y/p * Ingress\n ingress : tcp:web", &["x/a y/b tcp:80 no", "x/a y/b udp:80 no", "x/a y/a tcp:80 yes"])]
#[case::named_port_that_nobody_has_matches_nothing("np x/p * Ingress\n ingress : tcp:none", &["y/a x/a tcp:80 no", "y/a x/a tcp:1 no"])]
#[case::named_port_in_egress_is_the_destinations("np x/p * Egress\n egress : tcp:web", &["x/a y/a tcp:80 yes", "x/a x/b tcp:8080 yes", "x/a x/b tcp:80 no", "x/a 203.0.113.9 tcp:80 no"])]
#[case::named_port_of_a_host_network_pod_is_none("np x/p app=b Egress\n egress : tcp:web", &["x/b node/n1 tcp:80 no"])]
#[case::pod_selector_alone_is_the_own_namespace("np x/p app=a Ingress\n ingress own(app=b)", &["x/b x/a tcp:80 yes", "y/b x/a tcp:80 no"])]
#[case::namespace_selector_alone_is_all_its_pods("np x/p app=a Ingress\n ingress ns(team=y)", &["y/a x/a tcp:80 yes", "y/b x/a tcp:80 yes", "x/b x/a tcp:80 no"])]
#[case::namespace_selector_empty_is_pods_only("np x/p app=a Ingress\n ingress ns(*)", &["y/a x/a tcp:80 yes", "203.0.113.9 x/a tcp:80 no", "172.18.0.2 x/a tcp:80 no"])]
#[case::both_selectors_are_one_peer("np x/p app=a Ingress\n ingress pods(team=y;app=b)", &["y/b x/a tcp:80 yes", "y/a x/a tcp:80 no", "x/b x/a tcp:80 no"])]
#[case::items_of_a_list_are_alternatives("np x/p app=a Ingress\n ingress ns(team=y) own(app=b)", &["y/a x/a tcp:80 yes", "x/b x/a tcp:80 yes"])]
#[case::pod_selector_empty_alone_is_the_own_namespace("np x/p app=a Ingress\n ingress own(*)", &["x/b x/a tcp:80 yes", "y/b x/a tcp:80 no"])]
#[case::except_carves_its_own_block_only("np x/p app=a Ingress\n ingress block(203.0.113.0/24!203.0.113.8/29)\n ingress block(203.0.113.10/32)", &["203.0.113.1 x/a tcp:1 yes", "203.0.113.9 x/a tcp:1 no", "203.0.113.10 x/a tcp:1 yes"])]
#[case::except_of_another_policy_does_not_count("np x/p app=a Ingress\n ingress block(203.0.113.0/24!203.0.113.9/32)\nnp x/q app=a Ingress\n ingress block(203.0.113.0/28)", &["203.0.113.9 x/a tcp:1 yes"])]
#[case::block_holds_pod_addresses("np x/p app=a Ingress\n ingress block(10.0.1.0/24)", &["y/a x/a tcp:80 yes", "x/b x/a tcp:80 no"])]
#[case::block_with_host_bits_is_masked("np x/p app=a Ingress\n ingress block(10.0.1.77/24)", &["y/a x/a tcp:80 yes", "x/b x/a tcp:80 no"])]
#[case::all_of_ipv4_is_no_ipv6("np x/p app=a Ingress\n ingress block(0.0.0.0/0)", &["y/a x/a tcp:80 yes", "fd00::11 fd00::1 tcp:80 no"])]
#[case::all_of_ipv6_is_no_ipv4("np x/p app=a Ingress\n ingress block(::/0)", &["y/a x/a tcp:80 no", "fd00::11 fd00::1 tcp:80 yes"])]
#[case::mapped_addresses_are_ipv6("np x/p app=a Ingress\n ingress block(10.0.1.0/24)", &["::ffff:10.0.1.1 fd00::1 tcp:80 no", "10.0.1.1 x/a tcp:80 yes"])]
#[case::mapped_blocks_are_ipv6("np x/p app=a Ingress\n ingress block(::ffff:0:0/96)", &["10.0.1.1 x/a tcp:80 no", "::ffff:10.0.1.1 fd00::1 tcp:80 yes"])]
#[case::a_node_reaches_its_own_pods("np x/p * Ingress", &["node/n1 x/a tcp:80 yes", "node/n2 x/a tcp:80 no"])]
#[case::a_pod_does_not_reach_its_node_by_right("np x/p * Egress", &["x/a node/n1 tcp:80 no"])]
#[case::host_network_pods_are_no_subject("np x/p * Ingress Egress", &["172.18.0.1 y/a tcp:80 yes", "y/a 172.18.0.1 tcp:80 yes"])]
#[case::host_network_pods_are_no_peer("np y/p * Ingress\n ingress pods(team=x;app=a)", &["172.18.0.1 y/a tcp:80 no", "x/a y/a tcp:80 yes"])]
#[case::host_network_pods_are_in_blocks("np y/p * Ingress\n ingress block(172.18.0.0/16)", &["172.18.0.1 y/a tcp:80 yes"])]
#[case::a_pod_reaches_itself("np x/p * Ingress Egress", &["x/a x/a tcp:80 yes", "x/a x/b tcp:80 no"])]
#[case::finished_pods_are_no_subject("np x/p * Ingress Egress", &["y/a x/done tcp:80 yes", "x/done y/a tcp:80 yes"])]
#[case::finished_pods_are_no_peer("np y/p * Ingress\n ingress ns(*)", &["x/done y/a tcp:80 no"])]
#[case::pods_that_start_are_isolated("np x/p * Ingress", &["y/a x/start tcp:80 no"])]
#[case::unknown_protocols_need_a_rule_without_ports("np x/p app=a Ingress\n ingress own(app=b)\n ingress : tcp", &["x/b x/a gre yes", "y/b x/a gre no"])]
#[case::port_zero_and_unknown_ports_match_no_number("np x/p app=a Ingress\n ingress : tcp:web tcp:1-65535", &["y/b x/a tcp:0 no", "y/b x/a tcp:- no", "y/b x/a tcp:80 yes"])]
#[case::unknown_ports_are_any_port("np x/p app=a Ingress\n ingress : tcp", &["y/b x/a tcp:- yes", "y/b x/a udp:- no"])]
#[case::both_ends_have_to_allow("np x/p app=a Egress\n egress ns(team=y)\nnp y/q app=b Ingress", &["x/a y/a tcp:80 yes", "x/a y/b tcp:80 no", "x/a x/b tcp:80 no"])]
#[case::policies_add_up("np x/p app=a Ingress\nnp x/q app=a Ingress\n ingress own(app=b)", &["x/b x/a tcp:80 yes", "y/b x/a tcp:80 no"])]
#[case::directions_are_apart("np x/p app=a Ingress\nnp x/q app=a Egress\n egress", &["x/b x/a tcp:80 no", "x/a x/b tcp:80 yes"])]
#[case::nothing_understood_allows_nothing("np x/p app=a Ingress\n ingress none", &["x/b x/a tcp:80 no", "203.0.113.9 x/a tcp:80 no"])]
#[case::an_invalid_selector_selects_nothing("np x/p app=a Ingress\n ingress ns(team=|)", &["y/a x/a tcp:80 no"])]
#[case::expressions("np x/p app=a Ingress\n ingress pods(team=x|y;app!=b)\n ingress pods(!team;*)", &["y/a x/a tcp:80 yes", "y/b x/a tcp:80 no"])]
fn the_corner_cases_of_the_api_hold(#[case] policies: &str, #[case] probes: &[&str]) {
    let mut world = world();
    world.read(policies);
    for probe in probes {
        assert!(world.line(&format!("probe {probe}")));
    }
}

/// "Uses current namespace labels": relabelling takes effect, also for who is isolated.
#[test]
fn labels_are_those_of_now() {
    let mut world = world();
    world.read(
        "np x/p app=a Ingress
           ingress pods(team=y;app=a)
         probe y/a x/a tcp:80 yes
         namespace y team=z
         probe y/a x/a tcp:80 no
         namespace y team=y
         label y/a app=c
         probe y/a x/a tcp:80 no
         label y/a app=a
         probe y/a x/a tcp:80 yes
         label x/a app=other
         probe y/b x/a tcp:80 yes",
    );
}

/// An address that a finished pod had belongs to the pod that runs; a new pod of an old name is another.
#[test]
fn an_address_belongs_to_the_pod_that_runs() {
    let mut world = world();
    world.read(
        "np x/p app=old Ingress
         pod x/old 10.0.0.7 app=old finished
         pod x/new 10.0.0.7 app=new
         probe y/a 10.0.0.7 tcp:80 yes
         pod x/old 10.0.0.7 app=old
         pod x/new 10.0.0.7 app=new pending
         probe y/a 10.0.0.7 tcp:80 no
         gone x/old
         probe y/a 10.0.0.7 tcp:80 yes",
    );
    world.expect(OUTSIDE, "x/new", "tcp:80", true, &"the new pod is not isolated");
}
