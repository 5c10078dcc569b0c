//! Ports of rules.

use netenf_policy::{ClusterPort, PortMatch, PortRange, Protocol};

use crate::lower::field::{Field, Problem};
use crate::object::ClusterKind;

/// One of a rule's `ports` (v1alpha1) or `protocols` (since v1alpha2): exactly one of its fields must be set.
pub(super) fn port(kind: ClusterKind, field: &Field<'_>) -> Result<ClusterPort, Problem> {
    match kind {
        ClusterKind::AdminNetworkPolicy | ClusterKind::BaselineAdminNetworkPolicy => first(field),
        ClusterKind::ClusterNetworkPolicy => second(field),
    }
}

/// A port as v1alpha1 spells it.
fn first(field: &Field<'_>) -> Result<ClusterPort, Problem> {
    let (name, member) = field.only_member()?;
    match name {
        "portNumber" => {
            member.only(&["protocol", "port"])?;
            let number = number(&member.required("port")?)?;
            Ok(of(protocol(&member)?, number, number))
        }
        "portRange" => {
            member.only(&["protocol", "start", "end"])?;
            let (start, end) = bounds(&member)?;
            if start > end {
                return Err(member.problem(format!("from {start} to {end} is no range")));
            }
            Ok(of(protocol(&member)?, start, end))
        }
        "namedPort" => named(&member),
        _ => Err(member.problem("is not known")),
    }
}

/// A port as v1alpha2 and v1beta1 spell it.
fn second(field: &Field<'_>) -> Result<ClusterPort, Problem> {
    let (name, member) = field.only_member()?;
    let protocol = match name {
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        "sctp" => Protocol::Sctp,
        "destinationNamedPort" => return named(&member),
        _ => return Err(member.problem("is not known")),
    };
    member.only(&["destinationPort"])?;
    let (name, port) = member.required("destinationPort")?.only_member()?;
    match name {
        "number" => {
            let number = number(&port)?;
            Ok(of(protocol, number, number))
        }
        "range" => {
            port.only(&["start", "end"])?;
            let (start, end) = bounds(&port)?;
            // "Start port must be less than End port" (a validation rule of the API).
            if start >= end {
                return Err(port.problem(format!("from {start} to {end} is no range")));
            }
            Ok(of(protocol, start, end))
        }
        _ => Err(port.problem("is not known")),
    }
}

fn of(protocol: Protocol, first: u16, last: u16) -> ClusterPort {
    ClusterPort::Of(PortMatch { protocol, range: PortRange::Numbers(first, last) })
}

fn named(field: &Field<'_>) -> Result<ClusterPort, Problem> {
    match field.text()? {
        "" => Err(field.problem("is empty")),
        name => Ok(ClusterPort::Named(name.into())),
    }
}

/// "If not specified, this field defaults to TCP."
fn protocol(field: &Field<'_>) -> Result<Protocol, Problem> {
    let Some(field) = field.member("protocol") else { return Ok(Protocol::Tcp) };
    match field.text()? {
        "TCP" => Ok(Protocol::Tcp),
        "UDP" => Ok(Protocol::Udp),
        "SCTP" => Ok(Protocol::Sctp),
        other => Err(field.problem(format!("{other:?} is not known"))),
    }
}

fn bounds(range: &Field<'_>) -> Result<(u16, u16), Problem> {
    Ok((number(&range.required("start")?)?, number(&range.required("end")?)?))
}

/// A port's number, from 1 to 65535.
fn number(field: &Field<'_>) -> Result<u16, Problem> {
    let value = field.number()?;
    let number = u16::try_from(value).ok().filter(|number| *number > 0);
    number.ok_or_else(|| field.problem(format!("{value} is not from 1 to 65535")))
}
