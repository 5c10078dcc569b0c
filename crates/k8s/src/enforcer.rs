//! What enforces policies in a cluster, told by its network plugins and by nothing that could be a guess.
//!
//! A network plugin is known by its `DaemonSet`. One that enforces NetworkPolicies runs on the host's network, which
//! only who may do anything on a node can have, so that no tenant makes an enforcer up by a name. k3s embeds
//! its plugin, and is known by an annotation of its nodes.
//!
//! That a cluster shows none of the plugins known here says nothing: there are others. Only a plugin that is known to
//! enforce nothing says that nothing does, and only where no other one is there.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Container, Node, PodSpec};
use netenf_api::Backend;

use crate::index::Index;

/// What enforces the policies of a backend in the cluster, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcer {
    /// Something does.
    Present {
        /// What.
        name: &'static str,
    },
    /// Nothing does.
    Absent {
        /// What is there and does not.
        why: &'static str,
    },
    /// It could not be found out.
    Unknown,
}

/// Where flows come from, if that enforces as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Istio, in ambient mode.
    Istio,
    /// Calico.
    Calico,
    /// Cilium.
    Cilium,
    /// Our own agent on the nodes.
    Node,
}

/// What an object says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sighting {
    /// This enforces NetworkPolicies.
    Enforces(&'static str),
    /// This enforces `AuthorizationPolicies`.
    Mesh(&'static str),
    /// This network plugin enforces nothing.
    Idle(&'static str),
    /// This network plugin may or may not.
    Unclear,
}

/// Network plugins that enforce NetworkPolicies, by the names of their `DaemonSets`. What could turn that off stands in
/// their configuration, which is not read.
const ENFORCING: [(&str, &str); 11] = [
    ("anetd", "Cilium (GKE Dataplane V2)"),
    ("antrea-agent", "Antrea"),
    ("azure-npm", "Azure Network Policy Manager"),
    ("calico-node", "Calico"),
    ("canal", "Calico (Canal)"),
    ("cilium", "Cilium"),
    ("kube-network-policies", "kube-network-policies"),
    ("netenf-node", "Network Enforcer"),
    ("ovnkube", "OVN-Kubernetes"),
    ("ovnkube-node", "OVN-Kubernetes"),
    ("rke2-canal", "Calico (Canal)"),
];

/// Images that tell what a `DaemonSet` is.
const IMAGES: [&str; 3] = ["kindnetd", "kube-network-policies", "kube-router"];

/// Turns the firewall of kube-router off (its user guide).
const FIREWALL: &str = "--run-firewall";

/// Turns on the agent beside the Amazon VPC CNI (amazon-vpc-cni-k8s).
const NETWORK_POLICY: &str = "--enable-network-policy";

/// Arguments that tell whether one enforces.
const FLAGS: [&str; 2] = [FIREWALL, NETWORK_POLICY];

/// What enforces the policies of `backend`: the provider, if it does, else what the cluster's objects tell.
pub fn enforcer(index: &Index, provider: Option<Provider>, backend: Backend) -> Enforcer {
    match (provider, backend) {
        (Some(Provider::Istio), Backend::Istio) => Enforcer::Present { name: "Istio" },
        (Some(Provider::Calico), Backend::Kubernetes) => Enforcer::Present { name: "Calico" },
        (Some(Provider::Cilium), Backend::Kubernetes) => Enforcer::Present { name: "Cilium" },
        // Node agents report flows; whether they enforce shows by what runs.
        (Some(_) | None, _) => seen(index, backend),
    }
}

/// One that enforces is enough, whatever else is there.
fn seen(index: &Index, backend: Backend) -> Enforcer {
    let mut idle = None;
    let mut is_unclear = false;
    for sighting in index.dataplanes() {
        match (sighting, backend) {
            (Sighting::Enforces(name), Backend::Kubernetes)
            | (Sighting::Mesh(name), Backend::Istio) => return Enforcer::Present { name },
            (Sighting::Idle(why), Backend::Kubernetes) => idle = idle.or(Some(why)),
            (Sighting::Unclear, Backend::Kubernetes) => is_unclear = true,
            (_, Backend::Kubernetes | Backend::Istio) => {}
        }
    }
    match idle {
        Some(why) if !is_unclear => Enforcer::Absent { why },
        Some(_) | None => Enforcer::Unknown,
    }
}

/// What a `DaemonSet` says; nothing if it is no network plugin that is known here.
pub(crate) fn of_daemon_set(set: &DaemonSet) -> Option<Sighting> {
    let name = set.metadata.name.as_deref()?;
    let pod = set.spec.as_ref()?.template.spec.as_ref()?;
    if name == "ztunnel" {
        let namespace = set.metadata.namespace.as_deref();
        return (namespace == Some("istio-system")).then_some(Sighting::Mesh("Istio (ztunnel)"));
    }
    if pod.host_network != Some(true) {
        return None;
    }
    let known = ENFORCING.iter().find(|(known, _)| *known == name);
    known.map(|(_, enforcer)| Sighting::Enforces(enforcer)).or_else(|| of_pod(name, pod))
}

/// Of plugins that enforce with some settings only, and of those that do not.
fn of_pod(name: &str, pod: &PodSpec) -> Option<Sighting> {
    if find(pod, "kube-network-policies").is_some() {
        return Some(Sighting::Enforces("kube-network-policies"));
    }
    Some(match name {
        "kube-router" => kube_router(find(pod, "kube-router")?),
        "aws-node" => aws(find(pod, "aws-eks-nodeagent")),
        "weave-net" => match find(pod, "weave-npc") {
            Some(_) => Sighting::Enforces("Weave Net"),
            None => Sighting::Idle("Weave Net runs without its policy controller"),
        },
        "kindnet" => kindnet(find(pod, "kindnet-cni")?),
        _ if name.starts_with("kube-flannel") => Sighting::Idle("flannel enforces no policies"),
        _ => return None,
    })
}

/// It has a firewall unless told otherwise.
fn kube_router(container: &Container) -> Sighting {
    match argument(container, FIREWALL) {
        None | Some("true") => Sighting::Enforces("kube-router"),
        Some("false") => Sighting::Idle("kube-router runs without its firewall"),
        Some(_) => Sighting::Unclear,
    }
}

/// The agent that enforces is beside the plugin, and does nothing unless told to.
fn aws(agent: Option<&Container>) -> Sighting {
    match agent.and_then(|agent| argument(agent, NETWORK_POLICY)) {
        Some("true") => Sighting::Enforces("Amazon VPC CNI"),
        Some("false") | None => Sighting::Idle("the Amazon VPC CNI runs without network policies"),
        Some(_) => Sighting::Unclear,
    }
}

/// It enforces since kind 0.24 (kubernetes-sigs/kind 842); the day of its image tells which it is.
fn kindnet(container: &Container) -> Sighting {
    let tag = container.image.as_deref().and_then(|image| image.rsplit_once(":v"));
    let day = tag.and_then(|(_, tag)| tag.get(..8)?.parse::<u32>().ok());
    match day {
        Some(20_240_813..) => Sighting::Enforces("kindnet"),
        Some(..=20_240_513) => Sighting::Idle("this version of kindnet enforces no policies"),
        Some(_) | None => Sighting::Unclear,
    }
}

/// What a node of k3s says of the plugin that its server embeds (k3s, `--disable-network-policy`).
pub(crate) fn of_node(node: &Node) -> Option<Sighting> {
    let arguments = node.metadata.annotations.as_ref()?.get("k3s.io/node-args")?;
    let arguments: Vec<String> = serde_json::from_str(arguments).ok()?;
    if arguments.first().map(String::as_str) != Some("server") {
        return None;
    }
    let is_off = arguments
        .iter()
        .any(|one| one == "--disable-network-policy" || one == "--disable-network-policy=true");
    Some(if is_off {
        Sighting::Idle("k3s runs without its network policy controller")
    } else {
        Sighting::Enforces("k3s")
    })
}

/// Image and arguments of a container as far as they say something here: the rest need not be kept.
pub fn evidence(container: &Container) -> (Option<String>, Option<Vec<String>>) {
    let is_known = |image: &&String| IMAGES.iter().any(|name| is_image(image, name));
    let is_flag = |one: &&String| FLAGS.iter().any(|flag| value(one, flag).is_some());
    let arguments = container.command.iter().chain(&container.args).flatten();
    let arguments: Vec<String> = arguments.filter(is_flag).cloned().collect();
    let image = container.image.as_ref().filter(is_known).cloned();
    (image, (!arguments.is_empty()).then_some(arguments))
}

/// The container of that name, or of an image of that name.
fn find<'a>(pod: &'a PodSpec, name: &str) -> Option<&'a Container> {
    let is_of = |image: &String| is_image(image, name);
    pod.containers.iter().find(|it| it.name == name || it.image.as_ref().is_some_and(is_of))
}

/// Whether that is the last part of an image's path.
fn is_image(image: &str, name: &str) -> bool {
    let path = image.split('@').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split(':').next() == Some(name)
}

/// The last value of a flag; `true` where it stands alone.
fn argument<'a>(container: &'a Container, flag: &str) -> Option<&'a str> {
    let all = container.command.iter().chain(&container.args).flatten();
    all.filter_map(|one| value(one, flag)).next_back()
}

fn value<'a>(argument: &'a str, flag: &str) -> Option<&'a str> {
    match argument.strip_prefix(flag)? {
        "" => Some("true"),
        rest => rest.strip_prefix('='),
    }
}

#[cfg(test)]
mod tests;
