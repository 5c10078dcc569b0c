use std::collections::BTreeMap;

use rstest::rstest;

use super::*;
use crate::object;

/// Nothing may reach `app=db`.
const CLOSED: &str =
    "policy closed {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress]}";

/// An object of namespace `shop`: its kind, name, and either its spec or words such as `app=web`. `of` is the
/// owner, `on` the node, `at` the addresses, `phase` the phase; what else is named is a label.
fn document(line: &str) -> String {
    let mut words = line.splitn(3, ' ');
    let (kind, name) = (words.next().unwrap(), words.next().unwrap());
    let rest = words.next().unwrap_or_default();
    let mut fields: BTreeMap<&str, &str> =
        rest.split(' ').filter_map(|word| word.split_once('=')).collect();
    let mut take = |field: &str| fields.remove(field).unwrap_or_default();
    let (owner, node, addresses, phase) = (take("of"), take("on"), take("at"), take("phase"));
    let host = take("host") == "true";
    let owner = owner.split_once('/').map_or(String::new(), |(kind, name)| {
        format!("{{apiVersion: apps/v1, kind: {kind}, name: {name}, uid: u, controller: true}}")
    });
    let labels: Vec<String> = fields.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let labels = labels.join(", ");
    let own: Vec<&str> = addresses.split(',').filter(|one| !one.is_empty()).collect();
    let meta = format!("name: {name}, labels: {{{labels}}}, ownerReferences: [{owner}]");
    let spec = format!("hostNetwork: {host}, containers: []");
    match kind {
        "pod" => {
            let ips: Vec<String> = own.iter().map(|ip| format!("{{ip: '{ip}'}}")).collect();
            let ips = ips.join(", ");
            let node = if node.is_empty() { String::new() } else { format!(", nodeName: {node}") };
            format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{namespace: shop, {meta}}}, spec: {{{spec}{node}}}, \
                 status: {{phase: '{phase}', podIPs: [{ips}]}}}}"
            )
        }
        "node" => {
            let own = own.iter().map(|ip| format!("{{type: InternalIP, address: '{ip}'}}"));
            let own = own.collect::<Vec<_>>().join(", ");
            format!(
                "{{apiVersion: v1, kind: Node, metadata: {{{meta}}}, status: {{addresses: [{own}]}}}}"
            )
        }
        "Deployment" | "DaemonSet" => format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: shop}}, spec: {{selector: \
             {{matchLabels: {{{labels}}}}}, template: {{metadata: {{labels: {{{labels}}}}}, spec: {{{spec}}}}}}}}}"
        ),
        "policy" => format!(
            "{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: {name}, namespace: \
             shop}}, spec: {rest}}}"
        ),
        "cluster-policy" => format!(
            "{{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {{name: \
             {name}}}, spec: {rest}}}"
        ),
        _ => unreachable!("{kind} is no kind of these tests"),
    }
}

pub(super) fn index(lines: &[&str]) -> Index {
    let text: Vec<String> = lines.iter().map(|line| document(line)).collect();
    let (objects, told) = object::read("test", &text.join("\n---\n"));
    assert_eq!(told, []);
    let index = Index::of(objects);
    assert_eq!(index.diagnostics().collect::<Vec<_>>(), Vec::<&object::Diagnostic>::new());
    index
}

pub(super) fn reach(index: &Index) -> Reach<'_> {
    Reach::new(index.policies(), index.cluster_policies().iter().map(|policy| &**policy))
}

/// The ends of `KIND/NAME`, of which several may be named, `node/NAME` or an address.
fn ends(index: &Index, text: &str) -> Vec<End> {
    let one = |text: &str| match text.split_once('/') {
        None => vec![index.end_at(text.parse().unwrap())],
        Some(("node", name)) => vec![index.end_of_node(name).unwrap()],
        Some((kind, name)) => index.ends_of(&Workload::new("shop", kind, name)).unwrap(),
    };
    text.split(' ').flat_map(one).collect()
}

