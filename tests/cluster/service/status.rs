use netenf_proto::netenf::v1;

use super::{Agent, SOON, client, learned, shop, within};

/// What became of every line of the recording is told, and adds up.
#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_the_agent_and_its_source_is_told() {
    let (_plane, account) = shop();
    let agent = learned(&account);
    let status = client(&agent).status(v1::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!((status.pod.as_str(), status.role()), ("one", v1::Role::Active));
    assert_eq!(status.version, env!("CARGO_PKG_VERSION"));
    assert!(status.started.is_some() && status.edges > 0, "{status:?}");
    let [source] = status.sources.as_slice() else { panic!("{:?}", status.sources) };
    assert_eq!(source.provider(), v1::Provider::Replay);
    assert!(source.endpoint.ends_with("docs/demo/flows.jsonl"));
    assert_eq!(source.state(), v1::SourceState::Failed);
    assert_eq!(source.message, "all that it had was reported");
    assert!(source.since.is_some() && source.last_observation.is_some(), "{source:?}");
    let funnel = source.funnel.as_ref().unwrap();
    let sum = funnel.learned
        + funnel.uncovered
        + funnel.violations
        + funnel.errors
        + funnel.skipped.values().sum::<u64>();
    assert_eq!(funnel.received, sum, "{funnel:?}");
    assert!(funnel.learned > 0 && !funnel.skipped.is_empty(), "{funnel:?}");
    let lines = include_str!("../../../docs/demo/flows.jsonl").lines();
    let flows = lines.filter(|line| line.contains("\"flow\"")).count();
    assert_eq!(funnel.received, u64::try_from(flows).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_stands_by_says_so() {
    let (_plane, account) = shop();
    let first = Agent::start(&account, "one");
    within(SOON, "the first leads", || Ok(first.leads().then_some(()))).unwrap();
    let second = Agent::start(&account, "two");
    within(SOON, "the second stands by", || Ok(second.is_ready().then_some(()))).unwrap();
    let status = client(&second).status(v1::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!((status.pod.as_str(), status.role()), ("two", v1::Role::Standby));
    assert_eq!(status.sources, []);
}
