use netenf_learn::directory::{Holder, PodEntry};
use netenf_learn::{Directory, PodName};
use netenf_policy::{Operator, Requirement};
use rstest::rstest;

use super::*;
use crate::object;

fn index(text: &str) -> Index {
    let (objects, told) = object::read("test", text);
    assert_eq!(told, []);
    let index = Index::of(objects.clone());
    // Whatever comes first, the answers are the same.
    let backwards = Index::of(objects.into_iter().rev());
    assert_eq!(format!("{:?}", index.workloads), format!("{:?}", backwards.workloads));
    index
}

fn workload(text: &str) -> Workload {
    let parts: Vec<&str> = text.split('/').collect();
    Workload::new(parts[0], parts[1], parts[2])
}

fn exact(name: &str) -> PodName {
    PodName::Exact(name.into())
}

fn entry(index: &Index, name: &str) -> PodEntry {
    index.pod("shop", &exact(name)).unwrap()
}

fn labels(text: &str) -> Labels {
    text.split(',').filter_map(|pair| pair.split_once('=')).collect()
}

const WEB: &str = "
{kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: other}}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, tier: front}}, spec: {containers: [{name: c, ports: [{name: http, containerPort: 8080}]}]}}}}
---
{kind: ReplicaSet, metadata: {name: web-old, namespace: shop, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]}, spec: {selector: {matchLabels: {app: web, pod-template-hash: old}}, template: {metadata: {labels: {app: web, pod-template-hash: old}}}}}
---
{kind: Pod, metadata: {name: web-old-abcde, generateName: web-old-, namespace: shop, labels: {app: web, pod-template-hash: old, debug: 'true'}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-old, uid: u, controller: true}]}, spec: {nodeName: n1, containers: []}, status: {podIPs: [{ip: 10.244.1.10}, {ip: 'fd00::10'}]}}
";

#[test]
fn owners_are_walked_to_the_top_and_never_cut_from_names() {
    let index = index(WEB);
    let web = workload("shop/Deployment/web");
    assert_eq!(entry(&index, "web-old-abcde").workload, web);
    assert_eq!(index.pod("shop", &PodName::Generated("web-old-".into())).unwrap().workload, web);
    assert_eq!(index.pod("shop", &PodName::Generated("web-".into())), None);
    assert_eq!(index.pod("shop", &exact("web-old-other")), None);
    assert_eq!(index.pod("other", &exact("web-old-abcde")), None);
    assert_eq!(index.owner(&workload("shop/ReplicaSet/web-old")), web);
    assert_eq!(
        index.owner(&workload("shop/ReplicaSet/web-new")),
        workload("shop/ReplicaSet/web-new")
    );
    assert_eq!(index.nodes_of(&web), [Arc::from("n1")]);
    // Selectors come from the workload, neither from its own labels nor from its pods' (cases B22, B25).
    assert_eq!(index.selector(&web).unwrap(), Selector::of_labels(labels("app=web")));
    assert_eq!(index.labels(&web).unwrap(), labels("app=web,tier=front"));
    for address in ["10.244.1.10", "fd00::10"] {
        let Some(Holder::Pod(holder)) = index.holder(address.parse().unwrap(), None) else {
            panic!("{address} is the pod's")
        };
        assert_eq!(holder.workload, web);
    }
}

