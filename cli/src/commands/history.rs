//! `history`: what was done to an object.

use serde_json::json;

use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, JsonOnly, Table, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

/// Show what was done to a workload's proposals and policies
///
/// Every change that a command makes is kept as a revision, with the object as it was afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # What was done to a workload's policies
  kubectl netenf history deployment/web -n shop --dir policies

  # Only the way out
  kubectl netenf history deployment/web --direction egress -n shop --dir policies

  # With the objects as they were
  kubectl netenf history deployment/web -n shop --dir policies -o json")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Output: json
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<JsonOnly>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::open(global)?;
    let mut table = Table::new(&["NAME", "REVISION", "TIME", "VERB", "BY", "SUMMARY"]);
    let mut items = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    for stored in args.selection.find(&session, global)? {
        let key = stored.object.key();
        let name = (key.namespace, key.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for (namespace, name) in names {
        for revision in session.history(&namespace, &name)? {
            table.row(vec![
                format!("{namespace}/{name}"),
                revision.number.to_string(),
                revision.time.0.to_string(),
                json!(revision.verb).as_str().unwrap_or_default().to_owned(),
                revision.author.clone().unwrap_or_default(),
                revision.summary.clone(),
            ]);
            items.push(json!({"namespace": namespace, "name": name, "revision": revision}));
        }
    }
    if items.is_empty() {
        tell("no revision is kept of that; changes made by commands are, edits by hand are not");
    }
    print(&match args.output {
        Some(JsonOnly::Json) => output::json(&json!({"items": items}))?,
        None if table.is_empty() => String::new(),
        None => table.text(true),
    })?;
    Ok(session.exit(Exit::Done))
}
