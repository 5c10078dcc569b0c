//! The formats that can be read, and one decoder for each.

use std::fmt;

use netenf_learn::{LostEvents, NodeStatus, Observation, Provider};

use crate::{DecodeError, goldmane, hubble, ztunnel};

/// What one line of a recording, or one message of a stream, tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A flow.
    Flow(Observation),
    /// The source lost events.
    Lost(LostEvents),
    /// The source's word about its nodes.
    NodeStatus(NodeStatus),
}

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Hubble's `GetFlowsResponse`, or a bare flow, as proto JSON.
    Hubble,
    /// Goldmane's `FlowResult`, or a bare flow, as proto JSON.
    Goldmane,
    /// The JSON log of ztunnel.
    Ztunnel,
}

/// A decoder of any format.
#[derive(Debug)]
pub enum Decoder {
    /// Decodes Hubble's flows.
    Hubble(Box<hubble::Decoder>),
    /// Decodes Goldmane's flows.
    Goldmane(Box<goldmane::Decoder>),
    /// Decodes ztunnel's log lines.
    Ztunnel(Box<ztunnel::Decoder>),
}

// === impl Format ===

impl Format {
    /// The source that writes this format.
    pub const fn provider(self) -> Provider {
        match self {
            Self::Hubble => Provider::Hubble,
            Self::Goldmane => Provider::Goldmane,
            Self::Ztunnel => Provider::Ztunnel,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Hubble => "Hubble",
            Self::Goldmane => "Goldmane",
            Self::Ztunnel => "ztunnel",
        })
    }
}

// === impl Decoder ===

impl Decoder {
    /// A decoder of `format` with empty caches.
    pub fn new(format: Format) -> Self {
        match format {
            Format::Hubble => Self::Hubble(Box::default()),
            Format::Goldmane => Self::Goldmane(Box::default()),
            Format::Ztunnel => Self::Ztunnel(Box::default()),
        }
    }

    /// The format that this decodes.
    pub const fn format(&self) -> Format {
        match self {
            Self::Hubble(_) => Format::Hubble,
            Self::Goldmane(_) => Format::Goldmane,
            Self::Ztunnel(_) => Format::Ztunnel,
        }
    }

    /// Decodes one JSON text. `None` is a text of this source that says nothing about flows.
    #[inline]
    pub fn decode(&mut self, line: &[u8]) -> Result<Option<Record>, DecodeError> {
        match self {
            Self::Hubble(decoder) => decoder.decode(line),
            Self::Goldmane(decoder) => decoder.decode(line),
            Self::Ztunnel(decoder) => decoder.decode(line),
        }
    }
}