/// An owner of a kind that we do not know is named as it is, by the labels that last (case B19).
#[rstest]
#[case::by_its_replica_set("
{kind: ReplicaSet, metadata: {name: web-7d9, namespace: shop, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: u, controller: true}]}, spec: {selector: {matchLabels: {app: web, rollouts-pod-template-hash: 7d9}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: 7d9, app.kubernetes.io/version: '1.2'}}}}}
---
{kind: Pod, metadata: {name: web-7d9-abcde, namespace: shop, labels: {app: web, rollouts-pod-template-hash: 7d9}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-7d9, uid: u, controller: true}]}}
")]
#[case::by_its_pods("
{kind: Pod, metadata: {name: web-7d9-abcde, namespace: shop, labels: {app: web, debug: 'true', controller-revision-hash: x}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: u, controller: true}]}}
---
{kind: Pod, metadata: {name: web-7d9-fghij, namespace: shop, labels: {app: web, helm.sh/chart: web-1}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: u, controller: true}]}}
")]
#[case::by_its_object("
{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, extra: x}}}}}
---
{kind: Pod, metadata: {name: web-7d9-abcde, namespace: shop, labels: {app: web, debug: 'true'}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: u, controller: true}]}}
")]
fn unknown_owners_are_selected_by_labels_that_last(#[case] text: &str) {
    let index = index(text);
    let web = workload("shop/Rollout/web");
    assert_eq!(entry(&index, "web-7d9-abcde").workload, web);
    assert_eq!(index.selector(&web).unwrap(), Selector::of_labels(labels("app=web")));
}

#[test]
fn a_loop_of_owners_ends() {
    let index = index(
        "{kind: ReplicaSet, metadata: {name: a, namespace: shop, ownerReferences: [{apiVersion: v1, kind: ReplicaSet, name: b, uid: u, controller: true}]}}
---
{kind: ReplicaSet, metadata: {name: b, namespace: shop, ownerReferences: [{apiVersion: v1, kind: ReplicaSet, name: a, uid: u, controller: true}]}}",
    );
    let top = index.owner(&workload("shop/ReplicaSet/a"));
    assert!(["a", "b"].contains(&&*top.name));
    assert_eq!(index.nodes_of(&top), [] as [Arc<str>; 0]);
}

#[test]
fn match_expressions_are_kept() {
    let index = index(
        "{kind: DaemonSet, metadata: {name: agent, namespace: shop}, spec: {selector: {matchLabels: {a: b}, matchExpressions: [{key: tier, operator: In, values: [p, q]}]}, template: {metadata: {labels: {a: b, tier: x}}}}}",
    );
    let selector = index.selector(&workload("shop/DaemonSet/agent")).unwrap();
    let operator = Operator::In(vec!["p".into(), "q".into()]);
    assert_eq!(selector.labels, labels("a=b"));
    assert_eq!(selector.requirements, [Requirement { key: "tier".into(), operator }]);
}

/// A Job's own selector is its UID; its pods' labels that last select the next run, too (case B31).
#[test]
fn jobs_are_their_cron_jobs_and_a_job_that_is_gone_is_known_by_labels() {
    let index = index(
        "{kind: CronJob, metadata: {name: report, namespace: shop}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {metadata: {labels: {app: report}}, spec: {containers: []}}}}}}
---
{kind: Job, metadata: {name: report-1, namespace: shop, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: report, uid: u, controller: true}]}, spec: {selector: {matchLabels: {controller-uid: x}}, template: {metadata: {labels: {app: report, job-name: report-1, controller-uid: x}}, spec: {containers: []}}}}",
    );
    let report = workload("shop/CronJob/report");
    assert_eq!(index.owner(&workload("shop/Job/report-1")), report);
    assert_eq!(index.selector(&report).unwrap(), Selector::of_labels(labels("app=report")));
    assert_eq!(index.workload_by_labels("shop", &labels("app=report,x=y")), Some(report));
    assert_eq!(index.workload_by_labels("shop", &labels("app=other")), None);
    assert_eq!(index.workload_by_labels("other", &labels("app=report")), None);
}

#[test]
fn labels_of_two_workloads_name_neither() {
    let both = "{kind: Deployment, metadata: {name: a, namespace: shop}, spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}}}}
---
{kind: Deployment, metadata: {name: b, namespace: shop}, spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}}}}";
    assert_eq!(index(both).workload_by_labels("shop", &labels("app=x")), None);
}

