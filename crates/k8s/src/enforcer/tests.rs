use netenf_api::Backend::{Istio, Kubernetes};
use netenf_learn::Timestamp;
use rstest::rstest;

use super::*;
use crate::object::{Object, read};

fn objects(text: &str) -> Vec<Object> {
    let (objects, told) = read("test", text);
    assert_eq!(told, []);
    objects
}

/// A `DaemonSet` on the host's network with one container.
fn set(place: &str, container: &str) -> String {
    let (namespace, name) = place.split_once('/').unwrap();
    format!(
        "{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{selector: \
         {{matchLabels: {{app: x}}}}, template: {{metadata: {{labels: {{app: x}}}}, spec: {{hostNetwork: true, \
         containers: [{container}]}}}}}}}}\n---\n"
    )
}

/// In a few words: present, absent or unknown.
fn answer(text: &str, backend: Backend) -> String {
    match enforcer(&Index::of(objects(text)), None, backend) {
        Enforcer::Present { name } => format!("present: {name}"),
        Enforcer::Absent { why } => format!("absent: {why}"),
        Enforcer::Unknown => "unknown".to_owned(),
    }
}

const AWS: &str = "{name: aws-node}, {name: aws-eks-nodeagent, image: amazon/aws-network-policy-agent:v1.1.1, args: \
                   [--enable-ipv6=false, --enable-network-policy=";

/// Containers as the projects' own manifests have them.
#[rstest]
#[case::cilium("kube-system/cilium", "{name: cilium-agent}", "present: Cilium")]
#[case::calico("calico-system/calico-node", "{name: calico-node}", "present: Calico")]
#[case::rancher("kube-system/rke2-canal", "{name: calico-node}", "present: Calico (Canal)")]
#[case::antrea("kube-system/antrea-agent", "{name: antrea-agent}", "present: Antrea")]
#[case::openshift(
    "openshift-ovn-kubernetes/ovnkube-node",
    "{name: ovnkube-controller}",
    "present: OVN-Kubernetes"
)]
#[case::azure(
    "kube-system/azure-npm",
    "{name: azure-npm}",
    "present: Azure Network Policy Manager"
)]
#[case::gke("kube-system/anetd", "{name: cilium-agent}", "present: Cilium (GKE Dataplane V2)")]
#[case::ours("netenf/netenf-node", "{name: agent}", "present: Network Enforcer")]
#[case::kube_network_policies(
    "kube-system/kube-network-policies",
    "{name: x}",
    "present: kube-network-policies"
)]
#[case::renamed(
    "policy/other",
    "{name: x, image: 'registry.k8s.io/networking/kube-network-policies:v1.1.1'}",
    "present: kube-network-policies"
)]
#[case::firewall(
    "kube-system/kube-router",
    "{name: kube-router, args: [--run-router=true, --run-firewall=true]}",
    "present: kube-router"
)]
#[case::firewall_by_default(
    "kube-system/kube-router",
    "{name: kube-router, args: [--run-router=true]}",
    "present: kube-router"
)]
#[case::no_firewall(
    "kube-system/kube-router",
    "{name: kube-router, args: [--run-firewall=false]}",
    "absent: kube-router runs without its firewall"
)]
#[case::last_word(
    "kube-system/kube-router",
    "{name: kube-router, command: [kube-router, --run-firewall], args: [--run-firewall=false]}",
    "absent: kube-router runs without its firewall"
)]
#[case::not_known_whether(
    "kube-system/kube-router",
    "{name: kube-router, args: [--run-firewall=$(FIREWALL)]}",
    "unknown"
)]
#[case::flannel(
    "kube-flannel/kube-flannel-ds",
    "{name: kube-flannel, image: 'ghcr.io/flannel-io/flannel:v0.26.7'}",
    "absent: flannel enforces no policies"
)]
#[case::flannel_with_policies(
    "kube-flannel/kube-flannel-ds",
    "{name: kube-flannel}, {name: x, image: 'registry.k8s.io/networking/kube-network-policies:v0.7.0@sha256:1f'}",
    "present: kube-network-policies"
)]
#[case::weave("kube-system/weave-net", "{name: weave}, {name: weave-npc}", "present: Weave Net")]
#[case::half_of_weave(
    "kube-system/weave-net",
    "{name: weave}",
    "absent: Weave Net runs without its policy controller"
)]
#[case::aws_with_policies("kube-system/aws-node", &format!("{AWS}true]}}"), "present: Amazon VPC CNI")]
#[case::aws_without("kube-system/aws-node", &format!("{AWS}false]}}"), "absent: the Amazon VPC CNI runs without network policies")]
#[case::kindnet(
    "kube-system/kindnet",
    "{name: kindnet-cni, image: 'docker.io/kindest/kindnetd:v20241212-9f82dd49'}",
    "present: kindnet"
)]
#[case::kindnet_of_kind_0_23(
    "kube-system/kindnet",
    "{name: kindnet-cni, image: 'docker.io/kindest/kindnetd:v20240513-cd2ac642'}",
    "absent: this version of kindnet enforces no policies"
)]
#[case::kindnet_in_between(
    "kube-system/kindnet",
    "{name: kindnet-cni, image: 'docker.io/kindest/kindnetd:v20240726'}",
    "unknown"
)]
#[case::kindnet_of_another_name(
    "kube-system/kindnet",
    "{name: kindnet-cni, image: 'kindnet:own'}",
    "unknown"
)]
#[case::no_plugin("kube-system/kube-proxy", "{name: kube-proxy}", "unknown")]
fn a_network_plugin_is_known_by_its_daemon_set(
    #[case] place: &str,
    #[case] containers: &str,
    #[case] expected: &str,
) {
    assert_eq!(answer(&set(place, containers), Kubernetes), expected);
    // As the agent keeps it.
    let kept = objects(&set(place, containers)).into_iter().map(|object| match object {
        Object::DaemonSet(mut set) => {
            let pod = set.spec.as_mut().and_then(|spec| spec.template.spec.as_mut()).unwrap();
            for container in &mut pod.containers {
                let (image, args) = evidence(container);
                *container =
                    Container { name: container.name.clone(), image, args, ..Container::default() };
            }
            Object::DaemonSet(set)
        }
        other => other,
    });
    let kept = enforcer(&Index::of(kept), None, Kubernetes);
    assert_eq!(kept, enforcer(&Index::of(objects(&set(place, containers))), None, Kubernetes));
}

