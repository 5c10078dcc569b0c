//! What the rule of an evidence entry allows.
//!
//! A person's decision is about that, not about how the peer happens to be called: the same pods may be
//! known by their labels today and by their workload tomorrow, and a range stands for all of its ports.

use std::sync::Arc;

use ipnet::IpNet;
use netenf_api::{Protocol, RuleEvidence};
use netenf_learn::proposal::{self as learned, RulePeer};

use super::cover::{self, Cover};
use crate::lifecycle::peer::blocks;
use crate::lower;

/// The peers, the protocol and the ports of a rule.
pub(super) struct Meaning {
    peers: Vec<RulePeer>,
    protocol: netenf_policy::Protocol,
    ports: (u16, u16),
}

// === impl Meaning ===

impl Meaning {
    /// What `rule` is evidence for; `None` where that cannot be told.
    pub(super) fn of(rule: &RuleEvidence) -> Option<Self> {
        let peers = peers(rule);
        let ports = match (rule.port, rule.end_port) {
            (Some(first), last) => (first, last.unwrap_or(first)),
            (None, _) => (1, u16::MAX),
        };
        let protocol = protocol(rule.protocol)?;
        (!peers.is_empty()).then_some(Self { peers, protocol, ports })
    }

    /// Whether the body has the rule; `None` where the body could not hold it.
    pub(super) fn stands(&self, cover: &Cover) -> Option<bool> {
        let stands = |peer: &RulePeer| cover.may_allow(peer, self.protocol, self.ports);
        self.peers.iter().all(|peer| cover.expresses(peer)).then(|| self.peers.iter().all(stands))
    }

    /// Whether a rule as it is learned would allow something of this, or a part of it.
    pub(super) fn is_about(&self, rule: &learned::Evidence) -> bool {
        self.protocol == rule.protocol
            && (self.ports.0..=self.ports.1).contains(&rule.port)
            && self.peers.iter().any(|peer| is_about(peer, &rule.rule))
    }

    /// Whether the rule is for the same pods, addresses or identity.
    pub(super) fn is_for(&self, peer: &RulePeer) -> bool {
        self.peers.contains(peer)
    }

    /// Its only peer, where there is but one.
    pub(super) fn peer(&self) -> Option<&RulePeer> {
        match self.peers.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// Whether one of the two is a part of the other. Everything is too much to be a decision about a part of
/// it: who takes `0.0.0.0/0` out means to be more exact.
fn is_about(decided: &RulePeer, learned: &RulePeer) -> bool {
    match (decided, learned) {
        (
            RulePeer::Pods { namespace, selector },
            RulePeer::Pods { namespace: other, selector: pods },
        ) => {
            namespace == other
                && (cover::selects_all(selector, pods) || cover::selects_all(pods, selector))
        }
        (RulePeer::Block(one), RulePeer::Block(other)) => {
            one == other || (one.prefix_len() > 0 && one.contains(other))
        }
        (RulePeer::Account(one), RulePeer::Account(other)) => one == other,
        (RulePeer::Pods { .. } | RulePeer::Block(_) | RulePeer::Account(_), _) => false,
    }
}

fn peers(rule: &RuleEvidence) -> Vec<RulePeer> {
    let peer = &rule.peer;
    if let (Some(namespace), Some(selector)) = (&peer.namespace, &rule.selector) {
        let namespace = Arc::from(namespace.as_str());
        return vec![RulePeer::Pods { namespace, selector: lower::selector(selector).0 }];
    }
    if let Some(identity) = &peer.identity {
        return vec![RulePeer::Account(identity.as_str().into())];
    }
    blocks(peer).into_iter().map(|block: IpNet| RulePeer::Block(block)).collect()
}

/// The protocol of a rule; `None` for those that no rule can name.
pub(crate) fn protocol(protocol: Protocol) -> Option<netenf_policy::Protocol> {
    match protocol {
        Protocol::Tcp => Some(netenf_policy::Protocol::Tcp),
        Protocol::Udp => Some(netenf_policy::Protocol::Udp),
        Protocol::Sctp => Some(netenf_policy::Protocol::Sctp),
        Protocol::Icmp | Protocol::Other => None,
    }
}
