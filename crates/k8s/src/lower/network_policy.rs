//! NetworkPolicies of `networking.k8s.io/v1`.

use ipnet::IpNet;
use k8s_openapi::api::networking::v1::{
    IPBlock, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_policy::{NetworkPolicy, Peer, PortMatch, PortRange, Protocol, Rule, Selector, Side};

use super::cidr::cidr;
use super::field::{Problem, Told};
use super::selector;
use crate::object::Diagnostic;

/// What follows for a peer that the API refuses.
const PEER: &str = "the peer matches nothing";
/// What follows for a port that the API refuses.
const PORT: &str = "the port matches nothing";

/// Lowers the spec of the policy `namespace/name`.
pub fn network_policy(
    kind: &str,
    namespace: &str,
    name: &str,
    spec: &NetworkPolicySpec,
) -> (NetworkPolicy, Vec<Diagnostic>) {
    let mut lowering = Lowering { told: Told::about(format!("{kind} {namespace}/{name}")) };
    let pods = lowering.subject(spec.pod_selector.as_ref());
    let isolates = lowering.policy_types(spec);
    let is_read = pods.is_some();
    let ingress = spec.ingress.iter().flatten().enumerate().map(|(index, rule)| {
        let path = format!("spec.ingress[{index}]");
        lowering.rule(&path, Side::Ingress, rule.from.as_deref(), rule.ports.as_deref())
    });
    let ingress: Vec<Rule> = ingress.filter(|_| is_read).collect();
    let egress = spec.egress.iter().flatten().enumerate().map(|(index, rule)| {
        let path = format!("spec.egress[{index}]");
        lowering.rule(&path, Side::Egress, rule.to.as_deref(), rule.ports.as_deref())
    });
    let egress: Vec<Rule> = egress.filter(|_| is_read).collect();
    let policy = NetworkPolicy {
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
        pods: pods.unwrap_or_default(),
        ingress: isolates.ingress.then_some(ingress),
        egress: isolates.egress.then_some(egress),
    };
    (policy, lowering.told.into_diagnostics())
}

struct Lowering {
    told: Told,
}

/// The directions that a policy isolates.
struct Isolates {
    ingress: bool,
    egress: bool,
}

// === impl Lowering ===

impl Lowering {
    fn report(&mut self, path: &str, what: String, effect: &str) {
        self.told.report(&Problem { path: path.to_owned(), what }, effect);
    }

    /// The pods, all of them if the selector is absent ("defaults to an empty selector"); `None` if the API
    /// refuses it: then the policy isolates every pod of the namespace and allows nothing.
    fn subject(&mut self, selector: Option<&LabelSelector>) -> Option<Selector> {
        let Some(selector) = selector else { return Some(Selector::default()) };
        match selector::valid("spec.podSelector", selector) {
            Ok(pods) => Some(pods),
            Err(problem) => {
                let effect = "the policy is read as one for every pod that allows nothing";
                self.told.report(&problem, effect);
                None
            }
        }
    }

    /// "If no policyTypes are specified … then by default Ingress will always be set and Egress will be set if
    /// the NetworkPolicy has any egress rules."
    fn policy_types(&mut self, spec: &NetworkPolicySpec) -> Isolates {
        let types = spec.policy_types.as_deref().unwrap_or_default();
        let has_egress = spec.egress.as_ref().is_some_and(|rules| !rules.is_empty());
        let mut isolates =
            Isolates { ingress: types.is_empty(), egress: types.is_empty() && has_egress };
        for (index, one) in types.iter().enumerate() {
            match one.as_str() {
                "Ingress" => isolates.ingress = true,
                "Egress" => isolates.egress = true,
                other => {
                    let path = format!("spec.policyTypes[{index}]");
                    self.report(&path, format!("{other:?} is not known"), "it is read as both");
                    isolates = Isolates { ingress: true, egress: true };
                }
            }
        }
        isolates
    }

    /// A rule. "If this field is empty or missing, this rule matches all", peers as well as ports.
    fn rule(
        &mut self,
        path: &str,
        side: Side,
        peers: Option<&[NetworkPolicyPeer]>,
        ports: Option<&[NetworkPolicyPort]>,
    ) -> Rule {
        let field = match side {
            Side::Ingress => "from",
            Side::Egress => "to",
        };
        let peers = peers.filter(|peers| !peers.is_empty()).map(|peers| {
            let lower = |(index, peer)| self.peer(&format!("{path}.{field}[{index}]"), peer);
            peers.iter().enumerate().filter_map(lower).collect()
        });
        let ports = ports.filter(|ports| !ports.is_empty()).map(|ports| {
            let lower = |(index, port)| self.port(&format!("{path}.ports[{index}]"), port);
            ports.iter().enumerate().filter_map(lower).collect()
        });
        Rule { peers, ports }
    }

    fn peer(&mut self, path: &str, peer: &NetworkPolicyPeer) -> Option<Peer> {
        let NetworkPolicyPeer { ip_block, namespace_selector, pod_selector } = peer;
        match (ip_block, namespace_selector, pod_selector) {
            (Some(block), None, None) => self.block(&format!("{path}.ipBlock"), block),
            (Some(_), _, _) => {
                self.report(path, "has an ipBlock beside a selector".to_owned(), PEER);
                None
            }
            (None, None, None) => {
                self.report(path, "is empty".to_owned(), PEER);
                None
            }
            (None, namespaces, pods) => {
                let namespaces = self.selector(path, "namespaceSelector", namespaces.as_ref());
                let pods = self.selector(path, "podSelector", pods.as_ref());
                Some(Peer::Pods { namespaces: namespaces.ok()?, pods: pods.ok()? })
            }
        }
    }

    /// A selector of a peer, where it has one; an error that is told if the API refuses it.
    fn selector(
        &mut self,
        path: &str,
        field: &str,
        selector: Option<&LabelSelector>,
    ) -> Result<Option<Selector>, Problem> {
        let read = selector.map(|selector| selector::valid(&format!("{path}.{field}"), selector));
        let told = |problem: &Problem| self.told.report(problem, PEER);
        read.transpose().inspect_err(told)
    }

    fn block(&mut self, path: &str, block: &IPBlock) -> Option<Peer> {
        let range = self.range(&format!("{path}.cidr"), &block.cidr)?;
        let mut except = Vec::new();
        for (index, text) in block.except.iter().flatten().enumerate() {
            let path = format!("{path}.except[{index}]");
            let inner = self.range(&path, text)?;
            // "Except values will be rejected if they are outside the cidr range"; one may not be all of it.
            if !range.contains(&inner) || range == inner {
                self.report(&path, format!("{text:?} is no part of {range}"), PEER);
                return None;
            }
            except.push(inner);
        }
        Some(Peer::Block { cidr: range, except })
    }

    /// A range. Bits beyond the prefix are cut: API servers take such ranges, and mean this by them, unless their
    /// validation is strict (feature gate `StrictIPCIDRValidation`).
    fn range(&mut self, path: &str, text: &str) -> Option<IpNet> {
        let Some(range) = cidr(text) else {
            self.report(path, format!("{text:?} is no CIDR"), PEER);
            return None;
        };
        if range != range.trunc() {
            let what =
                format!("{text:?} has bits beyond its prefix, which strict API servers refuse");
            self.report(path, what, &format!("it is read as {}", range.trunc()));
        }
        Some(range.trunc())
    }

    fn port(&mut self, path: &str, port: &NetworkPolicyPort) -> Option<PortMatch> {
        let protocol = match port.protocol.as_deref().unwrap_or("TCP") {
            "TCP" => Protocol::Tcp,
            "UDP" => Protocol::Udp,
            "SCTP" => Protocol::Sctp,
            other => {
                let what = format!("{other:?} is not known");
                self.report(&format!("{path}.protocol"), what, PORT);
                return None;
            }
        };
        if let Some(IntOrString::String(name)) = &port.port
            && !is_port_name(name)
        {
            self.report(&format!("{path}.port"), format!("{name:?} is no name of a port"), PORT);
            return None;
        }
        let range = port_range(port);
        if range.is_none() {
            let what = "port and endPort make no range".to_owned();
            self.report(path, what, PORT);
        }
        range.map(|range| PortMatch { protocol, range })
    }
}

/// The ports that `port` and `endPort` give. "This field cannot be defined if the port field is not defined or
/// if the port field is defined as a named (string) port. The endPort must be equal or greater than port."
fn port_range(port: &NetworkPolicyPort) -> Option<PortRange> {
    let number = |value: i32| u16::try_from(value).ok().filter(|port| *port > 0);
    match (&port.port, port.end_port) {
        (None, None) => Some(PortRange::Any),
        (Some(IntOrString::String(name)), None) => Some(PortRange::Named(name.as_str().into())),
        (Some(IntOrString::Int(first)), last) => number(*first)
            .zip(number(last.unwrap_or(*first)))
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| PortRange::Numbers(first, last)),
        (None | Some(IntOrString::String(_)), Some(_)) => None,
    }
}

/// Whether the API takes it as the name of a port (RFC 6335, 5.1).
fn is_port_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=15).contains(&name.len())
        && name.bytes().all(is_known)
        && name.bytes().any(|byte| byte.is_ascii_lowercase())
        && !name.contains("--")
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests;