/// An address belongs to the pod that was alive at the flow's time.
#[rstest]
#[case::first(Some("2026-09-01T10:00:30Z"), Some("first"))]
#[case::second(Some("2026-09-01T10:10:00Z"), Some("second"))]
#[case::between(Some("2026-09-01T10:03:00Z"), None)]
#[case::before(Some("2026-09-01T09:00:00Z"), None)]
#[case::now(None, Some("second"))]
#[case::within_the_second_of_its_start(Some("2026-09-01T10:04:59.500Z"), Some("second"))]
fn a_reused_address_is_told_apart_by_time(
    #[case] time: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let index = index(
        "{kind: Pod, metadata: {name: first, namespace: shop}, status: {phase: Succeeded, podIP: 10.244.1.9, startTime: '2026-09-01T10:00:00Z', containerStatuses: [{name: c, image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 0, finishedAt: '2026-09-01T10:01:00Z'}}}]}}
---
{kind: Pod, metadata: {name: second, namespace: shop}, status: {phase: Running, podIP: 10.244.1.9, startTime: '2026-09-01T10:05:00Z'}}",
    );
    let address = "10.244.1.9".parse().unwrap();
    let time = time.map(|time| {
        let time: jiff::Timestamp = time.parse().unwrap();
        Timestamp(i64::try_from(time.as_nanosecond()).unwrap())
    });
    let holder = index.holder(address, time);
    let name = match &holder {
        Some(Holder::Pod(pod)) => Some(&*pod.workload.name),
        _ => None,
    };
    assert_eq!(name, expected);
    assert!(index.is_reused(address));
    assert!(!index.is_reused("10.244.1.8".parse().unwrap()));
}

#[test]
fn a_newer_version_of_a_pod_replaces_the_older() {
    let pod = |address: &str, node: &str| {
        format!(
            "{{kind: Pod, metadata: {{name: a, namespace: shop}}, spec: {{nodeName: {node}, containers: []}}, status: {{podIP: {address}}}}}"
        )
    };
    let (objects, _) =
        object::read("test", &format!("{}\n---\n{}", pod("10.0.0.1", "n1"), pod("10.0.0.2", "n2")));
    let index = Index::of(objects);
    assert_eq!(index.holder("10.0.0.1".parse().unwrap(), None), None);
    assert!(index.holder("10.0.0.2".parse().unwrap(), None).is_some());
    assert_eq!(index.nodes_of(&workload("shop/Pod/a")), [Arc::from("n2")]);
}

const NODES: &str = "
{kind: Node, metadata: {name: n1}, spec: {podCIDRs: [10.244.1.0/24, 'fd00:1::/64']}, status: {addresses: [{type: InternalIP, address: 10.0.0.4}, {type: Hostname, address: n1}, {type: ExternalIP, address: 198.51.100.4}]}}
---
{kind: Node, metadata: {name: n3, annotations: {network.cilium.io/ipv4-cilium-host: 10.244.7.3, projectcalico.org/IPv4VXLANTunnelAddr: 10.244.7.9}}, spec: {podCIDR: 10.244.7.0/24}}
---
{kind: Pod, metadata: {name: proxy, namespace: kube-system}, spec: {hostNetwork: true, nodeName: n1, containers: []}, status: {podIP: 10.0.0.4}}
---
{kind: EndpointSlice, addressType: IPv4, metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}, endpoints: [{addresses: [10.0.0.2]}, {addresses: [10.0.0.3]}], ports: [{name: https, port: 6443, protocol: TCP}]}
";

#[rstest]
#[case::internal("10.0.0.4", Some(("n1", false)))]
#[case::external("198.51.100.4", Some(("n1", false)))]
#[case::cilium_router("10.244.7.3", Some(("n3", true)))]
#[case::calico_tunnel("10.244.7.9", Some(("n3", true)))]
#[case::first_of_the_range("10.244.1.1", Some(("n1", true)))]
#[case::the_range_itself("10.244.7.0", Some(("n3", true)))]
#[case::first_of_the_range_v6("fd00:1::", Some(("n1", true)))]
#[case::machine_in_the_subnet("10.0.0.200", None)]
#[case::no_pod_at_all("10.244.1.77", None)]
fn nodes_hold_their_own_and_their_routers_addresses(
    #[case] address: &str,
    #[case] expected: Option<(&str, bool)>,
) {
    let index = index(NODES);
    let holder = index.holder(address.parse().unwrap(), None);
    let expected = expected.map(|(name, router)| Holder::Node { name: name.into(), router });
    assert_eq!(holder, expected);
}

