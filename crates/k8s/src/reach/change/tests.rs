use netenf_policy::Transports;
use rstest::rstest;

use super::*;
use crate::object;

/// Pods of `shop` that are workloads of their own, by their name as label.
fn pods(names: &str) -> String {
    let pod = |name: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: shop, labels: {{app: {name}}}}}}}\n"
        )
    };
    names.split_whitespace().map(pod).collect()
}

/// A policy on `app=db` with these ingress rules.
fn policy(rules: &str) -> String {
    format!(
        "---\n{{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {{name: db, namespace: shop}}, \
         spec: {{podSelector: {{matchLabels: {{app: db}}}}, policyTypes: [Ingress], ingress: [{rules}]}}}}\n"
    )
}

fn words(changes: &[Change]) -> Vec<String> {
    let place = |place: &Place| match place {
        Place::Workload(workload) => workload.name.to_string(),
        Place::Nodes(names) => names.join(","),
        Place::Names(patterns) => {
            patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        Place::World(ranges) => ranges
            .iter()
            .map(|range| format!("{}-{}", range.first, range.last))
            .collect::<Vec<_>>()
            .join(","),
    };
    let set = |transports: &Transports| match (transports.is_all(), transports.is_empty()) {
        (true, _) => "all".to_owned(),
        (_, true) => "nothing".to_owned(),
        _ => transports
            .ports(netenf_policy::Protocol::Tcp)
            .map(|range| range.start().to_string())
            .collect::<Vec<_>>()
            .join(","),
    };
    let passes = |passing: &Passing| {
        let (some, all) = (set(&passing.some), set(&passing.all));
        if passing.is_partial() { format!("{some} or {all}") } else { some }
    };
    let change = |one: &Change| {
        let (source, destination) = (place(&one.source), place(&one.destination));
        format!("{source} {destination}: {} to {}", passes(&one.before), passes(&one.after))
    };
    changes.iter().map(change).collect()
}

fn changes(before: &str, after: &str) -> Vec<String> {
    let read = |text: &str| {
        let (objects, told) = object::read("test", text);
        assert_eq!(told, []);
        Index::of(objects)
    };
    let (before, after) = (read(before), read(after));
    let workloads = |index: &Index| -> Vec<(Workload, Vec<End>)> {
        let ends = |own: &Workload| (own.clone(), index.ends_of(own).unwrap());
        index.top_workloads().map(ends).collect()
    };
    let (olds, news) = (workloads(&before), workloads(&after));
    let reaches = [&before, &after].map(|index| Reach::new(index.policies(), []));
    let scenes = [
        Scene { reach: &reaches[0], index: &before, workloads: &olds },
        Scene { reach: &reaches[1], index: &after, workloads: &news },
    ];
    words(&compare(scenes[0], scenes[1], |_| true))
}

const WEB: &str = "{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 5432}]}";
const WORLD: &str = "0.0.0.0-255.255.255.255";

#[rstest]
#[case::same(&policy(WEB), &policy(WEB), &[])]
#[case::isolated("", &policy(WEB), &["web db: all to 5432", &format!("{WORLD} db: all to nothing")])]
#[case::another_port(&policy(WEB), &policy(&WEB.replace("5432", "5433")), &["web db: 5432 to 5433"])]
#[case::gone(&policy(WEB), &policy(""), &["web db: 5432 to nothing"])]
#[case::blocks_are_compared_by_what_they_hold(
    &policy("{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 443}]}"),
    &policy("{from: [{ipBlock: {cidr: 10.0.0.0/9}}, {ipBlock: {cidr: 10.192.0.0/10}}], ports: [{port: 443}]}"),
    &["10.128.0.0-10.191.255.255 db: 443 to nothing"]
)]
#[case::the_same_in_other_blocks(
    &policy("{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}"),
    &policy("{from: [{ipBlock: {cidr: 10.0.0.0/9}}, {ipBlock: {cidr: 10.128.0.0/9}}]}"),
    &[]
)]
fn what_passes_is_compared(#[case] before: &str, #[case] after: &str, #[case] expected: &[&str]) {
    let all = pods("db web");
    assert_eq!(changes(&format!("{all}{before}"), &format!("{all}{after}")), expected);
}

#[test]
fn a_workload_that_comes_brings_what_passes() {
    let told = changes(&(pods("db") + &policy(WEB)), &(pods("db web") + &policy(WEB)));
    let expected = [
        "db web: nothing to all".to_owned(),
        "web db: nothing to 5432".to_owned(),
        format!("web {WORLD}: nothing to all"),
        format!("{WORLD} web: nothing to all"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_a_pod_has_is_not_the_world() {
    let own = "---\n{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop, labels: {app: web}}, \
               status: {podIP: 10.0.0.1}}\n";
    let rule = "{from: [{ipBlock: {cidr: 10.0.0.1/32}}]}";
    let all = pods("db") + own;
    let told = changes(&(all.clone() + &policy("")), &(all + &policy(rule)));
    assert_eq!(told, ["web db: nothing to all"]);
}

#[test]
fn what_is_cut_from_some_pods_only_is_told() {
    let pod = |name: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: shop, labels: {{app: db, pod: \
             {name}}}, ownerReferences: [{{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: \
             true}}]}}}}\n"
        )
    };
    let all = pods("web") + &pod("db-0") + &pod("db-1");
    let closed = |rules| policy(rules).replace("app: db}", "pod: db-0}");
    let told = changes(&all, &(all.clone() + &closed("")));
    assert_eq!(
        told,
        ["web db: all to all or nothing", &format!("{WORLD} db: all to all or nothing")]
    );
    let told = changes(&(all.clone() + &closed("")), &(all + &closed(WEB)));
    assert_eq!(told, ["web db: all or nothing to all or 5432"]);
}

#[test]
fn nodes_that_change_alike_are_one_place() {
    let node = |name: &str, role: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{role: {role}}}}}}}\n"
        )
    };
    let edge = node("n1", "edge");
    let all = pods("db") + &edge + &node("n2", "core") + &node("n3", "core");
    let told = changes(&(pods("db") + &edge), &all);
    assert_eq!(told, ["db n2,n3: nothing to all", "n2,n3 db: nothing to all"]);
    let told = changes(&all, &(all.clone() + &policy("")));
    assert_eq!(told, ["n1,n2,n3 db: all to nothing", &format!("{WORLD} db: all to nothing")]);
}
