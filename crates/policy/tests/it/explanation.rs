//! What an explanation names: the tier, the policy and the rule, or why none was asked; for a denial the rule
//! that came nearest, and what it lacked.

use std::time::Duration;

use netenf_policy::domain::Name;
use netenf_policy::{
    Connection, Decider, End, Finding, Labels, Lack, NetworkPolicy, Packet, Part, Pod, Policies,
    Protocol, Rule, Selector, Side, Tier, Transports,
};
use rstest::rstest;

use crate::world::World;

const CLUSTER: &str = "namespace x ns=x
    namespace y ns=y
    node n1 172.18.0.1 os=linux
    pod x/a 10.0.0.1 app=a node=n1 ports=web/tcp/80
    pod x/b 10.0.0.2 app=b node=n1
    pod y/a 10.0.1.1 app=a node=n2
    np x/db app=a Ingress
      ingress own(app=b) : tcp:80
      ingress pods(ns=x;app=c) : udp:53
    cnp guard Admin 5 pods(ns=x;app=b)
      egress Accept pods(ns=x;app=a)
      egress Pass ns(ns=y) : tcp:1
      egress Deny ns(*)
    cnp last Baseline 5 pods(ns=y;*)
      egress Accept ns(ns=y)
      egress Deny net(0.0.0.0/0)";

fn of(finding: &Finding) -> String {
    let by = match &finding.by {
        Decider::NoPod => "no pod".to_owned(),
        Decider::Itself => "itself".to_owned(),
        Decider::OwnNode => "own node".to_owned(),
        Decider::Default => "default".to_owned(),
        Decider::Isolated(objects) => {
            let names = objects.iter().map(|object| &*object.name).collect::<Vec<_>>();
            format!("isolated by {}", names.join(", "))
        }
        Decider::Rule(rule) => {
            let tier = match rule.tier {
                Tier::Admin => "admin",
                Tier::NetworkPolicy => "namespace",
                Tier::Baseline => "baseline",
            };
            format!("{tier} {} {} {:?}", rule.object.name, rule.index, rule.action)
        }
    };
    match &finding.nearest {
        None => by,
        Some(near) => {
            format!("{by}; {} {} lacks {:?}", near.rule.object.name, near.rule.index, near.lacked)
        }
    }
}

#[rstest]
#[case::a_rule_allows("10.0.0.2", "10.0.0.1", 80, "admin guard 0 Accept", "namespace db 0 Accept")]
#[case::the_port_is_lacking(
    "10.0.0.2",
    "10.0.0.1",
    81,
    "admin guard 0 Accept",
    "isolated by db; db 0 lacks [Port]"
)]
#[case::the_peer_is_lacking(
    "203.0.113.9",
    "10.0.0.1",
    80,
    "no pod",
    "isolated by db; db 0 lacks [Peer]"
)]
#[case::the_namespace_is_lacking(
    "10.0.0.2",
    "10.0.1.1",
    80,
    "admin guard 2 Deny; guard 0 lacks [Namespace]",
    "default"
)]
#[case::pass_goes_on("10.0.0.2", "10.0.1.1", 1, "default", "default")]
#[case::baseline_denies(
    "10.0.1.1",
    "10.0.0.2",
    80,
    "baseline last 1 Deny; last 0 lacks [Namespace]",
    "default"
)]
#[case::two_are_lacking(
    "10.0.1.1",
    "10.0.0.1",
    81,
    "baseline last 1 Deny; last 0 lacks [Namespace]",
    "isolated by db; db 0 lacks [Port, Peer]"
)]
#[case::itself("10.0.0.1", "10.0.0.1", 80, "itself", "itself")]
#[case::own_node("172.18.0.1", "10.0.0.1", 80, "no pod", "own node")]
#[case::outside("203.0.113.9", "203.0.113.8", 80, "no pod", "no pod")]
fn a_finding_names_what_decided(
    #[case] source: &str,
    #[case] destination: &str,
    #[case] port: u16,
    #[case] egress: &str,
    #[case] ingress: &str,
) {
    let mut world = World::of(CLUSTER);
    let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
    let packet = Packet::new(source, destination, Protocol::Tcp, port);
    let explanation = world.engine.explain(&packet, Duration::ZERO);
    assert_eq!(
        (of(&explanation.egress), of(&explanation.ingress)),
        (egress.into(), ingress.into())
    );
    let ruling = world.engine.publish().verdict(&packet, Duration::ZERO);
    assert_eq!(ruling.allowed(), explanation.allowed());
}

