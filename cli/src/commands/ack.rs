//! `ack`: violations that a person knows about.

use std::collections::BTreeMap;

use clap::ValueEnum;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::WorkloadNetworkPolicy;
use netenf_api::violation::MAX_REASON;
use netenf_k8s::lifecycle::{self, Acknowledgement, MIN_PREFIX, is_named};
use netenf_k8s::near::near;
use netenf_store::{Change, Key, Record, Resource, Stored, Verb};

use super::learn::DryRun;
use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{self, count, print, tell};
use crate::wiring::store::{self, Session};
use crate::wiring::violation::{self, EndFilter, Entry};

/// Acknowledge violations: they are known, stay denied, and are not reported again
///
/// What is seen of an acknowledged violation later is added to its record, also after the policy protects.
/// To let the traffic pass, use allow. IDs are those that violations shows; the first four characters of one
/// are enough while they are unique. What can be done is done, and what cannot is told.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Known, and to stay denied
  kubectl netenf ack vf760ecfd --reason migration --dir policies

  # Everything that was opened to the outside world; only shown
  kubectl netenf ack --all --to world --reason updates --dir policies --dry-run

  # Report it again
  kubectl netenf ack vf760ecfd --undo --dir policies")]
pub(crate) struct Args {
    /// Ids of violations
    #[arg(value_name = "ID", required_unless_present = "all")]
    ids: Vec<String>,
    /// Every violation, or every one of the ends that are given
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    #[command(flatten)]
    ends: EndFilter,
    /// Why they may stay as they are, in at most 1024 characters
    #[arg(long, value_name = "TEXT", required_unless_present = "undo", value_parser = reason)]
    reason: Option<String>,
    /// Take the acknowledgement back
    #[arg(long, conflicts_with = "reason")]
    undo: bool,
    /// Change all without being asked; needed for --all where there is no terminal
    #[arg(short, long)]
    yes: bool,
    /// Show what would be done and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
    /// Output: name
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Name,
}

/// What was done, and why the rest could not be.
#[derive(Default)]
struct Work {
    changes: Vec<Change>,
    records: Vec<Record>,
    lines: String,
    errors: Vec<CommandError>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let namespace = global.only_namespace();
    let ends = args.ends.ends(global, namespace)?;
    let session = Session::for_change(global, "ack", args.dry_run.is_some())?;
    let objects: Vec<&Stored> = session.listing().objects.iter().collect();
    let mut entries = violation::stored(&objects);
    entries.retain(|entry| ends.cover(entry));
    let mut work = Work::default();
    let chosen =
        if args.all { args.every(&entries)? } else { args.named(&entries, namespace, &mut work) };
    let mut by_policy: BTreeMap<Key, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in chosen {
        by_policy.entry(entry.policy.object.key()).or_default().push(entry);
    }
    for (key, own) in by_policy {
        args.change(&own, &output::policy(&key, global.spans_namespaces()), &mut work);
    }
    let is_done = !work.changes.is_empty();
    session.write(work.changes, work.records)?;
    print(&work.lines)?;
    if is_done && !args.undo && args.dry_run.is_none() {
        tell("undo with kubectl netenf ack ID --undo");
    }
    work.errors.iter().for_each(output::error);
    Ok(if work.errors.is_empty() { Exit::Done } else { Exit::No })
}

// === impl Args ===

