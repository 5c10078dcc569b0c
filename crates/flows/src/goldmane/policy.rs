//! Which policy denied a flow of Goldmane.

use netenf_learn::PolicyRef;

use super::member::{Action, policy_kind};
use super::present;
use super::wire::{Hit, Trace};
use crate::cache::Names;

/// The policy behind the first denial in order of evaluation. At the end of a tier nothing matched:
/// then it is the policy that selected the pod and so triggered the tier's default.
pub(super) fn denied_by(trace: &Trace<'_>, names: &mut Names) -> Option<PolicyRef> {
    let hits = trace.enforced_policies.iter().flatten();
    let denial = hits
        .filter(|hit| hit.action.is_some_and(|action| action.0 == Action::Deny))
        .min_by_key(|hit| hit.policy_index.map_or(0, |index| index.0))?;
    let policy = match &denial.trigger {
        Some(trigger) if denial.is_end_of_tier() => trigger,
        Some(_) | None => denial,
    };
    policy_ref(policy, names)
}

impl Hit<'_> {
    fn is_end_of_tier(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| policy_kind(kind) == "EndOfTier")
    }
}

fn policy_ref(hit: &Hit<'_>, names: &mut Names) -> Option<PolicyRef> {
    let name = present(hit.name.as_ref())?;
    let kind = hit.kind.as_ref().map(policy_kind).unwrap_or_default();
    Some(PolicyRef {
        kind: names.share(&kind),
        namespace: present(hit.namespace.as_ref()).map(|namespace| names.share(namespace)),
        name: names.share(name),
    })
}
