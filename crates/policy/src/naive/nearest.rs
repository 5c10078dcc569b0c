//! For a denial: the allowing rule that came nearest, and what it lacked.

use crate::cluster_policy::{Action, ClusterPeer, ClusterPort, ClusterRule, Effective, Tier};
use crate::evaluate::{self, End, Pod, Question, is_in, name_matches, peer_matches, port_matches};
use crate::explanation::{Decider, Lack, Nearest, RuleId};
use crate::network_policy::{NetworkPolicy, Peer, PortMatch, Rule};

use super::{Asked, Policies};

// === impl Policies ===

impl Policies<'_> {
    /// Of the allowing rules for `pod` in the tiers up to the one that denied, the one that lacks least.
    pub(super) fn nearest(&self, pod: &Pod, asked: &Asked<'_>, by: &Decider) -> Option<Nearest> {
        let last = match by {
            Decider::Rule(rule) => rule.tier,
            Decider::Isolated(_) => Tier::NetworkPolicy,
            Decider::NoPod | Decider::Itself | Decider::OwnNode | Decider::Default => return None,
        };
        let side = asked.question.side;
        let mut found: Vec<Nearest> = Vec::new();
        for tier in [Tier::Admin, Tier::Baseline].into_iter().filter(|tier| *tier <= last) {
            let accepting =
                self.rules(tier, pod, side).filter(|(_, _, rule)| rule.action == Action::Accept);
            found.extend(accepting.map(|(policy, index, rule)| Nearest {
                rule: RuleId::of_cluster(policy, index, rule),
                lacked: self.lacks(rule, asked),
            }));
        }
        if last == Tier::NetworkPolicy {
            for policy in self.network.iter().filter(|policy| evaluate::applies(policy, pod)) {
                let rules = policy.rules(side).into_iter().flatten().enumerate();
                found.extend(rules.map(|(index, rule)| Nearest {
                    rule: RuleId::of_network(policy, index),
                    lacked: network_lacks(policy, rule, &asked.question),
                }));
            }
        }
        found
            .into_iter()
            .min_by(|a, b| (a.lacked.len(), &a.lacked).cmp(&(b.lacked.len(), &b.lacked)))
    }

    fn lacks(&self, rule: &ClusterRule, asked: &Asked<'_>) -> Vec<Lack> {
        match rule.effective() {
            Effective::AsWritten => {}
            Effective::Nothing | Effective::DenyAll => return vec![Lack::Understanding],
        }
        let peer = least(&rule.peers, Lack::Peer, |peer| self.peer_lack(peer, asked));
        let port = rule.ports.as_ref().and_then(|ports| {
            least(ports, Lack::Port, |port| match port {
                ClusterPort::Of(port) => port_lack(port, &asked.question),
                ClusterPort::Named(name) => {
                    (!name_matches(name, &asked.question)).then_some(Lack::Port)
                }
                ClusterPort::Unknown => Some(Lack::Understanding),
            })
        });
        lacked(peer, port)
    }

    fn peer_lack(&self, peer: &ClusterPeer, asked: &Asked<'_>) -> Option<Lack> {
        if self.peer_hits(peer, Action::Accept, asked) {
            return None;
        }
        match (peer, asked.question.peer) {
            (ClusterPeer::Pods(set), End::Pod(pod)) if set.pods.matches(&pod.labels) => {
                Some(Lack::Namespace)
            }
            (
                ClusterPeer::Pods(_)
                | ClusterPeer::Nodes(_)
                | ClusterPeer::Networks(_)
                | ClusterPeer::Domains(_)
                | ClusterPeer::Unknown,
                _,
            ) => Some(Lack::Peer),
        }
    }
}

fn network_lacks(policy: &NetworkPolicy, rule: &Rule, question: &Question<'_>) -> Vec<Lack> {
    let peers = rule.peers.as_ref();
    let peer = peers.and_then(|peers| {
        least(peers, Lack::Peer, |peer| {
            if peer_matches(policy, peer, question.peer) {
                return None;
            }
            match (peer, question.peer) {
                (Peer::Pods { pods, .. }, End::Pod(pod))
                    if pods.as_ref().is_none_or(|pods| pods.matches(&pod.labels)) =>
                {
                    Some(Lack::Namespace)
                }
                (Peer::Block { cidr, .. }, end) if is_in(end, cidr, &[]) => Some(Lack::Excepted),
                (Peer::Pods { .. } | Peer::Block { .. }, _) => Some(Lack::Peer),
            }
        })
    });
    let ports = rule.ports.as_ref();
    let port = ports.and_then(|ports| least(ports, Lack::Port, |port| port_lack(port, question)));
    lacked(peer, port)
}

fn port_lack(port: &PortMatch, question: &Question<'_>) -> Option<Lack> {
    if port_matches(port, question) {
        return None;
    }
    let same = question.transport.protocol() == Some(port.protocol);
    Some(if same { Lack::Port } else { Lack::Protocol })
}

/// The least that one of several alternatives lacks; nothing if one lacks nothing. Where there is no alternative at
/// all, such as of ports that are not understood, it is what `none` says.
fn least<T>(alternatives: &[T], none: Lack, lack: impl Fn(&T) -> Option<Lack>) -> Option<Lack> {
    alternatives.iter().map(lack).min().unwrap_or(Some(none))
}

fn lacked(peer: Option<Lack>, port: Option<Lack>) -> Vec<Lack> {
    let mut lacked: Vec<Lack> = port.into_iter().chain(peer).collect();
    if lacked.is_empty() {
        lacked.push(Lack::Precedence);
    }
    lacked.sort_unstable();
    lacked
}
