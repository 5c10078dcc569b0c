//! Rules of either direction in one shape, and how one more is added.

use k8s_openapi::api::networking::v1::{
    NetworkPolicyEgressRule, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort,
    NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Direction, IstioPolicySpec, Protocol, istio};

use super::order::{peer_order, port_order};
use crate::render::PORTS_IN_RULE;

/// A rule of a `NetworkPolicy`, whichever its direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// Whom it allows; empty for everyone.
    pub(crate) peers: Vec<NetworkPolicyPeer>,
    /// Which ports it allows; empty for every port.
    pub(crate) ports: Vec<NetworkPolicyPort>,
}

/// Whether anything had to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addition {
    Added,
    Present,
}

/// Takes the rules out of `policy`.
pub(crate) fn take(policy: &mut NetworkPolicySpec, direction: Direction) -> Vec<Rule> {
    match direction {
        Direction::Ingress => policy
            .ingress
            .take()
            .unwrap_or_default()
            .into_iter()
            .map(|rule| Rule {
                peers: rule.from.unwrap_or_default(),
                ports: rule.ports.unwrap_or_default(),
            })
            .collect(),
        Direction::Egress => policy
            .egress
            .take()
            .unwrap_or_default()
            .into_iter()
            .map(|rule| Rule {
                peers: rule.to.unwrap_or_default(),
                ports: rule.ports.unwrap_or_default(),
            })
            .collect(),
    }
}

/// Puts the rules back.
pub(crate) fn put(policy: &mut NetworkPolicySpec, direction: Direction, rules: Vec<Rule>) {
    let some = |ports: Vec<NetworkPolicyPort>| (!ports.is_empty()).then_some(ports);
    let peers = |peers: Vec<NetworkPolicyPeer>| (!peers.is_empty()).then_some(peers);
    if rules.is_empty() {
        return;
    }
    match direction {
        Direction::Ingress => {
            let rules = rules.into_iter().map(|rule| NetworkPolicyIngressRule {
                from: peers(rule.peers),
                ports: some(rule.ports),
            });
            policy.ingress = Some(rules.collect());
        }
        Direction::Egress => {
            let rules = rules.into_iter().map(|rule| NetworkPolicyEgressRule {
                to: peers(rule.peers),
                ports: some(rule.ports),
            });
            policy.egress = Some(rules.collect());
        }
    }
}

/// Takes those of the rules at `positions` away that have no ports left: they would allow every one.
pub(super) fn drop_emptied(rules: &mut Vec<Rule>, positions: &[usize]) {
    let mut position = 0;
    rules.retain(|rule| {
        let is_emptied = rule.ports.is_empty() && positions.contains(&position);
        position += 1;
        !is_emptied
    });
}

/// Allows `port` of `peer`, in its place; what stands in the rules already is not moved.
///
/// A peer may have several rules, since one holds [`PORTS_IN_RULE`] ports at most.
pub(crate) fn add(
    rules: &mut Vec<Rule>,
    peer: NetworkPolicyPeer,
    port: NetworkPolicyPort,
) -> Addition {
    let is_own = |rule: &Rule| rule.peers.as_slice() == std::slice::from_ref(&peer);
    if rules.iter().any(|rule| is_own(rule) && allows(&rule.ports, &port)) {
        return Addition::Present;
    }
    let has_room = |rule: &&mut Rule| is_own(rule) && rule.ports.len() < PORTS_IN_RULE;
    if let Some(rule) = rules.iter_mut().find(has_room) {
        let place = rule.ports.iter().position(|known| is_after(known, &port));
        rule.ports.insert(place.unwrap_or(rule.ports.len()), port);
        return Addition::Added;
    }
    let later =
        |rule: &Rule| rule.peers.first().is_some_and(|first| peer_order(first) > peer_order(&peer));
    let behind_own = rules.iter().rposition(is_own).map(|last| last + 1);
    let place = behind_own.or_else(|| rules.iter().position(later)).unwrap_or(rules.len());
    rules.insert(place, Rule { peers: vec![peer], ports: vec![port] });
    Addition::Added
}

