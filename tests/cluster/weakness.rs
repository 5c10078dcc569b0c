//! The weaknesses of the reference (`enforcer.md` 10), each with the test that ours has it no more; those of the
//! controller are held to here, on a real server, by tests that its behaviour fails.
//!
//! | weakness | held to by |
//! |---|---|
//! | W1 peers outside are invisible | `peer::what_no_rule_can_express_is_listed` |
//! | W2 their denials are not told | `peer::denials_to_anybody_are_violations` |
//! | W3 only three kinds are peers | `peer::every_owner_of_pods_is_a_peer` |
//! | W4 protocols | `crates/k8s/tests/cases`: B01-sctp, B56-icmp |
//! | W5 no evidence | `lifecycle::a_recording_becomes_proposals_that_kubectl_promotes`, `crates/k8s/tests/cases` |
//! | W6 expressions of selectors are lost on a mesh | `mesh::a_selector_of_expressions_is_refused_and_never_widened` |
//! | W7 rejected connections are learned | `mesh::rejected_connections_are_violations_and_no_rules` |
//! | W8 a scan makes rules without end | `peer::a_scan_makes_no_more_rules_than_it_may`; who may send flows: not built yet |
//! | W9 replies are learned | `crates/k8s/tests/cases`: B01-replies, B02, B04, B74 |
//! | W10 pods by prefixes of names | `crates/k8s/tests/cases`: B29-cut-name; tombstones: `crates/k8s/src/index` |
//! | W11 a selector selects others too | `crates/k8s/tests/cases`: B25-selects-another |
//! | W12 one account for many | `crates/k8s/tests/cases`: B68-shared-account, B67-waypoint |
//! | W13 rules that a person opened are narrowed or doubled | `mesh::rejected_connections_are_violations_and_no_rules`, `writers::what_a_person_decided_is_learned_around` |
//! | W14, W15 monitoring compares text, and only of promoted policies | `monitor::monitoring_denies_what_protecting_would_and_nothing_else` |
//! | W16 attribution | `monitor::a_denial_is_told_by_the_policy_that_denied_it` |
//! | W17 no port on a mesh | `mesh::rejected_connections_are_violations_and_no_rules` |
//! | W18 violations never go | `monitor::violations_are_acknowledged_once_and_go_when_they_are_allowed` |
//! | W19 acknowledging does not last, wrong annotations wait | the same |
//! | W20 a stranger fills the list | `monitor::a_stranger_is_one_violation_whatever_ports_it_uses` |
//! | W21 not exported, two schemas | `telemetry::violations_are_told_once_as_the_status_holds_them_and_not_when_a_person_knows`, `collector::a_collector_gets_exactly_what_was_told` |
//! | W22 loss | `monitor::violations_outlast_refused_writes_and_the_end_of_the_agent`, `kill::another_agent_learns_on_wherever_one_was_killed` |
//! | W23 long names | `names::workloads_of_every_name_are_learned_and_protected` |
//! | W24 silence | `queue::many_that_cannot_be_followed_stop_no_other_and_are_seldom_tried`, `lifecycle::a_foreign_object_is_a_conflict_until_it_goes`, `table::every_row_of_the_lifecycle_has_its_outcome`, `hostile::words_that_name_no_mode_are_told` |
//! | W25 another provider | `mesh::a_change_of_the_provider_leaves_everything_as_it_is_and_says_so` |
//! | W26 poison, endless retries | `queue::many_that_cannot_be_followed_stop_no_other_and_are_seldom_tried` |
//! | W27 writes without change | `queue::nothing_is_written_while_nothing_changes` |
//! | W28 one replica, blind readiness | `leader::what_a_killed_leader_left_another_replica_does`, `agent::a_killed_leader_is_followed_within_the_time_of_its_lease`, `agent::the_agent_is_ready_while_it_knows_the_cluster_and_only_then` |
//! | W29 races | `promotion::nothing_that_is_seen_during_a_promotion_is_lost`, `promotion::proposals_that_others_wrote_are_never_deleted`, `writers::edits_that_race_with_learning_lose_nothing` |
//! | W30 the pipeline of log lines | parsers: `crates/flows/src/{cri,ztunnel}`; the rest is not built yet |
//! | W31 TLS of exports | `collector::a_collector_that_is_not_known_gets_nothing`, `collector::certificates_are_taken_over_when_they_change` |
//! | W32 no preview, no command line | `cli/tests` |

use std::fs;
use std::path::Path;

mod mesh;
mod monitor;
mod names;
mod peer;
mod promotion;
mod queue;

/// The sources of the tests below a folder, each with the name of its module.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            let module = path.file_stem().unwrap().to_string_lossy().into_owned();
            all.push((module, fs::read_to_string(&path).unwrap()));
        }
    }
    all
}

#[test]
fn every_test_that_is_named_above_is_there() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = sources(here);
    all.extend(sources(&here.join("../../crates/telemetry/tests")));
    let table = include_str!("weakness.rs").lines().take_while(|line| line.starts_with("//!"));
    let words = table.flat_map(|line| line.split('`').skip(1).step_by(2));
    let named: Vec<_> = words.filter_map(|word| word.split_once("::")).collect();
    assert!(named.len() > 30, "{named:?}");
    for (module, name) in named {
        let text = format!("fn {name}(");
        let is_there = |(own, source): &(String, String)| own == module && source.contains(&text);
        assert!(all.iter().any(is_there), "{module}::{name} is not there");
    }
}
