use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use netenf_learn::observation::DropReason;
use netenf_learn::{
    Backend, Config, Endpoint, Event, Learner, NoObjects, Observation, PodName, Provider, TcpFlags,
    Transport, Verdict, WorkloadName,
};
use rstest::rstest;

use super::*;

fn end(name: &str, address: &str, labels: &[(&str, &str)]) -> learn::End {
    let endpoint = Endpoint {
        namespace: Some("shop".into()),
        pod: Some(PodName::Exact(format!("{name}-pod").into())),
        workload: Some(WorkloadName { kind: "Deployment".into(), name: name.into() }),
        labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
        identity: Some(format!("cluster.local/ns/shop/sa/{name}").into()),
        ..Endpoint::default()
    };
    learn::End { endpoint: Arc::new(endpoint), address: address.parse().ok(), names: Vec::new() }
}

fn opened(port: u16, seconds: i64) -> Observation {
    let (source, destination) =
        (end("web", "10.0.0.1", &[("app", "web")]), end("db", "10.0.0.2", &[("app", "db")]));
    Observation {
        time: Some(learn::Timestamp::from_seconds(seconds)),
        transport: Transport::Tcp(TcpFlags::SYN),
        source_port: Some(40_000),
        destination_port: Some(port),
        verdict: Verdict::Forwarded,
        ..Observation::new(Provider::Hubble, Event::Packet, source, destination)
    }
}

fn objects(config: Config, packets: &[Observation]) -> Vec<WorkloadNetworkPolicyProposal> {
    let mut learner = Learner::new(config, NoObjects);
    for packet in packets {
        learner.observe(packet);
    }
    let outcome = learner.outcome();
    let last = outcome.window.map(|(_, last)| last);
    outcome.proposals.iter().map(|one| proposal(one, last)).collect()
}

/// Never more ports in one rule than Cilium takes, sorted, and none lost (cases B16, B88).
#[rstest]
#[case(1, &[1])]
#[case(40, &[40])]
#[case(41, &[40, 1])]
#[case(85, &[40, 40, 5])]
fn many_ports_are_several_rules(#[case] ports: u16, #[case] sizes: &[usize]) {
    let packets: Vec<_> = (1..=ports).rev().map(|port| opened(3000 + port, 1)).collect();
    for object in objects(Config::default(), &packets) {
        let spec = object.spec.kubernetes.unwrap();
        let egress = spec.egress.into_iter().flatten().map(|rule| (rule.to, rule.ports));
        let ingress = spec.ingress.into_iter().flatten().map(|rule| (rule.from, rule.ports));
        let rules: Vec<_> = egress.chain(ingress).collect();
        assert!(rules.windows(2).all(|two| two[0].0 == two[1].0), "one peer");
        let ports: Vec<Vec<NetworkPolicyPort>> =
            rules.into_iter().map(|(_, ports)| ports.unwrap()).collect();
        assert_eq!(ports.iter().map(Vec::len).collect::<Vec<_>>(), sizes);
        let numbers: Vec<i32> = ports
            .iter()
            .flatten()
            .map(|port| match port.port {
                Some(IntOrString::Int(number)) => number,
                _ => panic!("every port is a number"),
            })
            .collect();
        assert!(numbers.is_sorted());
        assert!(ports.iter().flatten().all(|port| port.protocol.as_deref() == Some("TCP")));
    }
}

/// What is written is what the API stores: no empty lists, no nulls (case B86).
#[test]
fn nothing_empty_is_written() {
    fn check(path: &str, value: &serde_json::Value) {
        match value {
            serde_json::Value::Null => panic!("{path} is null"),
            serde_json::Value::Array(items) => {
                assert!(!items.is_empty(), "{path} is empty");
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| check(&format!("{path}[{at}]"), item));
            }
            serde_json::Value::Object(fields) => {
                assert!(!fields.is_empty(), "{path} is empty");
                fields.iter().for_each(|(key, value)| check(&format!("{path}.{key}"), value));
            }
            _ => {}
        }
    }
    let denied = Observation {
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        ..opened(6379, 2)
    };
    for object in objects(Config::default(), &[opened(5432, 1), denied]) {
        check("", &serde_json::to_value(object).unwrap());
    }
}