/// Allows `port` from `principal`, in its place.
pub(crate) fn add_principal(policy: &mut IstioPolicySpec, principal: &str, port: u16) -> Addition {
    let text = port.to_string();
    let mut present = policy.rules.iter().filter(|rule| is_of(rule, principal));
    if present.any(|rule| allows_port(rule, &text)) {
        return Addition::Present;
    }
    let own = |rule: &&mut istio::IstioRule| is_of(rule, principal);
    if let Some(to) = policy.rules.iter_mut().find(own).and_then(|rule| rule.to.first_mut()) {
        let after = |known: &String| known.parse().is_ok_and(|known: u16| known > port);
        let place = to.operation.ports.iter().position(after);
        to.operation.ports.insert(place.unwrap_or(to.operation.ports.len()), text);
        return Addition::Added;
    }
    let later = |rule: &istio::IstioRule| {
        rule.from
            .first()
            .and_then(|from| from.source.principals.first())
            .is_some_and(|first| first.as_str() > principal)
    };
    let place = policy.rules.iter().position(later).unwrap_or(policy.rules.len());
    let source = istio::IstioSource { principals: vec![principal.to_owned()] };
    let operation = istio::IstioOperation { ports: vec![text] };
    let rule = istio::IstioRule {
        from: vec![istio::IstioFrom { source }],
        to: vec![istio::IstioTo { operation }],
    };
    policy.rules.insert(place, rule);
    Addition::Added
}

/// Whether the rule admits its sources on the port; no `to` and no port mean every one.
fn allows_port(rule: &istio::IstioRule, port: &String) -> bool {
    let ports =
        |to: &istio::IstioTo| to.operation.ports.is_empty() || to.operation.ports.contains(port);
    rule.to.is_empty() || rule.to.iter().any(ports)
}

/// Whether the rule is about this identity alone, and about one list of ports at most.
pub(super) fn is_of(rule: &istio::IstioRule, principal: &str) -> bool {
    let [from] = rule.from.as_slice() else { return false };
    matches!(from.source.principals.as_slice(), [only] if only == principal) && rule.to.len() <= 1
}

/// A port of a rule.
pub(crate) fn port(protocol: Protocol, port: Option<u16>, end: Option<u16>) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_string()),
        port: port.map(|port| IntOrString::Int(port.into())),
        end_port: end.map(Into::into),
    }
}

/// The numbers that a port of a rule stands for; `None` where it names the port.
fn span(port: &NetworkPolicyPort) -> Option<(i32, i32)> {
    match &port.port {
        None => Some((0, i32::MAX)),
        Some(IntOrString::Int(first)) => Some((*first, port.end_port.unwrap_or(*first))),
        Some(IntOrString::String(_)) => None,
    }
}

/// Whether both are for one protocol; a port without one is for TCP.
fn same_protocol(one: &NetworkPolicyPort, other: &NetworkPolicyPort) -> bool {
    let protocol = |port: &NetworkPolicyPort| port.protocol.clone().unwrap_or_else(|| "TCP".into());
    protocol(one) == protocol(other)
}

/// Whether `wide` allows all that `port` does.
pub(super) fn contains(wide: &NetworkPolicyPort, port: &NetworkPolicyPort) -> bool {
    same_protocol(wide, port)
        && match (span(wide), span(port)) {
            (Some((first, last)), Some((low, high))) => first <= low && high <= last,
            _ => wide.port == port.port || wide.port.is_none(),
        }
}

/// Whether both allow the same.
pub(super) fn is_equal(one: &NetworkPolicyPort, other: &NetworkPolicyPort) -> bool {
    contains(one, other) && contains(other, one)
}

/// Whether `port` stands after `other`.
pub(super) fn is_after(port: &NetworkPolicyPort, other: &NetworkPolicyPort) -> bool {
    port_order(port) > port_order(other)
}

/// Whether `ports` allow `wanted`; no port at all allows every one.
fn allows(ports: &[NetworkPolicyPort], wanted: &NetworkPolicyPort) -> bool {
    ports.is_empty() || ports.iter().any(|port| contains(port, wanted))
}

#[cfg(test)]
mod tests;
