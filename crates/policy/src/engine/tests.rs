//! The compiled form against the evaluator that is written straight from the text, on generated clusters.

use std::time::Duration;

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::cluster::Pod;
use crate::cluster_policy::{Action, ClusterRule};
use crate::explanation::{Decider, Finding};
use crate::selector::Selector;

pub(crate) mod generate;

use generate::{changes, cluster, packets};

/// Cases of each property; `PROPTEST_CASES` overrides it.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, ..ProptestConfig::default() }
}

/// Checks that both agree on what decides in one direction, not only on whether it allows.
fn agree(snapshot: &Snapshot, side: Side, outcome: Outcome, finding: &Finding) {
    assert_eq!(outcome.allowed(), finding.allowed, "{side:?}: {outcome:?} {finding:?}");
    match (outcome, &finding.by) {
        (Outcome::NoPod, Decider::NoPod)
        | (Outcome::Itself, Decider::Itself)
        | (Outcome::OwnNode, Decider::OwnNode)
        | (Outcome::Isolated, Decider::Isolated(_))
        | (Outcome::Default, Decider::Default) => {}
        (
            Outcome::Accepted(tier, position) | Outcome::Denied(tier, position),
            Decider::Rule(rule),
        ) => {
            assert_eq!(snapshot.rule(side, position).as_ref(), Some(rule));
            assert_eq!(tier, rule.tier);
        }
        (outcome, by) => panic!("{side:?}: {outcome:?} but {by:?}"),
    }
}

