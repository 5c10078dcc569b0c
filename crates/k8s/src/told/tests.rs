use std::sync::Arc;

use netenf_learn::{
    Endpoint, Entities, Event, Provider, TcpFlags, Transport, Verdict, WorkloadName,
};
use rstest::rstest;

use super::*;
use crate::object::{Object, read};

const STATE: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec: {selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}}}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec: {selector: {app: api}, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ports: [{port: 80, targetPort: 8080}]}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, address: 192.168.0.5}]}}
---
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata: {name: deployment-api-ingress, namespace: shop}
spec:
  backend: kubernetes
  mode: protect
  targetRef: {kind: Deployment, name: api}
  direction: Ingress
  kubernetes:
    podSelector: {matchLabels: {app: api}}
    policyTypes: [Ingress]
    ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 8080}]}]
";

/// `shop/web`, an address, or `host` and `world` with one.
fn end(text: &str) -> End {
    let mut endpoint = Endpoint::default();
    let mut address = None;
    for word in text.split(' ') {
        match (word, word.split_once('/')) {
            ("world", _) => endpoint.entities = Entities::WORLD,
            ("host", _) => endpoint.entities = Entities::HOST,
            (_, Some((namespace, name))) => {
                endpoint.namespace = Some(namespace.into());
                endpoint.workload =
                    Some(WorkloadName { kind: "Deployment".into(), name: name.into() });
            }
            (word, None) => address = Some(word.parse().unwrap()),
        }
    }
    End { endpoint: Arc::new(endpoint), address, names: Vec::new() }
}

fn flow(from: &str, to: &str, port: u16) -> Observation {
    Observation {
        transport: Transport::Tcp(TcpFlags::SYN),
        source_port: Some(40000),
        destination_port: Some(port),
        verdict: Verdict::Forwarded,
        ..Observation::new(Provider::Hubble, Event::Packet, end(from), end(to))
    }
}

fn told(observation: &Observation, skipped: Option<Skip>) -> Told {
    let (objects, problems) = read("state", STATE);
    assert_eq!(problems, []);
    let guards = objects.iter().filter_map(|object| match object {
        Object::Policy(it) => {
            let (namespace, name) = (it.metadata.namespace.as_ref()?, it.metadata.name.as_ref()?);
            Guard::new("WorkloadNetworkPolicy", namespace, name, &it.spec)
        }
        _ => None,
    });
    let guards: Vec<Guard> = guards.collect();
    let index = Index::of(objects);
    let mut told = [Told::new(&index, &Config::default(), observation, skipped)];
    judge(&index, &guards, &mut told);
    let [told] = told;
    told
}

fn word(fate: &Fate) -> String {
    match fate {
        Fate::Learned => "learned".to_owned(),
        Fate::Skipped(_) => format!("skipped {}", fate.reason()),
        Fate::Uncovered(_) => format!("uncovered {}", fate.reason()),
        Fate::Violation { id, .. } => {
            assert!(id.starts_with('v'), "{id}");
            format!("violation {}", fate.reason())
        }
        Fate::Undecided => "undecided".to_owned(),
    }
}

#[rstest]
#[case::allowed("shop/web", "shop/api", 8080, "learned")]
#[case::no_rule("shop/web", "shop/api", 9090, "violation NoRule")]
#[case::nobodys_policy("shop/api", "shop/web", 80, "learned")]
#[case::through_a_service("shop/web", "10.96.0.9", 80, "learned")]
#[case::outside("shop/web", "world 203.0.113.7", 443, "uncovered External")]
#[case::from_outside("world 203.0.113.7", "shop/web", 443, "uncovered External")]
#[case::node("shop/web", "192.168.0.5", 10250, "uncovered Node")]
#[case::link_local("shop/web", "169.254.169.254", 80, "uncovered LinkLocal")]
#[case::local_dns("shop/web", "169.254.20.10", 53, "learned")]
#[case::system("kube-system/a", "kube-system/b", 80, "skipped OutOfScope")]
#[case::nobody("203.0.113.7", "203.0.113.8", 80, "skipped NotSubject")]
fn an_opening_is_told_by_what_is_known(
    #[case] from: &str,
    #[case] to: &str,
    #[case] port: u16,
    #[case] expected: &str,
) {
    assert_eq!(word(&told(&flow(from, to, port), None).fate), expected);
}

