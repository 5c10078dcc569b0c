//! Rules of policies in words.

use netenf_policy::{
    ClusterPeer, ClusterPort, Operator, Peer, PodSet, PortMatch, PortRange, Selector,
};

use super::transports::protocol_name;

/// The label by which one namespace is selected.
const NAME: &str = "kubernetes.io/metadata.name";

/// Peers of a rule of a NetworkPolicy in `namespace`; none at all is everyone.
pub(crate) fn peers(namespace: &str, peers: Option<&[Peer]>) -> Vec<String> {
    peers.map_or_else(
        || vec!["everyone".to_owned()],
        |peers| peers.iter().map(|one| peer(namespace, one)).collect(),
    )
}

/// Ports of a rule of a NetworkPolicy; none at all is every port.
pub(crate) fn ports(ports: Option<&[PortMatch]>) -> Vec<String> {
    ports.map_or_else(|| vec![ANY_PORT.to_owned()], |ports| ports.iter().map(port).collect())
}

/// A peer of a rule of a cluster-wide policy.
pub(crate) fn cluster_peer(peer: &ClusterPeer) -> String {
    match peer {
        ClusterPeer::Pods(set) => pod_set(set),
        ClusterPeer::Nodes(selector) if selector.is_empty() => "all nodes".to_owned(),
        ClusterPeer::Nodes(selector) => format!("nodes {}", self::selector(selector)),
        ClusterPeer::Networks(networks) => listed(networks),
        ClusterPeer::Domains(patterns) => listed(patterns),
        ClusterPeer::Unknown => NOT_UNDERSTOOD.to_owned(),
    }
}

/// Ports of a rule of a cluster-wide policy; none at all is every port.
pub(crate) fn cluster_ports(ports: Option<&[ClusterPort]>) -> Vec<String> {
    let one = |port: &ClusterPort| match port {
        ClusterPort::Of(port) => self::port(port),
        ClusterPort::Named(name) => format!("port {name}"),
        ClusterPort::Unknown => NOT_UNDERSTOOD.to_owned(),
    };
    ports.map_or_else(|| vec![ANY_PORT.to_owned()], |ports| ports.iter().map(one).collect())
}

const ANY_PORT: &str = "every port";
const NOT_UNDERSTOOD: &str = "something that is not understood";

fn peer(namespace: &str, peer: &Peer) -> String {
    match peer {
        Peer::Pods { namespaces, pods } => {
            let place = namespaces.as_ref().map_or_else(|| namespace.to_owned(), place);
            format!("{} in {place}", self::pods(pods.as_ref().unwrap_or(&Selector::default())))
        }
        Peer::Block { cidr, except } if except.is_empty() => cidr.to_string(),
        Peer::Block { cidr, except } => format!("{cidr} except {}", listed(except)),
    }
}

fn pod_set(set: &PodSet) -> String {
    format!("{} in {}", pods(&set.pods), place(&set.namespaces))
}

fn pods(selector: &Selector) -> String {
    if selector.is_empty() {
        "all pods".to_owned()
    } else {
        format!("pods {}", self::selector(selector))
    }
}

fn place(selector: &Selector) -> String {
    if selector.is_empty() {
        return "all namespaces".to_owned();
    }
    let mut labels = selector.labels.iter();
    match (labels.next(), labels.next(), selector.requirements.is_empty()) {
        (Some((NAME, name)), None, true) => name.to_owned(),
        _ => format!("namespaces {}", self::selector(selector)),
    }
}

/// As `kubectl -l` takes it.
fn selector(selector: &Selector) -> String {
    let labels = selector.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let requirements = selector.requirements.iter().map(|one| match &one.operator {
        Operator::In(values) => format!("{} in ({})", one.key, values.join(",")),
        Operator::NotIn(values) => format!("{} notin ({})", one.key, values.join(",")),
        Operator::Exists => one.key.to_string(),
        Operator::DoesNotExist => format!("!{}", one.key),
    });
    labels.chain(requirements).collect::<Vec<_>>().join(",")
}

fn port(port: &PortMatch) -> String {
    let protocol = protocol_name(port.protocol);
    match &port.range {
        PortRange::Any => format!("every port/{protocol}"),
        PortRange::Numbers(first, last) if first == last => format!("{first}/{protocol}"),
        PortRange::Numbers(first, last) => format!("{first}-{last}/{protocol}"),
        PortRange::Named(name) => format!("{name}/{protocol}"),
    }
}

fn listed(all: &[impl ToString]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
