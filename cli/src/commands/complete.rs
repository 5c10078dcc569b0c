//! `__complete`: the candidates that kubectl asks a plugin's `kubectl_complete-NAME` for (KEP 2379).
//!
//! One candidate a line, a tab and what it means, and in the end the directive in Cobra's form: `:4`
//! tells the shell not to fall back to file names, `:0` that it may.

use clap::{Arg, Command, CommandFactory as _};
use netenf_store::{DirStore, Resource, Scope, Store as _};

use crate::args::{Cli, Global};
use crate::error::{CommandError, Exit};
use crate::output::{self, escaped, print};

/// Print candidates for the last word
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The words so far; the last one is to be completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let mut root = Cli::command();
    root.build();
    let (last, before) = match args.words.split_last() {
        Some((last, before)) => (last.as_str(), before),
        None => ("", &[][..]),
    };
    let command =
        before.iter().fold(&root, |command, word| command.find_subcommand(word).unwrap_or(command));
    let global = typed(global, before);
    // `--flag=VALUE` is completed as a whole word.
    let (flag, prefix) = match last.split_once('=').filter(|_| last.starts_with("--")) {
        Some((flag, _)) => (flag_of(command, flag), format!("{flag}=")),
        None => (before.last().and_then(|word| flag_of(command, word)), String::new()),
    };
    let flag = flag.filter(|arg| arg.get_action().takes_values());
    let flag = flag.filter(|arg| !prefix.is_empty() || !arg.is_require_equals_set());
    let (candidates, directive) = match flag {
        Some(arg) if arg.get_id() == "namespace" => (namespaces(&global), 4),
        Some(arg) if !arg.get_possible_values().is_empty() => (values(arg), 4),
        Some(_) => (Vec::new(), 0),
        None if last.starts_with('-') => (flags(command), 4),
        None if command.has_subcommands() => (subcommands(command), 4),
        None => (positionals(command, before, &global), 4),
    };
    let candidates = candidates.into_iter().map(|(word, what)| (prefix.clone() + &word, what));
    let matching = candidates.filter(|(word, _)| word.starts_with(last));
    let mut lines: Vec<String> = matching
        .map(|(word, what)| match what.as_str() {
            "" => escaped(&word),
            what => format!("{}\t{}", escaped(&word), escaped(what)),
        })
        .collect();
    lines.push(format!(":{directive}\n"));
    print(&lines.join("\n"))?;
    Ok(Exit::Done)
}

type Candidates = Vec<(String, String)>;

/// What every command takes, as far as it was typed: the words are not parsed, since they are not whole.
fn typed(global: &Global, before: &[String]) -> Global {
    let value = |flags: &[&str]| {
        before.iter().enumerate().rev().find_map(|(at, word)| {
            let joined = word.split_once('=').filter(|(flag, _)| flags.contains(flag));
            let next = || before.get(at + 1).filter(|_| flags.contains(&word.as_str()));
            joined.map(|(_, value)| value.to_owned()).or_else(|| next().cloned())
        })
    };
    Global {
        dir: value(&["--dir"]).map(Into::into).or_else(|| global.dir.clone()),
        namespace: value(&["--namespace", "-n"]).or_else(|| global.namespace.clone()),
        ..global.clone()
    }
}

/// What a command takes besides flags: words that are known, or names from the folder.
fn positionals(command: &Command, before: &[String], global: &Global) -> Candidates {
    let Some(arg) = command.get_positionals().next() else { return Vec::new() };
    if !arg.get_possible_values().is_empty() {
        return values(arg);
    }
    match arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str) {
        Some("ID") if command.get_name() == "ack" => violations(global, before),
        Some("ID") => ids(global),
        Some("WORKLOAD") => workloads(global),
        _ => Vec::new(),
    }
}

fn subcommands(command: &Command) -> Candidates {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    shown
        .map(|one| {
            (
                one.get_name().to_owned(),
                one.get_about().map(ToString::to_string).unwrap_or_default(),
            )
        })
        .collect()
}

fn flags(command: &Command) -> Candidates {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown
        .filter_map(|arg| {
            Some((
                format!("--{}", arg.get_long()?),
                arg.get_help().map(ToString::to_string).unwrap_or_default(),
            ))
        })
        .collect()
}

fn values(arg: &Arg) -> Candidates {
    let values = arg.get_possible_values();
    values
        .iter()
        .map(|value| {
            (
                value.get_name().to_owned(),
                value.get_help().map(ToString::to_string).unwrap_or_default(),
            )
        })
        .collect()
}

fn flag_of<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let long = word.strip_prefix("--");
    let short =
        word.strip_prefix('-').and_then(|rest| rest.chars().next()).filter(|_| word.len() == 2);
    let mut arguments = command.get_arguments();
    arguments.find(|arg| {
        (long.is_some() && arg.get_long() == long) || (short.is_some() && arg.get_short() == short)
    })
}

/// The objects of the folder in the namespace; a completion never fails, and says nothing else.
fn stored(global: &Global) -> Vec<Resource> {
    let Some(store) = global.folder().and_then(|dir| DirStore::open(dir).ok()) else {
        return Vec::new();
    };
    let objects = store.list(Scope::All).map(|listing| listing.objects).unwrap_or_default();
    let objects = objects.into_iter().map(|stored| stored.object);
    objects
        .filter(|object| global.only_namespace().is_none_or(|own| object.key().namespace == own))
        .collect()
}

fn workloads(global: &Global) -> Candidates {
    let objects = stored(global);
    let targets = objects.iter().filter_map(Resource::target_ref);
    sorted(targets.map(|target| (output::workload(target), String::new())))
}

fn ids(global: &Global) -> Candidates {
    sorted(stored(global).iter().flat_map(|object| {
        let name = object.key().name;
        let uncovered = object.uncovered().iter().map(|item| item.id.clone());
        let suggested = object.suggestions().iter().map(|item| item.id.clone());
        let status = object.as_policy().and_then(|policy| policy.status.as_ref());
        let violations = status.into_iter().flat_map(|status| &status.violations);
        let violations = violations.map(|violation| violation.id.clone());
        let ids: Vec<String> = uncovered.chain(suggested).chain(violations).collect();
        ids.into_iter().map(move |id| (id, name.clone()))
    }))
}

/// Violations that can be acknowledged, or of which that can be undone.
fn violations(global: &Global, before: &[String]) -> Candidates {
    let is_undo = before.iter().any(|word| word == "--undo");
    sorted(stored(global).iter().flat_map(|object| {
        let name = object.key().name;
        let status = object.as_policy().and_then(|policy| policy.status.as_ref());
        let active = status.into_iter().flat_map(|status| &status.violations);
        let known = status.into_iter().flat_map(|status| &status.acknowledged_violations);
        let ids: Vec<String> = if is_undo {
            known.map(|one| one.violation.id.clone()).collect()
        } else {
            active.map(|one| one.id.clone()).collect()
        };
        ids.into_iter().map(move |id| (id, name.clone()))
    }))
}

fn namespaces(global: &Global) -> Candidates {
    let anywhere = Global { namespace: None, ..global.clone() };
    sorted(stored(&anywhere).into_iter().map(|object| (object.key().namespace, String::new())))
}

fn sorted(candidates: impl Iterator<Item = (String, String)>) -> Candidates {
    let mut candidates: Candidates = candidates.collect();
    candidates.sort();
    candidates.dedup();
    candidates
}