/// A tenant may call a `DaemonSet` as they like, and may not run on the host's network.
#[rstest]
#[case::off_the_hosts_network(&set("shop/cilium", "{name: cilium-agent}").replace("hostNetwork: true, ", ""))]
#[case::ztunnel_elsewhere(&set("shop/ztunnel", "{name: istio-proxy}"))]
fn what_anyone_could_make_up_is_no_enforcer(#[case] text: &str) {
    assert_eq!([answer(text, Kubernetes), answer(text, Istio)], ["unknown", "unknown"]);
}

fn k3s(arguments: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: one, annotations: {{k3s.io/node-args: '{arguments}'}}}}}}\n---\n"
    )
}

#[rstest]
#[case::server(r#"["server","--tls-san","k3s.example"]"#, "present: k3s")]
#[case::off(
    r#"["server","--disable-network-policy"]"#,
    "absent: k3s runs without its network policy controller"
)]
#[case::agent(r#"["agent"]"#, "unknown")]
#[case::cut(r#"["server","--disable-netw..."#, "unknown")]
fn k3s_is_known_by_its_nodes(#[case] arguments: &str, #[case] expected: &str) {
    assert_eq!(answer(&k3s(arguments), Kubernetes), expected);
}

#[rstest]
#[case::nothing("", "unknown")]
#[case::enough_if_one_does(&(set("kube-flannel/kube-flannel-ds", "{name: f}") + &set("kube-system/cilium", "{name: c}")), "present: Cilium")]
#[case::k3s_beside_flannel(&(set("kube-flannel/kube-flannel-ds", "{name: f}") + &k3s(r#"["server"]"#)), "present: k3s")]
#[case::no_word_against_what_is_unclear(&(set("kube-flannel/kube-flannel-ds", "{name: f}") + &set("kube-system/kindnet", "{name: kindnet-cni}")), "unknown")]
#[case::a_mesh_is_no_firewall(&set("istio-system/ztunnel", "{name: istio-proxy}"), "unknown")]
fn all_of_a_clusters_plugins_count(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(answer(text, Kubernetes), expected);
}

#[rstest]
#[case(Some(Provider::Cilium), Kubernetes, Enforcer::Present { name: "Cilium" })]
#[case(Some(Provider::Calico), Kubernetes, Enforcer::Present { name: "Calico" })]
#[case(Some(Provider::Node), Kubernetes, Enforcer::Absent { why: "flannel enforces no policies" })]
#[case(Some(Provider::Istio), Istio, Enforcer::Present { name: "Istio" })]
#[case(Some(Provider::Istio), Kubernetes, Enforcer::Absent { why: "flannel enforces no policies" })]
#[case(Some(Provider::Cilium), Istio, Enforcer::Present { name: "Istio (ztunnel)" })]
#[case(None, Istio, Enforcer::Present { name: "Istio (ztunnel)" })]
fn a_provider_enforces_the_policies_of_its_backend(
    #[case] provider: Option<Provider>,
    #[case] backend: Backend,
    #[case] expected: Enforcer,
) {
    let cluster = set("kube-flannel/kube-flannel-ds", "{name: f}")
        + &set("istio-system/ztunnel", "{name: z}");
    assert_eq!(enforcer(&Index::of(objects(&cluster)), provider, backend), expected);
}

/// It is known no longer than its object is there and says so.
#[test]
fn what_is_deleted_or_changed_enforces_no_more() {
    let cilium = objects(&set("kube-system/cilium", "{name: c}")).remove(0);
    let mut index = Index::of([cilium.clone()]);
    index.delete(&cilium, Timestamp(0));
    assert_eq!(enforcer(&index, None, Kubernetes), Enforcer::Unknown);

    index.apply(cilium.clone());
    index.replace(&cilium.kind(), Vec::new(), Timestamp(0));
    assert_eq!(enforcer(&index, None, Kubernetes), Enforcer::Unknown);

    let router = |value: &str| {
        let container = format!("{{name: kube-router, args: [--run-firewall={value}]}}");
        objects(&set("kube-system/kube-router", &container)).remove(0)
    };
    index.apply(router("true"));
    index.apply(router("false"));
    assert_eq!(
        enforcer(&index, None, Kubernetes),
        Enforcer::Absent { why: "kube-router runs without its firewall" }
    );
}
