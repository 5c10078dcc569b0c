//! Peers of rules.

use ipnet::IpNet;
use netenf_policy::{ClusterPeer, Pattern, Side};

use super::Lowering;
use crate::lower::cidr::cidr;
use crate::lower::field::{Field, Problem};
use crate::lower::selector;
use crate::object::ClusterKind;

/// Networks or names of one peer, at most.
const VALUES: usize = 25;

// === impl Lowering ===

impl Lowering {
    /// A peer: "exactly one of the fields must be set". Nodes, networks and names are peers of egress only, and
    /// names are none of a BaselineAdminNetworkPolicy.
    pub(super) fn peer(&mut self, side: Side, field: &Field<'_>) -> Result<ClusterPeer, Problem> {
        let kind = self.kind;
        let (name, member) = field.only_member()?;
        match (name, side) {
            ("namespaces" | "pods", _) => Ok(ClusterPeer::Pods(self.pods(name, &member)?)),
            ("nodes", Side::Egress) => Ok(ClusterPeer::Nodes(selector::of_field(&member)?)),
            ("networks", Side::Egress) => {
                let networks = self.values(&member, |item| network(kind, item))?;
                Ok(ClusterPeer::Networks(networks))
            }
            ("domainNames", Side::Egress) if kind != ClusterKind::BaselineAdminNetworkPolicy => {
                Ok(ClusterPeer::Domains(self.values(&member, pattern)?))
            }
            _ => Err(member.problem("is not known")),
        }
    }

    fn values<T>(
        &mut self,
        list: &Field<'_>,
        read: impl Fn(&Field<'_>) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let items = list.items()?;
        if items.is_empty() {
            return Err(list.problem("is empty"));
        }
        self.limit(list, items.len(), VALUES);
        items.iter().map(read).collect()
    }
}

/// A network. `cidr(self) == cidr(self).masked()` is asked since v1alpha2.
fn network(kind: ClusterKind, field: &Field<'_>) -> Result<IpNet, Problem> {
    let text = field.text()?;
    let network = cidr(text).ok_or_else(|| field.problem(format!("{text:?} is no CIDR")))?;
    match kind {
        ClusterKind::ClusterNetworkPolicy if network != network.trunc() => {
            let what = format!("{text:?} has bits beyond its prefix: {} has none", network.trunc());
            Err(field.problem(what))
        }
        ClusterKind::AdminNetworkPolicy
        | ClusterKind::BaselineAdminNetworkPolicy
        | ClusterKind::ClusterNetworkPolicy => Ok(network.trunc()),
    }
}

/// A domain name. Labels start and end with a letter or digit for the API, though names in DNS need not.
fn pattern(field: &Field<'_>) -> Result<Pattern, Problem> {
    let text = field.text()?;
    let is_outer = |c: char| c.is_ascii_alphanumeric();
    let is_bounded = |label: &str| label.starts_with(is_outer) && label.ends_with(is_outer);
    Pattern::parse(text)
        .filter(|pattern| pattern.name.labels().all(is_bounded))
        .ok_or_else(|| field.problem(format!("{text:?} is no domain name of two labels or more")))
}