#[test]
fn a_peer_is_one_item_with_both_selectors() {
    let [ingress, _] = objects(Config::default(), &[opened(5432, 1)]).try_into().unwrap();
    assert_eq!(
        serde_json::to_value(ingress.spec.kubernetes.unwrap().ingress).unwrap(),
        serde_json::json!([{
            "from": [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
                "podSelector": {"matchLabels": {"app": "web"}},
            }],
            "ports": [{"protocol": "TCP", "port": 5432}],
        }])
    );
}

#[test]
fn principals_are_written_without_their_scheme() {
    let config = Config { backend: Backend::Istio, ..Config::default() };
    let packet = Observation {
        provider: Provider::Ztunnel,
        event: Event::Connection,
        transport: Transport::Tcp(TcpFlags::NONE),
        reporter: Some(learn::Reporter::Destination),
        ..opened(5432, 1)
    };
    let [object] = objects(config, &[packet]).try_into().unwrap();
    assert_eq!(object.metadata.name.as_deref(), Some("deployment-db-ingress"));
    let istio = object.spec.istio.unwrap();
    assert_eq!(istio.rules[0].from[0].source.principals, ["cluster.local/ns/shop/sa/web"]);
    assert_eq!(istio.rules[0].to[0].operation.ports, ["5432"]);
}

fn condition_of<'a>(
    object: &'a WorkloadNetworkPolicyProposal,
    type_: &str,
) -> Option<&'a Condition> {
    object.status.as_ref()?.conditions.iter().find(|one| one.type_ == type_)
}

#[rstest]
#[case::just_now(1_000_000, "False", "NewRules")]
#[case::for_an_hour(1_000_000 + 3_600, "True", "NothingNew")]
#[case::nearly(1_000_000 + 3_599, "False", "NewRules")]
fn a_proposal_is_stable_when_nothing_new_came(
    #[case] last: i64,
    #[case] status: &str,
    #[case] reason: &str,
) {
    let objects = objects(Config::default(), &[opened(5432, 1_000_000), opened(5432, last)]);
    let stable = condition_of(&objects[0], "Stable").unwrap();
    assert_eq!((&*stable.status, &*stable.reason), (status, reason));
    assert_eq!(
        Some(stable.last_transition_time.clone()),
        time(learn::Timestamp::from_seconds(last))
    );
}

#[test]
fn a_selector_that_holds_a_volatile_label_is_told() {
    let (objects, _) = crate::object::read(
        "test",
        "{kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web, helm.sh/chart: web-1}}, template: {metadata: {labels: {app: web, helm.sh/chart: web-1}}}}}",
    );
    let mut learner = Learner::new(Config::default(), crate::Index::of(objects));
    learner.observe(&opened(5432, 1));
    let outcome = learner.outcome();
    let web = outcome.proposals.iter().find(|one| &*one.subject.name == "web").unwrap();
    let object = proposal(web, None);
    let told = condition_of(&object, "SelectorVolatile").unwrap();
    assert_eq!(told.message, "selector changes on chart upgrade: it holds helm.sh/chart");
    assert_eq!(condition_of(&object, condition::SELECTOR_INFERRED), None);
}

#[test]
fn what_was_cut_and_what_was_denied_stands_in_conditions() {
    let theirs = Arc::new(learn::PolicyRef {
        kind: "NetworkPolicy".into(),
        namespace: Some("shop".into()),
        name: "default-deny".into(),
    });
    let denied = Observation {
        verdict: Verdict::Dropped,
        drop_reason: Some(DropReason::Policy),
        denied_by: Some(theirs),
        ..opened(6379, 2)
    };
    let caps = learn::Caps { ports: 1, ..learn::Caps::default() };
    let config = Config { caps, ..Config::default() };
    let again = Observation { source_port: Some(41_000), ..denied.clone() };
    let packets = [opened(1, 1), opened(2, 1), denied.clone(), denied, again];
    for object in objects(config, &packets) {
        let truncated = condition_of(&object, "Truncated").unwrap();
        assert_eq!(truncated.message, "1 port of one peer over the limit of 1");
        let blocked = condition_of(&object, "Blocked").unwrap();
        assert_eq!(
            blocked.message,
            "2 flows were denied by NetworkPolicy shop/default-deny while learning"
        );
        let inferred = condition_of(&object, condition::SELECTOR_INFERRED).unwrap();
        assert_eq!(inferred.status, "True");
    }
}
