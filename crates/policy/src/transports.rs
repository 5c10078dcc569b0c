//! Sets of what can open a connection: ports of each protocol, and what has no port.

use std::ops::RangeInclusive;

use rangemap::RangeInclusiveSet;

use crate::network_policy::Protocol;
use crate::packet::Transport;

/// Every port that a connection can be opened to. Port 0 is none.
const ALL: RangeInclusive<u16> = 1..=u16::MAX;

/// A set of transports. Fragments, whose port is not known, are in none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transports {
    tcp: RangeInclusiveSet<u16>,
    udp: RangeInclusiveSet<u16>,
    sctp: RangeInclusiveSet<u16>,
    /// ICMP and every protocol that no rule can name.
    other: bool,
}

// === impl Transports ===

impl Transports {
    /// Everything.
    pub fn all() -> Self {
        let mut all = Self { other: true, ..Self::default() };
        for protocol in Protocol::ALL {
            all.insert(protocol, ALL);
        }
        all
    }

    /// Adds ports of a protocol; port 0 is left out.
    pub fn insert(&mut self, protocol: Protocol, ports: RangeInclusive<u16>) {
        let ports = (*ports.start()).max(*ALL.start())..=*ports.end();
        if !ports.is_empty() {
            self.ports_mut(protocol).insert(ports);
        }
    }

    /// The ports of a protocol, as ranges in order that neither touch nor overlap.
    pub fn ports(&self, protocol: Protocol) -> impl Iterator<Item = &RangeInclusive<u16>> {
        self.of(protocol).iter()
    }

    /// Whether a protocol's every port is in the set.
    pub fn is_whole(&self, protocol: Protocol) -> bool {
        self.ports(protocol).eq([&ALL])
    }

    /// Whether what has no port is in the set: ICMP and every protocol that no rule can name.
    pub fn has_other(&self) -> bool {
        self.other
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        !self.other && Protocol::ALL.into_iter().all(|protocol| self.of(protocol).is_empty())
    }

    /// Whether everything is in the set.
    pub fn is_all(&self) -> bool {
        self.other && Protocol::ALL.into_iter().all(|protocol| self.is_whole(protocol))
    }

    /// Whether `transport` is in the set.
    pub fn contains(&self, transport: Transport) -> bool {
        match transport {
            Transport::Port(protocol, port) => self.of(protocol).contains(&port),
            Transport::Portless(_) => false,
            Transport::Other => self.other,
        }
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            tcp: &self.tcp & &other.tcp,
            udp: &self.udp & &other.udp,
            sctp: &self.sctp & &other.sctp,
            other: self.other && other.other,
        }
    }

    /// What is in one of the sets.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            tcp: &self.tcp | &other.tcp,
            udp: &self.udp | &other.udp,
            sctp: &self.sctp | &other.sctp,
            other: self.other || other.other,
        }
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        for protocol in Protocol::ALL {
            for range in other.ports(protocol) {
                left.ports_mut(protocol).remove(range.clone());
            }
        }
        left.other &= !other.other;
        left
    }

    fn of(&self, protocol: Protocol) -> &RangeInclusiveSet<u16> {
        match protocol {
            Protocol::Tcp => &self.tcp,
            Protocol::Udp => &self.udp,
            Protocol::Sctp => &self.sctp,
        }
    }

    fn ports_mut(&mut self, protocol: Protocol) -> &mut RangeInclusiveSet<u16> {
        match protocol {
            Protocol::Tcp => &mut self.tcp,
            Protocol::Udp => &mut self.udp,
            Protocol::Sctp => &mut self.sctp,
        }
    }
}

#[cfg(test)]
mod tests;
