//! Which rules match a port.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cluster::NamedPort;
use crate::network_policy::{PortMatch, PortRange, Protocol};
use crate::packet::Transport;

use super::row::{Row, Shelf, View};

/// Rules by their ports.
#[derive(Debug, Clone, Default)]
pub(super) struct Ports {
    /// Rules without ports: every port of every protocol.
    any: Row,
    protocols: [OfProtocol; 3],
    names: HashMap<Arc<str>, OfName>,
}

/// Rules by their ports of one protocol. A range is kept per block of 256 ports, so that it takes at most
/// 256 whole blocks and two parts, whatever other ranges there are.
#[derive(Debug, Clone, Default)]
struct OfProtocol {
    any: Row,
    whole: Box<[Row]>,
    parts: Box<[Intervals]>,
}

/// The rows of a block of ports, and from which port of the block on each holds.
#[derive(Debug, Clone, Default)]
struct Intervals {
    starts: Vec<u8>,
    rows: Shelf,
}

/// What a range does at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Begin,
    End,
}

/// Rules by the name of a port.
#[derive(Debug, Clone, Default)]
struct OfName {
    /// Whatever its protocol.
    any: Row,
    protocols: [Row; 3],
}

/// The rows that a packet's port is in.
#[derive(Clone, Copy)]
pub(super) struct PortRows<'a> {
    rows: [View<'a>; 4],
    table: &'a Ports,
    named: &'a [NamedPort],
    at: Option<(Protocol, u16)>,
}

/// Collects the ports of rules.
#[derive(Debug, Default)]
pub(super) struct Builder {
    any: Vec<u32>,
    protocols: [RangesOf; 3],
    names: HashMap<Arc<str>, [Vec<u32>; 4]>,
}

#[derive(Debug, Default)]
struct RangesOf {
    any: Vec<u32>,
    ranges: Vec<(u16, u16, u32)>,
}

/// Place of a protocol in a table.
fn place(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Tcp => 0,
        Protocol::Udp => 1,
        Protocol::Sctp => 2,
    }
}

// === impl Builder ===

impl Builder {
    /// The rule at `position` has no ports.
    pub(super) fn any(&mut self, position: u32) {
        self.any.push(position);
    }

    /// The rule at `position` has this port.
    pub(super) fn of(&mut self, port: &PortMatch, position: u32) {
        let protocol = &mut self.protocols[place(port.protocol)];
        match &port.range {
            PortRange::Any => protocol.any.push(position),
            PortRange::Numbers(first, last) if first <= last => {
                protocol.ranges.push((*first, *last, position));
            }
            PortRange::Numbers(..) => {}
            PortRange::Named(name) => {
                self.names.entry(name.clone()).or_default()[place(port.protocol)].push(position);
            }
        }
    }

    /// The rule at `position` has ports of this name.
    pub(super) fn named(&mut self, name: &Arc<str>, position: u32) {
        self.names.entry(name.clone()).or_default()[3].push(position);
    }

    pub(super) fn build(self) -> Ports {
        let names = self.names.into_iter().map(|(name, [tcp, udp, sctp, any])| {
            let protocols = [Row::of(&tcp), Row::of(&udp), Row::of(&sctp)];
            (name, OfName { any: Row::of(&any), protocols })
        });
        Ports {
            any: Row::of(&self.any),
            protocols: self.protocols.map(RangesOf::build),
            names: names.collect(),
        }
    }
}

// === impl RangesOf ===

