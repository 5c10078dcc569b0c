//! What one observation says about its connection, before anyone asks who the ends are.
//!
//! Rules follow the connection's opener, never the packet. Positive evidence of the opener is a SYN
//! without ACK, a request inside the connection, a whole-connection record, or `is_reply: false` where
//! a source reports no flags. A TCP packet without SYN proves nothing, whatever `is_reply` says: when
//! a tracker has forgotten a connection, its last packets look like new ones in the other direction
//! (cases B02, B04, B05).

use netenf_policy::Protocol;

use crate::observation::{DropReason, Event, Icmp, Observation, TcpFlags, Transport, Verdict};

/// First port of the range that clients commonly get their ports from (Linux: 32768 to 60999).
pub const FIRST_CLIENT_PORT: u16 = 32768;

/// What an observation says about its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The source opened it.
    Open(Protocol),
    /// The destination opened it, and the source answered.
    Answer(Protocol),
    /// One of the ends; this packet does not tell which.
    Candidate(Protocol),
    /// The source resets: what the destination attempted is refused; its own it only gives up.
    Reset,
    /// The attempt failed, or was dropped for another reason than policy.
    Refused(Protocol, Skip),
    /// A policy denied it.
    Denied(Option<Protocol>),
    /// The source, or a router in its place, tells the destination that an attempt of its failed: which
    /// one is not told (DESIGN D2).
    Unreachable,
    /// Passed, in a protocol that no rule can name (case B56).
    Inexpressible,
    /// Teaches nothing.
    Skip(Skip),
}

/// Why an observation teaches nothing. The names stand in `status` and in metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    /// A packet or message of the answering side.
    Reply,
    /// Refused, reset or failed.
    Rejected,
    /// Denied by a policy that is not ours (case B82).
    Denied,
    /// Timed out.
    Unanswered,
    /// Port 0 (case B07).
    InvalidPort,
    /// No protocol or no port (case B08).
    Incomplete,
    /// ICMP errors, neighbour discovery and the like (case B56).
    Icmp,
    /// A socket event, with addresses before translation.
    Socket,
    /// A policy's log line about a connection that is reported elsewhere.
    PolicyLog,
    /// The opening of a connection whose end is reported too.
    Opened,
    /// The other side's report of a connection that its own side reports.
    OtherSide,
    /// A verdict that we do not know.
    UnknownVerdict,
    /// From the pod's own node, which every policy lets pass (case B43).
    NodeLocal,
    /// A kubelet probe under Istio ambient (case B44).
    AmbientProbe,
    /// Cilium's own health checks.
    Health,
    /// A pod talking to itself.
    SamePod,
    /// Namespace, pod and address do not belong together (case B28).
    InconsistentEndpoint,
    /// Denied before the pod's identity was known (case B59).
    TransientIdentity,
    /// Only DNS, which alone makes no proposal (DESIGN D4).
    Dns,
    /// Neither end is of a kind that proposals are written for.
    NotSubject,
    /// Neither end is in the scope of learning.
    OutOfScope,
    /// The limit of distinct edges was reached.
    Limit,
}

// === impl Skip ===

impl Skip {
    /// The name in `status -o json` and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reply => "Reply",
            Self::Rejected => "Rejected",
            Self::Denied => "Denied",
            Self::Unanswered => "Unanswered",
            Self::InvalidPort => "InvalidPort",
            Self::Incomplete => "Incomplete",
            Self::Icmp => "Icmp",
            Self::Socket => "Socket",
            Self::PolicyLog => "PolicyLog",
            Self::Opened => "Opened",
            Self::OtherSide => "OtherSide",
            Self::UnknownVerdict => "UnknownVerdict",
            Self::NodeLocal => "NodeLocal",
            Self::AmbientProbe => "AmbientProbe",
            Self::Health => "Health",
            Self::SamePod => "SamePod",
            Self::InconsistentEndpoint => "InconsistentEndpoint",
            Self::TransientIdentity => "TransientIdentity",
            Self::Dns => "Dns",
            Self::NotSubject => "NotSubject",
            Self::OutOfScope => "OutOfScope",
            Self::Limit => "Limit",
        }
    }
}

/// Classifies one observation.
pub fn classify(observation: &Observation) -> Class {
    match observation.event {
        Event::Socket => return Class::Skip(Skip::Socket),
        Event::PolicyLog => return Class::Skip(Skip::PolicyLog),
        Event::Opened => return Class::Skip(Skip::Opened),
        Event::Packet
        | Event::PolicyVerdict
        | Event::Drop
        | Event::Request
        | Event::Response
        | Event::Connection => {}
    }
    match observation.verdict {
        Verdict::Forwarded | Verdict::Redirected | Verdict::Audit => passed(observation),
        Verdict::Dropped => dropped(observation),
        Verdict::Failed => failed(observation),
        Verdict::Socket => Class::Skip(Skip::Socket),
        Verdict::Unknown => Class::Skip(Skip::UnknownVerdict),
    }
}

