//! `__complete`: the candidates that kubectl asks a plugin's `kubectl_complete-NAME` for (KEP 2379).
//!
//! One candidate a line, a tab and what it means, and in the end the directive in Cobra's form: `:4`
//! tells the shell not to fall back to file names, `:0` that it may.

use clap::{Arg, Command, CommandFactory as _};

use crate::args::{Cli, Global};
use crate::error::{CommandError, Exit};
use crate::output::{escaped, print};
use crate::wiring::store::Session;

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
    let flag = before
        .last()
        .and_then(|word| flag_of(command, word))
        .filter(|arg| arg.get_action().takes_values());
    let (candidates, directive) = match flag {
        Some(arg) if !arg.get_possible_values().is_empty() => (values(arg), 4),
        Some(_) => (Vec::new(), 0),
        None if last.starts_with('-') => (flags(command), 4),
        None if command.has_subcommands() => (subcommands(command), 4),
        None => (objects(global, before), 4),
    };
    let matching = candidates.into_iter().filter(|(word, _)| word.starts_with(last));
    let mut lines: Vec<String> = matching
        .map(|(word, what)| if what.is_empty() { word } else { format!("{word}\t{what}") })
        .collect();
    lines.push(format!(":{directive}\n"));
    print(&escaped(&lines.join("\n")).replace("\\u{9}", "\t"))?;
    Ok(Exit::Done)
}

type Candidates = Vec<(String, String)>;

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

/// Workloads in the folder, where one is given; a completion never fails.
fn objects(global: &Global, before: &[String]) -> Candidates {
    let dir = before.windows(2).find(|pair| pair[0] == "--dir").map(|pair| pair[1].clone().into());
    let global = Global { dir: dir.or_else(|| global.dir.clone()), ..global.clone() };
    let Ok(session) = Session::open(&global) else { return Vec::new() };
    let targets = session.listing().objects.iter().filter_map(|stored| {
        match (stored.object.as_proposal(), stored.object.as_policy()) {
            (Some(proposal), _) => proposal.spec.target_ref.clone(),
            (_, Some(policy)) => policy.spec.target_ref.clone(),
            (None, None) => None,
        }
    });
    let mut words: Candidates = targets
        .map(|target| {
            (format!("{}/{}", target.kind.to_string().to_lowercase(), target.name), String::new())
        })
        .collect();
    words.sort();
    words.dedup();
    words
}
