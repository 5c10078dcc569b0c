//! What a new rule allows leaves the lists of what nothing allows.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{PeerRef, RuleEvidence, WorkloadNetworkPolicyStatus};

use super::choice::Target;
use super::peer::{blocks, is_same, name};
use super::resource::Resource;
use super::wanted::{self, Wanted};
use crate::time::{earlier, later};

/// An entry that was taken from a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// Id of the entry.
    pub(super) id: String,
    /// Which of the targets allows it.
    pub(super) target: usize,
    peer: PeerRef,
    count: i64,
    first: Option<Time>,
    last: Option<Time>,
}

/// Takes what `targets` allow from the lists of `object`, and `wanted` in any case.
pub(super) fn take(object: &mut Resource, wanted: &Wanted, targets: &[Target]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for entry in wanted::entries(object) {
        if entry.is_suggestion() {
            continue;
        }
        let chosen = entry.id == wanted.id;
        // Where nothing is known of its addresses, the entry counts for the first.
        let target = allowing(&entry, wanted, targets).or(chosen.then_some(0));
        let Some(target) = target.filter(|_| chosen || entry.port().is_ok()) else { continue };
        let Wanted { id, peer, count, first, last, .. } = entry;
        seen.push(Seen { id, target, peer, count, first, last });
    }
    let gone = |id: &str| seen.iter().any(|seen| seen.id == id);
    object.uncovered_mut().retain(|entry| !gone(&entry.id));
    if let Resource::Policy(policy) = object
        && let Some(status) = &mut Arc::make_mut(policy).status
    {
        take_violations(status, gone);
    }
    seen
}

fn take_violations(status: &mut WorkloadNetworkPolicyStatus, gone: impl Fn(&str) -> bool) {
    let before = status.violations.len();
    status.violations.retain(|violation| !gone(&violation.id));
    status.acknowledged_violations.retain(|entry| !gone(&entry.violation.id));
    let cleared = i64::try_from(before - status.violations.len()).unwrap_or(i64::MAX);
    status.active_violation_count = (status.active_violation_count - cleared).max(0);
}

fn allowing(entry: &Wanted, wanted: &Wanted, targets: &[Target]) -> Option<usize> {
    if entry.protocol != wanted.protocol || entry.port != wanted.port {
        return None;
    }
    let addresses = blocks(&entry.peer);
    let outside = entry.peer.namespace.is_none() && !addresses.is_empty();
    let allows = |block| targets.iter().position(|target| target.allows(block));
    if outside && targets.iter().any(|target| target.block.is_some()) {
        // One address that stays denied keeps the entry.
        let mut positions = addresses.iter().map(allows);
        let first = positions.next().flatten()?;
        return positions.all(|position| position.is_some()).then_some(first);
    }
    targets.iter().position(|target| is_same(&entry.peer, &target.shown))
}

// === impl Seen ===

impl Seen {
    /// Adds what was seen to the evidence of the rule that now allows it.
    pub(super) fn add_to(&self, rule: &mut RuleEvidence) {
        rule.count = rule.count.saturating_add(self.count);
        rule.first_seen = earlier(rule.first_seen.take(), self.first.clone());
        rule.last_seen = later(rule.last_seen.take(), self.last.clone());
        if !is_same(&rule.peer, &self.peer) {
            let note = match self.peer.names.first() {
                Some(domain) => format!("seen: {domain} ({})", name(&self.peer)),
                None => format!("seen: {}", name(&self.peer)),
            };
            if !rule.notes.contains(&note) {
                rule.notes.push(note);
            }
        }
    }
}
