//! `rollback`: an earlier revision again.

use std::sync::Arc;

use netenf_api::Mode;
use netenf_k8s::lifecycle;
use netenf_store::{Resource, Verb};

use super::learn::DryRun;
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

/// Restore an earlier revision of a policy
///
/// The rules of the revision become a new revision; violations and evidence stay. The mode is restored
/// too, save that a policy that monitors goes on monitoring: only promote makes it protect.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Back to the revision before the newest one
  kubectl netenf rollback deployment/web --direction egress -n shop --dir policies

  # Back to a certain one
  kubectl netenf rollback deployment-web-egress --to-revision 1 -n shop --dir policies

  # Only show what would be done
  kubectl netenf rollback deployment-web-egress --to-revision 1 -n shop --dir policies --dry-run")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// The revision, as history numbers it; the one before the newest if not given
    #[arg(long, value_name = "N")]
    to_revision: Option<u64>,
    /// Show what would be done and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::for_change(global, "rollback", args.dry_run.is_some())?;
    if args.selection.names.is_empty() {
        return Err(CommandError::usage("nothing is named to roll back")
            .hint("name it as get does, for example deployment-web-egress"));
    }
    let found = args.selection.find(&session, global)?;
    let [stored] = found.as_slice() else {
        let names: Vec<String> =
            found.iter().map(|stored| stored.object.key().to_string()).collect();
        return Err(CommandError::usage(format!(
            "that names {} objects: {}",
            names.len(),
            names.join(", ")
        ))
        .hint("name one of them, or choose it with --direction and -n"));
    };
    let key = stored.object.key();
    let mut revisions = session.history(&key.namespace, &key.name)?;
    revisions.retain(|revision| revision.object.kind() == key.kind);
    let wanted = match args.to_revision {
        Some(number) => revisions.iter().find(|revision| revision.number == number),
        None => revisions.iter().rev().nth(1),
    };
    let Some(revision) = wanted else {
        let kept: Vec<String> =
            revisions.iter().map(|revision| revision.number.to_string()).collect();
        let kept = if kept.is_empty() { "none".to_owned() } else { kept.join(", ") };
        let which = args
            .to_revision
            .map_or("no earlier revision".to_owned(), |number| format!("no revision {number}"));
        return Err(CommandError::no(format!(
            "the {key} has {which}; its revisions as a {}: {kept}",
            key.kind.word()
        ))
        .hint("kubectl netenf history shows them"));
    };
    let mut object = lifecycle::rollback(&stored.object, revision)?;
    let held = hold_mode(&stored.object, &mut object);
    let stops = mode(&stored.object) == Some(Mode::Protect) && mode(&object) == Some(Mode::Monitor);
    let record =
        Session::record(Verb::Rollback, &object, format!("back to revision {}", revision.number));
    session.write(vec![stored.replace(object)], vec![record])?;
    let dry = if args.dry_run.is_some() { " (dry run)" } else { "" };
    print(&format!(
        "{} rolled back to revision {}{dry}\n",
        output::object(&key, global.spans_namespaces()),
        revision.number
    ))?;
    if stops {
        let will = if args.dry_run.is_some() { "would be" } else { "is" };
        tell(&format!("nothing {will} blocked any more: the revision only monitors"));
    }
    if held {
        tell(
            "it goes on monitoring; kubectl netenf promote --protect shows what denying would cut",
        );
    }
    Ok(Exit::Done)
}

fn mode(object: &Resource) -> Option<Mode> {
    object.as_policy().map(|policy| policy.spec.mode)
}

/// Nothing is enforced before its effect was shown: that is for promote. Returns whether the mode was held.
fn hold_mode(current: &Resource, restored: &mut Resource) -> bool {
    match (current.as_policy(), restored) {
        (Some(now), Resource::Policy(policy))
            if now.spec.mode == Mode::Monitor && policy.spec.mode == Mode::Protect =>
        {
            Arc::make_mut(policy).spec.mode = Mode::Monitor;
            true
        }
        _ => false,
    }
}
