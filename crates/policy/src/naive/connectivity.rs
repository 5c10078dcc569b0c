//! The same order of evaluation over all transports at once: each rule takes its part of what is left.

use crate::cluster_policy::{Action, ClusterPort, Effective, Tier};
use crate::connectivity::Part;
use crate::evaluate::{self, End, Pod, Question, Side};
use crate::explanation::{Decider, Object, RuleId};
use crate::network_policy::{PortMatch, PortRange};
use crate::packet::Transport;
use crate::transports::Transports;

use super::{Asked, Policies, free};

/// What is decided so far, and what is left.
struct Parts {
    decided: Vec<Part>,
    left: Transports,
}

// === impl Policies ===

impl Policies<'_> {
    /// What may pass in one direction between ends with addresses of one family; the parts hold each transport once.
    pub fn parts(&self, side: Side, source: &End, destination: &End) -> Vec<Part> {
        let mut parts = Parts { decided: Vec::new(), left: Transports::all() };
        match free(side, source, destination) {
            Some(by) => parts.rest(true, by),
            // Peers do not look at the transport.
            None => self.divide(
                &Asked::between(Question::new(side, source, destination, Transport::Other)),
                &mut parts,
            ),
        }
        parts.decided
    }

    fn divide(&self, asked: &Asked<'_>, parts: &mut Parts) {
        let End::Pod(pod) = asked.question.subject else {
            return parts.rest(true, Decider::NoPod);
        };
        self.divide_by_tier(Tier::Admin, pod, asked, parts);
        self.divide_by_network_policies(pod, asked, parts);
        self.divide_by_tier(Tier::Baseline, pod, asked, parts);
        parts.rest(true, Decider::Default);
    }

    fn divide_by_tier(&self, tier: Tier, pod: &Pod, asked: &Asked<'_>, parts: &mut Parts) {
        let mut passed = Transports::default();
        for (policy, index, rule) in self.rules(tier, pod, asked.question.side) {
            let transports = match rule.effective() {
                Effective::Nothing => continue,
                Effective::DenyAll => Transports::all(),
                Effective::AsWritten => {
                    if !rule.peers.iter().any(|peer| self.peer_hits(peer, rule.action, asked)) {
                        continue;
                    }
                    rule.ports.as_ref().map_or_else(Transports::all, |ports| {
                        union(ports.iter().map(|port| cluster_port(port, asked)))
                    })
                }
            };
            let Some(action) = rule.effective_action() else { continue };
            let by = RuleId { action, ..RuleId::of_cluster(policy, index, rule) };
            match action {
                Action::Accept => parts.take(&transports, true, Decider::Rule(by)),
                Action::Deny => parts.take(&transports, false, Decider::Rule(by)),
                Action::Pass => passed = passed.union(&parts.cut(&transports)),
            }
        }
        parts.left = parts.left.union(&passed);
    }

    fn divide_by_network_policies(&self, pod: &Pod, asked: &Asked<'_>, parts: &mut Parts) {
        let question = &asked.question;
        let mut isolating = Vec::new();
        for policy in self.network.iter().filter(|policy| evaluate::applies(policy, pod)) {
            let Some(rules) = policy.rules(question.side) else { continue };
            isolating.push(Object::of_network(policy));
            for (index, rule) in rules.iter().enumerate() {
                if !evaluate::peers_match(policy, rule, question.peer) {
                    continue;
                }
                let transports = rule.ports.as_ref().map_or_else(Transports::all, |ports| {
                    union(ports.iter().map(|port| port_match(port, asked)))
                });
                let by = Decider::Rule(RuleId::of_network(policy, index));
                parts.take(&transports, true, by);
            }
        }
        if !isolating.is_empty() {
            parts.rest(false, Decider::Isolated(isolating));
        }
    }
}

// === impl Parts ===

impl Parts {
    /// Takes `transports` out of what is left.
    fn cut(&mut self, transports: &Transports) -> Transports {
        let cut = self.left.intersection(transports);
        self.left = self.left.difference(transports);
        cut
    }

    fn take(&mut self, transports: &Transports, allowed: bool, by: Decider) {
        let transports = self.cut(transports);
        if !transports.is_empty() {
            self.decided.push(Part { transports, allowed, by });
        }
    }

    fn rest(&mut self, allowed: bool, by: Decider) {
        self.take(&Transports::all(), allowed, by);
    }
}

fn union(all: impl Iterator<Item = Transports>) -> Transports {
    all.fold(Transports::default(), |all, one| all.union(&one))
}

fn cluster_port(port: &ClusterPort, asked: &Asked<'_>) -> Transports {
    match port {
        ClusterPort::Of(port) => port_match(port, asked),
        ClusterPort::Named(name) => named(name, asked),
        ClusterPort::Unknown => Transports::default(),
    }
}

fn port_match(port: &PortMatch, asked: &Asked<'_>) -> Transports {
    let mut transports = Transports::default();
    match &port.range {
        PortRange::Any => transports.insert(port.protocol, 0..=u16::MAX),
        PortRange::Numbers(first, last) => transports.insert(port.protocol, *first..=*last),
        PortRange::Named(name) => {
            let named = named(name, asked);
            for range in named.ports(port.protocol) {
                transports.insert(port.protocol, range.clone());
            }
        }
    }
    transports
}

/// The destination's ports of that name.
fn named(name: &str, asked: &Asked<'_>) -> Transports {
    let mut transports = Transports::default();
    if let End::Pod(pod) = asked.question.destination() {
        for (_, protocol, number) in pod.ports.iter().filter(|(own, ..)| **own == *name) {
            transports.insert(*protocol, *number..=*number);
        }
    }
    transports
}

#[cfg(test)]
mod tests;