#[test]
fn the_api_server_is_its_endpoints() {
    let index = index(NODES);
    assert_eq!(index.holder("10.0.0.2".parse().unwrap(), None), Some(Holder::ApiServer));
    let target = index.api_server().unwrap();
    assert_eq!(target.port, 6443);
    assert_eq!(target.addresses.len(), 2);
    let older = "{kind: Endpoints, metadata: {name: kubernetes, namespace: default}, subsets: [{addresses: [{ip: 10.0.0.2}], ports: [{name: https, port: 6443}]}]}";
    assert_eq!(self::index(older).api_server().unwrap().port, 6443);
}

/// Pods behind one service may call another port by its name (case B14).
const SERVICE: &str = "
{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}, spec: {clusterIP: 10.96.0.5, clusterIPs: [10.96.0.5, 'fd00:96::5'], externalIPs: [198.51.100.7], selector: {app: api}, ports: [{name: web, port: 80, targetPort: http, nodePort: 30080}, {name: metrics, port: 9090}]}, status: {loadBalancer: {ingress: [{ip: 203.0.113.5}]}}}
---
{kind: Deployment, metadata: {name: api-a, namespace: shop}, spec: {selector: {matchLabels: {app: api, v: a}}, template: {metadata: {labels: {app: api, v: a}}, spec: {containers: [{name: c, ports: [{name: http, containerPort: 80}]}]}}}}
---
{kind: Deployment, metadata: {name: api-b, namespace: shop}, spec: {selector: {matchLabels: {app: api, v: b}}, template: {metadata: {labels: {app: api, v: b}}, spec: {containers: [{name: c, ports: [{name: http, containerPort: 8080}]}]}}}}
---
{kind: Deployment, metadata: {name: elsewhere, namespace: other}, spec: {selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}}}}}
---
{kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, address: 10.0.0.4}]}}
";

#[rstest]
#[case::cluster_address("10.96.0.5", 80, Protocol::Tcp, Some((false, [("api-a", 80), ("api-b", 8080)])))]
#[case::second_family("fd00:96::5", 80, Protocol::Tcp, Some((false, [("api-a", 80), ("api-b", 8080)])))]
#[case::external_address("198.51.100.7", 9090, Protocol::Tcp, Some((false, [("api-a", 9090), ("api-b", 9090)])))]
#[case::load_balancer("203.0.113.5", 80, Protocol::Tcp, Some((false, [("api-a", 80), ("api-b", 8080)])))]
#[case::node_port("10.0.0.4", 30080, Protocol::Tcp, Some((true, [("api-a", 80), ("api-b", 8080)])))]
#[case::node_but_other_port("10.0.0.4", 80, Protocol::Tcp, None)]
#[case::other_port("10.96.0.5", 81, Protocol::Tcp, None)]
#[case::other_protocol("10.96.0.5", 80, Protocol::Udp, None)]
#[case::node_port_elsewhere("10.96.0.5", 30080, Protocol::Tcp, None)]
fn services_lead_to_workloads_and_pod_ports(
    #[case] address: &str,
    #[case] port: u16,
    #[case] protocol: Protocol,
    #[case] expected: Option<(bool, [(&str, u16); 2])>,
) {
    let target = index(SERVICE).service(address.parse().unwrap(), port, protocol);
    let target = target.map(|target| {
        assert_eq!(&*target.service, "shop/api");
        let backends = target.backends.iter();
        (
            target.node_port,
            backends.map(|(workload, port)| (workload.name.to_string(), *port)).collect::<Vec<_>>(),
        )
    });
    let expected = expected.map(|(node_port, backends)| {
        (node_port, backends.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect())
    });
    assert_eq!(target, expected);
}

