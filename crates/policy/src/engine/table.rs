//! The rules of one direction, in the order in which they are asked, and which of them match what.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ipnet::IpNet;

use crate::cluster_policy::{
    Action, ClusterPeer, ClusterPolicy, ClusterPort, ClusterRule, Effective, PodSet, Tier,
};
use crate::domain::Pattern;
use crate::evaluate::Side;
use crate::explanation::RuleId;
use crate::network_policy::{NetworkPolicy, Peer, Rule};
use crate::selector::Selector;

use super::ports::{self, Ports};
use super::prefix::{self, Prefixes};
use super::row::Row;
use super::scope::EVERY_POD;

/// The rules of one direction. Positions are in order: those of the Admin tier, of NetworkPolicies, one that
/// stands for their isolation, those of the Baseline tier.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rules: Vec<Place>,
    pub(super) sources: Vec<Source>,
    /// Where the NetworkPolicies begin.
    pub(super) network: u32,
    /// The position that stands for isolation; Baseline begins behind it.
    pub(super) isolation: u32,
    /// Rules whose peer is everyone.
    pub(super) any_peer: Row,
    /// Rules for every pod as subject, and with every pod as peer.
    pub(super) every_subject: Row,
    pub(super) every_peer: Row,
    pub(super) prefixes: Prefixes,
    pub(super) ports: Ports,
}

/// A rule at its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    source: u32,
    index: u32,
    pub(super) action: Action,
}

/// Where a rule is from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Network(Arc<NetworkPolicy>),
    Cluster(Arc<ClusterPolicy>),
}

/// What a policy says in one direction, and where it stands among the others.
#[derive(Debug, PartialEq)]
pub(super) enum Part<'a> {
    Network(&'a str, &'a Selector, &'a [Rule]),
    Cluster((Tier, i32, &'a str, &'a str), &'a PodSet, &'a [ClusterRule]),
}

/// A policy and the numbers of its scopes: of its subject, and of the peers of its rules per direction.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) source: Source,
    pub(super) subject: u32,
    pub(super) peers: [Vec<Vec<u32>>; 2],
}

/// What is kept of a direction beside its table, by scope, node selector and pattern.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) subjects: Vec<Row>,
    pub(super) peers: Vec<Row>,
    pub(super) nodes: Vec<(Selector, Row)>,
    pub(super) patterns: BTreeMap<Pattern, Row>,
}

/// Place of a direction in a pair.
pub(super) fn place(side: Side) -> usize {
    match side {
        Side::Egress => 0,
        Side::Ingress => 1,
    }
}

struct Builder {
    side: Side,
    table: Table,
    any_peer: Vec<u32>,
    subjects: Vec<Vec<u32>>,
    peers: Vec<Vec<u32>>,
    nodes: HashMap<Selector, Vec<u32>>,
    patterns: BTreeMap<Pattern, Vec<u32>>,
    prefixes: prefix::Builder,
    ports: ports::Builder,
}

/// Builds the table of a direction from the policies of all tiers, each tier in its order.
pub(super) fn build(
    side: Side,
    admin: &[&Lowered],
    network: &[&Lowered],
    baseline: &[&Lowered],
    scopes: usize,
) -> (Table, Parts) {
    let mut builder = Builder {
        side,
        table: Table::default(),
        any_peer: Vec::new(),
        subjects: vec![Vec::new(); scopes],
        peers: vec![Vec::new(); scopes],
        nodes: HashMap::new(),
        patterns: BTreeMap::new(),
        prefixes: prefix::Builder::default(),
        ports: ports::Builder::default(),
    };
    for policy in admin {
        builder.policy(policy);
    }
    builder.table.network = builder.next();
    for policy in network {
        builder.policy(policy);
    }
    builder.isolation(network);
    for policy in baseline {
        builder.policy(policy);
    }
    builder.finish()
}

// === impl Builder ===

impl Builder {
    fn next(&self) -> u32 {
        u32::try_from(self.table.rules.len()).unwrap_or(u32::MAX)
    }

    fn policy(&mut self, policy: &Lowered) {
        let source = u32::try_from(self.table.sources.len()).unwrap_or(u32::MAX);
        self.table.sources.push(policy.source.clone());
        let peers = &policy.peers[place(self.side)];
        let first = self.next();
        match &policy.source {
            Source::Network(one) => {
                let rules = one.rules(self.side).into_iter().flatten();
                for ((index, rule), scopes) in (0_u32..).zip(rules).zip(peers) {
                    let position = self.next();
                    self.table.rules.push(Place { source, index, action: Action::Accept });
                    self.network_rule(rule, scopes, position);
                }
            }
            Source::Cluster(one) => {
                let rules = one.rules(self.side);
                for ((index, rule), scopes) in (0_u32..).zip(rules).zip(peers) {
                    let Some(action) = rule.effective_action() else { continue };
                    let position = self.next();
                    self.table.rules.push(Place { source, index, action });
                    self.cluster_rule(rule, scopes, position);
                }
            }
        }
        let next = self.next();
        self.subjects[policy.subject as usize].extend(first..next);
    }

