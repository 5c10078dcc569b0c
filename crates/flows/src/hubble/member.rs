//! Members of Hubble's enums, by name or number.

use netenf_learn::{Direction, NodeState, Verdict};

use crate::value::Enum;

/// `flow.FlowType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowType {
    L3L4,
    L7,
    Sock,
    Unknown,
}

/// `flow.L7FlowType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum L7Type {
    Request,
    Response,
    Unknown,
}

/// `flow.TrafficDirection`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrafficDirection(pub(super) Option<Direction>);

/// `flow.LostEventSource`, in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LostOrigin(pub(super) &'static str);

// === impl Enum ===

impl Enum for Verdict {
    fn of_name(name: &str) -> Self {
        match name {
            "FORWARDED" => Self::Forwarded,
            "DROPPED" => Self::Dropped,
            "ERROR" => Self::Failed,
            "AUDIT" => Self::Audit,
            "REDIRECTED" => Self::Redirected,
            "TRACED" | "TRANSLATED" => Self::Socket,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Forwarded,
            2 => Self::Dropped,
            3 => Self::Failed,
            4 => Self::Audit,
            5 => Self::Redirected,
            6 | 7 => Self::Socket,
            _ => Self::Unknown,
        }
    }
}

impl Enum for FlowType {
    fn of_name(name: &str) -> Self {
        match name {
            "L3_L4" => Self::L3L4,
            "L7" => Self::L7,
            "SOCK" => Self::Sock,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::L3L4,
            2 => Self::L7,
            3 => Self::Sock,
            _ => Self::Unknown,
        }
    }
}

impl Enum for L7Type {
    fn of_name(name: &str) -> Self {
        match name {
            "REQUEST" => Self::Request,
            "RESPONSE" => Self::Response,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Request,
            2 => Self::Response,
            _ => Self::Unknown,
        }
    }
}

impl Enum for TrafficDirection {
    fn of_name(name: &str) -> Self {
        Self(match name {
            "INGRESS" => Some(Direction::Ingress),
            "EGRESS" => Some(Direction::Egress),
            _ => None,
        })
    }

    fn of_number(number: i64) -> Self {
        Self(match number {
            1 => Some(Direction::Ingress),
            2 => Some(Direction::Egress),
            _ => None,
        })
    }
}

impl Enum for LostOrigin {
    fn of_name(name: &str) -> Self {
        let known = LOST_ORIGINS.iter().find(|known| **known == name);
        Self(known.copied().unwrap_or(Self::UNKNOWN.0))
    }

    fn of_number(number: i64) -> Self {
        let known = usize::try_from(number).ok().and_then(|number| LOST_ORIGINS.get(number));
        Self(known.copied().unwrap_or(Self::UNKNOWN.0))
    }
}

impl LostOrigin {
    pub(super) const UNKNOWN: Self = Self(LOST_ORIGINS[0]);
}

/// The names of `flow.LostEventSource`, by number.
const LOST_ORIGINS: [&str; 4] = [
    "UNKNOWN_LOST_EVENT_SOURCE",
    "PERF_EVENT_RING_BUFFER",
    "OBSERVER_EVENTS_QUEUE",
    "HUBBLE_RING_BUFFER",
];

impl Enum for NodeState {
    fn of_name(name: &str) -> Self {
        match name {
            "NODE_CONNECTED" => Self::Connected,
            "NODE_UNAVAILABLE" => Self::Unavailable,
            "NODE_GONE" => Self::Gone,
            "NODE_ERROR" => Self::Error,
            _ => Self::Unknown,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            1 => Self::Connected,
            2 => Self::Unavailable,
            3 => Self::Gone,
            4 => Self::Error,
            _ => Self::Unknown,
        }
    }
}
