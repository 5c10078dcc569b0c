//! A packet that opens a connection, as policies see it.

use std::net::IpAddr;

use crate::network_policy::Protocol;

/// The first packet of a connection, after translation of a Service to its endpoint ("networks" and
/// "ipBlock" match what is on the wire then).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packet {
    /// The opener's address.
    pub source: IpAddr,
    /// The other end's address. An IPv4-mapped IPv6 address is an IPv6 address and nothing else.
    pub destination: IpAddr,
    /// What it carries.
    pub transport: Transport,
}

/// What a packet carries, as far as a policy can tell it apart. Source ports are no part of any policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A protocol with its destination port.
    Port(Protocol, u16),
    /// A protocol whose port is not known (a fragment): no number and no name matches it.
    Portless(Protocol),
    /// ICMP and every protocol that no rule can name: only a rule without ports matches it.
    Other,
}

// === impl Packet ===

impl Packet {
    /// A packet to a port.
    pub fn new(source: IpAddr, destination: IpAddr, protocol: Protocol, port: u16) -> Self {
        Self { source, destination, transport: Transport::Port(protocol, port) }
    }
}

// === impl Transport ===

impl Transport {
    /// The protocol, if a rule can name it.
    pub fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Port(protocol, _) | Self::Portless(protocol) => Some(protocol),
            Self::Other => None,
        }
    }

    /// The destination port, if it is known.
    pub fn port(self) -> Option<u16> {
        match self {
            Self::Port(_, port) => Some(port),
            Self::Portless(_) | Self::Other => None,
        }
    }
}
