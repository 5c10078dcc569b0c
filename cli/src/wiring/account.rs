//! What became of a recording: every observation is accounted for, and what could not be used is told.

use std::collections::BTreeSet;

use netenf_flows::Summary;
use netenf_k8s::Index;
use netenf_learn::proposal::{Funnel, Outcome, Peer, SeenEnd};
use netenf_learn::{Directory as _, Workload};

use super::GET_STATE;
use crate::output::{self, escaped, tell};

/// What became of every observation, as documented JSON.
pub(crate) fn funnel(funnel: &Funnel) -> serde_json::Value {
    serde_json::json!({
        "received": funnel.received,
        "learned": funnel.learned,
        "skipped": funnel.skipped,
        "uncovered": funnel.uncovered,
        "violations": funnel.violations,
        "errors": funnel.errors,
        "lost": funnel.lost,
    })
}

/// Tells on standard error what became of every observation.
pub(crate) fn tell_funnel(funnel: &Funnel, summary: &Summary) {
    let skipped: u64 = funnel.skipped.values().sum();
    let counted = |number: u64, noun: &str| {
        output::count(usize::try_from(number).unwrap_or(usize::MAX), noun)
    };
    tell(&format!(
        "{} received: {} learned, {} uncovered, {} skipped, {}, {}; {} lost by the source",
        funnel.received,
        funnel.learned,
        funnel.uncovered,
        skipped,
        counted(funnel.violations, "violation"),
        counted(funnel.errors, "error"),
        funnel.lost
    ));
    if skipped > 0 {
        let mut reasons: Vec<(&&str, &u64)> = funnel.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        tell(&format!("skipped: {}", reasons.join(", ")));
    }
    if summary.ignored > 0 {
        tell(&format!("{} about something else than flows", counted(summary.ignored, "line")));
    }
}

/// Tells what of a recording could not be used: the first bad line is shown, the others are counted.
pub(crate) fn tell_unread(summary: &Summary) {
    if let Some((location, reason)) = &summary.first_bad {
        let others = match summary.bad {
            1 => String::new(),
            bad => format!(" ({bad} such lines; this is the first)"),
        };
        tell(&escaped(&format!("warning: {location}: {reason}{others}")));
    }
    for input in summary.inputs.iter().filter(|input| input.is_abandoned) {
        let seen =
            input.seen.as_ref().map(|seen| format!(": it begins like {seen}")).unwrap_or_default();
        tell(&escaped(&format!("warning: {} holds no flows and was left out{seen}", input.input)));
    }
}

/// Says which objects are missing beside those that were given.
pub(crate) fn tell_missing(index: &Index) {
    let missing = index.missing_owners();
    if missing.is_empty() {
        return;
    }
    let kinds = missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    tell(&format!(
        "warning: pods of --cluster-state are owned by objects that are not in it, so that who owns those is not known: {kinds}\n\
         hint: one command gets all objects that learning uses:\n      {GET_STATE} > state.yaml"
    ));
}

/// Warns where the cluster's objects know few or none of the pods of a recording: they are of another cluster, or of
/// another time, and what is not known gets no rules.
pub(crate) fn tell_strangers(outcome: &Outcome, index: &Index) {
    if index.is_empty() {
        return;
    }
    let ends = outcome.edges.iter().flat_map(|edge| [&*edge.source, &*edge.destination]);
    let ends: BTreeSet<Workload> = ends.filter_map(of_pods).collect();
    let known = ends.iter().filter(|workload| index.has_workload(workload)).count();
    if known * 2 >= ends.len() {
        return;
    }
    let of = if known == 0 { "none".to_owned() } else { format!("only {known}") };
    tell(&format!(
        "warning: --cluster-state knows {of} of the {} of this recording: those in namespaces of its objects get no rules, and policies are asked about the labels that flows tell\n\
         hint: leave --cluster-state out, or give the objects of the cluster and the time of the recording:\n      {GET_STATE} > state.yaml",
        output::count(ends.len(), "workload")
    ));
}

/// The pods that an end is, by their workload where it is known.
fn of_pods(end: &SeenEnd) -> Option<Workload> {
    let Peer { kind, namespace, name, .. } = &end.peer;
    end.labels.as_ref()?;
    Some(Workload::new(namespace.clone()?, kind.clone()?, name.clone()?))
}
