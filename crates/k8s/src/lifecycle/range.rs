//! A suggested range takes the place of the ports that were listed one by one.

use std::sync::Arc;

use netenf_api::{Backend, Direction, Protocol, Provenance, RuleEvidence, Suggestion};

use super::allow::Allowed;
use super::locate;
use super::peer::{is_same, name};
use super::refusal::Reason;
use super::resource::Resource;
use super::rule;
use super::wanted::Wanted;
use crate::time::{earlier, later};

/// Puts the range of the suggestion `wanted` in place of the ports that it stands for.
pub(super) fn accept(resource: &Resource, wanted: &Wanted) -> Result<Allowed, Reason> {
    let unknown = || Reason::NoSuggestion { id: wanted.id.clone() };
    let suggestion = resource.suggestions().iter().find(|entry| entry.id == wanted.id);
    let suggestion = suggestion.ok_or_else(unknown)?.clone();
    if resource.backend() == Backend::Istio {
        return Err(Reason::NamesIdentities);
    }
    match suggestion.protocol {
        Protocol::Tcp | Protocol::Udp | Protocol::Sctp => {}
        protocol @ (Protocol::Icmp | Protocol::Other) => {
            return Err(Reason::ProtocolWithoutRule { protocol });
        }
    }
    let direction = resource.direction().ok_or(Reason::NoDirection)?;
    let mut object = resource.clone();
    widen_spec(&mut object, direction, &suggestion)?;
    let evidence = object.evidence_mut();
    let place = evidence.iter().position(|rule| is_within(rule, &suggestion));
    let merged = merge(evidence, &suggestion);
    evidence.insert(place.unwrap_or(evidence.len()), merged);
    if let Resource::Proposal(proposal) = &mut object {
        let status = Arc::make_mut(proposal).status.get_or_insert_default();
        status.suggestions.retain(|entry| entry.id != suggestion.id);
    }
    object.recount();
    object.count_revision();
    let (cleared, warnings) = (Vec::new(), Vec::new());
    Ok(Allowed { object, id: suggestion.id, cleared, warnings })
}

fn widen_spec(
    object: &mut Resource,
    direction: Direction,
    suggestion: &Suggestion,
) -> Result<(), Reason> {
    let listed: Vec<_> = object
        .evidence()
        .iter()
        .filter(|rule| is_within(rule, suggestion) && !rule.refused)
        .map(|rule| rule::port(rule.protocol, rule.port, rule.end_port))
        .collect();
    let named = || range_name(suggestion);
    let own = locate::rules(object, direction, &suggestion.peer, &listed);
    let positions = locate::only(&own, named)?.clone();
    let Some(policy) = object.kubernetes_mut() else { return Ok(()) };
    let mut rules = rule::take(policy, direction);
    let range = rule::port(suggestion.protocol, suggestion.port, suggestion.end_port);
    for (number, position) in positions.iter().enumerate() {
        let own = &mut rules[*position].ports;
        own.retain(|port| !rule::contains(&range, port));
        if number == 0 {
            let place = own.iter().position(|port| rule::is_after(port, &range));
            own.insert(place.unwrap_or(own.len()), range.clone());
        }
    }
    rule::drop_emptied(&mut rules, &positions);
    rule::put(policy, direction, rules);
    Ok(())
}

/// Takes the evidence of the listed ports, and makes one entry of it.
fn merge(evidence: &mut Vec<RuleEvidence>, suggestion: &Suggestion) -> RuleEvidence {
    let within = |rule: &mut RuleEvidence| is_within(rule, suggestion);
    let listed: Vec<RuleEvidence> = evidence.extract_if(.., within).collect();
    let (peer, protocol) = (suggestion.peer.clone(), suggestion.protocol);
    let mut merged = RuleEvidence {
        end_port: suggestion.end_port,
        selector: listed.iter().find_map(|rule| rule.selector.clone()),
        notes: vec![format!("a range in place of {} ports", listed.len())],
        ..RuleEvidence::new(peer, suggestion.port, protocol, Provenance::Manual)
    };
    for rule in listed {
        merged.count = merged.count.saturating_add(rule.count);
        merged.first_seen = earlier(merged.first_seen.take(), rule.first_seen);
        merged.last_seen = later(merged.last_seen.take(), rule.last_seen);
        merged.example = merged.example.take().or(rule.example);
        for service in rule.services {
            if !merged.services.contains(&service) {
                merged.services.push(service);
            }
        }
    }
    merged
}

fn is_within(rule: &RuleEvidence, suggestion: &Suggestion) -> bool {
    let range = rule::port(suggestion.protocol, suggestion.port, suggestion.end_port);
    let port = rule::port(rule.protocol, rule.port, rule.end_port);
    is_same(&rule.peer, &suggestion.peer) && rule::contains(&range, &port)
}

fn range_name(suggestion: &Suggestion) -> String {
    let ports = match (suggestion.port, suggestion.end_port) {
        (Some(first), Some(last)) => format!("{first}-{last}"),
        (Some(first), None) => first.to_string(),
        (None, _) => "*".to_owned(),
    };
    format!("{} {ports}/{}", name(&suggestion.peer), suggestion.protocol)
}

#[cfg(test)]
mod tests;
