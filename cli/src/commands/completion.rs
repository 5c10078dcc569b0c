//! `completion`: scripts for shells, and the candidates that kubectl asks plugins for.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::error::{CommandError, Exit};
use crate::output::print;

/// Print a completion script for a shell
///
/// The script completes kubectl-netenf itself. kubectl completes "kubectl netenf" by running the
/// program kubectl_complete-netenf, which stands beside this one in a release.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Completion for bash, in this shell
  kubectl netenf completion bash

  # Completion for zsh
  kubectl netenf completion zsh

  # Completion for fish
  kubectl netenf completion fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kubectl-netenf", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
