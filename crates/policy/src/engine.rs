//! The compiled form of a cluster's policies.
//!
//! ```text
//! pod -> identity (namespace, labels) -> scopes (sets of pods that policies select) -> class -> rows
//! policies -> rules at positions, in order -> tables: rows by scope, prefix, node, name, port
//! packet -> rows of subject, peer and port -> the first position in all of them
//! ```
//!
//! The owner changes the [`Engine`] and publishes [`Snapshot`]s. A change of a pod, namespace, node or name
//! touches what it concerns; a change of policies rebuilds, at the next publishing, the tables of the directions
//! in which they say something else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Cluster, Key};
use crate::cluster_policy::{ClusterPeer, ClusterPolicy, PodSet, Tier};
use crate::domain::{Answer, Refusal};
use crate::evaluate::Side;
use crate::explanation::Explanation;
use crate::label::Labels;
use crate::network_policy::{NetworkPolicy, Peer, Rule};
use crate::packet::Packet;

mod end;
mod identity;
mod name;
mod ports;
mod prefix;
mod row;
mod scope;
mod share;
mod snapshot;
mod table;

use identity::Identities;
use name::Names;
use row::Scratch;
use scope::{Namespaces, Scope, Scopes};
pub use snapshot::{Outcome, Ruling, Snapshot};
use table::{Lowered, Parts, Source, Table, place};

/// A cluster, kept compiled.
#[derive(Debug, Default)]
pub struct Engine {
    cluster: Cluster,
    scopes: Scopes,
    identities: Identities,
    names: Names,
    lowered: BTreeMap<PolicyKey, Lowered>,
    parts: [Parts; 2],
    snapshot: Snapshot,
    /// Directions whose policies changed since their table was built.
    stale: Vec<Side>,
    claims: end::Claims,
    scratch: Scratch,
}

/// A policy: NetworkPolicies by namespace and name, others by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PolicyKey {
    Network(Key),
    Cluster(Key),
}

// === impl Engine ===

impl Engine {
    /// Compiles a cluster.
    pub fn new(cluster: Cluster) -> Self {
        let Cluster { namespaces, pods, nodes, network_policies, cluster_policies, domains } =
            cluster;
        let mut engine = Self::default();
        engine.cluster.domains = domains;
        for (name, labels) in namespaces {
            engine.apply_namespace(&name, labels);
        }
        for node in nodes.into_values() {
            engine.apply_node(node);
        }
        for policy in network_policies.into_values() {
            engine.apply_network_policy(policy);
        }
        for policy in cluster_policies.into_values() {
            engine.apply_cluster_policy(policy);
        }
        for pod in pods.into_values() {
            engine.apply_pod(pod);
        }
        engine
    }

    /// What the engine was told.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The present state, for verdicts.
    pub fn publish(&mut self) -> Arc<Snapshot> {
        let stale = std::mem::take(&mut self.stale);
        if !stale.is_empty() {
            self.rebuild(&stale);
        }
        self.snapshot.identities = self.identities.rows.clone();
        Arc::new(self.snapshot.clone())
    }

    /// Why a packet is allowed or denied. It costs time linear in what the cluster holds.
    pub fn explain(&self, packet: &Packet, now: Duration) -> Explanation {
        self.cluster.explain(packet, now)
    }

    /// A namespace is there, or has other labels.
    pub fn apply_namespace(&mut self, name: &Arc<str>, labels: Labels) {
        let before = self.cluster.namespaces.insert(name.clone(), labels);
        if before.as_ref() != self.cluster.namespaces.get(name) {
            self.relabel(name);
        }
    }

    /// A namespace is gone.
    pub fn delete_namespace(&mut self, name: &str) {
        if self.cluster.namespaces.remove(name).is_some() {
            self.relabel(name);
        }
    }

    fn relabel(&mut self, name: &str) {
        let labels = self.cluster.namespace_labels(name);
        self.identities.relabel(name, &labels, &self.scopes, &self.parts);
    }

    /// A NetworkPolicy is there, or is another.
    pub fn apply_network_policy(&mut self, policy: impl Into<Arc<NetworkPolicy>>) {
        let policy = policy.into();
        let key = (policy.namespace.clone(), policy.name.clone());
        if self.cluster.network_policies.get(&key) == Some(&policy) {
            return;
        }
        let namespaces = Namespaces::Named(policy.namespace.clone());
        let subject = Scope { namespaces, pods: policy.pods.clone() };
        let peers = [Side::Egress, Side::Ingress].map(|side| {
            let rules = policy.rules(side).into_iter().flatten();
            rules.map(|rule| network_peers(&policy, rule)).collect()
        });
        let source = Source::Network(policy.clone());
        self.lower(PolicyKey::Network(key.clone()), source, subject, peers);
        self.cluster.network_policies.insert(key, policy);
    }

    /// A NetworkPolicy is gone.
    pub fn delete_network_policy(&mut self, namespace: &str, name: &str) {
        let key: Key = (namespace.into(), name.into());
        if self.cluster.network_policies.remove(&key).is_some() {
            self.replace(PolicyKey::Network(key), None);
        }
    }

    /// A cluster-wide policy is there, or is another.
    pub fn apply_cluster_policy(&mut self, policy: impl Into<Arc<ClusterPolicy>>) {
        let policy = policy.into();
        let key = (policy.kind.clone(), policy.name.clone());
        if self.cluster.cluster_policies.get(&key) == Some(&policy) {
            return;
        }
        let peers = [Side::Egress, Side::Ingress].map(|side| {
            let rules = policy.rules(side).iter();
            rules.map(|rule| cluster_peers(&rule.peers)).collect()
        });
        let (source, subject) = (Source::Cluster(policy.clone()), scope_of(&policy.subject));
        self.lower(PolicyKey::Cluster(key.clone()), source, subject, peers);
        self.cluster.cluster_policies.insert(key, policy);
    }

