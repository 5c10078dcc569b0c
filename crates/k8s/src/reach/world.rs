//! What is outside the cluster: addresses, as far as policies tell them apart and nothing in the cluster has them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use netenf_policy::End;
use netenf_policy::space::{self, AddressRange};

use super::Reach;
use crate::index::Index;

impl Reach<'_> {
    /// All addresses of the families that matter, in ranges that no policy tells apart; a range of which the
    /// cluster has every address is left out. IPv6 matters where a policy or the cluster knows an address of it.
    pub fn world(&self, index: &Index) -> Vec<AddressRange> {
        let has_v6 = self.names_ipv6 || index.has_ipv6();
        let of_family = self.world.iter().filter(|range| has_v6 || range.first.is_ipv4());
        with_free_address(of_family.copied(), &index.held_addresses())
    }

    /// The part of the world that is in a block.
    pub fn within(&self, block: AddressRange) -> Vec<AddressRange> {
        let cut = |range: &AddressRange| {
            let cut = AddressRange::new(range.first.max(block.first), range.last.min(block.last));
            (cut.first.is_ipv4() == cut.last.is_ipv4() && cut.first <= cut.last).then_some(cut)
        };
        self.world.iter().filter_map(cut).collect()
    }

    /// Ends that stand for the world: of each range an address that nothing in the cluster has.
    pub fn ends_of_world(&self, index: &Index) -> Vec<End> {
        free_ends(self.world(index), &index.held_addresses())
    }

    /// Ends that stand for all addresses of a block: of each range one that nothing in the cluster has, and the
    /// pods and nodes that have the others.
    pub fn ends_within(&self, index: &Index, block: AddressRange) -> Vec<End> {
        let held = index.held_addresses();
        let mut ends = free_ends(self.within(block), &held);
        ends.extend(held.range(block.first..=block.last).map(|address| index.end_at(*address)));
        ends
    }
}

/// Those of `ranges` that have an address which is not `held`.
pub(super) fn with_free_address(
    ranges: impl IntoIterator<Item = AddressRange>,
    held: &BTreeSet<IpAddr>,
) -> Vec<AddressRange> {
    ranges.into_iter().filter(|range| free_address(*range, held).is_some()).collect()
}

fn free_ends(ranges: Vec<AddressRange>, held: &BTreeSet<IpAddr>) -> Vec<End> {
    ranges.into_iter().filter_map(|range| free_address(range, held)).map(End::Address).collect()
}

/// The first address of a range that is not `held`.
fn free_address(range: AddressRange, held: &BTreeSet<IpAddr>) -> Option<IpAddr> {
    let own = held.range(range.first..=range.last);
    let own: Vec<AddressRange> = own.map(|address| AddressRange::new(*address, *address)).collect();
    space::gaps(range, &own).first().map(|gap| gap.first)
}

#[cfg(test)]
mod tests;