impl RangesOf {
    fn build(self) -> OfProtocol {
        let any = Row::of(&self.any);
        if self.ranges.is_empty() {
            return OfProtocol { any, ..OfProtocol::default() };
        }
        let mut whole = vec![Vec::new(); 256];
        let mut parts: Vec<Vec<(u8, u8, u32)>> = vec![Vec::new(); 256];
        for (first, last, position) in self.ranges {
            let ([from, low], [to, high]) = (first.to_be_bytes(), last.to_be_bytes());
            for block in from..=to {
                let low = if block == from { low } else { 0 };
                let high = if block == to { high } else { 255 };
                match (low, high) {
                    (0, 255) => {
                        // The ranges of a rule come one after the other, and may all be wide.
                        let rules: &mut Vec<u32> = &mut whole[usize::from(block)];
                        if rules.last() != Some(&position) {
                            rules.push(position);
                        }
                    }
                    _ => parts[usize::from(block)].push((low, high, position)),
                }
            }
        }
        OfProtocol {
            any,
            whole: whole.iter().map(|positions| Row::of(positions)).collect(),
            parts: parts.iter().map(|parts| intervals(parts)).collect(),
        }
    }
}

fn intervals(parts: &[(u8, u8, u32)]) -> Intervals {
    let edges = parts.iter().flat_map(|(low, high, position)| {
        let end = high.checked_add(1).map(|behind| (behind, Edge::End, *position));
        [(*low, Edge::Begin, *position)].into_iter().chain(end)
    });
    let mut edges: Vec<(u8, Edge, u32)> = edges.collect();
    edges.sort_unstable();
    // In order; a rule may have several ranges that overlap, and is in it once for each.
    let mut open: Vec<u32> = Vec::new();
    let mut intervals = Intervals::default();
    for at_port in edges.chunk_by(|one, next| one.0 == next.0) {
        let of = |wanted: Edge| {
            let of = at_port.iter().filter(move |(_, edge, _)| *edge == wanted);
            of.map(|(_, _, position)| *position)
        };
        let mut ends = of(Edge::End).peekable();
        open.retain(|position| ends.next_if_eq(position).is_none());
        open.extend(of(Edge::Begin));
        #[expect(
            clippy::stable_sort_primitive,
            reason = "it merges two sorted parts in linear time"
        )]
        open.sort();
        intervals.starts.push(at_port[0].0);
        intervals.rows.push(&open);
    }
    intervals.rows.close();
    intervals
}

// === impl OfProtocol ===

impl OfProtocol {
    fn rows(&self, port: u16) -> [View<'_>; 2] {
        let [block, low] = port.to_be_bytes();
        let part = self.parts.get(usize::from(block)).and_then(|parts| {
            let after = parts.starts.partition_point(|start| *start <= low);
            parts.rows.row(after.checked_sub(1)?)
        });
        let whole = self.whole.get(usize::from(block)).map(Row::view);
        [whole, part].map(Option::unwrap_or_default)
    }
}

// === impl Ports ===

impl Ports {
    /// The rows for a packet to a pod with these named ports.
    pub(super) fn rows<'a>(&'a self, transport: Transport, named: &'a [NamedPort]) -> PortRows<'a> {
        let mut rows = [self.any.view(), View::default(), View::default(), View::default()];
        if let Some(protocol) = transport.protocol() {
            let of = &self.protocols[place(protocol)];
            rows[1] = of.any.view();
            if let Some(port) = transport.port() {
                [rows[2], rows[3]] = of.rows(port);
            }
        }
        let at = transport.protocol().zip(transport.port());
        let named = if self.names.is_empty() { &[] } else { named };
        PortRows { rows, table: self, named, at }
    }
}

// === impl PortRows ===

impl<'a> PortRows<'a> {
    pub(super) fn summary(&self, block: usize) -> u64 {
        self.all().fold(0, |bits, row| bits | row.summary(block))
    }

    pub(super) fn word(&self, word: usize) -> u64 {
        self.all().fold(0, |bits, row| bits | row.word(word))
    }

    fn all(&self) -> impl Iterator<Item = View<'a>> {
        let Self { rows, table, named, at } = *self;
        let names = named
            .iter()
            .filter(move |port| at == Some((port.protocol, port.number)))
            .filter_map(|port| table.names.get(&port.name).map(|name| (name, port.protocol)))
            .flat_map(|(name, protocol)| {
                [&name.any, &name.protocols[place(protocol)]].map(Row::view)
            });
        rows.into_iter().chain(names)
    }
}

#[cfg(test)]
mod tests;