impl Args {
    /// Those that are not yet as they are to be, if a person agrees.
    fn every<'e, 'a>(&self, entries: &'e [Entry<'a>]) -> Result<Vec<&'e Entry<'a>>, CommandError> {
        let open = |entry: &&Entry<'_>| entry.acknowledged.is_some() == self.undo;
        let chosen: Vec<&Entry<'a>> = entries.iter().filter(open).collect();
        let number = count(chosen.len(), "violation");
        if chosen.is_empty() {
            tell("nothing to change; kubectl netenf violations --acknowledged shows all");
        } else if !self.yes && self.dry_run.is_none() {
            let verb = if self.undo { "report again" } else { "acknowledge" };
            output::confirm(&format!("{verb} {number}"))?;
        }
        Ok(chosen)
    }

    /// Those that the ids name, each once.
    fn named<'e, 'a>(
        &self,
        entries: &'e [Entry<'a>],
        namespace: Option<&str>,
        work: &mut Work,
    ) -> Vec<&'e Entry<'a>> {
        let mut chosen: Vec<&Entry<'a>> = Vec::new();
        for id in &self.ids {
            match find(entries, id, namespace) {
                Ok(entry) if chosen.iter().any(|known| std::ptr::eq(*known, entry)) => {}
                Ok(entry) => chosen.push(entry),
                Err(error) => work.errors.push(error),
            }
        }
        chosen
    }

    /// Changes one policy, of which `entries` are.
    fn change(&self, entries: &[&Entry<'_>], name: &str, work: &mut Work) {
        let [first, ..] = entries else { return };
        let Some(policy) = first.policy.object.as_policy() else { return };
        let mut policy = policy.clone();
        let mut ids = Vec::new();
        for entry in entries {
            match self.step(&policy, entry) {
                Ok(changed) => {
                    policy = changed;
                    ids.push(entry.violation.id.as_str());
                    work.lines.push_str(&self.line(&entry.violation.id, name));
                }
                Err(error) => work.errors.push(error),
            }
        }
        if !ids.is_empty() {
            let object = Resource::from(policy);
            work.records.push(Session::record(Verb::Acknowledge, &object, self.summary(&ids)));
            work.changes.push(first.policy.replace(object));
        }
    }

    fn step(
        &self,
        policy: &WorkloadNetworkPolicy,
        entry: &Entry<'_>,
    ) -> Result<WorkloadNetworkPolicy, CommandError> {
        let id = &entry.violation.id;
        if !self.undo {
            let (author, time) = (store::author(), Time(clock::now()));
            let reason = self.reason.as_deref().unwrap_or_default();
            let said = Acknowledgement { reason, author: author.as_deref(), time: &time };
            return Ok(lifecycle::acknowledge(policy, id, &said)?);
        }
        if entry.acknowledged.is_none() {
            return Err(CommandError::no(format!("{id} is not acknowledged"))
                .hint("kubectl netenf violations --acknowledged shows which are"));
        }
        Ok(lifecycle::unacknowledge(policy, id)?)
    }

    fn line(&self, id: &str, policy: &str) -> String {
        let object = output::violation(id);
        let dry = if self.dry_run.is_some() { " (dry run)" } else { "" };
        match (self.output, self.undo) {
            (Some(Format::Name), _) => format!("{object}\n"),
            (None, false) => format!("{object} acknowledged ({policy}){dry}\n"),
            (None, true) => format!("{object} no longer acknowledged ({policy}){dry}\n"),
        }
    }

    /// What the history tells, in one line.
    fn summary(&self, ids: &[&str]) -> String {
        let ids = ids.join(", ");
        match &self.reason {
            Some(reason) => format!("acknowledged {ids}: {}", reason.replace('\n', " ")),
            None => format!("no longer acknowledged: {ids}"),
        }
    }
}

/// The violation that the id names; it may be cut short while it means one.
fn find<'e, 'a>(
    entries: &'e [Entry<'a>],
    id: &str,
    namespace: Option<&str>,
) -> Result<&'e Entry<'a>, CommandError> {
    let id = violation::id(id);
    let named = |entry: &&'e Entry<'a>| is_named(&entry.violation.id, id);
    let found: Vec<&Entry<'a>> = entries.iter().filter(named).collect();
    // A violation of another namespace's policy is in this one too; where both are meant, the own one is.
    let is_own = |entry: &&Entry<'a>| {
        namespace.is_some_and(|namespace| entry.policy.object.key().namespace == namespace)
    };
    let own: Vec<&Entry<'a>> = found.iter().copied().filter(is_own).collect();
    let found = if own.is_empty() { found } else { own };
    match found.as_slice() {
        [one] => Ok(one),
        [] if id.len() < MIN_PREFIX => Err(CommandError::no(format!("the id {id:?} is too short"))
            .hint(format!("give at least {MIN_PREFIX} characters of it"))),
        [] => Err(unknown(entries, id)),
        many => {
            let of = |one: &&Entry<'_>| {
                let policy = output::policy(&one.policy.object.key(), true);
                format!("{} of {policy}", one.violation.id)
            };
            let names: Vec<String> = many.iter().map(of).collect();
            Err(CommandError::no(format!("the id {id:?} could be {}", names.join(" or ")))
                .hint("write more of the id, or name the namespace with -n"))
        }
    }
}

fn unknown(entries: &[Entry<'_>], id: &str) -> CommandError {
    let error = CommandError::no(format!("no violation has the id {id:?}"));
    match near(id, entries.iter().map(|entry| entry.violation.id.as_str())).as_slice() {
        [] => error.hint("kubectl netenf violations --acknowledged shows the ids"),
        near => error.hint(format!("did you mean {}?", near.join(" or "))),
    }
}

/// What a person says; the API holds no more of it.
fn reason(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err("say why the violation may stay as it is".to_owned());
    }
    if length > MAX_REASON {
        return Err(format!("it has {length} characters, and {MAX_REASON} are the most"));
    }
    Ok(text.to_owned())
}
