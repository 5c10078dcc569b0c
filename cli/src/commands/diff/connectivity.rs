//! Who may talk to whom, compared between two sets of policies.

use std::collections::BTreeSet;
use std::path::PathBuf;

use netenf_k8s::inquiry::Inquiry;
use netenf_k8s::reach::{self, Change, Scene};
use netenf_learn::Workload;
use netenf_policy::End;
use serde_json::{Value, json};

use super::{Args, Format, cell};
use crate::args::Global;
use crate::commands::explain::{place, place_json};
use crate::error::{CommandError, Exit};
use crate::output::{self, escaped, painted, print, tell};
use crate::wiring::policies::{Judged, PolicyInput};

/// What is judged by.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub(super) struct Judging {
    /// The cluster's objects, whose own policies count, with --connectivity or --against-traffic: a file, a
    /// folder or - (repeatable)
    #[arg(long, value_name = "PLACE", requires = "judges")]
    pub(super) cluster_state: Vec<PathBuf>,
    /// With --connectivity and -f: count monitoring policies and proposals of both as if they protected
    #[arg(long, requires = "connectivity", requires = "filename")]
    assume_protect: bool,
}

/// What becomes of a link.
#[derive(Clone, Copy)]
enum Kind {
    Added,
    Removed,
    Changed,
}

// === impl Args ===

impl Args {
    pub(super) fn compare_connectivity(&self, global: &Global) -> Result<Exit, CommandError> {
        let (before, after) = self.sides(global)?;
        let (reach_before, reach_after) = (before.reach(), after.reach());
        let (mut old, mut new) =
            (before.inquiry(global).all_ends(), after.inquiry(global).all_ends());
        // That a policy was written makes no workload: one that only policies know is on both sides.
        let only_there = (
            only_in(&before.inquiry(global), &old, &new),
            only_in(&after.inquiry(global), &new, &old),
        );
        new.extend(only_there.0);
        old.extend(only_there.1);
        let selected = self
            .selection
            .names
            .iter()
            .map(|text| {
                let of_after = after.inquiry(global).parsed(text);
                Ok(of_after.or_else(|_| before.inquiry(global).parsed(text))?)
            })
            .collect::<Result<Vec<Workload>, CommandError>>()?;
        let namespace = global.only_namespace();
        let here = |own: &Workload| namespace.is_none_or(|wanted| *own.namespace == *wanted);
        let wanted =
            |own: &Workload| if selected.is_empty() { here(own) } else { selected.contains(own) };
        let changes = reach::compare(
            Scene { reach: &reach_before, index: &before.index, workloads: &old },
            Scene { reach: &reach_after, index: &after.index, workloads: &new },
            wanted,
        );
        print(&match self.output {
            Format::Text => text(&changes),
            Format::Markdown => markdown(&changes),
            Format::Json => as_json(&changes)?,
            Format::Dot => dot(&changes),
            Format::Yaml => {
                return Err(CommandError::usage("connectivity has no YAML")
                    .hint("give -o json, or leave --connectivity out"));
            }
        })?;
        if changes.is_empty() {
            tell("no differences");
        }
        let exit = if changes.is_empty() { Exit::Done } else { Exit::No };
        Ok(after.exit(before.exit(exit)))
    }

    /// The policies before and after: of the older folder and this one, or what protects and what could.
    fn sides(&self, global: &Global) -> Result<(Judged, Judged), CommandError> {
        let side = |filename: Vec<PathBuf>, assume_protect| PolicyInput {
            filename,
            cluster_state: self.judged.cluster_state.clone(),
            assume_protect,
        };
        let assume = self.judged.assume_protect;
        match &self.filename {
            Some(old) => {
                let without = Global { dir: None, ..global.clone() };
                let (before, after) = (side(vec![old.clone()], assume), side(Vec::new(), assume));
                PolicyInput::read_both((&before, &without), (&after, global))
            }
            None => {
                let (before, after) = (side(Vec::new(), false), side(Vec::new(), true));
                PolicyInput::read_both((&before, global), (&after, global))
            }
        }
    }
}

/// Workloads that only the policies of one side know.
fn only_in(
    side: &Inquiry<'_>,
    own: &[(Workload, Vec<End>)],
    other: &[(Workload, Vec<End>)],
) -> Vec<(Workload, Vec<End>)> {
    let by_ours: BTreeSet<Workload> = side.known_by_ours().collect();
    let is_only = |one: &&(Workload, Vec<End>)| {
        by_ours.contains(&one.0) && !other.iter().any(|(workload, _)| *workload == one.0)
    };
    own.iter().filter(is_only).cloned().collect()
}

// === impl Kind ===

impl Kind {
    fn of(change: &Change) -> Self {
        match (change.before.is_empty(), change.after.is_empty()) {
            (true, _) => Self::Added,
            (false, true) => Self::Removed,
            (false, false) => Self::Changed,
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }

    const fn colour(self) -> (u8, &'static str) {
        match self {
            Self::Added => (32, "green"),
            Self::Removed => (31, "red"),
            Self::Changed => (33, "orange"),
        }
    }
}

/// The ports that pass now, or that passed; both where they differ.
fn ports(change: &Change) -> String {
    let (before, after) =
        (output::passing_words(&change.before), output::passing_words(&change.after));
    match Kind::of(change) {
        Kind::Added => after,
        Kind::Removed => before,
        Kind::Changed => format!("{before} to {after}"),
    }
}

fn text(changes: &[Change]) -> String {
    let ends: Vec<String> = changes
        .iter()
        .map(|change| format!("{} -> {}", place(&change.source), place(&change.destination)))
        .collect();
    let width = ends.iter().map(|ends| ends.chars().count()).max().unwrap_or(0);
    let line = |(change, ends): (&Change, &String)| {
        let kind = Kind::of(change);
        let row = format!("{} {ends:<width$}  {}", kind.sign(), ports(change));
        painted(kind.colour().0, &escaped(&row)) + "\n"
    };
    changes.iter().zip(&ends).map(line).collect()
}

fn markdown(changes: &[Change]) -> String {
    let mut text = "| | From | To | Ports |\n|---|---|---|---|\n".to_owned();
    for change in changes {
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            Kind::of(change).sign(),
            cell(&place(&change.source)),
            cell(&place(&change.destination)),
            cell(&ports(change))
        ));
    }
    text
}

fn as_json(changes: &[Change]) -> Result<String, CommandError> {
    let item = |change: &Change| {
        json!({
            "change": Kind::of(change).word(),
            "from": place_json(&change.source),
            "to": place_json(&change.destination),
            "before": output::passing_json(&change.before),
            "after": output::passing_json(&change.after),
        })
    };
    let items: Vec<Value> = changes.iter().map(item).collect();
    output::json(&json!({ "items": items }))
}

/// As graphviz draws it: what is gone is dashed.
fn dot(changes: &[Change]) -> String {
    let mut text = "digraph connectivity {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for change in changes {
        let kind = Kind::of(change);
        let style = match kind {
            Kind::Removed => ", style=dashed",
            Kind::Added | Kind::Changed => "",
        };
        text.push_str(&format!(
            "  {} -> {} [label={}, color={}{style}];\n",
            quoted(&place(&change.source)),
            quoted(&place(&change.destination)),
            quoted(&format!("{} {}", kind.sign(), ports(change))),
            kind.colour().1
        ));
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('\\', "\\\\").replace('"', "\\\""))
}
