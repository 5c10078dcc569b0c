use netenf_proto::netenf::v1;
use netenf_proto::netenf::v1::watch_flows_response::Event;
use netenf_proto::netenf::v1::{FlowFilter, Observation, WatchFlowsRequest};
use tonic::Code;

use super::{client, held, learned, shop};

fn observations(events: Vec<Event>) -> Vec<Observation> {
    let of = |event| match event {
        Event::Observation(observation) => observation,
        Event::Loss(loss) => panic!("nothing was lost: {loss:?}"),
    };
    events.into_iter().map(of).collect()
}

fn workload(peer: Option<&v1::Peer>) -> String {
    let workload = peer.and_then(|peer| peer.workload.as_ref());
    workload.map_or_else(String::new, |it| format!("{}/{}", it.namespace, it.name))
}

fn ends(observation: &Observation) -> (String, String) {
    let edge = observation.edge.as_ref().unwrap();
    (workload(edge.source.as_ref()), workload(edge.destination.as_ref()))
}

fn edge(observation: &Observation) -> &v1::Edge {
    observation.edge.as_ref().unwrap()
}

/// A filter, and what it must take.
type Case = (FlowFilter, fn(&Observation) -> bool);

fn cases() -> Vec<Case> {
    let none = FlowFilter::default;
    let web = || vec!["shop/deployment/web".to_owned()];
    vec![
        (FlowFilter { sources: web(), ..none() }, |it| ends(it).0 == "shop/web"),
        (FlowFilter { destinations: web(), ..none() }, |it| ends(it).1 == "shop/web"),
        (FlowFilter { ends: web(), ..none() }, |it| {
            ends(it).0 == "shop/web" || ends(it).1 == "shop/web"
        }),
        (FlowFilter { ports: vec![8080, 53], ..none() }, |it| [8080, 53].contains(&edge(it).port)),
        (FlowFilter { protocols: vec![v1::Protocol::Udp.into()], ..none() }, |it| {
            edge(it).protocol() == v1::Protocol::Udp
        }),
        (FlowFilter { directions: vec![v1::Direction::Egress.into()], ..none() }, |it| {
            edge(it).direction() == v1::Direction::Egress
        }),
        (FlowFilter { verdicts: vec![v1::Verdict::Deny.into()], ..none() }, |it| {
            it.verdict() == v1::Verdict::Deny
        }),
        (FlowFilter { outcomes: vec![v1::Outcome::Learned.into()], ..none() }, |it| {
            it.outcome() == v1::Outcome::Learned
        }),
    ]
}

/// Who is asked for on one side only is told of both ways where nothing tells who opened.
fn is_decided(observation: &Observation) -> bool {
    observation.reason != "Undecided"
}

#[tokio::test(flavor = "multi_thread")]
async fn held_flows_are_told_by_each_filter() {
    let (_plane, account) = shop();
    let agent = learned(&account);
    let all = observations(held(&agent, WatchFlowsRequest::default()).await);
    assert!(all.len() > 300, "{}", all.len());
    for one in &all {
        assert_eq!(one.provider(), v1::Provider::Cilium);
        assert!(one.time.is_some() && one.count == 1, "{one:?}");
        let is_plain = one.outcome() == v1::Outcome::Learned;
        assert_eq!(one.reason.is_empty(), is_plain, "{one:?}");
    }
    for (number, (filter, is_meant)) in cases().into_iter().enumerate() {
        let request = WatchFlowsRequest { filter: Some(filter.clone()), ..Default::default() };
        let found = observations(held(&agent, request).await);
        let decided = |all: &[Observation], is_in: bool| {
            let all = all.iter().filter(|it| is_decided(it) && is_meant(it) == is_in);
            all.cloned().collect::<Vec<_>>()
        };
        assert_eq!(decided(&found, true), decided(&all, true), "filter {number}");
        assert_eq!(decided(&found, false), [], "filter {number}");
        assert!(number == 6 || !found.is_empty(), "filter {number} finds nothing");
        let request = WatchFlowsRequest { exclude: vec![filter], ..Default::default() };
        let rest = observations(held(&agent, request).await);
        assert_eq!(rest.len() + found.len(), all.len(), "filter {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_and_those_since_a_time_are_told() {
    let (_plane, account) = shop();
    let agent = learned(&account);
    let all = observations(held(&agent, WatchFlowsRequest::default()).await);
    let request = WatchFlowsRequest { last: 7, ..Default::default() };
    assert_eq!(observations(held(&agent, request).await), all[all.len() - 7..]);
    let since = all[all.len() / 2].time;
    let request = WatchFlowsRequest { since, ..Default::default() };
    let found = observations(held(&agent, request).await);
    let time = |it: &Observation| it.time.map(|time| (time.seconds, time.nanos));
    let expected = all.iter().filter(|it| time(it) >= since.map(|it| (it.seconds, it.nanos)));
    assert_eq!(found, expected.cloned().collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_is_refused() {
    let (_plane, account) = shop();
    let agent = learned(&account);
    let ends = vec!["a/deploy/b".to_owned(); 5_000];
    let filter = Some(FlowFilter { ends, ..FlowFilter::default() });
    let request = WatchFlowsRequest { filter, ..Default::default() };
    let status = client(&agent).watch_flows(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status}");
    let ends = vec!["a".repeat(1_000); 1_000];
    let filter = Some(FlowFilter { ends, ..FlowFilter::default() });
    let request = WatchFlowsRequest { filter, ..Default::default() };
    let status = client(&agent).watch_flows(request).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status}");

    let follow = WatchFlowsRequest { follow: true, ..Default::default() };
    let mut watching = Vec::new();
    for _ in 0..16 {
        watching.push(client(&agent).watch_flows(follow.clone()).await.unwrap());
    }
    let status = client(&agent).watch_flows(follow.clone()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    // Who goes makes a place.
    watching.clear();
    let again = async {
        while client(&agent).watch_flows(follow.clone()).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(super::SOON, again).await.unwrap();
}
