//! What passes between workloads and what is none: nodes, names and the world.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::sync::Arc;

use netenf_learn::Workload;
use netenf_policy::domain::Name;
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{ClusterPeer, End, Pattern, Side};

use super::alike::Sort;
use super::{Known, Link, Passing, Place, Reach, passing};
use crate::index::Index;

/// What is outside workloads, as far as it is told apart.
pub(super) struct Outside<'a> {
    pub(super) ranges: Vec<AddressRange>,
    /// Groups of nodes that policies cannot tell apart, with their ends.
    pub(super) nodes: Vec<(Vec<Arc<str>>, Vec<Sort<'a>>)>,
    /// Names by the workloads that rules for them name them to.
    pub(super) names: BTreeMap<Workload, BTreeSet<Pattern>>,
}

// === impl Reach ===

impl<'a> Reach<'a> {
    /// All nodes, in groups that policies cannot tell apart.
    pub(super) fn node_groups(&self, index: &Index) -> Vec<Vec<Arc<str>>> {
        let mut groups: BTreeMap<_, Vec<Arc<str>>> = BTreeMap::new();
        for node in index.nodes() {
            let end = index.end_of_node(&node.name);
            groups.entry(end.map(|end| self.seen_of(&end))).or_default().push(node.name.clone());
        }
        groups.into_values().collect()
    }

    /// These groups of nodes with their ends.
    pub(super) fn nodes(
        &self,
        index: &Index,
        groups: Vec<Vec<Arc<str>>>,
    ) -> Vec<(Vec<Arc<str>>, Vec<Sort<'a>>)> {
        let with_ends = |names: Vec<Arc<str>>| {
            let ends: Vec<End> = names.iter().filter_map(|name| index.end_of_node(name)).collect();
            let sorts = self.sorts(&ends);
            (names, sorts)
        };
        groups.into_iter().map(with_ends).collect()
    }

    /// What passes between a workload and what is outside; places to and from which the same passes are one.
    pub(super) fn links_outside(
        &self,
        (workload, sorts): &Known<'a, '_>,
        outside: &Outside<'a>,
    ) -> Vec<Link> {
        let own = Place::Workload((*workload).clone());
        let mut links = Vec::new();
        for side in [Side::Egress, Side::Ingress] {
            let places = self
                .links_with_world(sorts, side, &outside.ranges)
                .chain(links_with_nodes(sorts, side, &outside.nodes))
                .chain(self.links_with_names(sorts, side, outside.names.get(*workload)));
            links.extend(places.map(|(passing, place)| match side {
                Side::Egress => Link { source: own.clone(), destination: place, passing },
                Side::Ingress => Link { source: place, destination: own.clone(), passing },
            }));
        }
        links
    }

    /// Only policies that select one of the ends tell ranges apart for them, and there are few of those.
    fn links_with_world(
        &self,
        ends: &[Sort<'a>],
        side: Side,
        world: &[AddressRange],
    ) -> impl Iterator<Item = (Passing, Place)> {
        let blocks: BTreeSet<_> = ends.iter().flat_map(|sort| sort.policies.blocks()).collect();
        let parts = space::divide(&blocks);
        let mut in_part: BTreeMap<usize, Vec<AddressRange>> = BTreeMap::new();
        for range in world {
            let part = parts.partition_point(|part| part.last < range.first);
            in_part.entry(part).or_default().push(*range);
        }
        let passing = in_part.into_values().map(|ranges| {
            let outside = self.sorts(&[End::Address(ranges[0].first)]);
            (across(side, ends, &outside), ranges)
        });
        alike(passing).map(|(passing, ranges)| (passing, Place::World(ranges)))
    }

    /// Nothing that comes in has a name.
    fn links_with_names(
        &self,
        ends: &[Sort<'a>],
        side: Side,
        named: Option<&BTreeSet<Pattern>>,
    ) -> impl Iterator<Item = (Passing, Place)> {
        let named = named.filter(|_| side == Side::Egress);
        let passing = named.into_iter().flatten().filter_map(|pattern| {
            let name = End::Name(any_name(pattern, named?)?);
            Some((across(side, ends, &self.sorts(&[name])), vec![pattern.clone()]))
        });
        alike(passing).map(|(passing, patterns)| (passing, Place::Names(patterns)))
    }
}

fn links_with_nodes<'a>(
    ends: &[Sort<'a>],
    side: Side,
    nodes: &[(Vec<Arc<str>>, Vec<Sort<'a>>)],
) -> impl Iterator<Item = (Passing, Place)> {
    let passing = nodes.iter().map(|(names, sorts)| (across(side, ends, sorts), names.clone()));
    alike(passing).map(|(passing, mut names)| {
        names.sort();
        (passing, Place::Nodes(names))
    })
}

/// What rules that select the workloads name, by workload.
pub(super) fn names(known: &[Known<'_, '_>]) -> BTreeMap<Workload, BTreeSet<Pattern>> {
    let named = known.iter().map(|(workload, sorts)| {
        let policies = sorts.iter().flat_map(|sort| sort.policies.cluster());
        let rules = policies.flat_map(|policy| policy.rules(Side::Egress));
        let peers = rules.flat_map(|rule| &rule.peers).filter_map(|peer| match peer {
            ClusterPeer::Domains(patterns) => Some(patterns),
            ClusterPeer::Pods(_)
            | ClusterPeer::Nodes(_)
            | ClusterPeer::Networks(_)
            | ClusterPeer::Unknown => None,
        });
        ((*workload).clone(), peers.flatten().cloned().collect())
    });
    named.collect()
}

/// What passes out of the ends to the others, or into them.
fn across(side: Side, ends: &[Sort<'_>], others: &[Sort<'_>]) -> Passing {
    match side {
        Side::Egress => passing(ends, others),
        Side::Ingress => passing(others, ends),
    }
}

/// Those with which the same passes, together; those with which nothing does are left out.
fn alike<T>(all: impl Iterator<Item = (Passing, Vec<T>)>) -> btree_map::IntoIter<Passing, Vec<T>> {
    let mut alike: BTreeMap<Passing, Vec<T>> = BTreeMap::new();
    for (passing, some) in all.filter(|(passing, _)| !passing.is_empty()) {
        alike.entry(passing).or_default().extend(some);
    }
    alike.into_iter()
}

/// A name that `pattern` means, and that none of `others` means alone.
fn any_name(pattern: &Pattern, others: &BTreeSet<Pattern>) -> Option<Name> {
    if !pattern.wildcard {
        return Some(pattern.name.clone());
    }
    let names = (0..=others.len()).map(|number| format!("any{number}.{}", pattern.name));
    let is_free = |name: &Name| others.iter().all(|other| other.name != *name);
    names.filter_map(|name| Name::parse(&name)).find(is_free)
}

#[cfg(test)]
mod tests;
