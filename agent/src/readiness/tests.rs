use std::collections::BTreeMap;

use netenf_cluster::Kind;
use netenf_cluster::pulse::Pulse;
use netenf_cluster::watch::State;
use rstest::rstest;

use super::faults;

fn silent() -> Pulse {
    Pulse::Silent("no answer in 3 s".to_owned())
}

#[rstest]
#[case::all_is_known(&[], State::Synced, Pulse::Answers, None, &[])]
#[case::not_indexed(&[Kind::Pod], State::Synced, Pulse::Answers, None, &[("pods", "not indexed yet")])]
#[case::the_watch_tells_more(
    &[Kind::Pod],
    State::Forbidden("no".to_owned()),
    Pulse::Answers,
    None,
    &[("pods", "forbidden: no")],
)]
#[case::the_server_hangs(
    &[],
    State::Synced,
    silent(),
    Some("no answer"),
    &[
        ("apiServer", "does not answer: no answer in 3 s"),
        ("lease", "nobody is known to lead: no answer"),
    ],
)]
#[case::at_the_start(&[], State::Synced, Pulse::Unknown, None, &[("apiServer", "not asked yet")])]
fn what_keeps_the_agent_from_being_ready_is_named(
    #[case] pending: &[Kind],
    #[case] pods: State,
    #[case] pulse: Pulse,
    #[case] lease: Option<&str>,
    #[case] expected: &[(&str, &str)],
) {
    let states = [(Kind::Pod, pods), (Kind::AuthorizationPolicy, State::Absent)].into();
    let pending = pending.iter().copied().collect();
    let found = faults(&pending, &states, &pulse, lease.map(str::to_owned), None);
    let expected: BTreeMap<&str, String> =
        expected.iter().map(|(part, why)| (*part, (*why).to_owned())).collect();
    assert_eq!(found, expected);
}
