//! The command line. Doc comments here are the help that a person reads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    ack, allow, check, complete, completion, demote, diff, explain, export, flows, get, history,
    learn, promote, reference, rollback, status, version, violations,
};

/// Learn which workloads talk to each other, review least-privilege policies, and enforce them
#[derive(Debug, Parser)]
#[command(
    name = "kubectl netenf",
    bin_name = "kubectl netenf",
    disable_version_flag = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  # Learn from a recording
  kubectl netenf learn --input-file flows.jsonl --dir policies

  # Look at what is proposed
  kubectl netenf get --dir policies

  # Watch what a workload's policies would deny
  kubectl netenf promote deployment/web -n shop --dir policies"
)]
pub(crate) struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Heading of what every command takes.
const GLOBAL: &str = "Global options";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Folder of YAML files to work on, one object a file
    #[arg(long, env = "NETENF_DIR", hide_env_values = true, global = true, help_heading = GLOBAL, value_name = "DIR", value_hint = clap::ValueHint::DirPath, value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) dir: Option<PathBuf>,
    /// Namespace to work in; all namespaces of the folder or recording if not given
    #[arg(short, long, global = true, help_heading = GLOBAL, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Work in all namespaces, whatever -n says
    #[arg(short = 'A', long, global = true, help_heading = GLOBAL)]
    pub(crate) all_namespaces: bool,
    /// Colour of the output
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
}

// === impl Global ===

impl Global {
    /// Whether objects of several namespaces may be shown.
    pub(crate) fn spans_namespaces(&self) -> bool {
        self.only_namespace().is_none()
    }

    /// The one namespace to work in, if it is one.
    pub(crate) fn only_namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| !self.all_namespaces)
    }

    /// The folder to work on; an empty variable counts as none.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.dir.as_deref().filter(|dir| !dir.as_os_str().is_empty())
    }
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    #[value(help = "On a terminal, unless NO_COLOR is set")]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one is made in a process")]
pub(crate) enum Command {
    Learn(learn::Args),
    Get(get::Args),
    Diff(diff::Args),
    Check(check::Args),
    Explain(explain::Args),
    Promote(promote::Args),
    Demote(demote::Args),
    Violations(violations::Args),
    Ack(ack::Args),
    Allow(allow::Args),
    Flows(flows::Args),
    Export(export::Args),
    History(history::Args),
    Rollback(rollback::Args),
    Status(status::Args),
    Completion(completion::Args),
    Version(version::Args),
    #[command(hide = true)]
    Reference(reference::Args),
    #[command(name = "__complete", hide = true)]
    Complete(complete::Args),
}

/// Drops what kubectl's own spelling adds, so that `kubectl-netenf` and `netenf` take the same words.
pub(crate) fn spelled_as_plugin(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    if let Some(first) = args.first_mut() {
        let name = Path::new(first).file_name().map(OsString::from).unwrap_or_default();
        *first = if name == "netenf" { name } else { "kubectl netenf".into() };
    }
    // Most programs know the flag; here it is a command.
    if let [_, flag] = args.as_mut_slice()
        && (flag == "--version" || flag == "-V")
    {
        *flag = "version".into();
    }
    negated(args)
}

/// Filters that `--not` can turn around.
const NEGATABLE: [&str; 7] = ["from", "to", "peer", "port", "protocol", "verdict", "direction"];

/// `--not --peer host` becomes `--not-peer host`: clap does not keep the order of flags.
fn negated(args: Vec<OsString>) -> Vec<OsString> {
    let mut out: Vec<OsString> = Vec::with_capacity(args.len());
    let mut args = args.into_iter().peekable();
    while let Some(arg) = args.next() {
        if arg == "--not"
            && let Some(flag) = args.peek().and_then(|next| next.to_str()?.strip_prefix("--"))
            && NEGATABLE.contains(&flag.split('=').next().unwrap_or_default())
        {
            out.push(format!("--not-{flag}").into());
            args.next();
        } else {
            out.push(arg);
        }
    }
    out
}

#[cfg(test)]
mod tests;
