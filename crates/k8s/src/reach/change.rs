//! How what may talk to what changes from some policies to others.

use std::collections::BTreeMap;

use netenf_learn::Workload;
use netenf_policy::End;
use netenf_policy::space::{self, AddressRange};

use crate::index::Index;

use super::world::with_free_address;
use super::{Link, Passing, Place, Reach};

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

/// Everything between workloads that `wanted` wants one of, and between them and the world, that passes on one
/// side and not, or not the same, on the other; sorted.
pub fn compare(
    before: Scene<'_>,
    after: Scene<'_>,
    wanted: impl Fn(&Workload) -> bool,
) -> Vec<Change> {
    let blocks = [before, after].map(|scene| scene.reach.policies.blocks());
    let world = space::divide(blocks.iter().flatten());
    let families = [before, after].map(|scene| scene.reach.world(scene.index));
    let has_v6 = families.iter().flatten().any(|range| range.first.is_ipv6());
    let of_family = world.into_iter().filter(|range| has_v6 || range.first.is_ipv4());
    // What one side has is no address of the world on the other: only what policies change is told.
    let mut held = before.index.held_addresses();
    held.extend(after.index.held_addresses());
    let world = with_free_address(of_family, &held);
    let mut all: BTreeMap<(Place, Place), (Passing, Passing)> = BTreeMap::new();
    for link in before.links(&world, &wanted) {
        all.entry((link.source, link.destination)).or_default().0 = link.passing;
    }
    for link in after.links(&world, &wanted) {
        all.entry((link.source, link.destination)).or_default().1 = link.passing;
    }
    all.retain(|_, (before, after)| before != after);
    joined(all)
}

// === impl Scene ===

impl Scene<'_> {
    /// What passes, each range of addresses for itself.
    fn links(&self, world: &[AddressRange], wanted: impl Fn(&Workload) -> bool) -> Vec<Link> {
        let known = self.reach.known(self.workloads);
        let mut links = super::between(&known, &wanted);
        let wanted = known.iter().filter(|(own, _)| wanted(own));
        let outside = wanted.flat_map(|one| self.reach.links_with_world(one, world));
        links.extend(outside.flat_map(Link::by_range));
        links
    }
}

// === impl Link ===

impl Link {
    /// The same, each range of addresses for itself.
    fn by_range(self) -> Vec<Self> {
        let each = |place: &Place| -> Vec<Place> {
            match place {
                Place::Workload(_) => vec![place.clone()],
                Place::World(ranges) => {
                    ranges.iter().map(|range| Place::World(vec![*range])).collect()
                }
            }
        };
        let mut links = Vec::new();
        for source in each(&self.source) {
            for destination in each(&self.destination) {
                links.push(Self { source: source.clone(), destination, ..self.clone() });
            }
        }
        links
    }
}

/// The changes; ranges of addresses that change alike for a workload are one place.
fn joined(all: BTreeMap<(Place, Place), (Passing, Passing)>) -> Vec<Change> {
    type Alike = (Option<Workload>, Option<Workload>, Passing, Passing);
    let mut ranges: BTreeMap<Alike, Vec<AddressRange>> = BTreeMap::new();
    let mut changes = Vec::new();
    for ((source, destination), (before, after)) in all {
        match (&source, &destination) {
            (Place::World(own), Place::Workload(workload)) => {
                let alike = (None, Some(workload.clone()), before, after);
                ranges.entry(alike).or_default().extend(own);
            }
            (Place::Workload(workload), Place::World(own)) => {
                let alike = (Some(workload.clone()), None, before, after);
                ranges.entry(alike).or_default().extend(own);
            }
            (Place::Workload(_), Place::Workload(_)) | (Place::World(_), Place::World(_)) => {
                changes.push(Change { source, destination, before, after });
            }
        }
    }
    changes.extend(ranges.into_iter().map(|((source, destination, before, after), ranges)| {
        let world = Place::World(space::join(ranges));
        let place = |own: Option<Workload>| own.map_or_else(|| world.clone(), Place::Workload);
        Change { source: place(source), destination: place(destination), before, after }
    }));
    changes.sort();
    changes
}

#[cfg(test)]
mod tests;