fn dropped(observation: &Observation) -> Class {
    let protocol = protocol(&observation.transport);
    match (&observation.drop_reason, protocol) {
        // Of an answer the other end was denied nothing.
        (Some(DropReason::Policy), _) if observation.reply == Some(true) => {
            Class::Skip(Skip::Reply)
        }
        (Some(DropReason::Policy), Some(_)) if observation.destination_port == Some(0) => {
            Class::Skip(Skip::InvalidPort)
        }
        (Some(DropReason::Policy), protocol) => Class::Denied(protocol),
        (Some(DropReason::Other(_)) | None, Some(protocol)) => {
            Class::Refused(protocol, Skip::Rejected)
        }
        (Some(DropReason::Other(_)) | None, None) => Class::Skip(Skip::Rejected),
    }
}

fn failed(observation: &Observation) -> Class {
    let timed_out = observation
        .error
        .as_deref()
        .is_some_and(|error| error.contains("timed out") || error.contains("deadline has elapsed"));
    let skip = if timed_out { Skip::Unanswered } else { Skip::Rejected };
    match protocol(&observation.transport) {
        Some(protocol) => Class::Refused(protocol, skip),
        None => Class::Skip(skip),
    }
}

fn passed(observation: &Observation) -> Class {
    let protocol = match &observation.transport {
        Transport::Icmp(icmp) => return message(*icmp, observation.reply),
        Transport::Other(_) => return Class::Inexpressible,
        Transport::Missing => return Class::Skip(Skip::Incomplete),
        Transport::Tcp(_) => Protocol::Tcp,
        Transport::Udp => Protocol::Udp,
        Transport::Sctp => Protocol::Sctp,
    };
    match observation.destination_port {
        None => return Class::Skip(Skip::Incomplete),
        Some(0) => return Class::Skip(Skip::InvalidPort),
        Some(_) => {}
    }
    match (observation.event, observation.reply) {
        (Event::Response, _) => Class::Answer(protocol),
        (Event::Connection, _) => Class::Open(protocol),
        (_, reply) => match observation.transport {
            Transport::Tcp(flags) if flags != TcpFlags::NONE => by_flags(flags, reply),
            _ if reply == Some(true) => Class::Answer(protocol),
            _ if observation.event == Event::Request => Class::Open(protocol),
            _ => without_flags(observation, protocol),
        },
    }
}

fn by_flags(flags: TcpFlags, reply: Option<bool>) -> Class {
    if flags.contains(TcpFlags::RST) {
        Class::Reset
    } else if reply == Some(true) || flags.contains(TcpFlags::SYN.with(TcpFlags::ACK)) {
        Class::Answer(Protocol::Tcp)
    } else if flags.contains(TcpFlags::SYN) {
        Class::Open(Protocol::Tcp)
    } else {
        Class::Candidate(Protocol::Tcp)
    }
}

/// Without flags the source's word counts, unless the ports say that it may be a late answer: from a
/// server's port to a client's.
fn without_flags(observation: &Observation, protocol: Protocol) -> Class {
    let towards_client = matches!(
        (observation.source_port, observation.destination_port),
        (Some(1..FIRST_CLIENT_PORT), Some(FIRST_CLIENT_PORT..))
    );
    let new_connection = observation.event == Event::PolicyVerdict;
    match observation.reply {
        Some(false) if !towards_client => Class::Open(protocol),
        None if new_connection => Class::Open(protocol),
        Some(_) | None => Class::Candidate(protocol),
    }
}

/// A ping is worth a note, and an unreachable destination answers an attempt; other errors, neighbour
/// discovery and path-MTU messages (unreachable with code 4) are always let pass or cannot be steered by
/// any policy, and say nothing about who talks to whom.
fn message(icmp: Icmp, reply: Option<bool>) -> Class {
    match icmp {
        Icmp::V4(None) | Icmp::V6(None) if reply == Some(true) => Class::Skip(Skip::Reply),
        Icmp::V4(Some((8, _)) | None) | Icmp::V6(Some((128, _)) | None) => Class::Inexpressible,
        Icmp::V4(Some((0, _))) | Icmp::V6(Some((129, _))) => Class::Skip(Skip::Reply),
        Icmp::V4(Some((3, 4))) => Class::Skip(Skip::Icmp),
        Icmp::V4(Some((3, _))) | Icmp::V6(Some((1, _))) => Class::Unreachable,
        Icmp::V4(_) | Icmp::V6(_) => Class::Skip(Skip::Icmp),
    }
}

/// The protocol, where a rule can name it.
pub fn protocol(transport: &Transport) -> Option<Protocol> {
    match transport {
        Transport::Tcp(_) => Some(Protocol::Tcp),
        Transport::Udp => Some(Protocol::Udp),
        Transport::Sctp => Some(Protocol::Sctp),
        Transport::Icmp(_) | Transport::Other(_) | Transport::Missing => None,
    }
}

#[cfg(test)]
mod tests;