#[test]
fn a_changed_service_forgets_its_old_addresses() {
    let service = |address: &str, node_port: u16| {
        format!(
            "{{apiVersion: v1, kind: Service, metadata: {{name: api, namespace: shop}}, spec: {{clusterIP: {address}, selector: {{app: api}}, ports: [{{port: 80, nodePort: {node_port}}}]}}}}"
        )
    };
    let node = "{kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, address: 10.0.0.4}]}}";
    let text = format!(
        "{node}\n---\n{}\n---\n{}",
        service("10.96.0.5", 30001),
        service("10.96.0.6", 30002)
    );
    let index = Index::of(object::read("test", &text).0);
    let is_known = |address: &str, port| {
        index.service(address.parse().unwrap(), port, Protocol::Tcp).is_some()
    };
    assert!(is_known("10.96.0.6", 80) && is_known("10.0.0.4", 30002));
    assert!(!is_known("10.96.0.5", 80) && !is_known("10.0.0.4", 30001));
}

/// Endpoints tell which pods are behind a service, whatever its selector says.
#[rstest]
#[case::slice(
    "{kind: EndpointSlice, addressType: IPv4, metadata: {name: db-x1, namespace: shop, labels: {kubernetes.io/service-name: db}}, endpoints: [{addresses: [10.244.1.10], targetRef: {kind: Pod, name: web-old-abcde, namespace: shop}}], ports: [{name: '', port: 5433, protocol: TCP}]}"
)]
#[case::endpoints(
    "{kind: Endpoints, metadata: {name: db, namespace: shop}, subsets: [{addresses: [{ip: 10.244.1.10, targetRef: {kind: Pod, name: web-old-abcde, namespace: shop}}], ports: [{port: 5433}]}]}"
)]
fn endpoints_come_before_selectors(#[case] endpoints: &str) {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIP: 10.96.0.5, selector: {app: nothing}, ports: [{port: 5432}]}}";
    let index = index(&format!("{WEB}\n---\n{service}\n---\n{endpoints}"));
    let target = index.service("10.96.0.5".parse().unwrap(), 5432, Protocol::Tcp).unwrap();
    assert_eq!(target.backends, [(workload("shop/Deployment/web"), 5433)]);
}

#[rstest]
#[case::container_port("shop/Deployment/api-b", 8080, true)]
#[case::target_port("shop/Deployment/api-b", 9090, true)]
#[case::service_port("shop/Deployment/api-b", 80, false)]
#[case::of_another("shop/Deployment/api-a", 8080, false)]
#[case::nobody("shop/Deployment/none", 8080, false)]
fn ports_are_declared_by_containers_and_services(
    #[case] name: &str,
    #[case] port: u16,
    #[case] expected: bool,
) {
    assert_eq!(index(SERVICE).declares(&workload(name), port, Protocol::Tcp), expected);
}

#[rstest]
#[case::number("targetPort: 5353", 5353)]
#[case::name("targetPort: dns", 1053)]
#[case::same("protocol: UDP", 53)]
fn dns_is_asked_at_its_pod_port(#[case] target: &str, #[case] port: u16) {
    let index = index(&format!(
        "{{apiVersion: v1, kind: Service, metadata: {{name: kube-dns, namespace: kube-system}}, spec: {{selector: {{k8s-app: kube-dns}}, ports: [{{port: 53, {target}}}, {{name: metrics, port: 9153}}]}}}}
---
{{kind: Deployment, metadata: {{name: coredns, namespace: kube-system}}, spec: {{selector: {{matchLabels: {{k8s-app: kube-dns}}}}, template: {{metadata: {{labels: {{k8s-app: kube-dns}}}}, spec: {{containers: [{{name: c, ports: [{{name: dns, containerPort: 1053}}]}}]}}}}}}}}"
    ));
    let dns = index.dns().unwrap();
    assert_eq!((&*dns.namespace, dns.port), ("kube-system", port));
    assert_eq!(dns.selector, Selector::of_labels(labels("k8s-app=kube-dns")));
}

