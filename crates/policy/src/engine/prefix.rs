//! Which rules match an address: a trie of prefixes, flattened to intervals.
//!
//! A prefix holds what changes against the one around it: the rules that begin to match and, because of
//! `except`, those that cease to. So a rule for everyone is stored once, not in each prefix inside.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::row::Row;

/// Rules by prefixes, IPv4 and IPv6 apart: "0.0.0.0/0 matches no IPv6 packet and the reverse".
#[derive(Debug, Clone, Default)]
pub(super) struct Prefixes {
    v4: Family,
    v6: Family,
}

#[derive(Debug, Clone, Default)]
struct Family {
    /// First addresses of intervals, with the innermost prefix that holds there.
    starts: Box<[(u128, Option<u32>)]>,
    prefixes: Box<[Prefix]>,
}

#[derive(Debug, Clone, Default)]
struct Prefix {
    around: Option<u32>,
    add: Row,
    remove: Row,
}

/// The innermost prefix of an address.
#[derive(Clone, Copy)]
pub(super) struct PrefixRows<'a> {
    family: &'a Family,
    innermost: Option<u32>,
}

/// Collects the blocks of rules.
#[derive(Debug, Default)]
pub(super) struct Builder {
    changes: BTreeMap<IpNet, [Vec<u32>; 2]>,
}

/// The blocks of a rule that have one CIDR.
#[derive(Debug, Default)]
struct Blocks {
    count: usize,
    /// How many of them except a prefix. Of prefixes that one block excepts none is inside another, so that
    /// whatever is around an address counts each block once.
    excepting: HashMap<IpNet, usize>,
}

// === impl Builder ===

impl Builder {
    /// The rule at `position` matches these blocks, each without its exceptions.
    pub(super) fn add(&mut self, blocks: &[(IpNet, &[IpNet])], position: u32) {
        let excepted = blocks.iter().any(|(_, except)| !except.is_empty());
        if !excepted {
            for (cidr, _) in blocks {
                self.changes.entry(cidr.trunc()).or_default()[0].push(position);
            }
            return;
        }
        let mut by_cidr: HashMap<IpNet, Blocks> = HashMap::new();
        for (cidr, except) in blocks {
            by_cidr.entry(cidr.trunc()).or_default().add(except);
        }
        let own: HashSet<IpNet> = by_cidr
            .iter()
            .flat_map(|(cidr, blocks)| blocks.excepting.keys().copied().chain([*cidr]))
            .collect();
        for prefix in own {
            let mut around = supernets(prefix).filter_map(|cidr| by_cidr.get(&cidr));
            let change = usize::from(!around.any(|blocks| blocks.hold(prefix)));
            self.changes.entry(prefix).or_default()[change].push(position);
        }
    }

    pub(super) fn build(self) -> Prefixes {
        let (v4, v6) = self.changes.into_iter().partition(|(prefix, _)| prefix.addr().is_ipv4());
        Prefixes { v4: Family::build(v4), v6: Family::build(v6) }
    }
}

// === impl Blocks ===

impl Blocks {
    fn add(&mut self, except: &[IpNet]) {
        self.count += 1;
        let all: HashSet<IpNet> = except.iter().map(IpNet::trunc).collect();
        let outermost =
            all.iter().filter(|one| supernets(**one).skip(1).all(|out| !all.contains(&out)));
        for prefix in outermost {
            *self.excepting.entry(*prefix).or_default() += 1;
        }
    }

    /// Whether one of them holds a prefix inside its CIDR.
    fn hold(&self, prefix: IpNet) -> bool {
        let excepting: usize = supernets(prefix).filter_map(|out| self.excepting.get(&out)).sum();
        excepting < self.count
    }
}

/// The prefix and all around it.
fn supernets(prefix: IpNet) -> impl Iterator<Item = IpNet> {
    std::iter::successors(Some(prefix), IpNet::supernet)
}

// === impl Family ===

impl Family {
    /// `changes` come by address and, from one address on, the larger prefix first.
    fn build(changes: BTreeMap<IpNet, [Vec<u32>; 2]>) -> Self {
        let mut changes: Vec<_> = changes.into_iter().collect();
        changes.sort_by_key(|(prefix, _)| (number(prefix.network()), prefix.prefix_len()));
        let mut starts: Vec<(u128, Option<u32>)> = vec![(0, None)];
        let mut prefixes: Vec<Prefix> = Vec::new();
        let mut open: Vec<(u32, u128)> = Vec::new();
        for (index, (prefix, [add, remove])) in (0_u32..).zip(&changes) {
            let first = number(prefix.network());
            close(&mut open, &mut starts, Some(first));
            starts.push((first, Some(index)));
            let around = open.last().map(|(index, _)| *index);
            prefixes.push(Prefix { around, add: Row::of(add), remove: Row::of(remove) });
            open.push((index, number(prefix.broadcast())));
        }
        close(&mut open, &mut starts, None);
        Self { starts: last_of_each(starts), prefixes: prefixes.into() }
    }

    fn rows(&self, address: u128) -> PrefixRows<'_> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        let innermost = after.checked_sub(1).and_then(|at| self.starts[at].1);
        PrefixRows { family: self, innermost }
    }
}

/// Closes the prefixes that end before `next`: behind each of them the one around it holds.
fn close(open: &mut Vec<(u32, u128)>, starts: &mut Vec<(u128, Option<u32>)>, next: Option<u128>) {
    while let Some((_, last)) = open.pop_if(|(_, last)| next.is_none_or(|next| *last < next)) {
        if let Some(behind) = last.checked_add(1) {
            starts.push((behind, open.last().map(|(index, _)| *index)));
        }
    }
}

fn last_of_each(starts: Vec<(u128, Option<u32>)>) -> Box<[(u128, Option<u32>)]> {
    let mut kept: Vec<(u128, Option<u32>)> = Vec::with_capacity(starts.len());
    for start in starts {
        if let Some(last) = kept.last_mut().filter(|last| last.0 == start.0) {
            *last = start;
        } else {
            kept.push(start);
        }
    }
    kept.into()
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

// === impl Prefixes ===

impl Prefixes {
    /// The rows for an address.
    pub(super) fn rows(&self, address: IpAddr) -> PrefixRows<'_> {
        match address {
            IpAddr::V4(_) => self.v4.rows(number(address)),
            IpAddr::V6(_) => self.v6.rows(number(address)),
        }
    }
}

// === impl PrefixRows ===

impl PrefixRows<'_> {
    /// Which words may hold a bit.
    pub(super) fn summary(&self, block: usize) -> u64 {
        self.outwards().fold(0, |bits, prefix| bits | prefix.add.summary(block))
    }

    /// The bits of a word: what a prefix adds holds unless one further inside removes it.
    pub(super) fn word(&self, word: usize) -> u64 {
        let mut kept = u64::MAX;
        let mut bits = 0;
        for prefix in self.outwards() {
            bits |= prefix.add.word(word) & kept;
            kept &= !prefix.remove.word(word);
        }
        bits
    }

    fn outwards(&self) -> impl Iterator<Item = &Prefix> {
        let prefixes = &self.family.prefixes;
        let prefix = |index: u32| prefixes.get(index as usize);
        std::iter::successors(self.innermost.and_then(prefix), move |inner| {
            inner.around.and_then(prefix)
        })
    }
}

#[cfg(test)]
mod tests;
