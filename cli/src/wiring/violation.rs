//! Violations of the folder's policies: those that are stored, and those that a recording shows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use netenf_api::{AcknowledgedViolation, Mode, PeerRef, Violation};
use netenf_k8s::Index;
use netenf_k8s::end::Pattern;
use netenf_k8s::monitor::{self, Guard};
use netenf_learn::proposal::Outcome;
use netenf_store::{Key, Stored};

use super::store::Session;
use crate::args::Global;
use crate::error::CommandError;

/// A violation of a policy.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) policy: &'a Stored,
    pub(crate) violation: Cow<'a, Violation>,
    /// What a person said about it, who knows it.
    pub(crate) acknowledged: Option<&'a AcknowledgedViolation>,
}

/// Which ends violations are wanted of.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct EndFilter {
    /// Only what such an end opened: KIND/NAME, pod/NAME, node/NAME, namespace/NAME, an address, CIDR or name, world, host, apiserver (repeatable)
    #[arg(long, value_name = "END")]
    from: Vec<String>,
    /// Only what was opened to such an end, written like --from (repeatable)
    #[arg(long, value_name = "END")]
    to: Vec<String>,
}

/// The ends that violations are wanted of; a violation is in a namespace if either end is (case B79).
#[derive(Debug)]
pub(crate) struct Ends<'a> {
    within: Option<&'a str>,
    from: Vec<Pattern>,
    to: Vec<Pattern>,
}

// === impl EndFilter ===

impl EndFilter {
    /// The same, understood, where either end is in `within`.
    pub(crate) fn ends<'a>(
        &self,
        global: &Global,
        within: Option<&'a str>,
    ) -> Result<Ends<'a>, CommandError> {
        let namespace = global.only_namespace();
        let parse = |texts: &[String]| -> Result<Vec<Pattern>, CommandError> {
            texts.iter().map(|text| Ok(Pattern::parse(text, namespace)?)).collect()
        };
        Ok(Ends { within, from: parse(&self.from)?, to: parse(&self.to)? })
    }
}

// === impl Ends ===

impl Ends<'_> {
    /// Whether the entry is wanted.
    pub(crate) fn cover(&self, entry: &Entry<'_>) -> bool {
        let is = |patterns: &[Pattern], peer: &PeerRef| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.is(peer))
        };
        self.within.is_none_or(|namespace| entry.is_in(namespace))
            && is(&self.from, &entry.violation.source)
            && is(&self.to, &entry.violation.dest)
    }
}

// === impl Entry ===

impl Entry<'_> {
    fn is_in(&self, namespace: &str) -> bool {
        let ends = [&self.violation.source, &self.violation.dest];
        self.policy.object.key().namespace == namespace
            || ends.iter().any(|end| end.namespace.as_deref() == Some(namespace))
    }
}

/// The id of a violation, that may be written as it is printed by name.
pub(crate) fn id(text: &str) -> &str {
    text.strip_prefix("violation/").unwrap_or(text)
}

/// What the policies among `objects` hold, the newest first.
pub(crate) fn stored<'a>(objects: &[&'a Stored]) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for &policy in objects {
        let status = policy.object.as_policy().and_then(|policy| policy.status.as_ref());
        let Some(status) = status else { continue };
        let active = status.violations.iter().map(|one| (one, None));
        let known = status.acknowledged_violations.iter().map(|one| (&one.violation, Some(one)));
        entries.extend(active.chain(known).map(|(violation, acknowledged)| Entry {
            policy,
            violation: Cow::Borrowed(violation),
            acknowledged,
        }));
    }
    sort(&mut entries);
    entries
}

/// What a recording shows against the policies among `objects`, beside all of the folder, the newest first.
/// Each is as learning would record it in a policy without violations.
pub(crate) fn replayed<'a>(
    session: &Session,
    objects: &[&'a Stored],
    outcome: &mut Outcome,
    index: &Index,
) -> Vec<Entry<'a>> {
    let mut judged = judged(session, outcome, index);
    let mut entries = Vec::new();
    for stored in objects {
        let Some(violations) = judged.remove(&stored.object.key()) else { continue };
        let status = stored.object.as_policy().and_then(|policy| policy.status.as_ref());
        let known = status.map(|status| status.acknowledged_violations.as_slice());
        let known: HashMap<&str, &AcknowledgedViolation> =
            known.unwrap_or_default().iter().map(|one| (one.violation.id.as_str(), one)).collect();
        entries.extend(monitor::gathered(violations).into_iter().map(|violation| Entry {
            policy: stored,
            acknowledged: known.get(violation.id.as_str()).copied(),
            violation: Cow::Owned(violation),
        }));
    }
    sort(&mut entries);
    entries
}

/// Seen traffic that a policy of the folder does not allow, or is reported to have denied; the observations
/// of it move to the violations of the funnel.
pub(crate) fn judged(
    session: &Session,
    outcome: &mut Outcome,
    index: &Index,
) -> BTreeMap<Key, Vec<Violation>> {
    let guards: Vec<Guard> = session.guards(|_| true);
    let conflicts: Vec<_> = monitor::conflicts(index, &guards).collect();
    super::tell_diagnostics(conflicts.iter());
    let denied = monitor::judge(index, &guards, outcome);
    let modes: BTreeMap<Key, Mode> = guards
        .iter()
        .map(|guard| (Key::policy(&*guard.namespace, &*guard.name), guard.mode))
        .collect();
    let mut violations: BTreeMap<Key, Vec<Violation>> = BTreeMap::new();
    for one in &denied {
        let key = Key::policy(&*one.policy.0, &*one.policy.1);
        if let Some(&mode) = modes.get(&key) {
            violations.entry(key).or_default().extend(monitor::violation(one, mode));
        }
    }
    violations
}

fn sort(entries: &mut [Entry<'_>]) {
    entries.sort_by(|one, other| {
        let (own, others) = (&one.violation, &other.violation);
        let names = || one.policy.object.key().cmp(&other.policy.object.key());
        (others.last_seen.0, &own.id).cmp(&(own.last_seen.0, &others.id)).then_with(names)
    });
}