fn words(transports: &Transports) -> String {
    if transports.is_all() {
        return "all".to_owned();
    }
    let ports = |protocol| {
        let ranges = transports.ports(protocol).map(|range| format!("{protocol:?} {range:?}"));
        ranges.collect::<Vec<_>>()
    };
    let all: Vec<String> = Protocol::ALL.into_iter().flat_map(ports).collect();
    all.join(", ")
}

pub(super) fn place(place: &Place) -> String {
    match place {
        Place::Workload(workload) => workload.name.to_string(),
        Place::Nodes(names) => names.join(","),
        Place::Names(patterns) => {
            patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        Place::World(ranges) => {
            let word = |range: &AddressRange| match range.blocks()[..] {
                [block] => block.to_string(),
                _ => format!("{}-{}", range.first, range.last),
            };
            ranges.iter().map(word).collect::<Vec<_>>().join(",")
        }
    }
}

/// The map as lines.
pub(super) fn map(lines: &[&str]) -> Vec<String> {
    let index = index(lines);
    let workloads: Vec<(Workload, Vec<End>)> = index
        .top_workloads()
        .map(|workload| (workload.clone(), index.ends_of(workload).unwrap()))
        .collect();
    let links = reach(&index).map(&index, &workloads, |_| true);
    let line = |link: &Link| {
        let (source, destination) = (place(&link.source), place(&link.destination));
        let partly = if link.passing.is_partial() { " partly" } else { "" };
        format!("{source} > {destination}: {}{partly}", words(&link.passing.some))
    };
    links.iter().map(line).collect()
}

/// How many pairs stand for all, for how many of them is denied, what passes between some, and whether between all.
#[rstest]
#[case::pods_alike_are_one(
    &["pod a app=web of=Deployment/web", "pod b app=web of=Deployment/web", "pod c app=db", CLOSED],
    ("Deployment/web", "Pod/c"), (1, 1, "", false),
)]
#[case::labels_tell_pods_apart(
    &["pod a app=web", "pod b app=web tier=x", "pod c app=db",
      "policy x {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {tier: x}}}]}]}"],
    ("Pod/a Pod/b", "Pod/c"), (2, 1, "all", true),
)]
#[case::addresses_that_a_block_divides_tell_pods_apart(
    &["pod a app=web at=10.0.0.1", "pod b app=web at=10.0.1.1", "pod c app=web at=10.0.0.2", "pod d app=db",
      "policy x {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/24}}]}]}"],
    ("Pod/a Pod/b Pod/c", "Pod/d"), (2, 1, "all", true),
)]
#[case::a_pod_reaches_itself(
    &["pod a app=db", CLOSED], ("Pod/a", "Pod/a"), (1, 0, "all", false),
)]
#[case::pods_on_both_sides_reach_themselves_and_not_each_other(
    &["pod a app=db", "pod b app=db", "pod c app=db", CLOSED],
    ("Pod/a Pod/b Pod/c", "Pod/c Pod/b Pod/a"), (2, 1, "all", true),
)]
#[case::one_of_many_is_on_the_other_side_too(
    &["pod a app=db", "pod b app=db", "pod c app=db", CLOSED],
    ("Pod/a Pod/b Pod/c", "Pod/c"), (2, 1, "all", true),
)]
#[case::the_same_pod_twice_is_one(
    &["pod a app=db", CLOSED], ("Pod/a Pod/a", "Pod/a Pod/a"), (1, 0, "all", false),
)]
#[case::a_node_reaches_its_own_pods_only(
    &["node n1 at=10.0.0.1", "pod a app=db on=n1", "pod b app=db on=n2", "pod c app=db on=n2", CLOSED],
    ("node/n1", "Pod/a Pod/b Pod/c"), (2, 1, "all", true),
)]
#[case::pods_reach_no_node_that_is_denied_by_its_label(
    &["node n1 role=edge", "node n2 role=core", "node n3 role=core", "pod a app=web",
      "cluster-policy edge {tier: Admin, priority: 1, subject: {namespaces: {}}, \
       egress: [{action: Deny, to: [{nodes: {matchLabels: {role: edge}}}]}]}"],
    ("Pod/a", "node/n1 node/n2 node/n3"), (2, 1, "all", true),
)]
#[case::nodes_alike_are_one(
    &["node n1 host=n1 at=10.0.0.1", "node n2 host=n2 at=10.0.0.2", "pod a app=db", CLOSED],
    ("node/n1 node/n2", "Pod/a"), (1, 1, "", false),
)]
#[case::an_address_stands_for_its_range(
    &["pod a app=db", "policy x {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: \
       {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]}"],
    ("10.0.0.1 10.2.0.1 10.1.0.1 10.1.0.2", "Pod/a"), (3, 1, "all", true),
)]
#[case::each_family_is_judged_by_itself(
    &["pod a app=web at=10.0.0.1,fd00::1", "pod b app=db at=10.0.0.2,fd00::2",
      "policy x {podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}",
      "policy z {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 'fd00::/64'}}]}]}"],
    ("Pod/a", "Pod/b"), (2, 2, "", false),
)]
#[case::what_one_family_may_passes_partly(
    &["pod a app=web at=10.0.0.1,fd00::1", "pod b app=db at=10.0.0.2,fd00::2",
      "policy z {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 'fd00::/64'}}]}]}"],
    ("Pod/a", "Pod/b"), (2, 1, "all", true),
)]
#[case::only_families_of_both_count(
    &["pod a app=web at=fd00::1", "pod b app=db at=10.0.0.2,fd00::2",
      "policy z {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 'fd00::/64'}}]}]}"],
    ("Pod/a", "Pod/b"), (1, 0, "all", false),
)]
#[case::an_end_without_addresses_is_asked_about_in_both(
    &["Deployment web app=web", "pod b app=db at=10.0.0.2,fd00::2", CLOSED],
    ("Deployment/web", "Pod/b"), (2, 2, "", false),
)]
#[case::nodes_have_families_too(
    &["node n1 at=10.0.0.1,fd00::1", "pod b app=db at=10.0.0.2,fd00::2",
      "policy z {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 'fd00::/64'}}]}]}"],
    ("node/n1", "Pod/b"), (2, 1, "all", true),
)]
fn pairs_stand_for_all(
    #[case] objects: &[&str],
    #[case] (sources, destinations): (&str, &str),
    #[case] (pairs, denied, passes, is_partial): (usize, usize, &str, bool),
) {
    let index = index(objects);
    let reach = reach(&index);
    let (sources, destinations) = (ends(&index, sources), ends(&index, destinations));
    let answer = reach.check(&sources, &destinations, (Protocol::Tcp, 80)).unwrap();
    let passing = reach.passing(&sources, &destinations);
    assert_eq!(
        (answer.pairs, answer.denied, words(&passing.some).as_str(), passing.is_partial()),
        (pairs, denied, passes, is_partial),
    );
    assert_eq!(answer.explanation.allowed(), answer.denied == 0);
}

