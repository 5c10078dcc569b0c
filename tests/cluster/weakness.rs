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
//! | W13 rules that a person opened are narrowed or doubled | `mesh::rejected_connections…`, `writers::what_a_person_decided_is_learned_around` |
//! | W14, W15 monitoring compares text, and only of promoted policies | `monitor::monitoring_denies_what_protecting_would_and_nothing_else` |
//! | W16 attribution | `monitor::a_denial_is_told_by_the_policy_that_denied_it` |
//! | W17 no port on a mesh | `mesh::rejected_connections_are_violations_and_no_rules` |
//! | W18 violations never go | `monitor::violations_are_acknowledged_once_and_go_when_they_are_allowed` |
//! | W19 acknowledging does not last, wrong annotations wait | the same |
//! | W20 a stranger fills the list | `monitor::a_stranger_is_one_violation_whatever_ports_it_uses` |
//! | W21 not exported, two schemas | the tests of telemetry |
//! | W22 loss | `monitor::violations_outlast_refused_writes_and_the_end_of_the_agent`; restarts: the tests of faults |
//! | W23 long names | `names::workloads_of_every_name_are_learned_and_protected` |
//! | W24 silence | `queue::many_that_cannot_be_followed_stop_no_other_and_are_seldom_tried`, `lifecycle::a_foreign_object_is_a_conflict_until_it_goes`, `table`, `hostile` |
//! | W25 another provider | `mesh::a_change_of_the_provider_leaves_everything_as_it_is_and_says_so` |
//! | W26 poison, endless retries | `queue::many_that_cannot_be_followed_stop_no_other_and_are_seldom_tried` |
//! | W27 writes without change | `queue::nothing_is_written_while_nothing_changes` |
//! | W28 one replica, blind readiness | `agent::a_killed_leader_is_followed_within_the_time_of_its_lease`, `agent::the_agent_is_ready_while_it_knows_the_cluster_and_only_then` |
//! | W29 races | `promotion`, `writers::edits_that_race_with_learning_lose_nothing` |
//! | W30 the pipeline of log lines | parsers: `crates/flows/src/{cri,ztunnel}`; the rest is not built yet |
//! | W31 TLS of exports | the tests of telemetry |
//! | W32 no preview, no command line | `cli/tests` |
mod mesh;
mod monitor;
mod names;
mod peer;
mod promotion;
mod queue;
