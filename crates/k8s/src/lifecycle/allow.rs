//! Turns something that was seen into a rule, because a person said so.

use ipnet::IpNet;
use netenf_api::{Backend, Provenance, RuleEvidence};

use super::body;
use super::choice::{self, Choice, Target};
use super::clear::{self, Seen};
use super::peer::is_same;
use super::range;
use super::refusal::{Reason, Refusal, list};
use super::resource::Resource;
use super::rule::{self, Addition};
use super::wanted::{self, Wanted};

/// An object with the rule added.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed {
    /// The object.
    pub object: Resource,
    /// The full id of what was allowed.
    pub id: String,
    /// Other entries that the rule allows too, and that are therefore gone from the lists.
    pub cleared: Vec<String>,
    /// What a person should know about the rule.
    pub warnings: Vec<Warning>,
}

/// What a person should know about a rule that was added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// The rule allows every address of one family, and none of the other.
    #[error("{cidr} is every address of one family only; the other stays denied")]
    OneFamily {
        /// The network.
        cidr: IpNet,
    },
    /// Some CNIs match nodes by identity and not by address.
    #[error("Cilium does not match nodes by address, so the rule may allow nothing there")]
    Node,
    /// Nothing tells whether the rule allows what was seen.
    #[error("no address of it is known: check that it is in {}", list(networks))]
    Unchecked {
        /// What the rule allows.
        networks: Vec<IpNet>,
    },
    /// Pods come and go, and so do their addresses.
    #[error("pods change their addresses, and some CNIs do not match pods by address at all")]
    Pods,
    /// The spec allowed it before.
    #[error("a rule of the spec allowed it already")]
    AllowedBefore,
}

/// Adds the rule to `resource` that `choice` makes of the entry `id` of its uncovered peers,
/// violations or suggestions. An id may be cut short as long as it names one entry.
pub fn allow(resource: &Resource, id: &str, choice: &Choice) -> Result<Allowed, Refusal> {
    check(resource, id)
        .and_then(|wanted| add(resource, &wanted, choice))
        .map_err(|reason| Refusal::new("allow traffic in", resource.key(), reason))
}

fn check(resource: &Resource, id: &str) -> Result<Wanted, Reason> {
    body::check(resource)?;
    wanted::find(resource, id)
}

fn add(resource: &Resource, wanted: &Wanted, choice: &Choice) -> Result<Allowed, Reason> {
    match (choice, wanted.is_suggestion(), resource.backend()) {
        (Choice::Range, true, _) => range::accept(resource, wanted),
        (_, true, _) => Err(Reason::IsSuggestion { id: wanted.id.clone() }),
        (_, false, Backend::Kubernetes) => add_peer(resource, wanted, choice),
        (_, false, Backend::Istio) => add_principal(resource, wanted, choice),
    }
}

fn add_peer(resource: &Resource, wanted: &Wanted, choice: &Choice) -> Result<Allowed, Reason> {
    let port = wanted.port()?;
    let direction = wanted.direction.or_else(|| resource.direction());
    let direction = direction.ok_or(Reason::NoDirection)?;
    let targets = choice::targets(choice, wanted)?;
    let mut object = resource.clone();
    let mut additions = Vec::new();
    if let Some(policy) = object.kubernetes_mut() {
        let mut rules = rule::take(policy, direction);
        for target in &targets {
            let port = rule::port(wanted.protocol, Some(port), None);
            additions.push(rule::add(&mut rules, target.peer.clone(), port));
        }
        rule::put(policy, direction, rules);
    }
    Ok(finish(object, wanted, &targets, &additions))
}

fn add_principal(resource: &Resource, wanted: &Wanted, choice: &Choice) -> Result<Allowed, Reason> {
    match choice {
        Choice::Peer { .. } => {}
        Choice::Range => return Err(Reason::NoSuggestion { id: wanted.id.clone() }),
        Choice::Addresses | Choice::Networks(_) | Choice::Any { .. } => {
            return Err(Reason::NamesIdentities);
        }
    }
    let port = wanted.port()?;
    let principal = wanted.peer.identity.as_deref();
    let principal = principal.ok_or_else(|| Reason::NoIdentity { id: wanted.id.clone() })?;
    let mut object = resource.clone();
    let additions: Vec<Addition> = object
        .istio_mut()
        .map(|policy| rule::add_principal(policy, principal, port))
        .into_iter()
        .collect();
    Ok(finish(object, wanted, &[Target::identity(&wanted.peer)], &additions))
}

/// Moves what the rule allows from the lists to the evidence.
fn finish(
    mut object: Resource,
    wanted: &Wanted,
    targets: &[Target],
    additions: &[Addition],
) -> Allowed {
    let seen = clear::take(&mut object, wanted, targets);
    for (position, target) in targets.iter().enumerate() {
        let own = seen.iter().filter(|seen| seen.target == position);
        note(object.evidence_mut(), wanted, target, own);
    }
    let changed = additions.contains(&Addition::Added);
    object.recount();
    if changed {
        object.count_revision();
    }
    let mut warnings = warnings(wanted, targets);
    if !changed {
        warnings.push(Warning::AllowedBefore);
    }
    let others = seen.into_iter().map(|seen| seen.id).filter(|id| *id != wanted.id);
    Allowed { object, id: wanted.id.clone(), cleared: others.collect(), warnings }
}

fn note<'a>(
    evidence: &mut Vec<RuleEvidence>,
    wanted: &Wanted,
    target: &Target,
    seen: impl Iterator<Item = &'a Seen>,
) {
    let known = evidence.iter().position(|rule| {
        is_same(&rule.peer, &target.shown)
            && rule.protocol == wanted.protocol
            && rule.port == wanted.port
            && rule.end_port.is_none()
    });
    let mut rule = match known {
        Some(position) => evidence.remove(position),
        None => blank(wanted, target),
    };
    rule.provenance = Provenance::Manual;
    rule.refused = false;
    rule.selector.clone_from(&target.peer.pod_selector);
    for seen in seen {
        seen.add_to(&mut rule);
    }
    let last = evidence.iter().rposition(|other| is_same(&other.peer, &target.shown));
    let place = known.or(last.map(|last| last + 1)).unwrap_or(evidence.len());
    evidence.insert(place, rule);
}

fn blank(wanted: &Wanted, target: &Target) -> RuleEvidence {
    let (peer, protocol) = (target.shown.clone(), wanted.protocol);
    RuleEvidence {
        selector: target.peer.pod_selector.clone(),
        ..RuleEvidence::new(peer, wanted.port, protocol, Provenance::Manual)
    }
}

fn warnings(wanted: &Wanted, targets: &[Target]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let [Target { block: Some(cidr), .. }] = targets
        && cidr.prefix_len() == 0
    {
        warnings.push(Warning::OneFamily { cidr: *cidr });
    }
    if wanted.is_node() && targets.iter().any(|target| target.block.is_some()) {
        warnings.push(Warning::Node);
    }
    let networks: Vec<IpNet> = targets.iter().filter_map(|target| target.block).collect();
    let is_any = networks.iter().any(|network| network.prefix_len() == 0);
    if !networks.is_empty() && !is_any && choice::seen(wanted).is_empty() {
        warnings.push(Warning::Unchecked { networks: networks.clone() });
    }
    if !networks.is_empty() && wanted.peer.namespace.is_some() && !wanted.is_node() {
        warnings.push(Warning::Pods);
    }
    warnings
}

#[cfg(test)]
mod tests;
