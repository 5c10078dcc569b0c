use rstest::rstest;

use super::*;
use crate::NoObjects;
use crate::observation::WorkloadName;
use crate::sample::pod;

fn end(endpoint: Endpoint, address: &str) -> End {
    End { endpoint: Arc::new(endpoint), address: address.parse().ok(), names: Vec::new() }
}

fn party(end: &End) -> Result<Party, Skip> {
    resolve(&NoObjects, end, None).map(|resolved| resolved.party)
}

fn labels(text: &str) -> Vec<(Arc<str>, Arc<str>)> {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (key.into(), value.into())).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "cases compare whole results")]
fn workload(kind: &str, name: &str) -> Result<Party, Skip> {
    Ok(Party::Workload(Workload::new("shop", kind, name)))
}

/// Without objects only a source's word and labels of Kubernetes' own controllers name a workload.
#[rstest]
#[case::named("web-7d9f8b6c5-abcde", "", workload("Deployment", "web"))]
#[case::job(
    "report-29012345-x9z2k",
    "job-name=report-29012345",
    workload("Job", "report-29012345")
)]
#[case::new_job("x", "batch.kubernetes.io/job-name=report-1", workload("Job", "report-1"))]
#[case::stateful_set(
    "db-0",
    "statefulset.kubernetes.io/pod-name=db-0 app=db",
    workload("StatefulSet", "db")
)]
#[case::deployment_by_its_hash(
    "web-7d9f8b6c5-*",
    "pod-template-hash=7d9f8b6c5",
    workload("Deployment", "web")
)]
#[case::daemon_set("agent-*", "controller-revision-hash=abc", workload("DaemonSet", "agent"))]
fn a_workload_is_named_by_what_was_said(
    #[case] name: &str,
    #[case] text: &str,
    #[case] expected: Result<Party, Skip>,
) {
    let name = match name.strip_suffix('*') {
        Some(prefix) => PodName::Generated(prefix.into()),
        None => PodName::Exact(name.into()),
    };
    let named = text.is_empty().then(|| pod("web").workload).flatten();
    let endpoint =
        Endpoint { pod: Some(name), labels: labels(text), workload: named, ..pod("web") };
    assert_eq!(party(&end(endpoint, "")), expected);
}

/// A pod's name is never cut to guess its owner.
#[rstest]
#[case::deployment("web-7d9f8b6c5-abcde", "pod-template-hash=7d9f8b6c5 app=web", Some("app=web"))]
#[case::only_volatile_labels("web-7d9f8b6c5-abcde", "pod-template-hash=7d9f8b6c5", None)]
#[case::no_labels("db-0", "", None)]
fn a_pod_without_a_known_owner_stays_a_pod(
    #[case] name: &str,
    #[case] text: &str,
    #[case] lasting: Option<&str>,
) {
    let name = Some(PodName::Exact(name.into()));
    let endpoint = Endpoint { pod: name, labels: labels(text), workload: None, ..pod("web") };
    let expected = match lasting {
        Some(text) => {
            Party::Pods { namespace: "shop".into(), labels: labels(text).into_iter().collect() }
        }
        None => {
            Party::Pod { namespace: "shop".into(), name: pod_name(endpoint.pod.as_ref().unwrap()) }
        }
    };
    assert_eq!(party(&end(endpoint, "")), Ok(expected));
}

#[rstest]
#[case::world(Entities::WORLD, "203.0.113.7", Ok(Party::External("203.0.113.7".parse().unwrap())))]
#[case::nothing(Entities::default(), "203.0.113.7", Ok(Party::External("203.0.113.7".parse().unwrap())))]
#[case::host(Entities::HOST, "10.0.0.4", Ok(Party::Node { name: "10.0.0.4".into(), workload: None }))]
#[case::remote_node(Entities::REMOTE_NODE, "10.0.0.5", Ok(Party::Node { name: "10.0.0.5".into(), workload: None }))]
#[case::link_local_of_the_host(Entities::HOST, "169.254.20.10", Ok(Party::External("169.254.20.10".parse().unwrap())))]
#[case::api_server_on_a_node(Entities::REMOTE_NODE.with(Entities::KUBE_APISERVER), "10.0.0.2", Ok(Party::ApiServer))]
#[case::ingress(Entities::INGRESS, "10.244.1.3", Ok(Party::IngressProxy))]
#[case::health(Entities::HEALTH, "10.244.1.4", Err(Skip::Health))]
#[case::init(Entities::INIT, "10.244.1.5", Err(Skip::TransientIdentity))]
#[case::unmanaged(Entities::UNMANAGED, "10.244.1.6", Ok(Party::Unmanaged("10.244.1.6".parse().unwrap())))]
#[case::nobody(Entities::default(), "", Ok(Party::Unknown))]
fn reserved_identities_are_who_they_are(
    #[case] entities: Entities,
    #[case] address: &str,
    #[case] expected: Result<Party, Skip>,
) {
    assert_eq!(party(&end(Endpoint { entities, ..Endpoint::default() }, address)), expected);
}

#[rstest]
#[case::public(Network::Public, Party::Network(Network::Public))]
#[case::private(Network::Private, Party::Network(Network::Private))]
#[case::host(Network::Host("n1".into()), Party::Node { name: "n1".into(), workload: None })]
fn networks_of_goldmane(#[case] network: Network, #[case] expected: Party) {
    let endpoint = Endpoint { network: Some(network), ..Endpoint::default() };
    assert_eq!(party(&end(endpoint, "")), Ok(expected));
}

#[test]
fn a_source_that_shows_no_labels_of_a_workload_says_nothing_of_them() {
    let named = Some(WorkloadName { kind: "Deployment".into(), name: "web".into() });
    let endpoint = Endpoint { labels: Vec::new(), workload: named, ..pod("web") };
    assert_eq!(resolve(&NoObjects, &end(endpoint, ""), None).unwrap().labels, None);
}

#[rstest]
#[case("169.254.7.127", true)]
#[case("fd16:9254:7127:1337:ffff:ffff:ffff:ffff", true)]
#[case("169.254.7.126", false)]
#[case("fd16:9254:7127:1337:ffff:ffff:ffff:fffe", false)]
fn probes_of_ambient_are_known_by_their_addresses(#[case] address: &str, #[case] expected: bool) {
    assert_eq!(is_ambient_probe(address.parse().unwrap()), expected);
}

/// What no cluster can hold is nobody's workload: it is a pod that cannot be selected.
#[rstest]
#[case::workload(Endpoint { workload: Some(WorkloadName { kind: "Deployment".into(), name: "we b".into() }), ..pod("web") })]
#[case::kind(Endpoint { workload: Some(WorkloadName { kind: "De/ploy".into(), name: "web".into() }), ..pod("web") })]
#[case::namespace(Endpoint { namespace: Some("sh.op".into()), ..pod("web") })]
#[case::label(Endpoint { labels: vec![("app".into(), "we\u{202e}b".into())], ..pod("web") })]
#[case::label_alone(Endpoint { pod: None, workload: None, labels: vec![("a b".into(), "web".into())], ..pod("web") })]
fn names_that_kubernetes_forbids_make_no_workload(#[case] endpoint: Endpoint) {
    let found = party(&end(endpoint, ""));
    assert!(matches!(found, Ok(Party::Pod { .. })), "{found:?}");
}

#[test]
fn labels_that_are_in_no_selector_may_be_anything() {
    let endpoint = Endpoint { labels: labels("io.cilium.x=a/b app=web"), ..pod("web") };
    assert_eq!(party(&end(endpoint, "")), workload("Deployment", "web"));
}
