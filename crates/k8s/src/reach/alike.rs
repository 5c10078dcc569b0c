//! Ends that policies cannot tell apart, so that one of them is asked about for all.
//!
//! Two things hold between some ends of a sort and not between others: a pod may reach itself, and a node its own
//! pods. Between two sorts there are hence two pairs at most: one of which such a thing holds, and one of which
//! none does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use netenf_policy::{ClusterPeer, ClusterPolicy, End, Labels, Policies, Protocol, Selector};

use super::Reach;

/// Ends of one sort, in their order; never none.
pub(super) struct Sort<'a, 'e> {
    ends: Vec<&'e End>,
    /// The policies that select them.
    pub(super) policies: Policies<'a>,
}

/// What policies can see of an end.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Seen<'e> {
    Pod {
        namespace: &'e str,
        labels: &'e Labels,
        ports: &'e [(Arc<str>, Protocol, u16)],
        ranges: BTreeSet<usize>,
    },
    Node {
        /// Which of the policies' selectors of nodes match.
        selectors: Vec<bool>,
        ranges: BTreeSet<usize>,
    },
    Address(usize),
    Name(&'e str),
    Unknown,
}

/// What relates two ends whatever policies say.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Relation<'e> {
    /// They are this pod.
    Pod(&'e str, &'e str),
    /// The one is this node, the other runs on it.
    Node(&'e str),
}

/// The selectors of nodes that policies hold.
pub(super) fn node_selectors<'a>(policies: &[&'a ClusterPolicy]) -> Vec<&'a Selector> {
    let rules = policies.iter().flat_map(|policy| policy.egress.iter().chain(&policy.ingress));
    let peers = rules.flat_map(|rule| &rule.peers);
    let selectors = peers.filter_map(|peer| match peer {
        ClusterPeer::Nodes(selector) => Some(selector),
        ClusterPeer::Pods(_)
        | ClusterPeer::Networks(_)
        | ClusterPeer::Domains(_)
        | ClusterPeer::Unknown => None,
    });
    selectors.collect()
}

impl<'a> Reach<'a> {
    /// The ends by their sorts, in the order of their first ends.
    pub(super) fn sorts<'e>(&self, ends: &'e [End]) -> Vec<Sort<'a, 'e>> {
        let mut places: BTreeMap<Seen<'e>, usize> = BTreeMap::new();
        let mut sorts: Vec<Sort<'a, 'e>> = Vec::new();
        for end in ends {
            let place = *places.entry(self.seen(end)).or_insert(sorts.len());
            match sorts.get_mut(place) {
                Some(sort) => sort.ends.push(end),
                None => {
                    sorts.push(Sort { ends: vec![end], policies: self.policies.selecting(end) });
                }
            }
        }
        sorts
    }

    fn seen<'e>(&self, end: &'e End) -> Seen<'e> {
        match end {
            End::Pod(pod) => Seen::Pod {
                namespace: &pod.namespace,
                labels: &pod.labels,
                ports: &pod.ports,
                ranges: self.ranges_of(&pod.addresses),
            },
            End::Node { labels, addresses, .. } => Seen::Node {
                selectors: self.node_selectors.iter().map(|one| one.matches(labels)).collect(),
                ranges: self.ranges_of(addresses),
            },
            End::Address(address) => Seen::Address(self.range_of(*address)),
            End::Name(name) => Seen::Name(name.as_str()),
            End::Unknown => Seen::Unknown,
        }
    }

    fn ranges_of(&self, addresses: &[IpAddr]) -> BTreeSet<usize> {
        addresses.iter().map(|address| self.range_of(*address)).collect()
    }

    fn range_of(&self, address: IpAddr) -> usize {
        self.world.partition_point(|range| range.last < address)
    }
}

// === impl Sort ===

impl<'e> Sort<'_, 'e> {
    /// Pairs of ends that stand for all pairs with `destinations`.
    pub(super) fn pairs<'d>(
        &self,
        destinations: &Sort<'_, 'd>,
    ) -> impl Iterator<Item = (&'e End, &'d End)> {
        [self.unrelated(destinations), self.related(destinations)].into_iter().flatten()
    }

    fn unrelated<'d>(&self, destinations: &Sort<'_, 'd>) -> Option<(&'e End, &'d End)> {
        self.ends.iter().find_map(|source| {
            let relation = of_source(source);
            let is_other = |destination: &&&End| {
                relation.as_ref().is_none_or(|own| !of_destination(destination).contains(own))
            };
            destinations.ends.iter().find(is_other).map(|destination| (*source, *destination))
        })
    }

    fn related<'d>(&self, destinations: &Sort<'_, 'd>) -> Option<(&'e End, &'d End)> {
        let sources: BTreeMap<Relation<'e>, &'e End> =
            self.ends.iter().filter_map(|end| Some((of_source(end)?, *end))).collect();
        if sources.is_empty() {
            return None;
        }
        destinations.ends.iter().find_map(|destination| {
            let relations = of_destination(destination);
            let source = relations.iter().find_map(|relation| sources.get(relation))?;
            Some((*source, *destination))
        })
    }
}

fn of_source(end: &End) -> Option<Relation<'_>> {
    match end {
        End::Pod(pod) => Some(Relation::Pod(&pod.namespace, pod.name.as_deref()?)),
        End::Node { name, .. } => Some(Relation::Node(name)),
        End::Address(_) | End::Name(_) | End::Unknown => None,
    }
}

fn of_destination(end: &End) -> Vec<Relation<'_>> {
    match end {
        End::Pod(pod) => {
            let itself = pod.name.as_deref().map(|name| Relation::Pod(&pod.namespace, name));
            let host = pod.node.as_deref().map(Relation::Node);
            itself.into_iter().chain(host).collect()
        }
        End::Node { .. } | End::Address(_) | End::Name(_) | End::Unknown => Vec::new(),
    }
}
