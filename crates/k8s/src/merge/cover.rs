//! Whether a policy body already allows what a rule would, however a person wrote it: by real
//! semantics, never by comparing text.

use std::collections::BTreeSet;

use netenf_api::{IstioPolicySpec, WorkloadNetworkPolicySpec};
use netenf_learn::Direction;
use netenf_learn::proposal::RulePeer;
use netenf_policy::{
    Connection, End, Labels, NetworkPolicy, Operator, Pod, Protocol, Selector, evaluate,
};

use crate::{lower, render};

/// Whether the body lets everyone whom `rule` means and the subject connect at `at` in the body's direction.
pub fn allows(
    namespace: &str,
    spec: &WorkloadNetworkPolicySpec,
    direction: Direction,
    rule: &RulePeer,
    at: (Protocol, u16),
) -> bool {
    match (rule, &spec.kubernetes, &spec.istio) {
        (RulePeer::Account(account), _, Some(istio)) => istio_allows(istio, account, at.1),
        (RulePeer::Pods { .. } | RulePeer::Block(_), Some(body), _) => {
            let (policy, _) = lower::network_policy("", namespace, "", body);
            ends_of(rule).iter().all(|end| network_policy_allows(&policy, direction, end, at))
        }
        _ => false,
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

/// Whether some rule admits the identity on the port. No `from` admits everyone, no `to` every port.
pub fn istio_allows(spec: &IstioPolicySpec, account: &str, port: u16) -> bool {
    spec.rules.iter().any(|rule| {
        let from = rule.from.is_empty()
            || rule
                .from
                .iter()
                .flat_map(|from| &from.source.principals)
                .any(|principal| principal_matches(principal, account));
        let to = rule.to.is_empty()
            || rule.to.iter().any(|to| {
                to.operation.ports.is_empty()
                    || to.operation.ports.iter().any(|one| one.parse() == Ok(port))
            });
        from && to
    })
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
