//! Every line that genuine servers wrote.

use netenf_flows::{Format, Input, Options, Record};
use netenf_learn::{
    Direction, DropReason, Entities, Event, Network, NodeState, Observation, PodName, Reporter,
    Transport, Verdict,
};

use crate::recording::{Outcome, fixture, input, lines, observations, replay};

fn all(inputs: Vec<Input>) -> Outcome {
    let outcome = replay(inputs, Options { strict: true, ..Options::default() });
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    outcome
}

fn flows(outcome: &Outcome) -> Vec<&Observation> {
    let records = outcome.records.iter();
    records
        .filter_map(|record| match record {
            Record::Flow(observation) => Some(observation),
            Record::Lost(_) | Record::NodeStatus(_) => None,
        })
        .collect()
}

fn count(flows: &[&Observation], is_counted: impl Fn(&Observation) -> bool) -> usize {
    flows.iter().filter(|flow| is_counted(flow)).count()
}

#[test]
fn hubble() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let folder = shared.join("corpora/flows");
    let files = ["hubble-public.jsonl", "hubble-genuine.jsonl"];
    let outcome = all(files.map(|file| Input::File(folder.join(file))).into());
    let flows = flows(&outcome);
    assert_eq!((outcome.records.len(), flows.len()), (128, 124));

    let verdict = |verdict| count(&flows, |flow| flow.verdict == verdict);
    assert_eq!(verdict(Verdict::Forwarded), 97);
    assert_eq!(verdict(Verdict::Dropped), 18);
    assert_eq!(verdict(Verdict::Redirected), 3);
    assert_eq!(verdict(Verdict::Audit), 2);
    assert_eq!(verdict(Verdict::Socket), 4);

    let event = |event| count(&flows, |flow| flow.event == event);
    assert_eq!(event(Event::Packet), 70);
    assert_eq!(event(Event::PolicyVerdict), 15);
    assert_eq!(event(Event::Drop), 9 + 2);
    assert_eq!((event(Event::Request), event(Event::Response)), (10, 14));
    assert_eq!(event(Event::Socket), 4);

    assert_eq!(count(&flows, |flow| flow.reply == Some(false)), 55);
    assert_eq!(count(&flows, |flow| flow.reply == Some(true)), 27 + 5);
    assert_eq!(count(&flows, |flow| flow.direction == Some(Direction::Egress)), 60);
    assert_eq!(count(&flows, |flow| flow.direction == Some(Direction::Ingress)), 47);
    assert_eq!(count(&flows, |flow| flow.drop_reason == Some(DropReason::Policy)), 12);
    assert_eq!(count(&flows, |flow| flow.denied_by.is_some()), 1);
    assert_eq!(count(&flows, |flow| flow.dns.is_some()), 3);
    assert_eq!(count(&flows, |flow| matches!(flow.transport, Transport::Tcp(_))), 94);
    assert_eq!(count(&flows, |flow| matches!(flow.transport, Transport::Icmp(_))), 10);
    assert_eq!(count(&flows, |flow| flow.source.address.is_none()), 0);
    assert_eq!(count(&flows, |flow| flow.node.is_none() || flow.time.is_none()), 0);
}

#[test]
fn hubble_of_our_own() {
    let outcome = all(vec![Input::File(fixture("hubble.jsonl"))]);
    assert_eq!((outcome.records.len(), flows(&outcome).len()), (60, 56));
    let states: Vec<_> = outcome
        .records
        .iter()
        .filter_map(|record| match record {
            Record::NodeStatus(status) => Some((status.state, status.message.is_some())),
            Record::Flow(_) | Record::Lost(_) => None,
        })
        .collect();
    let expected =
        [(NodeState::Unavailable, false), (NodeState::Error, true), (NodeState::Error, true)];
    assert_eq!(states, expected);
    match &outcome.records[54] {
        Record::Lost(lost) => {
            assert_eq!((lost.count, &*lost.origin), (42, "PERF_EVENT_RING_BUFFER"));
            assert_eq!(lost.node.as_deref(), Some("node-a"));
        }
        other => panic!("{other:?}"),
    }
    let flows = flows(&outcome);
    let first = flows[0];
    assert_eq!(first.node.as_deref(), Some("default/node-a"));
    assert_eq!(first.source.endpoint.pod, Some(PodName::Exact("cart-6c8d9f7b5-x2k9q".into())));
    assert_eq!(first.source.endpoint.labels, [("app".into(), "cart".into())]);
    assert_eq!(first.service.as_ref().map(|service| &*service.name), Some("db"));
    let named = flows.iter().find(|flow| !flow.destination.names.is_empty()).unwrap();
    assert_eq!(&*named.destination.names[0], "api.example.com");
    assert_eq!(named.destination.endpoint.entities, Entities::WORLD);
}

