//! Ranges of addresses.

use std::net::IpAddr;

use ipnet::IpNet;

/// Reads a range; bits beyond its prefix may be set. Refused are leading zeros, which some read as octal
/// numbers, and IPv4 addresses in the form of IPv6, as the API's strict validation has it.
pub(super) fn cidr(text: &str) -> Option<IpNet> {
    let (address, prefix) = text.split_once('/')?;
    let is_plain = prefix.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = prefix.len() > 1 && prefix.starts_with('0');
    let address: IpAddr = address.parse().ok()?;
    let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    if !is_plain || is_padded || is_mapped {
        return None;
    }
    IpNet::new(address, prefix.parse().ok()?).ok()
}
