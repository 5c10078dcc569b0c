//! Whether a rule could express what one observation shows. It follows the learner's own judgement
//! (`netenf_learn`, `outcome/place/fit.rs`) as far as one observation tells.

use std::net::IpAddr;

use netenf_learn::classify::Skip;
use netenf_learn::proposal::{Peer, Reason};
use netenf_learn::{Backend, Config, Direction, Directory as _, ExternalPeers, Workload};

use super::{Fate, Told};
use crate::index::Index;

/// DNS, which has a rule of its own.
const DNS_PORT: u16 = 53;

/// What becomes of it: on the side that it is told of, else on the other one.
pub(super) fn fate(index: &Index, config: &Config, told: &Told) -> Fate {
    let other = match told.direction {
        Direction::Egress => Direction::Ingress,
        Direction::Ingress => Direction::Egress,
    };
    let (own, other) =
        (side(index, config, told, told.direction), side(index, config, told, other));
    match (&own, &other) {
        (Fate::Learned, _) | (Fate::Uncovered(_), Fate::Skipped(_) | Fate::Uncovered(_)) => own,
        (_, Fate::Learned | Fate::Uncovered(_)) => other,
        _ => own,
    }
}

fn side(index: &Index, config: &Config, told: &Told, direction: Direction) -> Fate {
    let (subject, peer) = told.sides(direction);
    let (Some(namespace), Some(kind)) = (&subject.namespace, subject.kind.as_deref()) else {
        return Fate::Skipped(Skip::NotSubject);
    };
    if ["Node", "Remote", "NetworkSet"].contains(&kind) {
        return Fate::Skipped(Skip::NotSubject);
    }
    let name = subject.name.clone().unwrap_or_default();
    if !config.scope.covers(&Workload::new(namespace.clone(), kind, name)) {
        return Fate::Skipped(Skip::OutOfScope);
    }
    if config.backend == Backend::Istio {
        return of_mesh(peer, direction);
    }
    if !config.subjects.cover(kind) {
        return Fate::Uncovered(Reason::UnknownOwner);
    }
    reason(index, config, peer, (direction, told.port)).map_or(Fate::Learned, Fate::Uncovered)
}

/// Istio's policies are on the way in, and name mesh identities.
fn of_mesh(peer: &Peer, direction: Direction) -> Fate {
    match (direction, &peer.identity) {
        (Direction::Egress, _) if peer.namespace.is_some() => Fate::Skipped(Skip::OtherSide),
        (Direction::Egress, _) => Fate::Uncovered(Reason::External),
        (Direction::Ingress, Some(_)) => Fate::Learned,
        (Direction::Ingress, None) => Fate::Uncovered(Reason::Unmanaged),
    }
}

/// Why no rule can name the peer.
fn reason(
    index: &Index,
    config: &Config,
    peer: &Peer,
    (direction, port): (Direction, Option<u16>),
) -> Option<Reason> {
    let asks_dns = direction == Direction::Egress && port == Some(DNS_PORT);
    match peer.kind.as_deref().unwrap_or_default() {
        "Node" if peer.service.is_some() => Some(Reason::HostNetwork),
        "Node" => Some(Reason::Node),
        "NodePort" => Some(Reason::NodePort),
        "ApiServer" => match index.api_server() {
            Some(target) if direction == Direction::Egress && !target.addresses.is_empty() => {
                (port != Some(target.port)).then_some(Reason::Node)
            }
            Some(_) | None => Some(Reason::ApiServer),
        },
        "External" => match peer.address {
            Some(address) if is_link_local(address) => (!asks_dns).then_some(Reason::LinkLocal),
            Some(_) if config.external == ExternalPeers::Addresses => None,
            Some(_) | None => Some(Reason::External),
        },
        "Remote" => Some(Reason::External),
        "Unmanaged" => Some(Reason::Unmanaged),
        "Network" | "NetworkSet" | "Unknown" | "" => Some(Reason::NoAddress),
        _ => None,
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}