#[test]
fn goldmane() {
    let outcome = all(vec![Input::File(fixture("goldmane.jsonl"))]);
    let flows = flows(&outcome);
    assert_eq!(flows.len(), 41);
    assert_eq!(count(&flows, |flow| flow.verdict == Verdict::Forwarded), 33);
    assert_eq!(count(&flows, |flow| flow.verdict == Verdict::Dropped), 8);
    assert_eq!(count(&flows, |flow| flow.reporter == Some(Reporter::Source)), 21);
    assert_eq!(count(&flows, |flow| flow.destination_port.is_none()), 4);
    assert_eq!(count(&flows, |flow| flow.service.is_some()), 8);
    let denied = |flow: &Observation| flow.denied_by.is_some();
    assert_eq!(count(&flows, denied), 8);
    let network = |network: &Network| {
        count(&flows, |flow| flow.destination.endpoint.network.as_ref() == Some(network))
    };
    assert_eq!((network(&Network::Public), network(&Network::Private)), (3, 3));
    assert_eq!(network(&Network::Host("worker-1".into())), 2);
    assert_eq!(network(&Network::Set { namespace: None, name: "trusted-global".into() }), 1);
    let generated =
        |flow: &Observation| matches!(flow.source.endpoint.pod, Some(PodName::Generated(_)));
    assert_eq!(count(&flows, generated), 34);
    assert_eq!(count(&flows, |flow| flow.source.endpoint.pod.is_some()), 36);
}

#[test]
fn goldmane_of_the_shared_folder_is_ours() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let text = std::fs::read_to_string(shared.join("corpora/flows/goldmane.jsonl")).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), lines("goldmane.jsonl"));
}

#[test]
fn ztunnel() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let folder = shared.join("corpora/flows");
    let cases = std::fs::read_to_string(folder.join("ztunnel.jsonl")).unwrap();
    let raw: Vec<String> = cases
        .lines()
        .map(|case| serde_json::from_str::<serde_json::Value>(case).unwrap())
        .map(|case| case["line"].as_str().unwrap().to_owned())
        .collect();
    let observations = observations(Format::Ztunnel, &raw);
    let flows: Vec<_> = observations.iter().collect();
    assert_eq!((raw.len(), flows.len()), (97, 85));

    let event = |event| count(&flows, |flow| flow.event == event);
    assert_eq!(event(Event::Connection), 56);
    assert_eq!((event(Event::Opened), event(Event::PolicyLog)), (2, 27));
    let outcome =
        |event, verdict| count(&flows, |flow| flow.event == event && flow.verdict == verdict);
    assert_eq!(outcome(Event::Connection, Verdict::Forwarded), 24);
    assert_eq!(outcome(Event::Connection, Verdict::Dropped), 7);
    assert_eq!(outcome(Event::Connection, Verdict::Failed), 25);
    assert_eq!(outcome(Event::PolicyLog, Verdict::Forwarded), 14);
    assert_eq!(outcome(Event::PolicyLog, Verdict::Dropped), 7);
    assert_eq!(outcome(Event::PolicyLog, Verdict::Audit), 6);
    let scheme = |flow: &Observation| {
        flow.source.endpoint.identity.as_ref().is_some_and(|identity| identity.contains("://"))
    };
    assert_eq!(count(&flows, scheme), 0);

    let wrapped = all(vec![Input::File(folder.join("ztunnel.cri.log"))]);
    let records: Vec<_> = observations.iter().cloned().map(Record::Flow).collect();
    assert_eq!(wrapped.records, records);
    assert_eq!(wrapped.summary.ignored, 12);
    assert!(wrapped.texts.iter().all(|text| raw.contains(text)));
}

#[test]
fn ztunnel_of_our_own() {
    let outcome = all(vec![Input::File(fixture("ztunnel.jsonl"))]);
    let flows = flows(&outcome);
    assert_eq!((flows.len(), outcome.summary.ignored), (18, 2));
    assert_eq!(count(&flows, |flow| flow.verdict == Verdict::Audit), 2);
    assert_eq!(count(&flows, |flow| flow.verdict == Verdict::Dropped), 5);
    assert_eq!(count(&flows, |flow| flow.denied_by.is_some()), 3);
}

#[test]
fn every_flow_of_the_field_reports() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let cases = std::fs::read_to_string(shared.join("cases/cases.md")).unwrap();
    let blocks = cases.split("```json\n").skip(1);
    let inputs = blocks.enumerate().flat_map(|(number, block)| {
        let json = block.split("```").next().unwrap_or_default();
        let lines = json.lines().filter(|line| line.starts_with('{'));
        lines.map(move |line| input(&format!("block {number}"), line))
    });
    let outcome = all(inputs.collect());
    assert_eq!((outcome.summary.lines, outcome.records.len()), (65, 65));
}