#[rstest]
#[case::protocol("np x/p app=a Ingress\n ingress : udp:80", vec![Lack::Protocol])]
#[case::the_fewest("np x/p app=a Ingress\n ingress ns(ns=z) : udp:80\n ingress own(app=b) : tcp:81", vec![Lack::Port])]
#[case::precedence("cnp p Admin 1 ns(*)\n ingress Deny ns(*)\n ingress Accept ns(*)", vec![Lack::Precedence])]
#[case::understanding("cnp p Admin 1 ns(*)\n ingress Accept ?\n ingress Deny ns(*)", vec![Lack::Understanding])]
#[case::excepted("np x/p app=a Ingress\n ingress block(10.0.0.0/8!10.0.0.0/24)", vec![Lack::Excepted])]
#[case::in_no_block("np x/p app=a Ingress\n ingress block(10.1.0.0/16!10.1.0.0/24)", vec![Lack::Peer])]
#[case::excepted_is_nearer_than_a_stranger(
    "np x/p app=a Ingress\n ingress own(app=z)\n ingress block(10.0.0.0/8!10.0.0.2/32)", vec![Lack::Excepted]
)]
fn a_denial_says_what_was_lacking(#[case] policies: &str, #[case] lacked: Vec<Lack>) {
    let mut world = World::of("namespace x ns=x\npod x/a 10.0.0.1 app=a\npod x/b 10.0.0.2 app=b");
    world.read(policies);
    let (source, destination) = (world.address("x/b"), world.address("x/a"));
    let packet = Packet::new(source, destination, Protocol::Tcp, 80);
    let nearest = world.engine.explain(&packet, Duration::ZERO).ingress.nearest;
    assert_eq!(nearest.map(|near| near.lacked), Some(lacked));
}

/// A list of ports or peers of which nothing could be understood is empty, and not none.
#[rstest]
#[case::ports(Rule { peers: None, ports: Some(vec![]) }, vec![Lack::Port])]
#[case::peers(Rule { peers: Some(vec![]), ports: None }, vec![Lack::Peer])]
fn a_list_of_nothing_lacks_what_it_is_of(#[case] rule: Rule, #[case] lacked: Vec<Lack>) {
    let policy = NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "x".into(),
        name: "p".into(),
        pods: Selector::default(),
        ingress: Some(vec![rule]),
        egress: None,
    };
    let destination = End::Pod(Pod { namespace: "x".into(), ..Pod::default() });
    let source = End::Address("203.0.113.7".parse().unwrap());
    let connection = Connection { source, destination, protocol: Protocol::Tcp, port: 80 };
    let nearest = Policies::new([&policy], []).explain(&connection).ingress.nearest;
    assert_eq!(nearest.map(|near| near.lacked), Some(lacked));
}

/// Ends that are given instead of found: what a preview asks about workloads that do not run.
#[test]
fn given_ends_are_judged_by_all_tiers() {
    let world = World::of(CLUSTER);
    let cluster = world.engine.cluster();
    let network = cluster.network_policies.values().map(|policy| &**policy);
    let policies =
        Policies::new(network, cluster.cluster_policies.values().map(|policy| &**policy));
    let pod = |namespace: &str, app: &str| {
        End::Pod(Pod {
            namespace: namespace.into(),
            namespace_labels: crate::text::labels(&format!("ns={namespace},name={namespace}")),
            labels: crate::text::labels(&format!("app={app}")),
            ..Pod::default()
        })
    };
    let node = End::Node {
        name: "n1".into(),
        labels: crate::text::labels("os=linux"),
        addresses: Vec::new(),
    };
    let ask = |source: End, destination: End| {
        let connection = Connection { source, destination, protocol: Protocol::Tcp, port: 80 };
        let explanation = policies.explain(&connection);
        (of(&explanation.egress), of(&explanation.ingress))
    };
    let (egress, ingress) = ask(pod("x", "b"), pod("x", "a"));
    assert_eq!((&*egress, &*ingress), ("admin guard 0 Accept", "namespace db 0 Accept"));
    assert_eq!(ask(pod("x", "b"), node).0, "default");
    assert_eq!(ask(End::Unknown, pod("x", "a")).1, "isolated by db; db 0 lacks [Peer]");
}