#[test]
fn what_the_learner_skipped_is_told_as_that_and_asked_no_policy() {
    let told = told(&flow("shop/web", "shop/api", 9090), Some(Skip::NodeLocal));
    assert_eq!((word(&told.fate).as_str(), told.finding), ("skipped NodeLocal", None));
}

#[test]
fn a_denial_that_a_policy_of_ours_explains_is_a_violation_of_it() {
    let denied = |port| Observation {
        verdict: Verdict::Dropped,
        drop_reason: Some(netenf_learn::DropReason::Policy),
        direction: Some(Direction::Ingress),
        ..flow("shop/web", "shop/api", port)
    };
    assert_eq!(word(&told(&denied(9090), Some(Skip::Denied)).fate), "violation NoRule");
    assert_eq!(word(&told(&denied(8080), Some(Skip::Denied)).fate), "skipped Denied");
}

#[test]
fn an_answer_is_told_with_its_opener_first() {
    let answer = Observation {
        reply: Some(true),
        transport: Transport::Tcp(TcpFlags::SYN.with(TcpFlags::ACK)),
        source_port: Some(8080),
        destination_port: Some(40000),
        direction: Some(Direction::Egress),
        ..flow("shop/api", "shop/web", 40000)
    };
    let told = told(&answer, Some(Skip::Reply));
    assert_eq!(told.source.name.as_deref(), Some("web"));
    assert_eq!((told.port, told.source_port), (Some(8080), Some(40000)));
    assert_eq!((told.direction, word(&told.fate).as_str()), (Direction::Ingress, "skipped Reply"));
}

#[test]
fn a_packet_in_the_midst_of_a_connection_is_not_decided() {
    let acknowledging = Observation {
        transport: Transport::Tcp(TcpFlags::ACK),
        ..flow("shop/web", "shop/api", 8080)
    };
    assert_eq!(word(&told(&acknowledging, None).fate), "undecided");
}

#[test]
fn a_service_is_told_as_the_workload_behind_it() {
    let told = told(&flow("shop/web", "10.96.0.9", 80), None);
    let destination = &told.destination;
    assert_eq!(destination.name.as_deref(), Some("api"));
    assert_eq!(destination.service.as_deref(), Some("shop/api"));
    assert_eq!(told.port, Some(8080));
}

#[rstest]
#[case::egress(Direction::Egress, "shop/web", "shop/api", None)]
#[case::ingress(Direction::Ingress, "shop/web", "shop/api", Some(true))]
fn the_side_that_reports_is_judged(
    #[case] direction: Direction,
    #[case] from: &str,
    #[case] to: &str,
    #[case] by_rule: Option<bool>,
) {
    let observation = Observation { direction: Some(direction), ..flow(from, to, 8080) };
    let finding = told(&observation, None).finding.unwrap();
    assert!(finding.allowed);
    let rule = matches!(finding.by, netenf_policy::Decider::Rule(_)).then_some(true);
    assert_eq!(rule, by_rule);
}

/// A record of connections that nobody answered teaches nothing by itself.
#[rstest]
#[case::not_told(None, "learned")]
#[case::answered(Some(true), "learned")]
#[case::unanswered(Some(false), "uncovered Unanswered")]
fn a_record_tells_whether_it_was_answered(#[case] answered: Option<bool>, #[case] expected: &str) {
    let event = Event::Connection;
    let record = Observation { event, answered, ..flow("shop/web", "shop/api", 8080) };
    assert_eq!(word(&told(&record, None).fate), expected);
}