    /// A cluster-wide policy is gone.
    pub fn delete_cluster_policy(&mut self, kind: &str, name: &str) {
        let key: Key = (kind.into(), name.into());
        if self.cluster.cluster_policies.remove(&key).is_some() {
            self.replace(PolicyKey::Cluster(key), None);
        }
    }

    /// Takes an answer of DNS.
    pub fn observe(&mut self, answer: &Answer<'_>, now: Duration) -> Result<(), Refusal> {
        let changed = self.cluster.domains.observe(answer, now)?;
        self.refresh_names(changed);
        Ok(())
    }

    /// Forgets the names that expired by `now`.
    pub fn collect(&mut self, now: Duration) {
        let changed = self.cluster.domains.collect(now);
        self.refresh_names(changed);
    }

    /// Takes a policy by the scopes of its subject and of the peers of its rules per direction.
    fn lower(
        &mut self,
        key: PolicyKey,
        source: Source,
        subject: Scope,
        peers: [Vec<Vec<Scope>>; 2],
    ) {
        let mut number = |scope| self.scopes.number(scope);
        let subject = number(subject);
        let mut numbers = |scopes: Vec<Scope>| scopes.into_iter().map(&mut number).collect();
        let peers = peers.map(|rules| rules.into_iter().map(&mut numbers).collect());
        self.replace(key, Some(Lowered { source, subject, peers }));
    }

    /// The new use of scopes is counted before the old one ends, so that shared ones stay.
    fn replace(&mut self, key: PolicyKey, lowered: Option<Lowered>) {
        for side in [Side::Egress, Side::Ingress] {
            let [before, after] = [self.lowered.get(&key), lowered.as_ref()]
                .map(|lowered| lowered.and_then(|lowered| lowered.source.part(side)));
            if before != after && !self.stale.contains(&side) {
                self.stale.push(side);
            }
        }
        let before = match lowered {
            Some(lowered) => self.lowered.insert(key, lowered),
            None => self.lowered.remove(&key),
        };
        if let Some(before) = before {
            self.scopes.release(before.subject);
            let peers = before.peers.iter().flatten().flatten();
            for number in peers {
                self.scopes.release(*number);
            }
        }
    }

    /// Builds the tables of these directions, and looks up anew what depends on them.
    fn rebuild(&mut self, sides: &[Side]) {
        let mut by_node = false;
        for side in sides {
            let (table, parts) = self.build(*side);
            self.snapshot.tables[place(*side)] = Arc::new(table);
            by_node |= !parts.nodes.is_empty();
            by_node |= !std::mem::replace(&mut self.parts[place(*side)], parts).nodes.is_empty();
        }
        self.identities.rebuild(&self.cluster, &mut self.scopes, &self.parts, sides);
        if by_node {
            self.refresh_all_nodes();
        }
        if sides.contains(&Side::Egress) {
            self.rebuild_names();
        }
    }

    /// The table of a direction, from the policies of all tiers in order.
    fn build(&self, side: Side) -> (Table, Parts) {
        let of_tier = |wanted: Tier| {
            let own = self.lowered.values().filter_map(|lowered| match &lowered.source {
                Source::Cluster(policy) if policy.precedence().0 == wanted => {
                    Some((policy.precedence(), lowered))
                }
                Source::Cluster(_) | Source::Network(_) => None,
            });
            let mut own: Vec<_> = own.collect();
            own.sort_by_key(|(precedence, _)| *precedence);
            own.into_iter().map(|(_, lowered)| lowered).collect::<Vec<_>>()
        };
        // Their keys are in order of namespace and name.
        let network: Vec<&Lowered> = self
            .lowered
            .iter()
            .filter(|(key, _)| matches!(key, PolicyKey::Network(_)))
            .map(|(_, lowered)| lowered)
            .collect();
        let (admin, baseline) = (of_tier(Tier::Admin), of_tier(Tier::Baseline));
        table::build(side, &admin, &network, &baseline, self.scopes.len())
    }
}

fn scope_of(set: &PodSet) -> Scope {
    Scope { namespaces: Namespaces::Labels(set.namespaces.clone()), pods: set.pods.clone() }
}

/// The scopes among the peers of a rule.
fn network_peers(policy: &NetworkPolicy, rule: &Rule) -> Vec<Scope> {
    let scope = |peer: &Peer| match peer {
        Peer::Pods { namespaces, pods } => {
            let namespaces = match namespaces {
                Some(selector) => Namespaces::Labels(selector.clone()),
                None => Namespaces::Named(policy.namespace.clone()),
            };
            Some(Scope { namespaces, pods: pods.clone().unwrap_or_default() })
        }
        Peer::Block { .. } => None,
    };
    rule.peers.iter().flatten().filter_map(scope).collect()
}

fn cluster_peers(peers: &[ClusterPeer]) -> Vec<Scope> {
    let scope = |peer: &ClusterPeer| match peer {
        ClusterPeer::Pods(set) => Some(scope_of(set)),
        ClusterPeer::Nodes(_)
        | ClusterPeer::Networks(_)
        | ClusterPeer::Domains(_)
        | ClusterPeer::Unknown => None,
    };
    peers.iter().filter_map(scope).collect()
}

#[cfg(test)]
pub(crate) mod tests;
