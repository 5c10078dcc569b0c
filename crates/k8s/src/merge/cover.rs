//! Whether a policy body already allows what a rule would, however a person wrote it: by real
//! semantics, never by comparing text.

use std::collections::BTreeSet;

use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use netenf_api::IstioPolicySpec;
use netenf_api::istio::IstioRule;
use netenf_learn::Direction;
use netenf_learn::proposal::RulePeer;
use netenf_policy::{
    Connection, End, Labels, NetworkPolicy, Operator, Peer, Pod, PortRange, Protocol, Rule,
    Selector, evaluate,
};

use crate::{lower, render};

/// A policy body, ready to be asked what it allows in one direction.
pub(super) struct Cover {
    direction: Direction,
    body: Body,
}

enum Body {
    Kubernetes {
        policy: Box<NetworkPolicy>,
        /// The same with every named port as any port, where ports are named.
        named: Option<Box<NetworkPolicy>>,
    },
    Istio(IstioPolicySpec),
    Nothing,
}

// === impl Cover ===

impl Cover {
    pub(super) fn new(
        namespace: &str,
        direction: Direction,
        kubernetes: Option<&NetworkPolicySpec>,
        istio: Option<&IstioPolicySpec>,
    ) -> Self {
        let body = match (kubernetes, istio) {
            (Some(spec), _) => {
                let policy = lower::network_policy("", namespace, "", spec).0;
                let named = without_names(&policy).map(Box::new);
                Body::Kubernetes { policy: Box::new(policy), named }
            }
            (None, Some(spec)) => Body::Istio(spec.clone()),
            (None, None) => Body::Nothing,
        };
        Self { direction, body }
    }

    /// Whether the body could hold such a rule at all: Istio knows identities, a `NetworkPolicy` all else.
    pub(super) fn expresses(&self, rule: &RulePeer) -> bool {
        match (rule, &self.body) {
            (RulePeer::Account(_), Body::Istio(_))
            | (RulePeer::Pods { .. } | RulePeer::Block(_), Body::Kubernetes { .. }) => true,
            (RulePeer::Account(_), Body::Kubernetes { .. } | Body::Nothing)
            | (RulePeer::Pods { .. } | RulePeer::Block(_), Body::Istio(_) | Body::Nothing) => false,
        }
    }

    /// Whether the body lets everyone whom `rule` means and the subject connect.
    pub(super) fn allows(&self, rule: &RulePeer, at: (Protocol, u16)) -> bool {
        match (rule, &self.body) {
            (RulePeer::Account(account), Body::Istio(spec)) => istio_allows(spec, account, at.1),
            (RulePeer::Pods { .. } | RulePeer::Block(_), Body::Kubernetes { policy, .. }) => {
                self.lets(policy, rule, at)
            }
            _ => false,
        }
    }

    /// The same of all ports from `first` to `last`, or that it may: what a named port stands for cannot be
    /// told without the pods that name it, and a person who wrote the name did not take the rule out.
    pub(super) fn may_allow(&self, rule: &RulePeer, protocol: Protocol, ports: (u16, u16)) -> bool {
        self.steps(protocol, ports).into_iter().all(|port| {
            let at = (protocol, port);
            let by_name = match &self.body {
                Body::Kubernetes { named: Some(named), .. } => self.lets(named, rule, at),
                Body::Kubernetes { named: None, .. } | Body::Istio(_) | Body::Nothing => false,
            };
            by_name || self.allows(rule, at)
        })
    }

    /// Whether the body lets `end` and the subject connect.
    pub(super) fn allows_end(&self, end: &End, at: (Protocol, u16)) -> bool {
        match &self.body {
            Body::Kubernetes { policy, .. } => {
                network_policy_allows(policy, self.direction, end, at)
            }
            Body::Istio(_) | Body::Nothing => false,
        }
    }

    fn lets(&self, policy: &NetworkPolicy, rule: &RulePeer, at: (Protocol, u16)) -> bool {
        let is_named = self.rules(policy).any(|one| names_block(one, rule, at));
        is_named
            || ends_of(rule)
                .iter()
                .all(|end| network_policy_allows(policy, self.direction, end, at))
    }

