//! Ends that a person names, matched against what a source reported.

use netenf_api::PeerRef;
use netenf_learn::{End, Entities, Network, PodName, Timestamp};

use super::Pattern;
use crate::{Index, render};

// === impl Pattern ===

impl Pattern {
    /// Whether `end` is meant: by what its source says of it, or by what the objects of `index` tell of who it was
    /// at that time.
    pub fn matches(&self, end: &End, index: &Index, time: Option<Timestamp>) -> bool {
        self.is_reported(end) || (!index.is_empty() && self.is(&peer(index, end, time)))
    }

    /// Whether the source says that it is the end that is meant.
    fn is_reported(&self, end: &End) -> bool {
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
                here(namespace) && (named || is_deployment_pod(end, kind, name))
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
pub fn peer(index: &Index, end: &End, time: Option<Timestamp>) -> PeerRef {
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
