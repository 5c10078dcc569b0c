//! How what may talk to what changes from some policies to others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use netenf_learn::Workload;
use netenf_policy::space::{self, AddressRange};
use netenf_policy::{End, Pattern};

use super::outside::{self, Outside};
use super::world::with_free_address;
use super::{Known, Link, Passing, Place, Reach};
use crate::index::Index;

/// What passes between two places, before and after.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// From where.
    pub source: Place,
    /// To where.
    pub destination: Place,
    /// What passed.
    pub before: Passing,
    /// What passes now.
    pub after: Passing,
}

/// Policies with the workloads that they are about.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The policies.
    pub reach: &'a Reach<'a>,
    /// The objects.
    pub index: &'a Index,
    /// The workloads and their pods.
    pub workloads: &'a [(Workload, Vec<End>)],
}

/// Everything between workloads that `wanted` wants one of, and between them and nodes, names and the world, that
/// passes on one side and not, or not the same, on the other; sorted.
pub fn compare(
    before: Scene<'_>,
    after: Scene<'_>,
    wanted: impl Fn(&Workload) -> bool,
) -> Vec<Change> {
    let scenes = [before, after];
    let ranges = ranges(scenes);
    let groups = node_groups(scenes);
    let known = scenes.map(|scene| scene.reach.known(scene.workloads));
    let mut names: BTreeMap<Workload, BTreeSet<Pattern>> = BTreeMap::new();
    for (workload, named) in known.iter().flat_map(|known| outside::names(known)) {
        names.entry(workload).or_default().extend(named);
    }
    let [before, after] = [(before, &known[0]), (after, &known[1])].map(|(scene, known)| {
        let nodes = scene.reach.nodes(scene.index, groups.clone());
        let outside = Outside { ranges: ranges.clone(), nodes, names: names.clone() };
        scene.links(known, &outside, &wanted)
    });
    let mut all: BTreeMap<(Place, Place), (Passing, Passing)> = BTreeMap::new();
    for link in before {
        all.entry((link.source, link.destination)).or_default().0 = link.passing;
    }
    for link in after {
        all.entry((link.source, link.destination)).or_default().1 = link.passing;
    }
    all.retain(|_, (before, after)| before != after);
    joined(all)
}

/// The world as policies of either side tell it apart.
fn ranges(scenes: [Scene<'_>; 2]) -> Vec<AddressRange> {
    let blocks = scenes.map(|scene| scene.reach.policies.blocks());
    let mut families = scenes.iter().flat_map(|scene| scene.reach.world(scene.index));
    let has_v6 = families.any(|range| range.first.is_ipv6());
    let world = space::divide(blocks.iter().flatten());
    let of_family = world.into_iter().filter(|range| has_v6 || range.first.is_ipv4());
    // What one side has is no address of the world on the other: only what policies change is told.
    let held = scenes.iter().flat_map(|scene| scene.index.held_addresses()).collect();
    with_free_address(of_family, &held)
}

/// Nodes that policies of neither side tell apart, in groups.
fn node_groups(scenes: [Scene<'_>; 2]) -> Vec<Vec<Arc<str>>> {
    let mut places: BTreeMap<Arc<str>, [Option<usize>; 2]> = BTreeMap::new();
    for (side, scene) in scenes.iter().enumerate() {
        for (group, names) in scene.reach.node_groups(scene.index).into_iter().enumerate() {
            for name in names {
                places.entry(name).or_default()[side] = Some(group);
            }
        }
    }
    let mut groups: BTreeMap<[Option<usize>; 2], Vec<Arc<str>>> = BTreeMap::new();
    for (name, place) in places {
        groups.entry(place).or_default().push(name);
    }
    groups.into_values().collect()
}

// === impl Scene ===

impl<'a> Scene<'a> {
    /// What passes, each node, name and range of addresses for itself.
    fn links(
        &self,
        known: &[Known<'a, '_>],
        outside: &Outside<'a>,
        wanted: impl Fn(&Workload) -> bool,
    ) -> Vec<Link> {
        let mut links = super::between(known, &wanted);
        let wanted = known.iter().filter(|(own, _)| wanted(own));
        let with_outside = wanted.flat_map(|one| self.reach.links_outside(one, outside));
        links.extend(with_outside.flat_map(Link::each));
        links
    }
}

// === impl Link ===

impl Link {
    /// The same, each node, name and range of addresses for itself.
    fn each(self) -> Vec<Self> {
        let mut links = Vec::new();
        for source in self.source.each() {
            for destination in self.destination.each() {
                links.push(Self { source: source.clone(), destination, ..self.clone() });
            }
        }
        links
    }
}

/// The changes; nodes, names and ranges of addresses that change alike for a workload are one place each.
fn joined(all: BTreeMap<(Place, Place), (Passing, Passing)>) -> Vec<Change> {
    let mut alike: BTreeMap<(Place, Place, Passing, Passing), (Place, Place)> = BTreeMap::new();
    for ((source, destination), (before, after)) in all {
        let (from, to) = (source.sort(), destination.sort());
        let key = (from.clone(), to.clone(), before, after);
        let known = alike.entry(key).or_insert((from, to));
        known.0.add(source);
        known.1.add(destination);
    }
    let changes = alike.into_iter().map(|((.., before, after), (source, destination))| {
        let (source, destination) = (source.joined(), destination.joined());
        Change { source, destination, before, after }
    });
    let mut changes: Vec<Change> = changes.collect();
    changes.sort();
    changes
}

#[cfg(test)]
mod tests;
