//! `version`.

use crate::error::{CommandError, Exit};
use crate::output::{self, print};

/// Print the version
///
/// Prints the version of this program and of the API that it reads and writes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Version of this program and of its API
  kubectl netenf version

  # As JSON
  kubectl netenf version -o json

  # Also with colour off, for logs
  kubectl netenf version --color never")]
pub(crate) struct Args {
    /// Output: json
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<output::JsonOnly>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit, CommandError> {
    let version = env!("CARGO_PKG_VERSION");
    let api = format!("{}/{}", netenf_api::GROUP, netenf_api::VERSION);
    print(&match args.output {
        Some(output::JsonOnly::Json) => {
            output::json(&serde_json::json!({"version": version, "apiVersion": api}))?
        }
        None => format!("kubectl-netenf {version} ({api})\n"),
    })?;
    Ok(Exit::Done)
}