#[test]
fn dns_is_known_by_its_pods_without_a_service() {
    let pods = "{kind: Deployment, metadata: {name: coredns, namespace: kube-system}, spec: {selector: {matchLabels: {k8s-app: kube-dns}}, template: {metadata: {labels: {k8s-app: kube-dns}}}}}";
    assert_eq!(index(pods).dns().unwrap().port, 53);
    assert_eq!(index(WEB).dns(), None);
}

#[test]
fn host_network_pods_are_their_node() {
    let index = index(NODES);
    let proxy = index.pod("kube-system", &exact("proxy")).unwrap();
    assert!(proxy.host_network);
    assert_eq!(index.addresses_of_node("n1").len(), 2);
}

#[rstest]
#[case::current("gateway.networking.k8s.io/gateway-class-name: istio-waypoint", true)]
#[case::managed("gateway.istio.io/managed: istio.io-mesh-controller", true)]
#[case::other("gateway.networking.k8s.io/gateway-class-name: istio", false)]
fn waypoints_are_known_by_their_labels(#[case] label: &str, #[case] expected: bool) {
    let text =
        format!("{{kind: Pod, metadata: {{name: wp, namespace: shop, labels: {{{label}}}}}}}");
    assert_eq!(entry(&index(&text), "wp").waypoint, expected);
}

#[test]
fn the_cluster_covers_namespaces_of_its_objects() {
    let index = index(WEB);
    assert!(index.covers("shop") && !index.covers("other"));
    assert!(!index.is_empty() && Index::default().is_empty());
    // Of policies nobody learns who is there: what flows tell of their ends is believed beside them.
    let policy = self::index("{kind: NetworkPolicy, metadata: {name: deny, namespace: shop}}");
    assert!(!policy.covers("shop") && policy.is_empty());
    assert_eq!(index.namespace_labels("shop"), labels("kubernetes.io/metadata.name=shop"));
    let labelled = self::index("{kind: Namespace, metadata: {name: shop, labels: {team: a}}}");
    assert_eq!(
        labelled.namespace_labels("shop"),
        labels("kubernetes.io/metadata.name=shop,team=a")
    );
}

#[test]
fn pods_of_one_prefix_and_several_owners_are_nobodys() {
    let pod = |name: &str, kind: &str, owner: &str| {
        format!("
---
{{kind: Pod, metadata: {{name: {name}, generateName: web-, namespace: shop, ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, uid: u, controller: true}}]}}, spec: {{containers: []}}}}")
    };
    let generated = PodName::Generated("web-".into());
    let same = pod("web-0", "StatefulSet", "web") + &pod("web-1", "StatefulSet", "web");
    let known = index(&same);
    assert_eq!(known.pod("shop", &generated).unwrap().workload, workload("shop/StatefulSet/web"));
    let mixed = same + &pod("web-abcde", "DaemonSet", "web");
    assert_eq!(index(&mixed).pod("shop", &generated), None);
    // The pod that made it ambiguous is another's now.
    let (objects, _) = object::read("test", &(mixed + &pod("web-abcde", "StatefulSet", "web")));
    let later = Index::of(objects);
    assert_eq!(later.pod("shop", &generated).unwrap().workload, workload("shop/StatefulSet/web"));
}

