//! Ends that a person names, matched against what a source reported.

use netenf_api::PeerRef;
use netenf_k8s::{Index, render};
use netenf_learn::{End, Entities, Network, PodName, Timestamp};

use crate::wiring::end::Pattern;

// === impl Pattern ===

impl Pattern {
    /// Whether `end` is meant.
    pub(crate) fn matches(&self, end: &End, index: &Index, time: Option<Timestamp>) -> bool {
        let endpoint = &*end.endpoint;
        let here = |wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| endpoint.namespace.as_deref() == Some(wanted))
        };
        let is = |entity| endpoint.entities.contains(entity);
        match self {
            Self::Workload { namespace, kind, name } => {
                let named = endpoint
                    .workload
                    .as_ref()
                    .is_some_and(|own| *own.kind == **kind && *own.name == **name);
                let is_owner = |peer: PeerRef| {
                    (namespace.is_none() || peer.namespace == *namespace)
                        && peer.kind.as_ref() == Some(kind)
                        && peer.name.as_ref() == Some(name)
                };
                (here(namespace) && (named || is_deployment_pod(end, kind, name)))
                    || (!index.is_empty() && is_owner(peer(index, end, time)))
            }
            Self::Pod { namespace, name } => {
                here(namespace)
                    && matches!(&endpoint.pod, Some(PodName::Exact(own)) if **own == **name)
            }
            Self::Namespace(name) => endpoint.namespace.as_deref() == Some(name),
            Self::Node(name) => match &endpoint.network {
                Some(Network::Host(host)) => **host == **name,
                _ => {
                    (is(Entities::HOST) || is(Entities::REMOTE_NODE))
                        && end.address.is_some_and(|a| a.to_string() == *name)
                }
            },
            Self::Block(block) => end.address.is_some_and(|address| block.contains(&address)),
            Self::Name(name) => {
                end.names.iter().any(|own| own.trim_end_matches('.').eq_ignore_ascii_case(name))
            }
            Self::World => is(Entities::WORLD) || matches!(endpoint.network, Some(Network::Public)),
            Self::ApiServer => is(Entities::KUBE_APISERVER),
            Self::Host => {
                is(Entities::HOST)
                    || is(Entities::REMOTE_NODE)
                    || matches!(endpoint.network, Some(Network::Host(_)))
            }
        }
    }
}

/// An end for people, by the cluster's objects where they tell who it is.
pub(crate) fn peer(index: &Index, end: &End, time: Option<Timestamp>) -> PeerRef {
    if let Ok(peer) = netenf_learn::who(index, end, time) {
        return render::peer(&peer);
    }
    let address = end.address.map(|address| address.to_string());
    PeerRef { kind: Some("Unknown".to_owned()), address, ..PeerRef::default() }
}

/// Goldmane names pods by `generateName`; with the template's hash among the labels that tells the Deployment.
fn is_deployment_pod(end: &End, kind: &str, name: &str) -> bool {
    let Some(PodName::Generated(generated)) = &end.endpoint.pod else { return false };
    let label = |wanted: &str| {
        end.endpoint.labels.iter().find(|(key, _)| &**key == wanted).map(|(_, value)| value)
    };
    match kind {
        "Deployment" => {
            label("pod-template-hash").is_some_and(|hash| **generated == *format!("{name}-{hash}-"))
        }
        "StatefulSet" | "DaemonSet" => **generated == *format!("{name}-"),
        _ => false,
    }
}

/// An end as one word.
pub(crate) fn describe(end: &End) -> String {
    let endpoint = &*end.endpoint;
    let namespace =
        endpoint.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let address = end.address.map(|address| address.to_string());
    if let Some(pod) = &endpoint.pod {
        return match pod {
            PodName::Exact(name) => format!("{namespace}{name}"),
            PodName::Generated(prefix) => format!("{namespace}{prefix}*"),
        };
    }
    let entity = [
        (Entities::KUBE_APISERVER, "apiserver"),
        (Entities::HOST, "host"),
        (Entities::REMOTE_NODE, "node"),
        (Entities::WORLD, "world"),
        (Entities::HEALTH, "health"),
        (Entities::INIT, "init"),
        (Entities::UNMANAGED, "unmanaged"),
        (Entities::INGRESS, "ingress"),
    ];
    let entity = entity
        .into_iter()
        .find(|(entity, _)| endpoint.entities.contains(*entity))
        .map(|(_, word)| word);
    let network = endpoint.network.as_ref().map(|network| match network {
        Network::Public => "pub".to_owned(),
        Network::Private => "pvt".to_owned(),
        Network::Set { name, .. } => format!("networkset/{name}"),
        Network::Host(name) => format!("node/{name}"),
    });
    let name = end.names.first().map(|name| name.trim_end_matches('.').to_owned());
    let who = network
        .or(name)
        .or(endpoint.workload.as_ref().map(|own| format!("{namespace}{}", own.name)));
    match (who, entity, address) {
        (Some(who), _, Some(address)) => format!("{who}({address})"),
        (Some(who), _, None) => who,
        (None, Some(entity), Some(address)) => format!("{entity}({address})"),
        (None, None, Some(address)) => address,
        (None, Some(entity), None) => entity.to_owned(),
        (None, None, None) => "unknown".to_owned(),
    }
}