#[test]
fn nothing_is_answered_about_ends_of_two_families() {
    let index = index(&["pod a at=10.0.0.1", "pod b at=fd00::1"]);
    let (a, b) = (ends(&index, "Pod/a"), ends(&index, "Pod/b"));
    assert_eq!(reach(&index).check(&a, &b, (Protocol::Tcp, 80)), None);
    assert_eq!(reach(&index).passing(&a, &b), Passing::default());
}

#[test]
fn nothing_is_answered_about_no_end() {
    let index = index(&["pod a app=web"]);
    let ends = ends(&index, "Pod/a");
    assert_eq!(reach(&index).check(&ends, &[], (Protocol::Tcp, 80)), None);
    assert_eq!(reach(&index).passing(&[], &ends), Passing::default());
}

#[rstest]
#[case::a_workload_without_pods_is_its_template(
    &["Deployment web app=web", "pod db app=db", CLOSED],
    &["web > 0.0.0.0/0: all", "db > web: all", "db > 0.0.0.0/0: all", "0.0.0.0/0 > web: all"],
)]
#[case::finished_pods_are_not_there(
    &["pod run app=job of=Job/run phase=Succeeded at=10.0.0.1", "pod db app=db at=10.0.0.2",
      "policy x {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], \
       ingress: [{from: [{podSelector: {matchLabels: {app: job}}}]}], egress: [{to: [{ipBlock: {cidr: 10.0.0.1/32}}]}]}"],
    &["run > db: all", "run > 0.0.0.0/0: all", "db > 10.0.0.1/32: all", "0.0.0.0/0 > run: all"],
)]
#[case::what_pods_of_two_revisions_may_is_partial(
    &["pod a app=web of=Deployment/web", "pod b app=web tier=x of=Deployment/web", "pod db app=db",
      "policy x {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], \
       ingress: [{from: [{podSelector: {matchLabels: {tier: x}}}], ports: [{port: 80}]}]}"],
    &["web > db: Tcp 80..=80 partly", "web > 0.0.0.0/0: all", "0.0.0.0/0 > web: all"],
)]
#[case::an_address_of_a_pod_is_not_the_world(
    &["pod web app=web at=10.0.0.1", "pod db app=db at=10.0.0.2",
      "policy x {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], \
       ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/30, except: [10.0.0.2/32]}}]}]}"],
    &["web > db: all", "web > 0.0.0.0-10.0.0.1,10.0.0.3-255.255.255.255: all", "0.0.0.0-10.0.0.1,10.0.0.3-255.255.255.255 > web: all", "10.0.0.0/31,10.0.0.3/32 > db: all"],
)]
#[case::no_policy_selects_a_pod_on_the_hosts_network(
    &["node n1 at=10.0.0.1", "pod agent app=agent of=DaemonSet/agent on=n1 at=10.0.0.1 host=true", "pod db app=db",
      "policy x {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}]}]}"],
    &["agent > n1: all", "agent > 0.0.0.0/0: all", "n1 > agent: all", "0.0.0.0/0 > agent: all"],
)]
#[case::a_pod_on_the_hosts_network_has_the_address_of_a_node_that_is_not_known(
    &["pod agent app=agent of=DaemonSet/agent on=n1 at=10.0.0.1 host=true", "pod db app=db",
      "policy x {podSelector: {matchLabels: {app: db}}, policyTypes: [Ingress, Egress], \
       ingress: [{from: [{ipBlock: {cidr: 10.0.0.1/32}}]}]}"],
    &["agent > db: all", "agent > 0.0.0.0/0: all", "0.0.0.0/0 > agent: all", "10.0.0.1/32 > db: all"],
)]
#[case::a_node_reaches_its_own_pods_beside_others(
    &["node n1 at=10.0.0.1", "pod agent app=agent of=DaemonSet/agent on=n1 host=true",
      "pod a app=db of=StatefulSet/db on=n1", "pod b app=db of=StatefulSet/db on=n2",
      "policy x {podSelector: {}, policyTypes: [Ingress, Egress]}"],
    &["agent > db: all partly", "agent > n1: all", "agent > 0.0.0.0/0: all", "n1 > agent: all", "n1 > db: all partly", "0.0.0.0/0 > agent: all"],
)]
#[case::ipv6_is_told_where_a_rule_names_all_of_it(
    &["pod db app=db", "policy x {podSelector: {}, policyTypes: [Ingress, Egress], \
       egress: [{to: [{ipBlock: {cidr: '::/0'}}]}]}"],
    &["db > ::/0: all"],
)]
#[case::ipv6_is_told_where_a_pod_has_it(
    &["pod db app=db at=10.0.0.1,fd00::1"],
    &["db > 0.0.0.0/0,::/0: all", "0.0.0.0/0,::/0 > db: all"],
)]
fn what_passes_is_told(#[case] objects: &[&str], #[case] expected: &[&str]) {
    assert_eq!(map(objects), expected);
}
