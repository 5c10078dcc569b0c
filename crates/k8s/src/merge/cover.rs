//! Whether a policy body already allows what a rule would, however a person wrote it: by real
//! semantics, never by comparing text.

use std::net::IpAddr;

use netenf_api::{IstioPolicySpec, WorkloadNetworkPolicySpec};
use netenf_learn::Direction;
use netenf_learn::proposal::RulePeer;
use netenf_policy::{
    Connection, End, Labels, NetworkPolicy, Operator, Pod, Protocol, Selector, evaluate,
};

use crate::{lower, render};

/// Whether the body lets `rule`'s peer and the subject connect at `at` in the body's direction.
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
            network_policy_allows(&policy, direction, &end_of(rule), at)
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
        labels: some_labels(&policy.pods),
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
fn principal_matches(pattern: &str, account: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => true,
        (Some(suffix), _) => account.ends_with(suffix),
        (None, Some(prefix)) => account.starts_with(prefix),
        (None, None) => pattern == account,
    }
}

/// An end that the rule is meant for.
fn end_of(rule: &RulePeer) -> End {
    match rule {
        RulePeer::Pods { namespace, selector } => End::Pod(Pod {
            namespace: namespace.clone(),
            namespace_labels: name_label(namespace),
            labels: some_labels(selector),
            ..Pod::default()
        }),
        RulePeer::Block(cidr) => End::Address(cidr.addr()),
        RulePeer::Account(_) => End::Address(IpAddr::from([0, 0, 0, 0])),
    }
}

fn name_label(namespace: &str) -> Labels {
    [(render::NAMESPACE_NAME, namespace)].into_iter().collect()
}

/// Labels of a pod that the selector selects.
fn some_labels(selector: &Selector) -> Labels {
    let own = selector.labels.iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
    let required =
        selector.requirements.iter().filter_map(|requirement| match &requirement.operator {
            Operator::In(values) => {
                Some((requirement.key.to_string(), values.first()?.to_string()))
            }
            Operator::Exists => Some((requirement.key.to_string(), String::new())),
            Operator::NotIn(_) | Operator::DoesNotExist => None,
        });
    own.chain(required).collect()
}
