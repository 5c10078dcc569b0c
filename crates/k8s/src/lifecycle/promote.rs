//! From a proposal to a policy, and from one mode to the other.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::{
    GROUP, Mode, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal, WorkloadNetworkPolicyStatus,
    key,
};

use netenf_learn::name::short_hash;

use super::body;
use super::refusal::{Reason, Refusal};
use super::resource::Resource;
use crate::condition;

/// What to do with an object that allows nothing and is to protect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WithoutRules {
    /// Refuse: it would deny everything.
    #[default]
    Refuse,
    /// Go on: a person said so.
    Accept,
}

/// Keys by which kubectl and delivery tools mark what they applied; they are wrong on another object.
const APPLIED_BY: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    "argocd.argoproj.io/tracking-id",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "meta.helm.sh/",
];

/// The most characters of a label's value.
const LONGEST_LABEL: usize = 63;

/// The policy that `proposal` becomes in `mode`; `existing` is the policy of that name, if there is one.
pub fn promote(
    proposal: &WorkloadNetworkPolicyProposal,
    mode: Mode,
    existing: Option<&WorkloadNetworkPolicy>,
    without_rules: WithoutRules,
) -> Result<WorkloadNetworkPolicy, Refusal> {
    let resource = Resource::from(proposal.clone());
    check(&resource, mode, existing, without_rules)
        .map_err(|reason| Refusal::new("promote", resource.key(), reason))?;
    let mut policy = WorkloadNetworkPolicy {
        metadata: carried(&proposal.metadata),
        spec: proposal.spec.to_policy_spec(mode),
        status: status(proposal),
    };
    let name = proposal.metadata.name.as_deref().unwrap_or_default();
    let labels = policy.metadata.labels.get_or_insert_default();
    labels.insert(key::PROMOTED_FROM.to_owned(), link(name));
    Ok(policy)
}

/// Whether `proposal` is what an interrupted promotion to `policy` left over.
pub fn is_leftover(
    proposal: &WorkloadNetworkPolicyProposal,
    policy: &WorkloadNetworkPolicy,
) -> bool {
    let from = policy.metadata.labels.as_ref().and_then(|labels| labels.get(key::PROMOTED_FROM));
    proposal.metadata.namespace == policy.metadata.namespace
        && proposal.metadata.name == policy.metadata.name
        && from.is_some()
        && from.cloned() == proposal.metadata.name.as_deref().map(link)
}

/// The value of the label `promoted-from`. A label holds 63 characters and a name up to 253 (W23): a longer
/// one is cut and its hash follows. Nothing is looked up by it, since both objects have one name; it only says
/// that the policy was promoted and not written by hand.
fn link(name: &str) -> String {
    if name.len() <= LONGEST_LABEL {
        return name.to_owned();
    }
    let hash = short_hash(name);
    let cut: String = name.chars().take(LONGEST_LABEL - hash.len() - 1).collect();
    format!("{}-{hash}", cut.trim_end_matches(['.', '-']))
}

/// The policy in `mode`; acknowledgements stay, and note the mode that they were given in.
pub fn set_mode(
    policy: &WorkloadNetworkPolicy,
    mode: Mode,
    without_rules: WithoutRules,
) -> Result<WorkloadNetworkPolicy, Refusal> {
    let resource = Resource::from(policy.clone());
    check_rules(&resource, mode, without_rules)
        .map_err(|reason| Refusal::new("change the mode of", resource.key(), reason))?;
    let mut policy = policy.clone();
    let old = std::mem::replace(&mut policy.spec.mode, mode);
    note_mode(&mut policy, old);
    Ok(policy)
}

/// Notes in acknowledgements that they were given while the policy was in mode `old`.
pub(super) fn note_mode(policy: &mut WorkloadNetworkPolicy, old: Mode) {
    let mode = policy.spec.mode;
    let Some(status) = policy.status.as_mut().filter(|_| old != mode) else { return };
    for acknowledged in &mut status.acknowledged_violations {
        // Back in the mode that it was given in, there is nothing to note.
        let returned = acknowledged.previous_mode == Some(mode);
        acknowledged.previous_mode = (!returned).then_some(old);
    }
}

/// Metadata for the object that takes the place of another: a person's, not ours and not a tool's.
pub(super) fn carried(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        labels: persons(metadata.labels.as_ref()),
        annotations: persons(metadata.annotations.as_ref()),
        ..ObjectMeta::default()
    }
}

fn check(
    resource: &Resource,
    mode: Mode,
    existing: Option<&WorkloadNetworkPolicy>,
    without_rules: WithoutRules,
) -> Result<(), Reason> {
    if let Some(policy) = existing {
        let leftover = resource.as_proposal().is_some_and(|own| is_leftover(own, policy));
        return Err(if leftover { Reason::AlreadyPromoted } else { Reason::PolicyExists });
    }
    check_rules(resource, mode, without_rules)
}

fn check_rules(resource: &Resource, mode: Mode, without_rules: WithoutRules) -> Result<(), Reason> {
    body::check(resource)?;
    match (mode, without_rules) {
        (Mode::Protect, WithoutRules::Refuse) if !body::has_rules(resource) => Err(Reason::NoRules),
        (Mode::Monitor | Mode::Protect, WithoutRules::Refuse | WithoutRules::Accept) => Ok(()),
    }
}

/// What is known about the rules and the selector goes with them.
fn status(proposal: &WorkloadNetworkPolicyProposal) -> Option<WorkloadNetworkPolicyStatus> {
    let status = proposal.status.as_ref()?;
    Some(WorkloadNetworkPolicyStatus {
        conditions: condition::lasting(&status.conditions),
        selector: status.selector.clone(),
        rules: status.rules.clone(),
        uncovered: status.uncovered.clone(),
        learned_since: status.learned_since.clone(),
        learned_until: status.learned_until.clone(),
        last_new_rule: status.last_new_rule.clone(),
        gaps: status.gaps.clone(),
        ..WorkloadNetworkPolicyStatus::default()
    })
}

fn persons(entries: Option<&BTreeMap<String, String>>) -> Option<BTreeMap<String, String>> {
    let kept: BTreeMap<String, String> = entries?
        .iter()
        .filter(|(key, _)| !is_ours(key) && !is_tools(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (!kept.is_empty()).then_some(kept)
}

fn is_ours(key: &str) -> bool {
    key.split_once('/').is_some_and(|(prefix, _)| prefix == GROUP)
}

fn is_tools(key: &str) -> bool {
    APPLIED_BY.iter().any(|known| match known.strip_suffix('/') {
        Some(prefix) => key.split_once('/').is_some_and(|(own, _)| own == prefix),
        None => key == *known,
    })
}

#[cfg(test)]
mod tests;
