//! How a person wants a peer to be allowed, and the peers of rules that follow from it.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use netenf_api::PeerRef;

use super::body;
use super::peer::blocks;
use super::refusal::Reason;
use super::wanted::Wanted;
use crate::render::{NAMESPACE_NAME, pods_of};

/// How a peer is to be allowed.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Every known address of the peer, one by one.
    Addresses,
    /// Networks that the addresses of the peer are in.
    Networks(Vec<IpNet>),
    /// Every address of both families, save those that belong to the cluster or are private.
    Any {
        /// What stays denied.
        except: Vec<IpNet>,
    },
    /// The pods of the peer, or its mesh identity for the istio backend.
    Peer {
        /// Labels of the pods, where the entry itself has none.
        selector: Option<LabelSelector>,
    },
    /// The range that a suggestion names, in place of the listed ports.
    Range,
}

/// One peer of a rule to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    /// The peer as the spec names it.
    pub(super) peer: NetworkPolicyPeer,
    /// The addresses that it stands for; `None` for pods.
    pub(super) block: Option<IpNet>,
    /// The peer as evidence names it.
    pub(super) shown: PeerRef,
}

/// The peers that `choice` makes of `wanted`.
pub(super) fn targets(choice: &Choice, wanted: &Wanted) -> Result<Vec<Target>, Reason> {
    match choice {
        Choice::Addresses => addresses(wanted),
        Choice::Networks(networks) => in_networks(networks, wanted),
        Choice::Any { except } => any(except, wanted),
        Choice::Peer { selector } => {
            pods(wanted.selector.as_ref().or(selector.as_ref()), wanted).map(|target| vec![target])
        }
        Choice::Range => Err(Reason::NoSuggestion { id: wanted.id.clone() }),
    }
}

fn addresses(wanted: &Wanted) -> Result<Vec<Target>, Reason> {
    let blocks = seen(wanted);
    if blocks.is_empty() {
        return Err(Reason::NoAddress { id: wanted.id.clone() });
    }
    Ok(blocks.into_iter().map(|block| target(block, None, &wanted.peer)).collect())
}

/// The addresses that were seen. Of a network none was, whatever is known of what may be in it.
pub(super) fn seen(wanted: &Wanted) -> Vec<IpNet> {
    if wanted.peer.kind.as_deref() == Some("Network") { Vec::new() } else { blocks(&wanted.peer) }
}

fn in_networks(networks: &[IpNet], wanted: &Wanted) -> Result<Vec<Target>, Reason> {
    let mut networks: Vec<IpNet> = networks.iter().map(IpNet::trunc).collect();
    networks.sort_unstable();
    networks.dedup();
    let is_in = |block: &IpNet| networks.iter().any(|network| network.contains(block));
    let missing: Vec<IpNet> = seen(wanted).into_iter().filter(|block| !is_in(block)).collect();
    if !missing.is_empty() {
        return Err(Reason::OutsideBlocks { missing, blocks: networks });
    }
    Ok(networks.into_iter().map(|network| target(network, None, &wanted.peer)).collect())
}

fn any(except: &[IpNet], wanted: &Wanted) -> Result<Vec<Target>, Reason> {
    let excluded = IpNet::aggregate(&except.iter().map(IpNet::trunc).collect());
    let overlaps =
        |block: &IpNet| excluded.iter().any(|range| range.contains(block) || block.contains(range));
    let missing: Vec<IpNet> = seen(wanted).into_iter().filter(overlaps).collect();
    if !missing.is_empty() {
        return Err(Reason::LeftOut { missing });
    }
    let families = [IpNet::from(Ipv4Net::default()), IpNet::from(Ipv6Net::default())];
    let targets = families
        .into_iter()
        // A family that is excluded as a whole has nothing to allow.
        .filter(|family| !excluded.contains(family))
        .map(|family| {
            let own: Vec<String> = excluded
                .iter()
                .filter(|range| family.contains(*range))
                .map(ToString::to_string)
                .collect();
            target(family, Some(own), &wanted.peer)
        });
    Ok(targets.collect())
}

fn pods(selector: Option<&LabelSelector>, wanted: &Wanted) -> Result<Target, Reason> {
    let selector = selector.filter(|selector| !body::is_empty(selector));
    let (Some(selector), Some(namespace)) = (selector, &wanted.peer.namespace) else {
        return Err(Reason::NoSelector { id: wanted.id.clone() });
    };
    let peer = pods_of(namespace, selector.clone());
    Ok(Target { peer, block: None, shown: wanted.peer.clone() })
}

fn target(block: IpNet, except: Option<Vec<String>>, wanted: &PeerRef) -> Target {
    let single = block.prefix_len() == block.max_prefix_len();
    let address = if single { block.addr().to_string() } else { block.to_string() };
    let shown = PeerRef {
        address: Some(address),
        // What is true of one peer is not true of a network.
        ..if single {
            PeerRef { addresses: Vec::new(), ..wanted.clone() }
        } else {
            PeerRef { kind: Some("External".to_owned()), ..PeerRef::default() }
        }
    };
    let except = except.filter(|ranges| !ranges.is_empty());
    let peer = NetworkPolicyPeer {
        ip_block: Some(IPBlock { cidr: block.to_string(), except }),
        namespace_selector: None,
        pod_selector: None,
    };
    Target { peer, block: Some(block), shown }
}

// === impl Target ===

impl Target {
    /// A mesh identity, which stands in no `NetworkPolicy`.
    pub(super) fn identity(peer: &PeerRef) -> Self {
        Self { peer: NetworkPolicyPeer::default(), block: None, shown: peer.clone() }
    }

    /// Whether the rule allows every address of `block`.
    pub(super) fn allows(&self, block: &IpNet) -> bool {
        let except = self.peer.ip_block.as_ref().and_then(|own| own.except.as_ref());
        let excluded = except.into_iter().flatten().filter_map(|range| range.parse::<IpNet>().ok());
        self.block.is_some_and(|own| own.contains(block))
            && !excluded.into_iter().any(|range| range.contains(block) || block.contains(&range))
    }
}

/// The namespace that a selector of namespaces names, where it names one.
pub(super) fn named_namespace(selector: &LabelSelector) -> Option<&str> {
    selector.match_labels.as_ref()?.get(NAMESPACE_NAME).map(String::as_str)
}