    fn rules<'a>(&self, policy: &'a NetworkPolicy) -> impl Iterator<Item = &'a Rule> {
        let rules = match self.direction {
            Direction::Egress => &policy.egress,
            Direction::Ingress => &policy.ingress,
        };
        rules.iter().flatten()
    }

    /// Ports that speak for all from `first` to `last`: what is allowed can only end behind a last port of
    /// the body.
    fn steps(&self, protocol: Protocol, (first, last): (u16, u16)) -> BTreeSet<u16> {
        let ends: Vec<u16> = match &self.body {
            _ if first == last => Vec::new(),
            Body::Kubernetes { policy, .. } => {
                let ports = self.rules(policy).flat_map(|rule| rule.ports.iter().flatten());
                let own = ports.filter(|port| port.protocol == protocol);
                own.filter_map(|port| match port.range {
                    PortRange::Numbers(_, end) => Some(end),
                    PortRange::Any | PortRange::Named(_) => None,
                })
                .collect()
            }
            Body::Istio(spec) => {
                let to = spec.rules.iter().flat_map(|rule| &rule.to);
                to.flat_map(|to| &to.operation.ports).filter_map(|port| port.parse().ok()).collect()
            }
            Body::Nothing => Vec::new(),
        };
        let behind = ends.into_iter().filter_map(|end| end.checked_add(1));
        behind.filter(|port| (first..=last).contains(port)).chain([first]).collect()
    }
}

/// Whether the policy lets `peer` and its own pods connect at `at`.
pub fn network_policy_allows(
    policy: &NetworkPolicy,
    direction: Direction,
    peer: &End,
    (protocol, port): (Protocol, u16),
) -> bool {
    let subject = End::Pod(Pod {
        namespace: policy.namespace.clone(),
        namespace_labels: name_label(&policy.namespace),
        labels: samples(&policy.pods).into_iter().next().unwrap_or_default(),
        ..Pod::default()
    });
    let policies = std::slice::from_ref(policy);
    let peer = peer.clone();
    match direction {
        Direction::Egress => {
            let connection = Connection { source: subject, destination: peer, protocol, port };
            evaluate(policies, &connection).egress.allowed
        }
        Direction::Ingress => {
            let connection = Connection { source: peer, destination: subject, protocol, port };
            evaluate(policies, &connection).ingress.allowed
        }
    }
}

/// A network that a rule names is what the rule is for, even where it leaves parts of the network out.
fn names_block(rule: &Rule, meant: &RulePeer, at: (Protocol, u16)) -> bool {
    let RulePeer::Block(block) = meant else { return false };
    let is_block = |peer: &Peer| matches!(peer, Peer::Block { cidr, .. } if cidr == block);
    let is_port = |port: &netenf_policy::PortMatch| {
        port.protocol == at.0
            && match port.range {
                PortRange::Any => true,
                PortRange::Numbers(first, last) => (first..=last).contains(&at.1),
                PortRange::Named(_) => false,
            }
    };
    rule.peers.iter().flatten().any(is_block)
        && rule.ports.as_ref().is_none_or(|ports| ports.iter().any(is_port))
}

/// The policy with every named port as any port of its protocol; `None` where no port is named.
fn without_names(policy: &NetworkPolicy) -> Option<NetworkPolicy> {
    let mut policy = policy.clone();
    let mut is_named = false;
    let rules = policy.ingress.iter_mut().chain(policy.egress.iter_mut()).flatten();
    for port in rules.flat_map(|rule| rule.ports.iter_mut().flatten()) {
        if matches!(port.range, PortRange::Named(_)) {
            port.range = PortRange::Any;
            is_named = true;
        }
    }
    is_named.then_some(policy)
}

/// Whether some rule admits the identity on the port. No `from` admits everyone, no `to` every port.
pub fn istio_allows(spec: &IstioPolicySpec, account: &str, port: u16) -> bool {
    spec.rules.iter().any(|rule| admits(rule, account) && opens(rule, port))
}

