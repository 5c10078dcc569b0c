//! What was seen and is to be allowed, wherever the object lists it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use netenf_api::{
    Decision, Direction, PeerRef, Protocol, UncoveredPeer, UncoveredReason, Violation,
    ViolationReason,
};

use super::identifier;
use super::peer::other_end;
use super::refusal::Reason;
use super::resource::Resource;

/// An entry that a person wants allowed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) id: String,
    pub(super) peer: PeerRef,
    pub(super) selector: Option<LabelSelector>,
    pub(super) protocol: Protocol,
    pub(super) port: Option<u16>,
    pub(super) direction: Option<Direction>,
    pub(super) count: i64,
    pub(super) first: Option<Time>,
    pub(super) last: Option<Time>,
    origin: Origin,
}

/// Where the entry stands, as far as it decides what can be done.
#[derive(Debug, Clone, PartialEq)]
enum Origin {
    Uncovered(UncoveredReason),
    Violation(ViolationReason, Option<Decision>),
    Suggestion,
}

/// Everything in `resource` that could be allowed.
pub(super) fn entries(resource: &Resource) -> Vec<Wanted> {
    let mut entries: Vec<Wanted> = resource.uncovered().iter().map(Wanted::uncovered).collect();
    if let Some(status) = resource.as_policy().and_then(|policy| policy.status.as_ref()) {
        entries.extend(status.violations.iter().map(Wanted::violation));
        let acknowledged = status.acknowledged_violations.iter();
        entries.extend(acknowledged.map(|entry| Wanted::violation(&entry.violation)));
    }
    entries.extend(resource.suggestions().iter().map(|suggestion| Wanted {
        id: suggestion.id.clone(),
        peer: suggestion.peer.clone(),
        selector: None,
        protocol: suggestion.protocol,
        port: suggestion.port,
        direction: None,
        count: 0,
        first: None,
        last: None,
        origin: Origin::Suggestion,
    }));
    entries
}

/// The entry of `resource` that `id` names.
pub(super) fn find(resource: &Resource, id: &str) -> Result<Wanted, Reason> {
    let mut entries = entries(resource);
    let position = identifier::find(entries.iter().map(|entry| entry.id.as_str()), id)?;
    Ok(entries.swap_remove(position))
}

// === impl Wanted ===

impl Wanted {
    fn uncovered(entry: &UncoveredPeer) -> Self {
        Self {
            id: entry.id.clone(),
            peer: entry.peer.clone(),
            selector: entry.selector.clone(),
            protocol: entry.protocol,
            port: entry.port,
            direction: None,
            count: entry.count,
            first: entry.first_seen.clone(),
            last: entry.last_seen.clone(),
            origin: Origin::Uncovered(entry.reason),
        }
    }

    fn violation(violation: &Violation) -> Self {
        Self {
            id: violation.id.clone(),
            peer: other_end(violation).clone(),
            selector: None,
            protocol: violation.protocol,
            port: violation.dst_port,
            direction: Some(violation.direction),
            count: violation.count,
            first: Some(violation.first_seen.clone()),
            last: Some(violation.last_seen.clone()),
            origin: Origin::Violation(violation.reason, violation.decided_by.clone()),
        }
    }

    pub(super) fn is_suggestion(&self) -> bool {
        self.origin == Origin::Suggestion
    }

    /// Whether the peer is a node, which some CNIs do not match by address.
    pub(super) fn is_node(&self) -> bool {
        matches!(
            self.origin,
            Origin::Uncovered(UncoveredReason::Node | UncoveredReason::HostNetwork)
        ) || self.peer.kind.as_deref() == Some("Node")
    }

    /// The port of the rule to be, if a rule can be at all.
    pub(super) fn port(&self) -> Result<u16, Reason> {
        match self.protocol {
            Protocol::Tcp | Protocol::Udp | Protocol::Sctp => {}
            Protocol::Icmp | Protocol::Other => {
                return Err(Reason::ProtocolWithoutRule { protocol: self.protocol });
            }
        }
        match &self.origin {
            Origin::Uncovered(UncoveredReason::NodePort) => return Err(Reason::NodePort),
            Origin::Violation(ViolationReason::DeniedByPolicy, by) => {
                return Err(Reason::DeniedElsewhere { by: named(by.as_ref()) });
            }
            Origin::Uncovered(_) | Origin::Violation(..) | Origin::Suggestion => {}
        }
        self.port.ok_or_else(|| Reason::NoPort { id: self.id.clone() })
    }
}

fn named(decision: Option<&Decision>) -> String {
    let Some(decision) = decision else { return "another policy".to_owned() };
    let name = [decision.namespace.as_deref(), decision.name.as_deref()];
    let name = name.into_iter().flatten().collect::<Vec<_>>().join("/");
    let kind = decision.kind.as_deref().unwrap_or(decision.tier.as_str());
    if name.is_empty() { kind.to_owned() } else { format!("{kind} {name}") }
}