/// Whatever comes again is held once: the newer version.
#[test]
fn a_newer_version_of_any_object_replaces_the_older() {
    let older = "
{kind: NetworkPolicy, metadata: {name: open, namespace: shop}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{}]}}
---
{kind: EndpointSlice, addressType: IPv4, metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}, endpoints: [{addresses: [10.0.0.2]}], ports: [{name: https, port: 6443, protocol: TCP}]}
---
{kind: Node, metadata: {name: n1}, status: {addresses: [{type: InternalIP, address: 10.0.0.5}]}}
---
{kind: Service, metadata: {name: db, namespace: shop}, spec: {clusterIPs: [10.96.0.9], ports: [{port: 5432}]}}
---
{kind: EndpointSlice, addressType: IPv4, metadata: {name: db-x, namespace: shop, labels: {kubernetes.io/service-name: db}}, endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, name: db-0}}], ports: [{name: '', port: 5432, protocol: TCP}]}
---
{kind: Pod, metadata: {name: db-0, namespace: shop}, spec: {containers: []}}
---
{kind: Pod, metadata: {name: other, namespace: shop}, spec: {containers: []}}
";
    let newer = older
        .replace("ingress: [{}]", "ingress: []")
        .replace("10.0.0.2", "10.0.0.3")
        .replace("10.0.0.5", "10.0.0.6")
        .replace("name: db-0}}]", "name: other}}]");
    let objects = [older, newer.as_str()].map(|text| object::read("test", text).0);
    let index = Index::of(objects.into_iter().flatten());
    assert_eq!(index.policies().len(), 1);
    assert_eq!(index.policies()[0].ingress.as_ref().map(Vec::len), Some(0));
    let at = |address: &str| address.parse::<IpAddr>().unwrap();
    assert_eq!(index.api_server().unwrap().addresses, [at("10.0.0.3")]);
    assert_eq!(index.addresses_of_node("n1"), [at("10.0.0.6")]);
    let behind = index.service(at("10.96.0.9"), 5432, Protocol::Tcp).unwrap().backends;
    assert_eq!(behind, [(workload("shop/Pod/other"), 5432)]);
}

#[test]
fn workloads_on_the_hosts_network_are_known_by_template_or_pods() {
    let index = index("
{kind: DaemonSet, metadata: {name: exporter, namespace: shop}, spec: {selector: {matchLabels: {app: exporter}}, template: {metadata: {labels: {app: exporter}}, spec: {hostNetwork: true, containers: [{name: c, ports: [{name: metrics, containerPort: 9100}]}]}}}}
---
{kind: Pod, metadata: {name: agent-x, namespace: shop, ownerReferences: [{apiVersion: example.com/v1, kind: Agent, name: agent, uid: u, controller: true}]}, spec: {hostNetwork: true, containers: []}}
---
{kind: Deployment, metadata: {name: web, namespace: shop}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: []}}}}
");
    let on_host = |text: &str| index.is_host_network(&workload(text));
    assert!(on_host("shop/DaemonSet/exporter") && on_host("shop/Agent/agent"));
    assert!(!on_host("shop/Deployment/web") && !on_host("shop/Deployment/unknown"));
    let names = index.port_names(&workload("shop/DaemonSet/exporter"), 9100, Protocol::Tcp);
    assert_eq!(names, ["metrics".into()]);
}

