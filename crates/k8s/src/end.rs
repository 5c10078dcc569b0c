//! Ends as a person names them (DESIGN D8).

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use netenf_api::PeerRef;
use netenf_learn::Workload;

use crate::unclear::{Hint, Unclear};

mod report;

pub use report::peer;

/// What a person means by an end.
#[derive(Debug, Clone, PartialEq)]
pub enum Pattern {
    /// `[NAMESPACE/]KIND/NAME`.
    Workload {
        /// Its namespace, any where none is named.
        namespace: Option<String>,
        /// Its kind, as in the Kubernetes API.
        kind: String,
        /// Its name.
        name: String,
    },
    /// `[NAMESPACE/]pod/NAME`.
    Pod {
        /// Its namespace, any where none is named.
        namespace: Option<String>,
        /// Its name.
        name: String,
    },
    /// `namespace/NAME`.
    Namespace(String),
    /// `node/NAME`, or an address of a node.
    Node(String),
    /// An address or a range.
    Block(IpNet),
    /// A domain name.
    Name(String),
    /// `world`.
    World,
    /// `apiserver`.
    ApiServer,
    /// `host`: any node.
    Host,
}

// === impl Pattern ===

impl Pattern {
    /// Understands `text`.
    pub fn parse(text: &str, namespace: Option<&str>) -> Result<Self, Unclear> {
        match text {
            "world" | "external" => return Ok(Self::World),
            "apiserver" | "kube-apiserver" => return Ok(Self::ApiServer),
            "host" | "node" => return Ok(Self::Host),
            _ => {}
        }
        if let Ok(block) = text.parse::<IpNet>() {
            return Ok(Self::Block(block));
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Block(address.into()));
        }
        match text.split('/').collect::<Vec<_>>().as_slice() {
            ["namespace" | "ns", name] => Ok(Self::Namespace((*name).to_owned())),
            ["node" | "no", name] => Ok(Self::Node((*name).to_owned())),
            ["pod" | "pods" | "po", name] => {
                Ok(Self::Pod { namespace: namespace.map(str::to_owned), name: (*name).to_owned() })
            }
            [namespace, "pod" | "pods" | "po", name] => {
                Ok(Self::Pod { namespace: Some((*namespace).to_owned()), name: (*name).to_owned() })
            }
            [address, length]
                if length.parse::<u32>().is_ok() && address.contains(['.', ':']) =>
            {
                Err(Unclear::malformed(format!("{text:?} is no range of addresses"))
                    .plain("write a range such as 10.0.0.0/24 or fd00::/64"))
            }
            [_, _] | [_, _, _] => {
                let fallback = namespace.or(Some("*"));
                let workload = workload(text, fallback)?;
                let namespace = Some(workload.namespace.to_string()).filter(|namespace| namespace != "*");
                Ok(Self::Workload { namespace, kind: workload.kind.to_string(), name: workload.name.to_string() })
            }
            // Nobody's domain ends in a number.
            [name] if name.rsplit('.').next().is_some_and(|last| last.parse::<u32>().is_ok()) => {
                Err(Unclear::malformed(format!("{text:?} is no address"))
                    .plain("write an address such as 10.0.0.12, or a range such as 10.0.0.0/24"))
            }
            [name] if name.contains('.') => Ok(Self::Name(name.trim_end_matches('.').to_ascii_lowercase())),
            _ => Err(Unclear::malformed(format!("{text:?} names no end of a flow")).plain(
                "write KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, a CIDR, a domain name, world, host or apiserver",
            )),
        }
    }

    /// A workload that is known.
    pub fn of(workload: &Workload) -> Self {
        Self::Workload {
            namespace: Some(workload.namespace.to_string()),
            kind: workload.kind.to_string(),
            name: workload.name.to_string(),
        }
    }

    /// Whether `peer`, as objects name it, is meant. Objects name no pod behind a workload.
    pub fn is(&self, peer: &PeerRef) -> bool {
        let kind = peer.kind.as_deref().unwrap_or_default();
        let here = |wanted: &Option<String>| wanted.is_none() || peer.namespace == *wanted;
        let named = |wanted: &String| peer.name.as_ref() == Some(wanted);
        match self {
            Self::Workload { namespace, kind: wanted, name } => {
                here(namespace) && kind == wanted && named(name)
            }
            Self::Pod { namespace, name } => here(namespace) && kind == "Pod" && named(name),
            Self::Namespace(name) => peer.namespace.as_ref() == Some(name),
            Self::Node(name) => {
                kind == "Node" && (named(name) || addresses(peer).any(|own| own == name))
            }
            Self::Block(block) => addresses(peer)
                .filter_map(|own| own.parse::<IpAddr>().ok())
                .any(|own| block.contains(&own)),
            Self::Name(name) => {
                peer.names.iter().any(|own| own.trim_end_matches('.').eq_ignore_ascii_case(name))
            }
            Self::World => kind == "External",
            Self::ApiServer => kind == "ApiServer",
            Self::Host => kind == "Node",
        }
    }
}

/// As a person may write it.
impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |namespace: &Option<String>| {
            namespace.as_ref().map_or(String::new(), |n| format!("{n}/"))
        };
        match self {
            Self::Workload { namespace, kind, name } => {
                write!(formatter, "{}{}/{name}", place(namespace), kind.to_ascii_lowercase())
            }
            Self::Pod { namespace, name } => write!(formatter, "{}pod/{name}", place(namespace)),
            Self::Namespace(name) => write!(formatter, "namespace/{name}"),
            Self::Node(name) => write!(formatter, "node/{name}"),
            Self::Block(block) if block.prefix_len() == block.max_prefix_len() => {
                block.addr().fmt(formatter)
            }
            Self::Block(block) => block.fmt(formatter),
            Self::Name(name) => formatter.write_str(name),
            Self::World => formatter.write_str("world"),
            Self::ApiServer => formatter.write_str("apiserver"),
            Self::Host => formatter.write_str("host"),
        }
    }
}

/// Every address that is known of it.
fn addresses(peer: &PeerRef) -> impl Iterator<Item = &String> {
    peer.address.iter().chain(&peer.addresses)
}

/// A workload as a person names it: `[NAMESPACE/]KIND/NAME`, with kubectl's short names.
pub fn workload(text: &str, namespace: Option<&str>) -> Result<Workload, Unclear> {
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, kind, name) = match parts.as_slice() {
        [kind, name] => (namespace, *kind, *name),
        [namespace, kind, name] => (Some(*namespace), *kind, *name),
        _ => (None, "", ""),
    };
    let kind = match kind.to_ascii_lowercase().as_str() {
        "deployment" | "deployments" | "deploy" => "Deployment",
        "statefulset" | "statefulsets" | "sts" => "StatefulSet",
        "daemonset" | "daemonsets" | "ds" => "DaemonSet",
        "replicaset" | "replicasets" | "rs" => "ReplicaSet",
        "job" | "jobs" => "Job",
        "cronjob" | "cronjobs" | "cj" => "CronJob",
        "pod" | "pods" | "po" => "Pod",
        _ => "",
    };
    if kind.is_empty() || name.is_empty() {
        return Err(Unclear::malformed(format!("{text:?} names no workload")).plain(
            "write KIND/NAME or NAMESPACE/KIND/NAME, for example deployment/web or shop/sts/db",
        ));
    }
    let namespace = namespace.ok_or_else(|| {
        Unclear::malformed(format!("{text:?} needs a namespace"))
            .hint(Hint::Namespace(Some("NAMESPACE/KIND/NAME")))
    })?;
    Ok(Workload::new(namespace, kind, name))
}

#[cfg(test)]
mod tests;
