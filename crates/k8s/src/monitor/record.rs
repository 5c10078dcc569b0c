//! Records of denied traffic, and what a policy's status holds of them.

use std::collections::HashMap;
use std::mem;

use jiff::Timestamp as Time;
use netenf_api::violation::MAX_VIOLATIONS;
use netenf_api::{Decision, Mode, Tier, Violation, ViolationReason, WorkloadNetworkPolicy};
use netenf_learn as learn;
use netenf_policy as policy;

use super::Denied;
use crate::render;

/// The record of denied traffic. Its id is a hash of what makes it distinct: policy, direction, peer,
/// port and protocol; neither pods nor client ports nor the mode are part of it (case B80). Traffic of a
/// source that tells no times is as of 1970.
pub fn violation(denied: &Denied, mode: Mode) -> Option<Violation> {
    let edge = &denied.edge;
    // What becomes known of a peer later does not make it another.
    let peer = learn::proposal::Peer {
        addresses: Vec::new(),
        names: Vec::new(),
        service: None,
        ..denied.other_end().clone()
    };
    let key = format!(
        "{}/{} {} {:?} {:?} {}",
        denied.policy.0, denied.policy.1, denied.direction, peer, edge.protocol, edge.port
    );
    let at = |time: Option<learn::Timestamp>| render::time(time.unwrap_or(learn::Timestamp(0)));
    Some(Violation {
        id: format!("v{}", learn::name::short_hash(&key)),
        direction: denied.direction,
        source: render::peer(&edge.source.peer),
        dest: render::peer(&edge.destination.peer),
        protocol: render::protocol(edge.protocol),
        // The API knows no port 0.
        dst_port: Some(edge.port).filter(|port| *port > 0),
        action: mode,
        reason: match &denied.rule {
            Some(_) => ViolationReason::DeniedByPolicy,
            None => ViolationReason::NoRule,
        },
        decided_by: Some(decision(denied)),
        count: i64::try_from(edge.count).unwrap_or(i64::MAX),
        first_seen: at(edge.first)?,
        last_seen: at(edge.last)?,
    })
}

/// What denied it: a rule of another tier, or the policy, which has none for it.
fn decision(denied: &Denied) -> Decision {
    let Some(rule) = &denied.rule else {
        return Decision {
            tier: Tier::NetworkPolicy,
            kind: Some("WorkloadNetworkPolicy".to_owned()),
            namespace: Some(denied.policy.0.clone()),
            name: Some(denied.policy.1.clone()),
            rule: None,
        };
    };
    Decision {
        tier: match rule.tier {
            policy::Tier::Admin => Tier::Admin,
            policy::Tier::NetworkPolicy => Tier::NetworkPolicy,
            policy::Tier::Baseline => Tier::Baseline,
        },
        kind: Some(rule.object.kind.to_string()),
        namespace: rule.object.namespace.as_ref().map(ToString::to_string),
        name: Some(rule.object.name.to_string()),
        rule: u32::try_from(rule.index).ok(),
    }
}

/// Adds violations to a policy's status: a recurrence adds to its record, one that was acknowledged stays
/// acknowledged; the newest come first, and what is cut is counted.
pub fn record(policy: &mut WorkloadNetworkPolicy, violations: Vec<Violation>) {
    let status = policy.status.get_or_insert_default();
    for violation in violations {
        status.violation_count = status.violation_count.saturating_add(violation.count);
        let mut acknowledged = status.acknowledged_violations.iter_mut();
        match acknowledged.find(|one| one.violation.id == violation.id) {
            Some(acknowledged) => {
                // Under another mode it is still known (case B80); the old mode is noted.
                let mode = acknowledged.violation.action;
                if mode != violation.action {
                    acknowledged.previous_mode = Some(mode);
                }
                add(&mut acknowledged.violation, &violation);
            }
            None => status.violations.push(violation),
        }
    }
    status.violations = gathered(mem::take(&mut status.violations));
    let over = status.violations.len().saturating_sub(MAX_VIOLATIONS);
    status.violations.truncate(MAX_VIOLATIONS);
    if over > 0 {
        let over = i64::try_from(over).unwrap_or(i64::MAX);
        *status.violations_truncated.get_or_insert(0) += over;
    }
    status.active_violation_count = i64::try_from(status.violations.len()).unwrap_or(i64::MAX);
}

/// What is worth telling of violations that were just recorded in the policy: each as the status holds it, or as it
/// was seen if it was cut there. What a person acknowledged is known and not told again.
pub fn reported(policy: &WorkloadNetworkPolicy, recorded: Vec<Violation>) -> Vec<Violation> {
    let Some(status) = &policy.status else { return recorded };
    let known = &status.acknowledged_violations;
    let is_news = |one: &Violation| known.iter().all(|other| other.violation.id != one.id);
    let held = |one: &Violation| status.violations.iter().find(|other| other.id == one.id).cloned();
    let news = recorded.into_iter().filter(is_news);
    news.map(|one| held(&one).unwrap_or(one)).collect()
}

/// Each violation once, with all of its connections; the newest come first.
pub fn gathered(violations: Vec<Violation>) -> Vec<Violation> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut gathered: Vec<Violation> = Vec::new();
    for violation in violations {
        if let Some(place) = places.get(&violation.id) {
            add(&mut gathered[*place], &violation);
        } else {
            places.insert(violation.id.clone(), gathered.len());
            gathered.push(violation);
        }
    }
    gathered.sort_by(|a, b| (b.last_seen.0, &a.id).cmp(&(a.last_seen.0, &b.id)));
    gathered
}

/// Adds a recurrence to what is known of it.
fn add(known: &mut Violation, again: &Violation) {
    known.count = known.count.saturating_add(again.count);
    if again.first_seen.0 != Time::UNIX_EPOCH {
        known.first_seen.0 = known.first_seen.0.min(again.first_seen.0);
    }
    known.last_seen.0 = known.last_seen.0.max(again.last_seen.0);
    known.action = again.action;
}
