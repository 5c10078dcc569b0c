//! Native policies to the model that is evaluated.
//!
//! What cannot be understood is told and closes: an invalid peer or port matches nothing, so that the
//! evaluation never allows what the cluster would deny.

use std::sync::Arc;

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_policy::{
    NetworkPolicy, Operator, Peer, PortMatch, PortRange, Protocol, Requirement, Rule, Selector,
};

use crate::object::{self, Diagnostic};

/// Lowers the spec of the policy `namespace/name`.
pub fn network_policy(
    kind: &str,
    namespace: &str,
    name: &str,
    spec: &NetworkPolicySpec,
) -> (NetworkPolicy, Vec<Diagnostic>) {
    let mut lowering =
        Lowering { place: format!("{kind} {namespace}/{name}"), diagnostics: Vec::new() };
    let pods = spec
        .pod_selector
        .as_ref()
        .map_or_else(Selector::default, |selector| lowering.selector("spec.podSelector", selector));
    let types = lowering.policy_types(spec);
    let ingress = spec.ingress.iter().flatten().enumerate().map(|(index, rule)| {
        lowering.rule(
            &format!("spec.ingress[{index}]"),
            rule.from.as_deref(),
            rule.ports.as_deref(),
        )
    });
    let ingress: Vec<Rule> = ingress.collect();
    let egress = spec.egress.iter().flatten().enumerate().map(|(index, rule)| {
        lowering.rule(&format!("spec.egress[{index}]"), rule.to.as_deref(), rule.ports.as_deref())
    });
    let egress: Vec<Rule> = egress.collect();
    let policy = NetworkPolicy {
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
        pods,
        ingress: types.0.then_some(ingress),
        egress: types.1.then_some(egress),
    };
    (policy, lowering.diagnostics)
}

/// Lowers a label selector; an operator that is not known never matches.
pub fn selector(selector: &LabelSelector) -> (Selector, Vec<Diagnostic>) {
    let mut lowering = Lowering { place: "selector".to_owned(), diagnostics: Vec::new() };
    let lowered = lowering.selector("selector", selector);
    (lowered, lowering.diagnostics)
}

struct Lowering {
    place: String,
    diagnostics: Vec<Diagnostic>,
}

// === impl Lowering ===

impl Lowering {
    fn report(&mut self, path: &str, message: &str) {
        let place = format!("{}: {path}", self.place);
        self.diagnostics.push(Diagnostic { place, message: message.to_owned() });
    }

    /// Which directions a policy isolates. "If no policyTypes are specified … then by default Ingress will
    /// always be set and Egress will be set if the NetworkPolicy has any egress rules."
    fn policy_types(&mut self, spec: &NetworkPolicySpec) -> (bool, bool) {
        let types = spec.policy_types.as_deref().unwrap_or_default();
        if types.is_empty() {
            return (true, spec.egress.as_ref().is_some_and(|rules| !rules.is_empty()));
        }
        let mut isolates = (false, false);
        for one in types {
            match one.as_str() {
                "Ingress" => isolates.0 = true,
                "Egress" => isolates.1 = true,
                other => {
                    let message = format!("{other:?} is refused by the API: it is taken as both");
                    self.report("spec.policyTypes", &message);
                    isolates = (true, true);
                }
            }
        }
        isolates
    }

    /// A requirement that the API refuses is one that nothing meets.
    fn never(&mut self, path: &str, what: &str) -> Operator {
        self.report(path, &format!("{what} is refused by the API: the selector matches nothing"));
        Operator::In(Vec::new())
    }

