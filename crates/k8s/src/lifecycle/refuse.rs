//! Takes a learned rule away, so that it is not learned again.

use std::fmt;

use netenf_api::{Backend, PeerRef, Protocol, RuleEvidence};

use super::locate;
use super::peer::{is_same, name};
use super::refusal::{Reason, Refusal};
use super::resource::Resource;
use super::rule;

/// Names one entry of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleKey {
    /// The other end of the connections.
    pub peer: PeerRef,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// First or only port; absent for every port.
    pub port: Option<u16>,
    /// Last port, where the rule names a range.
    pub end_port: Option<u16>,
}

/// Takes the rule away that the evidence `key` of `resource` stands for, and marks the evidence.
pub fn refuse(resource: &Resource, key: &RuleKey) -> Result<Resource, Refusal> {
    let mut object = resource.clone();
    take_away(&mut object, key)
        .map_err(|reason| Refusal::new("refuse a rule of", resource.key(), reason))?;
    object.recount();
    object.count_revision();
    Ok(object)
}

// === impl RuleKey ===

impl RuleKey {
    /// What names `evidence`.
    pub fn of(evidence: &RuleEvidence) -> Self {
        Self {
            peer: evidence.peer.clone(),
            protocol: evidence.protocol,
            port: evidence.port,
            end_port: evidence.end_port,
        }
    }

    /// Whether this names `evidence`.
    pub fn names(&self, evidence: &RuleEvidence) -> bool {
        is_same(&self.peer, &evidence.peer)
            && (self.protocol, self.port, self.end_port)
                == (evidence.protocol, evidence.port, evidence.end_port)
    }
}

impl fmt::Display for RuleKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ", name(&self.peer))?;
        match (self.port, self.end_port) {
            (Some(first), Some(last)) => write!(formatter, "{first}-{last}")?,
            (Some(port), None) => write!(formatter, "{port}")?,
            (None, _) => write!(formatter, "*")?,
        }
        write!(formatter, "/{}", self.protocol)
    }
}

fn take_away(object: &mut Resource, key: &RuleKey) -> Result<(), Reason> {
    let unknown = || Reason::UnknownRule { rule: key.to_string() };
    let evidence = object.evidence().iter().find(|rule| key.names(rule)).ok_or_else(unknown)?;
    if evidence.refused {
        return Err(Reason::AlreadyRefused { rule: key.to_string() });
    }
    match object.backend() {
        Backend::Kubernetes => narrow_policy(object, key)?,
        Backend::Istio => narrow_istio(object, key)?,
    }
    if let Some(evidence) = object.evidence_mut().iter_mut().find(|rule| key.names(rule)) {
        evidence.refused = true;
    }
    Ok(())
}

fn narrow_policy(object: &mut Resource, key: &RuleKey) -> Result<(), Reason> {
    let direction = object.direction().ok_or(Reason::NoDirection)?;
    let port = rule::port(key.protocol, key.port, key.end_port);
    let own = locate::rules(object, direction, &key.peer, std::slice::from_ref(&port));
    let positions = locate::only(&own, || key.to_string())?.clone();
    let Some(policy) = object.kubernetes_mut() else { return Ok(()) };
    let mut rules = rule::take(policy, direction);
    for position in &positions {
        rules[*position].ports.retain(|known| !rule::is_equal(known, &port));
    }
    let is_wider =
        |position: &usize| rules[*position].ports.iter().any(|known| rule::contains(known, &port));
    if positions.iter().any(is_wider) {
        return Err(Reason::WiderRule { rule: key.to_string() });
    }
    rule::drop_emptied(&mut rules, &positions);
    rule::put(policy, direction, rules);
    Ok(())
}

fn narrow_istio(object: &mut Resource, key: &RuleKey) -> Result<(), Reason> {
    let identity = key.peer.identity.clone();
    let unknown = || Reason::UnknownRule { rule: key.to_string() };
    let (Some(identity), Some(port)) = (identity, key.port) else { return Err(unknown()) };
    let port = port.to_string();
    let Some(policy) = object.istio_mut() else { return Ok(()) };
    let own = policy.rules.iter().position(|rule| {
        rule::is_of(rule, &identity)
            && rule.to.first().is_some_and(|to| to.operation.ports.contains(&port))
    });
    let position = own.ok_or_else(unknown)?;
    let ports = &mut policy.rules[position].to[0].operation.ports;
    ports.retain(|known| *known != port);
    if ports.is_empty() {
        policy.rules.remove(position);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
