//! The one order of rules, peers and ports, as learning has it: pods by namespace and labels, then
//! addresses; ports by protocol, then by number.

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::Direction;

use super::choice::named_namespace;
use super::rule::{self, Rule};

/// Protocols in the order that learning has them.
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];

/// Brings the rules of `policy`, their peers and their ports into the one order.
pub fn sort_rules(policy: &mut NetworkPolicySpec) {
    for direction in [Direction::Ingress, Direction::Egress] {
        let mut rules = rule::take(policy, direction);
        for rule in &mut rules {
            rule.peers.sort_by(|one, other| peer_order(one).cmp(&peer_order(other)));
            rule.ports.sort_by(|one, other| port_order(one).cmp(&port_order(other)));
        }
        rules.sort_by(|one, other| rule_order(one).cmp(&rule_order(other)));
        rule::put(policy, direction, rules);
    }
}

/// Where a peer stands among others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PeerOrder<'a> {
    Pods { namespace: Option<&'a str>, namespaces: SelectorOrder<'a>, pods: SelectorOrder<'a> },
    Block(IpNet, Option<&'a [String]>),
    Unknown(&'a str),
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SelectorOrder<'a> {
    labels: Vec<(&'a str, &'a str)>,
    expressions: Vec<(&'a str, &'a str, &'a [String])>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PortOrder<'a> {
    rank: usize,
    protocol: &'a str,
    name: Option<&'a str>,
    number: Option<i32>,
    end: Option<i32>,
}

/// Where `peer` stands.
pub(super) fn peer_order(peer: &NetworkPolicyPeer) -> PeerOrder<'_> {
    match &peer.ip_block {
        Some(block) => block_order(block),
        None => PeerOrder::Pods {
            namespace: peer.namespace_selector.as_ref().and_then(named_namespace),
            namespaces: selector_order(peer.namespace_selector.as_ref()),
            pods: selector_order(peer.pod_selector.as_ref()),
        },
    }
}

/// Where `port` stands: by protocol, then numbers before names.
pub(super) fn port_order(port: &NetworkPolicyPort) -> PortOrder<'_> {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let (number, name) = match &port.port {
        Some(IntOrString::Int(number)) => (Some(*number), None),
        Some(IntOrString::String(name)) => (None, Some(name.as_str())),
        None => (None, None),
    };
    PortOrder {
        rank: PROTOCOLS.iter().position(|known| *known == protocol).unwrap_or(PROTOCOLS.len()),
        protocol,
        name,
        number,
        end: port.end_port,
    }
}

fn rule_order(rule: &Rule) -> (Vec<PeerOrder<'_>>, Vec<PortOrder<'_>>) {
    (rule.peers.iter().map(peer_order).collect(), rule.ports.iter().map(port_order).collect())
}

fn block_order(block: &IPBlock) -> PeerOrder<'_> {
    match block.cidr.parse() {
        Ok(net) => PeerOrder::Block(net, block.except.as_deref()),
        Err(_) => PeerOrder::Unknown(&block.cidr),
    }
}

fn selector_order(selector: Option<&LabelSelector>) -> SelectorOrder<'_> {
    let labels = selector.and_then(|selector| selector.match_labels.as_ref());
    let expressions = selector.and_then(|selector| selector.match_expressions.as_ref());
    SelectorOrder {
        labels: labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect(),
        expressions: expressions
            .into_iter()
            .flatten()
            .map(|expression| {
                let values = expression.values.as_deref().unwrap_or_default();
                (expression.key.as_str(), expression.operator.as_str(), values)
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