fn check(snapshot: &Snapshot, cluster: &Cluster, packet: &Packet, now: Duration) {
    let ruling = snapshot.verdict(packet, now);
    let explanation = cluster.explain(packet, now);
    agree(snapshot, Side::Egress, ruling.egress, &explanation.egress);
    agree(snapshot, Side::Ingress, ruling.ingress, &explanation.ingress);
    assert_eq!(ruling.allowed(), explanation.allowed());
    for finding in [&explanation.egress, &explanation.ingress] {
        assert!(
            finding.nearest.as_ref().is_none_or(|near| !finding.allowed && !near.lacked.is_empty())
        );
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_compiled_form_decides_as_the_text(cluster in cluster(), packets in packets()) {
        let snapshot = Engine::new(cluster.clone()).publish();
        for packet in &packets {
            for now in [0, 100, 1_000] {
                check(&snapshot, &cluster, packet, Duration::from_secs(now));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    /// Published snapshots in between must neither change nor keep later changes out.
    #[test]
    fn changing_a_cluster_is_compiling_the_changed_one(
        cluster in cluster(),
        changes in changes(),
        packets in packets(),
    ) {
        let mut engine = Engine::new(cluster.clone());
        let before = engine.publish();
        for change in changes {
            change.apply(&mut engine);
            if change.publishes {
                engine.publish();
            }
        }
        let (changed, anew) = (engine.publish(), Engine::new(engine.cluster().clone()).publish());
        let now = Duration::from_secs(100);
        for packet in &packets {
            check(&before, &cluster, packet, now);
            check(&changed, engine.cluster(), packet, now);
            check(&anew, engine.cluster(), packet, now);
        }
    }

    /// "One more allow rule in a policy never denies": what was allowed stays so.
    #[test]
    fn one_more_rule_of_a_network_policy_never_denies(
        cluster in cluster(),
        rule in generate::rule(),
        packets in packets(),
    ) {
        let mut wider = cluster.clone();
        for policy in wider.network_policies.values_mut() {
            let policy = Arc::make_mut(policy);
            for rules in [&mut policy.ingress, &mut policy.egress].into_iter().flatten() {
                rules.push(rule.clone());
            }
        }
        let (narrow, wide) = (Engine::new(cluster).publish(), Engine::new(wider).publish());
        for packet in &packets {
            let now = Duration::ZERO;
            let (narrow, wide) = (narrow.verdict(packet, now), wide.verdict(packet, now));
            prop_assert!(wide.allowed() || !narrow.allowed());
        }
    }
}

/// A policy of many rules that match nothing, so that the others' positions are far apart.
fn filler(name: usize) -> ClusterPolicy {
    let nobody = Selector::of_labels([("nobody", "x")].into_iter().collect());
    let peers = vec![ClusterPeer::Pods(PodSet { namespaces: nobody, pods: Selector::default() })];
    let rule = ClusterRule { name: None, action: Action::Accept, peers, ports: None };
    ClusterPolicy {
        kind: "Filler".into(),
        name: format!("{name}").into(),
        tier: if name.is_multiple_of(3) { Tier::Baseline } else { Tier::Admin },
        priority: i32::try_from(name % 4).unwrap(),
        subject: PodSet::default(),
        ingress: vec![rule.clone(); 97 * name % 1_000],
        egress: vec![rule; 61 * name % 1_000],
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn rules_far_apart_decide_as_the_text(cluster in cluster(), packets in packets()) {
        let mut cluster = cluster;
        for policy in (0..20).map(filler) {
            let key = (policy.kind.clone(), policy.name.clone());
            cluster.cluster_policies.insert(key, Arc::new(policy));
        }
        let snapshot = Engine::new(cluster.clone()).publish();
        for packet in &packets {
            check(&snapshot, &cluster, packet, Duration::ZERO);
        }
    }
}

/// A policy with a rule out of every pod.
fn outwards() -> ClusterPolicy {
    let rule = ClusterRule {
        name: None,
        action: Action::Deny,
        peers: vec![ClusterPeer::Pods(PodSet::default())],
        ports: None,
    };
    ClusterPolicy {
        kind: "ClusterNetworkPolicy".into(),
        name: "outwards".into(),
        tier: Tier::Admin,
        priority: 1,
        subject: PodSet::default(),
        ingress: Vec::new(),
        egress: vec![rule],
    }
}

fn inwards() -> NetworkPolicy {
    NetworkPolicy {
        kind: "NetworkPolicy".into(),
        namespace: "x".into(),
        name: "inwards".into(),
        pods: Selector::default(),
        ingress: Some(Vec::new()),
        egress: None,
    }
}

#[derive(Debug, Clone, Copy)]
enum Edit {
    Priority,
    AnotherRule,
    RulesBothWays,
    Gone,
    RuleOfNetworkPolicy,
    PolicyOfNoDirection,
    AnotherPod,
}

impl Edit {
    fn make(self, engine: &mut Engine) {
        let egress = outwards().egress;
        match self {
            Self::Priority => {
                engine.apply_cluster_policy(ClusterPolicy { priority: 2, ..outwards() });
            }
            Self::AnotherRule => {
                let egress = [egress.clone(), egress].concat();
                engine.apply_cluster_policy(ClusterPolicy { egress, ..outwards() });
            }
            Self::RulesBothWays => {
                engine.apply_cluster_policy(ClusterPolicy { ingress: egress, ..outwards() });
            }
            Self::Gone => engine.delete_cluster_policy("ClusterNetworkPolicy", "outwards"),
            Self::RuleOfNetworkPolicy => {
                let ingress = Some(vec![Rule::default()]);
                engine.apply_network_policy(NetworkPolicy { ingress, ..inwards() });
            }
            Self::PolicyOfNoDirection => {
                let name = "none".into();
                engine.apply_network_policy(NetworkPolicy { name, ingress: None, ..inwards() });
            }
            Self::AnotherPod => engine.apply_pod(pod("b")),
        }
    }
}

/// Whether the tables of egress and of ingress stay, and with them the rules of a pod.
#[rstest]
#[case::priority(Edit::Priority, [false, true])]
#[case::another_rule(Edit::AnotherRule, [false, true])]
#[case::rules_both_ways(Edit::RulesBothWays, [true, false])]
#[case::gone(Edit::Gone, [false, true])]
#[case::rule_of_network_policy(Edit::RuleOfNetworkPolicy, [true, false])]
#[case::policy_of_no_direction(Edit::PolicyOfNoDirection, [true, true])]
#[case::another_pod(Edit::AnotherPod, [true, true])]
fn a_policy_leaves_the_direction_in_which_it_says_the_same(
    #[case] edit: Edit,
    #[case] stays: [bool; 2],
) {
    let mut engine = Engine::default();
    engine.apply_pod(pod("a"));
    engine.apply_cluster_policy(outwards());
    engine.apply_network_policy(inwards());
    let before = engine.publish();
    edit.make(&mut engine);
    let after = engine.publish();
    let rows = |snapshot: &Snapshot| snapshot.identities.value(0).cloned().unwrap();
    let (rows_before, rows_after) = (rows(&before), rows(&after));
    assert_eq!([0, 1].map(|at| Arc::ptr_eq(&before.tables[at], &after.tables[at])), stays);
    assert_eq!([0, 1].map(|at| Arc::ptr_eq(&rows_before[at], &rows_after[at])), stays);
}

fn pod(name: &str) -> Pod {
    Pod { namespace: "x".into(), name: name.into(), ..Pod::default() }
}
