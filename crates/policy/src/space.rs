//! All addresses, divided so that no policy tells the addresses of one part apart.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Addresses of one family from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressRange {
    /// The first.
    pub first: IpAddr,
    /// The last.
    pub last: IpAddr,
}

/// Divides all addresses at the bounds of `blocks`: IPv4 first, each family in order and without gaps.
pub fn divide<'a>(blocks: impl IntoIterator<Item = &'a IpNet>) -> Vec<AddressRange> {
    let whole = [
        AddressRange::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::BROADCAST)),
        AddressRange::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::from(u128::MAX))),
    ];
    let mut starts: BTreeSet<IpAddr> = whole.iter().map(|range| range.first).collect();
    for block in blocks {
        starts.insert(block.network());
        starts.extend(next(block.broadcast()));
    }
    let starts: Vec<IpAddr> = starts.into_iter().collect();
    let ends = starts.iter().skip(1).map(|start| previous(*start).unwrap_or(whole[0].last));
    let ends = ends.chain([whole[1].last]);
    starts.iter().zip(ends).map(|(first, last)| AddressRange::new(*first, last)).collect()
}

/// Joins ranges that touch; `ranges` are in order and do not overlap.
pub fn join(ranges: impl IntoIterator<Item = AddressRange>) -> Vec<AddressRange> {
    let mut joined: Vec<AddressRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if next(last.last) == Some(range.first) => last.last = range.last,
            _ => joined.push(range),
        }
    }
    joined
}

/// What of `whole` is in none of `ranges`, which are in order and do not overlap.
pub fn gaps(whole: AddressRange, ranges: &[AddressRange]) -> Vec<AddressRange> {
    let mut gaps = Vec::new();
    let mut start = Some(whole.first);
    for range in ranges {
        if let (Some(first), Some(last)) = (start, previous(range.first))
            && first <= last
        {
            gaps.push(AddressRange::new(first, last));
        }
        start = next(range.last);
    }
    let start = start.filter(|first| *first <= whole.last);
    gaps.extend(start.map(|first| AddressRange::new(first, whole.last)));
    gaps
}

/// Ranges in as few words as tell them, each family by itself: the smallest block around them without its gaps, a
/// list of blocks, or for each range its first and last address. `ranges` are in order and neither overlap nor touch.
pub fn words(ranges: &[AddressRange]) -> Vec<String> {
    let families = ranges.chunk_by(|one, other| one.first.is_ipv4() == other.first.is_ipv4());
    families.flat_map(words_of_family).collect()
}

fn words_of_family(ranges: &[AddressRange]) -> Vec<String> {
    let blocks = |ranges: &[AddressRange]| -> Vec<String> {
        ranges.iter().flat_map(|range| range.blocks()).map(|block| block.to_string()).collect()
    };
    let bounds = ranges.iter().map(|range| match range.blocks()[..] {
        [block] => block.to_string(),
        _ => format!("{}-{}", range.first, range.last),
    });
    let (list, bounds): (_, Vec<String>) = (blocks(ranges), bounds.collect());
    let around = around(ranges);
    let without = around.map(|block| blocks(&gaps(block.into(), ranges))).unwrap_or_default();
    let shortest = list.len().min(bounds.len());
    match around {
        Some(block)
            if !without.is_empty()
                && without.len() < list.len()
                && without.len() <= bounds.len() =>
        {
            vec![format!("{block} without {}", without.join(","))]
        }
        _ if list.len() == shortest => list,
        _ => bounds,
    }
}

/// The smallest block that holds all of the ranges.
fn around(ranges: &[AddressRange]) -> Option<IpNet> {
    let (first, last) = (ranges.first()?, ranges.last()?);
    let longest = IpNet::from(first.first);
    let holds = |block: &IpNet| block.contains(&last.last);
    std::iter::successors(Some(longest), IpNet::supernet).find(holds)
}

// === impl AddressRange ===

impl AddressRange {
    /// The range between two addresses of one family.
    pub fn new(first: IpAddr, last: IpAddr) -> Self {
        Self { first, last }
    }

    /// The blocks that are the range together, in order.
    pub fn blocks(self) -> Vec<IpNet> {
        match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => {
                ipnet::Ipv4Subnets::new(first, last, 0).map(IpNet::V4).collect()
            }
            (IpAddr::V6(first), IpAddr::V6(last)) => {
                ipnet::Ipv6Subnets::new(first, last, 0).map(IpNet::V6).collect()
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => Vec::new(),
        }
    }
}

impl From<IpNet> for AddressRange {
    fn from(block: IpNet) -> Self {
        Self::new(block.network(), block.broadcast())
    }
}

fn next(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => Some(Ipv4Addr::from(u32::from(address).checked_add(1)?).into()),
        IpAddr::V6(address) => Some(Ipv6Addr::from(u128::from(address).checked_add(1)?).into()),
    }
}

fn previous(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => Some(Ipv4Addr::from(u32::from(address).checked_sub(1)?).into()),
        IpAddr::V6(address) => Some(Ipv6Addr::from(u128::from(address).checked_sub(1)?).into()),
    }
}

#[cfg(test)]
mod tests;