    fn selector(&mut self, path: &str, selector: &LabelSelector) -> Selector {
        let labels = object::labels(selector.match_labels.as_ref());
        let mut requirements = Vec::new();
        for expression in selector.match_expressions.iter().flatten() {
            let values: Vec<Arc<str>> =
                expression.values.iter().flatten().map(|value| value.as_str().into()).collect();
            let operator = match (expression.operator.as_str(), values.is_empty()) {
                ("In", false) => Operator::In(values),
                ("NotIn", false) => Operator::NotIn(values),
                ("Exists", true) => Operator::Exists,
                ("DoesNotExist", true) => Operator::DoesNotExist,
                (known @ ("In" | "NotIn"), true) => {
                    self.never(path, &format!("operator {known} without values"))
                }
                (known @ ("Exists" | "DoesNotExist"), false) => {
                    self.never(path, &format!("operator {known} with values"))
                }
                (other, _) => self.never(path, &format!("operator {other:?}")),
            };
            requirements.push(Requirement { key: expression.key.as_str().into(), operator });
        }
        Selector { labels, requirements }
    }

    fn rule(
        &mut self,
        path: &str,
        peers: Option<&[NetworkPolicyPeer]>,
        ports: Option<&[NetworkPolicyPort]>,
    ) -> Rule {
        // An empty list means the same as none: everyone, every port.
        let peers = peers.filter(|peers| !peers.is_empty()).map(|peers| {
            let lower = |(index, peer)| self.peer(&format!("{path}.peers[{index}]"), peer);
            peers.iter().enumerate().filter_map(lower).collect()
        });
        let ports = ports.filter(|ports| !ports.is_empty()).map(|ports| {
            let lower = |(index, port)| self.port(&format!("{path}.ports[{index}]"), port);
            ports.iter().enumerate().filter_map(lower).collect()
        });
        Rule { peers, ports }
    }

    fn peer(&mut self, path: &str, peer: &NetworkPolicyPeer) -> Option<Peer> {
        let selects = peer.namespace_selector.is_some() || peer.pod_selector.is_some();
        if let Some(block) = &peer.ip_block {
            if selects {
                let message =
                    "an ipBlock beside a selector is refused by the API: it matches nothing";
                self.report(path, message);
                return None;
            }
            return self.block(path, block);
        }
        if !selects {
            self.report(path, "an empty peer is refused by the API: it matches nothing");
            return None;
        }
        let namespaces =
            peer.namespace_selector.as_ref().map(|selector| self.selector(path, selector));
        let pods = peer.pod_selector.as_ref().map(|selector| self.selector(path, selector));
        Some(Peer::Pods { namespaces, pods })
    }

    fn block(&mut self, path: &str, block: &IPBlock) -> Option<Peer> {
        let Ok(cidr) = block.cidr.parse::<IpNet>() else {
            self.report(path, &format!("{:?} is no CIDR: the peer matches nothing", block.cidr));
            return None;
        };
        let mut except = Vec::new();
        for range in block.except.iter().flatten() {
            let inside = range.parse::<IpNet>().ok().filter(|range| cidr.contains(range));
            let Some(inside) = inside else {
                let message =
                    format!("except {range:?} is no CIDR in {cidr}: the peer matches nothing");
                self.report(path, &message);
                return None;
            };
            except.push(inside);
        }
        Some(Peer::Block { cidr, except })
    }

    fn port(&mut self, path: &str, port: &NetworkPolicyPort) -> Option<PortMatch> {
        let protocol = match port.protocol.as_deref().unwrap_or("TCP") {
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            "SCTP" => Protocol::Sctp,
            other => {
                self.report(
                    path,
                    &format!("protocol {other:?} is refused by the API: it matches nothing"),
                );
                return None;
            }
        };
        let number = |value: i32| u16::try_from(value).ok().filter(|port| *port > 0);
        let range = match (&port.port, port.end_port) {
            (None, None) => Some(PortRange::Any),
            (Some(IntOrString::String(name)), None) => Some(PortRange::Named(name.as_str().into())),
            (Some(IntOrString::Int(first)), last) => number(*first)
                .zip(number(last.unwrap_or(*first)))
                .filter(|(first, last)| first <= last)
                .map(|(first, last)| PortRange::Numbers(first, last)),
            (None | Some(IntOrString::String(_)), Some(_)) => None,
        };
        if range.is_none() {
            self.report(path, "port and endPort make no range: the port matches nothing");
        }
        range.map(|range| PortMatch { protocol, range })
    }
}

#[cfg(test)]
mod tests;