fn admits(rule: &IstioRule, account: &str) -> bool {
    let mut principals = rule.from.iter().flat_map(|from| &from.source.principals);
    rule.from.is_empty() || principals.any(|principal| principal_matches(principal, account))
}

fn opens(rule: &IstioRule, port: u16) -> bool {
    let has =
        |ports: &Vec<String>| ports.is_empty() || ports.iter().any(|one| one.parse() == Ok(port));
    rule.to.is_empty() || rule.to.iter().any(|to| has(&to.operation.ports))
}

/// Istio's match of principals: exact, a prefix `x*`, a suffix `*x`, or anything `*`.
pub(crate) fn principal_matches(pattern: &str, account: &str) -> bool {
    // Who has no identity, over plain text, is matched by no principal, not even by `*`.
    if account.is_empty() {
        return false;
    }
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(suffix), _) => account.ends_with(suffix),
        (None, Some(prefix)) => account.starts_with(prefix),
        (None, None) => pattern == account,
    }
}

/// Ends that the rule is meant for: pods of every kind that its selector tells apart, and the first and the
/// last address of a block.
pub(super) fn ends_of(rule: &RulePeer) -> Vec<End> {
    match rule {
        RulePeer::Pods { namespace, selector } => {
            let pod = |labels| {
                End::Pod(Pod {
                    namespace: namespace.clone(),
                    namespace_labels: name_label(namespace),
                    labels,
                    ..Pod::default()
                })
            };
            samples(selector).into_iter().map(pod).collect()
        }
        RulePeer::Block(cidr) => {
            vec![End::Address(cidr.network()), End::Address(cidr.broadcast())]
        }
        RulePeer::Account(_) => Vec::new(),
    }
}

/// Whether `wide` selects all pods that `narrow` does.
pub(crate) fn selects_all(wide: &Selector, narrow: &Selector) -> bool {
    samples(narrow).iter().all(|labels| wide.matches(labels))
}

fn name_label(namespace: &str) -> Labels {
    [(render::NAMESPACE_NAME, namespace)].into_iter().collect()
}

/// How many kinds of pods of one selector are looked at.
const SAMPLES: usize = 64;

/// Labels of pods that the selector selects: one set for each combination of values that it lists. A
/// selector that contradicts itself selects none, and one set of its labels stands for that.
fn samples(selector: &Selector) -> Vec<Labels> {
    let mut found = vec![Vec::new()];
    for key in keys(selector) {
        let values = values(selector, key);
        let with = |labels: &Vec<(String, String)>| {
            let labels = labels.clone();
            let values = values.clone().into_iter();
            values.map(move |value| {
                let own = value.map(|value| (key.to_owned(), value));
                labels.iter().cloned().chain(own).collect()
            })
        };
        found = found.iter().flat_map(with).take(SAMPLES).collect();
    }
    let found: Vec<Labels> = found.into_iter().map(|labels| labels.into_iter().collect()).collect();
    if found.is_empty() { vec![selector.labels.clone()] } else { found }
}

fn keys(selector: &Selector) -> BTreeSet<&str> {
    let labels = selector.labels.iter().map(|(key, _)| key);
    labels.chain(selector.requirements.iter().map(|one| &*one.key)).collect()
}

/// The values of `key`, or its absence, that the selector admits.
fn values(selector: &Selector, key: &str) -> Vec<Option<String>> {
    let own: Vec<_> = selector.requirements.iter().filter(|one| &*one.key == key).collect();
    let listed = own.iter().find_map(|one| match &one.operator {
        Operator::In(values) => Some(values.iter().map(|value| Some(value.to_string())).collect()),
        Operator::NotIn(_) | Operator::Exists | Operator::DoesNotExist => None,
    });
    let label = selector.labels.value(key).map(|value| vec![Some(value.to_owned())]);
    let candidates: Vec<Option<String>> =
        label.or(listed).unwrap_or_else(|| vec![None, Some(String::new())]);
    let admitted = |value: &Option<String>| {
        let labels: Labels = value.iter().map(|value| (key.to_owned(), value.clone())).collect();
        own.iter().all(|one| one.holds(&labels))
    };
    candidates.into_iter().filter(admitted).collect()
}
