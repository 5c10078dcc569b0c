//! `get`: proposals and policies in one table.

use clap::ValueEnum;
use netenf_api::{Mode, RuleEvidence};
use netenf_store::{Resource, Stored};
use serde_json::json;

use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, Table, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

/// List proposals and policies
///
/// STATE is learning (there is no rule yet, or rules came within the last hour before the newest flow),
/// stable (none did), monitor or protect. NEW counts the rules that came within that hour. UNCOVERED counts what
/// was seen and has no rule; what a person accepted to stay denied is told apart, as accepted(N).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What there is, in all namespaces
  kubectl netenf get --dir policies

  # One workload, with its kind, direction and backend
  kubectl netenf get deployment/web -n shop --dir policies -o wide

  # The objects themselves, as a List
  kubectl netenf get -n shop --dir policies -o json")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Only objects in this state (repeatable)
    #[arg(long, value_enum, value_name = "STATE")]
    state: Vec<State>,
    /// Leave the titles out
    #[arg(long)]
    no_headers: bool,
    /// Output: wide, json, yaml or name
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
}

/// Where an object stands on its way to enforcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    Learning,
    Stable,
    Monitor,
    Protect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Wide,
    Json,
    Yaml,
    Name,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::open(global)?;
    let mut search = args.selection.search([&*session.listing().objects], global)?;
    let mut found = std::mem::take(&mut search.objects);
    found.retain(|stored| args.state.is_empty() || args.state.contains(&state(&stored.object)));
    print(&match args.output {
        None => args.table(global, &found, false),
        Some(Format::Wide) => args.table(global, &found, true),
        Some(Format::Json) => output::json(&json!({
            "apiVersion": "v1",
            "kind": "List",
            "metadata": {},
            "items": found.iter().map(|stored| &stored.object).collect::<Vec<_>>(),
        }))?,
        Some(Format::Yaml) => {
            output::yaml_documents(found.iter().map(|stored| stored.object.clone()))?
        }
        Some(Format::Name) => found
            .iter()
            .map(|stored| output::object(&stored.object.key(), global.spans_namespaces()) + "\n")
            .collect(),
    })?;
    if found.is_empty() && search.missing.is_empty() {
        tell("nothing found; kubectl netenf learn makes proposals, status says what was seen");
    }
    Ok(session.exit(search.exit(Exit::Done)))
}

// === impl Args ===

impl Args {
    fn table(&self, global: &Global, found: &[&Stored], wide: bool) -> String {
        let namespaced = global.spans_namespaces();
        let mut titles = vec!["NAME", "STATE", "RULES", "UNCOVERED", "NEW", "LAST-SEEN", "AGE"];
        if namespaced {
            titles.insert(0, "NAMESPACE");
        }
        if wide {
            titles.extend(["WORKLOAD", "DIRECTION", "BACKEND", "VIOLATIONS", "GAPS"]);
        }
        let mut table = Table::new(&titles);
        for stored in found {
            let mut row = row(&stored.object);
            if namespaced {
                row.insert(0, stored.object.key().namespace);
            }
            if wide {
                row.extend(wide_cells(&stored.object));
            }
            table.row(row);
        }
        if table.is_empty() { String::new() } else { table.text(!self.no_headers) }
    }
}

fn state(object: &Resource) -> State {
    match object.as_policy() {
        Some(policy) if policy.spec.mode == Mode::Protect => State::Protect,
        Some(_) => State::Monitor,
        None if is_stable(object) => State::Stable,
        None => State::Learning,
    }
}

fn is_stable(object: &Resource) -> bool {
    let status = object.as_proposal().and_then(|proposal| proposal.status.as_ref());
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Stable" && condition.status == "True")
}

fn row(object: &Resource) -> Vec<String> {
    let rules: Vec<&RuleEvidence> = object.evidence().iter().filter(|rule| !rule.refused).collect();
    let last = rules.iter().filter_map(|rule| rule.last_seen.as_ref()).max_by_key(|time| time.0);
    let uncovered_last = object.uncovered().iter().filter_map(|item| item.last_seen.as_ref());
    let seen = last.into_iter().chain(uncovered_last).max_by_key(|time| time.0);
    let new = last.map_or(0, |last| {
        let recent = |rule: &&&RuleEvidence| {
            rule.first_seen
                .as_ref()
                .is_some_and(|first| last.0.as_second() - first.0.as_second() < 3600)
        };
        if object.as_policy().is_some() || is_stable(object) {
            0
        } else {
            rules.iter().filter(recent).count()
        }
    });
    let state = match state(object) {
        State::Learning => "learning",
        State::Stable => "stable",
        State::Monitor => "monitor",
        State::Protect => "protect",
    };
    vec![
        object.key().name,
        state.to_owned(),
        rules.len().to_string(),
        uncovered(object),
        if new > 0 { format!("+{new}") } else { "0".to_owned() },
        clock::age(seen),
        clock::age(since(object)),
    ]
}

/// What is open, and what a person accepted.
fn uncovered(object: &Resource) -> String {
    let accepted = object.uncovered().iter().filter(|item| item.accepted).count();
    match (object.uncovered().len() - accepted, accepted) {
        (open, 0) => open.to_string(),
        (0, accepted) => format!("accepted({accepted})"),
        (open, accepted) => format!("{open}+accepted({accepted})"),
    }
}

fn since(object: &Resource) -> Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time> {
    match (object.as_proposal(), object.as_policy()) {
        (Some(proposal), _) => proposal.status.as_ref()?.learned_since.as_ref(),
        (_, Some(policy)) => policy.status.as_ref()?.learned_since.as_ref(),
        (None, None) => None,
    }
}

fn wide_cells(object: &Resource) -> Vec<String> {
    let workload = object.target_ref().map(output::workload);
    let violations = object.as_policy().map(|policy| {
        policy.status.as_ref().map_or(0, |status| status.active_violation_count).to_string()
    });
    let gaps = object.gaps().len();
    vec![
        workload.unwrap_or_default(),
        object
            .direction()
            .map(|direction| direction.to_string().to_lowercase())
            .unwrap_or_default(),
        object.backend().to_string(),
        violations.unwrap_or_default(),
        if gaps > 0 { format!("partial({gaps})") } else { "0".to_owned() },
    ]
}