/// What policies depend on, out of the objects that say it.
#[test]
fn the_cluster_holds_what_policies_depend_on() {
    let index = index("
{kind: Namespace, metadata: {name: shop, labels: {team: a}}}
---
{kind: Node, metadata: {name: n1, labels: {os: linux}, annotations: {flannel.alpha.coreos.com/public-ip: 10.9.0.9}}, status: {addresses: [{type: InternalIP, address: 10.0.0.5}, {type: Hostname, address: n1}]}}
---
{kind: Pod, metadata: {name: a, namespace: shop, labels: {app: a}}, spec: {nodeName: n1, initContainers: [{name: i, ports: [{name: once, containerPort: 1}]}, {name: s, restartPolicy: Always, ports: [{name: metrics, containerPort: 9100}]}], containers: [{name: c, ports: [{name: dns, containerPort: 53, protocol: UDP}, {containerPort: 8080}]}]}, status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}, {ip: 'fd00::1'}]}}
---
{kind: Pod, metadata: {name: b, namespace: shop}, spec: {hostNetwork: true, containers: []}, status: {phase: Succeeded}}
---
{kind: Pod, metadata: {name: c, namespace: shop}, spec: {containers: []}}
---
{kind: NetworkPolicy, metadata: {name: deny, namespace: shop}, spec: {podSelector: {}}}
---
{apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy, metadata: {name: z}, spec: {tier: Admin, priority: 1, subject: {namespaces: {}}}}
---
{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: {name: z}, spec: {priority: 2, subject: {}}}
");
    let at = |address: &str| address.parse::<IpAddr>().unwrap();
    let labels = |all: &[(&str, &str)]| all.iter().copied().collect::<Labels>();
    let port = |name: &str, protocol, number| netenf_policy::cluster::NamedPort {
        name: name.into(),
        protocol,
        number,
    };
    let pod = |name: &str| netenf_policy::cluster::Pod {
        namespace: "shop".into(),
        name: name.into(),
        phase: Phase::Pending,
        ..Default::default()
    };
    let pods = [
        netenf_policy::cluster::Pod {
            phase: Phase::Running,
            labels: labels(&[("app", "a")]),
            addresses: vec![at("10.1.0.1"), at("fd00::1")],
            ports: [port("dns", Protocol::Udp, 53), port("metrics", Protocol::Tcp, 9100)].into(),
            node: Some("n1".into()),
            ..pod("a")
        },
        netenf_policy::cluster::Pod { phase: Phase::Finished, host_network: true, ..pod("b") },
        pod("c"),
    ];
    let node = cluster::Node {
        name: "n1".into(),
        labels: labels(&[("os", "linux")]),
        addresses: vec![at("10.0.0.5")],
    };
    let cluster = index.cluster();
    let own = [("kubernetes.io/metadata.name", "shop"), ("team", "a")];
    assert_eq!(cluster.namespaces, [("shop".into(), labels(&own))].into());
    assert_eq!(cluster.pods.into_values().collect::<Vec<_>>(), pods);
    assert_eq!(index.nodes().collect::<Vec<_>>(), [&node]);
    assert_eq!(cluster.nodes, [("n1".into(), node.clone())].into());
    let key = |first: &str, second: &str| (Arc::from(first), Arc::from(second));
    assert_eq!(cluster.network_policies.into_keys().collect::<Vec<_>>(), [key("shop", "deny")]);
    let kinds = [key("AdminNetworkPolicy", "z"), key("ClusterNetworkPolicy", "z")];
    assert_eq!(cluster.cluster_policies.into_keys().collect::<Vec<_>>(), kinds);
    let told: Vec<&str> = index.diagnostics().map(|it| it.place.as_str()).collect();
    assert_eq!(told, ["AdminNetworkPolicy z: spec.subject"]);
}

#[test]
fn a_newer_version_of_a_cluster_wide_policy_replaces_the_older() {
    let policy = |name: &str, subject: &str| {
        let document = format!(
            "{{apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: {{name: {name}}}, spec: {{tier: Admin, priority: 1, subject: {subject}}}}}"
        );
        object::read("test", &document).0.remove(0)
    };
    let mut index = Index::of([policy("b", "{}"), policy("a", "{namespaces: {}}")]);
    assert_eq!(index.diagnostics().count(), 1);
    index.apply(policy("b", "{namespaces: {}}"));
    let names: Vec<&str> = index.cluster_policies().iter().map(|policy| &*policy.name).collect();
    assert_eq!((names, index.diagnostics().count()), (vec!["a", "b"], 0));
}

#[test]
fn a_network_policy_without_a_spec_isolates_every_pod() {
    let index = index("{kind: NetworkPolicy, metadata: {name: p, namespace: shop}}");
    let policy = &index.policies()[0];
    assert_eq!(
        (&policy.pods, &policy.ingress, &policy.egress),
        (&Selector::default(), &Some(vec![]), &None)
    );
}

#[rstest]
#[case::by_its_labels("template: {metadata: {labels: {app: web}}}", true)]
#[case::by_its_containers("template: {spec: {containers: [{name: c}]}}", true)]
#[case::of_something_else("template: {spec: {replicatedJobs: []}}", false)]
#[case::none("workloadRef: {name: web}", false)]
fn a_kind_that_is_not_known_is_a_workload_if_it_has_a_template_of_pods(
    #[case] spec: &str,
    #[case] expected: bool,
) {
    let text = format!(
        "{{apiVersion: x/v1, kind: Other, metadata: {{name: web, namespace: shop}}, spec: {{{spec}}}}}"
    );
    assert_eq!(index(&text).workloads().count(), usize::from(expected));
}