/// Ends of which a preview does not know everything: what is not known allows nothing.
#[rstest]
#[case::name_of_a_rule(
    "egress Accept dns(*.example.com)\n egress Deny net(0.0.0.0/0)",
    "api.example.com",
    true
)]
#[case::another_name(
    "egress Accept dns(*.example.com)\n egress Deny net(0.0.0.0/0)",
    "example.com",
    false
)]
#[case::some_addresses(
    "egress Accept net(203.0.113.0/24)\n egress Deny net(::/0)",
    "api.example.com",
    false
)]
#[case::denial_of_some_addresses("egress Deny net(203.0.113.0/24)", "api.example.com", true)]
#[case::all_addresses_allow_no_pod(
    "egress Accept net(0.0.0.0/0)\n egress Deny ns(*)",
    "x/b",
    false
)]
#[case::all_addresses_deny_a_pod("egress Deny net(0.0.0.0/0)", "x/b", false)]
#[case::all_addresses_deny_a_node_without_any("egress Deny net(0.0.0.0/0)", "node", false)]
#[case::some_addresses_deny_no_node_without_any("egress Deny net(0.0.0.0/1)", "node", true)]
#[case::all_addresses_allow_no_node_without_any(
    "egress Accept net(::/0)\n egress Deny net(::/0)",
    "node",
    false
)]
#[case::all_addresses_deny_whatever_it_is("egress Deny net(::/0)", "unknown", false)]
#[case::all_addresses_of_a_family_hold_a_name(
    "egress Accept net(::/0)\n egress Deny net(0.0.0.0/0)",
    "api.example.com",
    true
)]
#[case::itself("egress Deny ns(*)", "x/a", true)]
fn what_is_not_known_allows_nothing(
    #[case] rules: &str,
    #[case] peer: &str,
    #[case] allowed: bool,
) {
    let world = World::of(&format!("cnp p Admin 1 ns(*)\n {rules}"));
    let pod = |name: &str| {
        let (namespace, name) = name.split_once('/')?;
        let (namespace, name) = (namespace.into(), Some(name.into()));
        Some(End::Pod(Pod { namespace, name, ..Pod::default() }))
    };
    let destination = match peer {
        "node" => End::Node { name: "n1".into(), labels: Labels::default(), addresses: vec![] },
        "unknown" => End::Unknown,
        _ => pod(peer).unwrap_or_else(|| End::Name(Name::parse(peer).unwrap())),
    };
    let cluster = world.engine.cluster();
    let policies = Policies::new([], cluster.cluster_policies.values().map(|policy| &**policy));
    let source = pod("x/a").unwrap();
    let connection = Connection { source, destination, protocol: Protocol::Tcp, port: 443 };
    assert_eq!(policies.explain(&connection).allowed(), allowed);
}

#[rstest]
#[case::all_of_one_family("egress block(0.0.0.0/0)", true)]
#[case::all_of_the_other("egress block(::/0)", true)]
#[case::not_all("egress block(0.0.0.0/1)", false)]
#[case::without_some("egress block(0.0.0.0/0!10.0.0.0/8)", false)]
fn a_name_is_in_a_block_of_all_addresses(#[case] rule: &str, #[case] allowed: bool) {
    let world = World::of(&format!("np x/p app=a Egress\n {rule}"));
    let cluster = world.engine.cluster();
    let policies = Policies::new(cluster.network_policies.values().map(|policy| &**policy), []);
    let labels = crate::text::labels("app=a");
    let source = End::Pod(Pod { namespace: "x".into(), labels, ..Pod::default() });
    let destination = End::Name(Name::parse("api.example.com").unwrap());
    let connection = Connection { source, destination, protocol: Protocol::Tcp, port: 443 };
    assert_eq!(policies.explain(&connection).allowed(), allowed);
}

#[rstest]
#[case::from_its_node("n1", Decider::OwnNode)]
#[case::from_another_node("n2", Decider::Default)]
fn a_node_reaches_its_own_pods(#[case] node: &str, #[case] by: Decider) {
    let source = End::Node { name: node.into(), labels: Labels::default(), addresses: Vec::new() };
    let pod = Pod { name: Some("a".into()), node: Some("n1".into()), ..Pod::default() };
    let parts = Policies::default().parts(Side::Ingress, &source, &End::Pod(pod));
    assert_eq!(parts, [Part { transports: Transports::all(), allowed: true, by }]);
}
