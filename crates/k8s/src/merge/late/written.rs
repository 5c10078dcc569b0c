//! Rules that stand in the spec of a proposal and not, or not yet, in its evidence: the agent ended between
//! the two writes, or a person wrote them.

use k8s_openapi::api::networking::v1::{NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{
    Direction, IstioPolicySpec, PeerRef, Protocol, Provenance, RuleEvidence,
    WorkloadNetworkPolicyProposalSpec,
};

use crate::lifecycle::rule;
use crate::render::NAMESPACE_NAME;

/// Every peer and port of the spec as an entry of evidence of which nothing is known. Peers that no entry
/// can name, such as pods of several namespaces, have none: only a person writes them.
pub(super) fn rules(
    spec: &WorkloadNetworkPolicyProposalSpec,
    direction: Direction,
) -> Vec<RuleEvidence> {
    let kubernetes = spec.kubernetes.iter().flat_map(|body| of_kubernetes(body, direction));
    kubernetes.chain(spec.istio.iter().flat_map(of_istio)).collect()
}

fn of_kubernetes(body: &NetworkPolicySpec, direction: Direction) -> Vec<RuleEvidence> {
    let rules = rule::take(&mut body.clone(), direction);
    let entries = rules.iter().flat_map(|rule| {
        let ports = || rule.ports.iter().filter_map(port);
        rule.peers.iter().flat_map(move |peer| ports().filter_map(|port| entry(peer, port)))
    });
    entries.collect()
}

fn entry(
    peer: &NetworkPolicyPeer,
    (protocol, port, end_port): (Protocol, u16, Option<u16>),
) -> Option<RuleEvidence> {
    let labels = peer.namespace_selector.as_ref().and_then(|one| one.match_labels.as_ref());
    let named = PeerRef {
        namespace: labels.and_then(|labels| labels.get(NAMESPACE_NAME)).cloned(),
        address: peer.ip_block.as_ref().map(|block| block.cidr.clone()),
        ..PeerRef::default()
    };
    (named != PeerRef::default()).then(|| RuleEvidence {
        selector: peer.pod_selector.clone(),
        end_port,
        ..RuleEvidence::new(named, Some(port), protocol, Provenance::Manual)
    })
}

fn port(port: &NetworkPolicyPort) -> Option<(Protocol, u16, Option<u16>)> {
    let Some(IntOrString::Int(number)) = port.port else { return None };
    let protocol = port.protocol.as_deref().unwrap_or("TCP").parse().ok()?;
    let end = port.end_port.and_then(|end| u16::try_from(end).ok());
    Some((protocol, u16::try_from(number).ok()?, end))
}

fn of_istio(body: &IstioPolicySpec) -> Vec<RuleEvidence> {
    let entries = body.rules.iter().flat_map(|rule| {
        let ports = rule.to.iter().flat_map(|to| &to.operation.ports);
        let ports: Vec<u16> = ports.filter_map(|port| port.parse().ok()).collect();
        let principals = rule.from.iter().flat_map(|from| &from.source.principals);
        principals.flat_map(move |principal| {
            let peer = PeerRef { identity: Some(principal.clone()), ..PeerRef::default() };
            let entry = move |port: &u16| {
                RuleEvidence::new(peer.clone(), Some(*port), Protocol::Tcp, Provenance::Manual)
            };
            ports.iter().map(entry).collect::<Vec<_>>()
        })
    });
    entries.collect()
}