    fn network_rule(&mut self, rule: &Rule, scopes: &[u32], position: u32) {
        match &rule.peers {
            None => self.any_peer.push(position),
            Some(peers) => {
                for scope in scopes {
                    self.peers[*scope as usize].push(position);
                }
                let blocks = peers.iter().filter_map(|peer| match peer {
                    Peer::Block { cidr, except } => Some((*cidr, except.as_slice())),
                    Peer::Pods { .. } => None,
                });
                self.prefixes.add(&blocks.collect::<Vec<_>>(), position);
            }
        }
        match &rule.ports {
            None => self.ports.any(position),
            Some(ports) => ports.iter().for_each(|port| self.ports.of(port, position)),
        }
    }

    fn cluster_rule(&mut self, rule: &ClusterRule, scopes: &[u32], position: u32) {
        if rule.effective() == Effective::DenyAll {
            self.any_peer.push(position);
            self.ports.any(position);
            return;
        }
        for scope in scopes {
            self.peers[*scope as usize].push(position);
        }
        let mut blocks: Vec<(IpNet, &[IpNet])> = Vec::new();
        for peer in &rule.peers {
            match peer {
                ClusterPeer::Nodes(selector) => {
                    self.nodes.entry(selector.clone()).or_default().push(position);
                }
                ClusterPeer::Networks(networks) => {
                    blocks.extend(networks.iter().map(|network| (*network, [].as_slice())));
                }
                ClusterPeer::Domains(patterns)
                    if rule.action == Action::Accept && self.side == Side::Egress =>
                {
                    for pattern in patterns {
                        self.patterns.entry(pattern.clone()).or_default().push(position);
                    }
                }
                ClusterPeer::Pods(_) | ClusterPeer::Domains(_) | ClusterPeer::Unknown => {}
            }
        }
        self.prefixes.add(&blocks, position);
        match &rule.ports {
            None => self.ports.any(position),
            Some(ports) => {
                for port in ports {
                    match port {
                        ClusterPort::Of(port) => self.ports.of(port, position),
                        ClusterPort::Named(name) => self.ports.named(name, position),
                        ClusterPort::Unknown => {}
                    }
                }
            }
        }
    }

    /// Behind all their rules, whatever NetworkPolicies isolate is denied.
    fn isolation(&mut self, network: &[&Lowered]) {
        let position = self.next();
        self.table.isolation = position;
        self.table.rules.push(Place { source: u32::MAX, index: 0, action: Action::Deny });
        self.any_peer.push(position);
        self.ports.any(position);
        for policy in network {
            let isolates = match &policy.source {
                Source::Network(one) => one.rules(self.side).is_some(),
                Source::Cluster(_) => false,
            };
            if isolates {
                self.subjects[policy.subject as usize].push(position);
            }
        }
    }

    fn finish(self) -> (Table, Parts) {
        let rows =
            |lists: &[Vec<u32>]| lists.iter().map(|list| Row::of(list)).collect::<Vec<Row>>();
        let (subjects, peers) = (rows(&self.subjects), rows(&self.peers));
        let table = Table {
            any_peer: Row::of(&self.any_peer),
            every_subject: subjects[EVERY_POD as usize].clone(),
            every_peer: peers[EVERY_POD as usize].clone(),
            prefixes: self.prefixes.build(),
            ports: self.ports.build(),
            ..self.table
        };
        let patterns = self.patterns.into_iter();
        let patterns =
            patterns.map(|(pattern, positions)| (pattern, Row::of(&positions))).collect();
        let nodes = self.nodes.into_iter();
        let nodes = nodes.map(|(selector, positions)| (selector, Row::of(&positions))).collect();
        (table, Parts { subjects, peers, nodes, patterns })
    }
}

// === impl Source ===

impl Source {
    /// What it says in a direction; `None` if that is nothing.
    pub(super) fn part(&self, side: Side) -> Option<Part<'_>> {
        match self {
            Self::Network(policy) => {
                Some(Part::Network(&policy.kind, &policy.pods, policy.rules(side)?))
            }
            Self::Cluster(policy) => {
                let rules = policy.rules(side);
                let part = Part::Cluster(policy.precedence(), &policy.subject, rules);
                (!rules.is_empty()).then_some(part)
            }
        }
    }
}

// === impl Table ===

impl Table {
    /// The rule at a position; `None` for what stands for isolation.
    pub(super) fn rule(&self, side: Side, position: u32) -> Option<RuleId> {
        let place = self.rules.get(position as usize)?;
        let index = place.index as usize;
        match self.sources.get(place.source as usize)? {
            Source::Network(policy) => Some(RuleId::of_network(policy, index)),
            Source::Cluster(policy) => {
                let rule = policy.rules(side).get(index)?;
                Some(RuleId { action: place.action, ..RuleId::of_cluster(policy, index, rule) })
            }
        }
    }

    /// The tier of a position.
    pub(super) fn tier(&self, position: u32) -> Tier {
        match position {
            _ if position < self.network => Tier::Admin,
            _ if position <= self.isolation => Tier::NetworkPolicy,
            _ => Tier::Baseline,
        }
    }
}
