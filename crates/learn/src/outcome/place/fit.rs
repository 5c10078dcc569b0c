//! Whether and how a policy can name a peer.

use std::net::IpAddr;

use netenf_policy::Protocol;

use super::{At, Placer};
use crate::config::{Backend, ExternalPeers};
use crate::directory::{Directory, DnsTarget};
use crate::identity::{Party, WorkloadSelector};
use crate::observation::{Direction, Network};
use crate::outcome::{dns, peer};
use crate::proposal::{Provenance, Reason, RulePeer};
use crate::resolve::is_link_local;

/// What a peer can be put into.
pub(super) enum Fit {
    /// Rules.
    Rules(Vec<RulePeer>, Provenance),
    /// Rules that are only there if the subject has a proposal anyway (D4).
    Dns(Vec<RulePeer>),
    /// None, and why, with what a reviewer should know.
    Not(Reason, Option<&'static str>),
}

const METADATA_NOTE: &str = "cloud metadata: hands out credentials";

impl<D: Directory> Placer<'_, D> {
    /// Whether and how a policy can name the peer.
    pub(super) fn fit(&self, id: u32, direction: Direction, at: Option<At>) -> Fit {
        let party = &self.learner.parties[id as usize].party;
        if self.learner.config.backend == Backend::Istio {
            return match party {
                Party::Account(account) => {
                    Fit::Rules(vec![RulePeer::Account(account.clone())], Provenance::Observed)
                }
                _ => Fit::Not(
                    Reason::Unmanaged,
                    Some("no mesh identity: the caller is outside the mesh"),
                ),
            };
        }
        let observed = |rule| Fit::Rules(vec![rule], Provenance::Observed);
        match party {
            Party::Workload(_) | Party::Pods { .. } | Party::Pod { .. } => {
                self.fit_pods(id, direction, at)
            }
            Party::Account(account) => observed(RulePeer::Account(account.clone())),
            Party::Node { workload: Some(_), .. } => Fit::Not(Reason::HostNetwork, None),
            Party::Node { .. } | Party::Router { .. } | Party::IngressProxy => {
                Fit::Not(Reason::Node, None)
            }
            Party::NodePort { .. } => Fit::Not(Reason::NodePort, None),
            Party::ApiServer => self.fit_api_server(direction, at),
            Party::External(address) if is_link_local(*address) || is_metadata(*address) => {
                self.fit_link_local(id, *address, direction, at)
            }
            Party::External(address) => match self.learner.config.external {
                ExternalPeers::Addresses => observed(RulePeer::Block(peer::single(*address))),
                ExternalPeers::Uncovered => Fit::Not(Reason::External, None),
            },
            Party::Name(_) => Fit::Not(Reason::External, None),
            Party::Network(Network::Set { .. }) => {
                Fit::Not(Reason::NoAddress, Some("a Calico network set"))
            }
            Party::Network(Network::Public) => {
                Fit::Not(Reason::NoAddress, Some("some public address"))
            }
            Party::Network(_) => Fit::Not(
                Reason::NoAddress,
                Some(
                    "from or to a private network: a node, a host-network pod or a machine nearby; Calico does not tell",
                ),
            ),
            Party::Remote { .. } => Fit::Not(
                Reason::External,
                Some("in another cluster of the mesh: no NetworkPolicy here selects it"),
            ),
            Party::Unmanaged(_) => Fit::Not(Reason::Unmanaged, None),
            Party::Unknown => Fit::Not(Reason::NoAddress, None),
        }
    }

    /// The rule that would select the peer's pods.
    pub(super) fn rule_of(&self, id: u32) -> Option<RulePeer> {
        let namespace = self.learner.parties[id as usize].party.namespace()?.clone();
        let selector = self.cast.selector(id).ok()?.selector.clone();
        Some(RulePeer::Pods { namespace, selector })
    }

    fn fit_pods(&self, id: u32, direction: Direction, at: Option<At>) -> Fit {
        let selected = match self.cast.selector(id) {
            Ok(WorkloadSelector { selector, .. }) => selector,
            Err(reason) => return Fit::Not(reason, None),
        };
        let Some(namespace) = self.learner.parties[id as usize].party.namespace() else {
            return Fit::Not(Reason::NoSelector, None);
        };
        let asks_dns = self.dns.as_ref().filter(|target| {
            direction == Direction::Egress
                && at.is_some_and(|(protocol, port)| {
                    port == target.port && protocol != Protocol::Sctp
                })
                && dns::is_target(self.learner, &self.cast, target, id)
        });
        match asks_dns {
            Some(target) => Fit::Dns(vec![dns_rule(target)]),
            None => {
                let (namespace, selector) = (namespace.clone(), selected.clone());
                Fit::Rules(vec![RulePeer::Pods { namespace, selector }], Provenance::Observed)
            }
        }
    }

    /// Only the API server's own port is its: what else listens on its host is the node's.
    fn fit_api_server(&self, direction: Direction, at: Option<At>) -> Fit {
        match (&self.api_server, direction) {
            (Some(target), Direction::Egress)
                if at.is_some_and(|(_, port)| port != target.port) =>
            {
                Fit::Not(Reason::Node, None)
            }
            (Some(target), Direction::Egress) if !target.addresses.is_empty() => {
                let blocks =
                    target.addresses.iter().map(|address| RulePeer::Block(peer::single(*address)));
                Fit::Rules(blocks.collect(), Provenance::Infrastructure)
            }
            _ => Fit::Not(Reason::ApiServer, None),
        }
    }

    /// DNS on a link-local address is a rule where a rule by address matches it: on Cilium the node's own
    /// addresses are not matched (D4, case B46). Everything else there is left to a person.
    fn fit_link_local(
        &self,
        id: u32,
        address: IpAddr,
        direction: Direction,
        at: Option<At>,
    ) -> Fit {
        let sum = &self.learner.parties[id as usize];
        let asks_dns = direction == Direction::Egress
            && at.is_some_and(|(protocol, port)| port == 53 && protocol != Protocol::Sctp);
        if asks_dns && !sum.as_node {
            return Fit::Dns(vec![RulePeer::Block(peer::single(address))]);
        }
        Fit::Not(Reason::LinkLocal, (is_metadata(address) && !asks_dns).then_some(METADATA_NOTE))
    }
}

/// The rule to the cluster's DNS.
pub(super) fn dns_rule(target: &DnsTarget) -> RulePeer {
    RulePeer::Pods { namespace: target.namespace.clone(), selector: target.selector.clone() }
}

/// The address under which clouds serve instance metadata.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets() == [169, 254, 169, 254],
        IpAddr::V6(v6) => v6.segments() == [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254],
    }
}
