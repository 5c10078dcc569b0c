//! `demote`: one step back.

use clap::ValueEnum;
use netenf_k8s::lifecycle::{self, Demoted, Step};
use netenf_store::{Change, Key, Resource, Stored, Verb};

use super::learn::DryRun;
use crate::args::Global;
use crate::error::{CommandError, Exit};
use crate::output::{self, print, tell};
use crate::wiring::select::Selection;
use crate::wiring::store::Session;

/// Take a policy one step back: from protect to monitor, from monitor to learning
///
/// From protect to monitor nothing is blocked any more and violations are still reported. From monitor
/// the policy becomes a proposal again, with its evidence, and learning goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # Stop blocking, go on reporting
  kubectl netenf demote deployment/web -n shop --dir policies

  # Learn again
  kubectl netenf demote deployment/web --to proposal -n shop --dir policies

  # All policies of a namespace, only shown
  kubectl netenf demote --all -n shop --dir policies --dry-run")]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// All policies of the namespace
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// How far back; one step if not given
    #[arg(long, value_enum, value_name = "STATE")]
    to: Option<Target>,
    /// Show what would be done and change nothing
    #[arg(long, value_name = "client", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<DryRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Report, but do not deny
    Monitor,
    /// Learn again
    Proposal,
}

/// Runs the command.
pub(crate) fn run(global: &Global, args: &Args) -> Result<Exit, CommandError> {
    let session = Session::for_change(global, "demote", args.dry_run.is_some())?;
    let mut found = args.selection.find_named(&session, global, args.all)?;
    found.retain(|stored| stored.object.as_policy().is_some());
    if found.is_empty() {
        return Err(CommandError::no("no policy is named; only policies can be demoted")
            .hint("kubectl netenf get shows proposals and policies"));
    }
    let mut changes = Vec::new();
    let mut records = Vec::new();
    let mut lines = String::new();
    for stored in found {
        let word = args.step(&session, stored, &mut changes, &mut records)?;
        let dry = if args.dry_run.is_some() { " (dry run)" } else { "" };
        lines.push_str(&format!(
            "{} demoted ({word}){dry}\n",
            output::object(&stored.object.key(), global.spans_namespaces())
        ));
    }
    session.write(changes, records)?;
    print(&lines)?;
    if args.dry_run.is_none() {
        tell("undo with kubectl netenf promote");
    }
    Ok(Exit::Done)
}

// === impl Args ===

impl Args {
    fn step(
        &self,
        session: &Session,
        stored: &Stored,
        changes: &mut Vec<Change>,
        records: &mut Vec<netenf_store::Record>,
    ) -> Result<&'static str, CommandError> {
        let Some(policy) = stored.object.as_policy() else { return Ok("nothing") };
        let key = stored.object.key();
        let other = session.listing().find(&Key::proposal(key.namespace, key.name));
        let proposal = other.and_then(|stored| stored.object.as_proposal());
        let demoted = match self.to {
            None => lifecycle::demote(policy, proposal),
            Some(Target::Monitor) => lifecycle::demote_to(policy, Step::Monitor, proposal),
            Some(Target::Proposal) => lifecycle::demote_to(policy, Step::Proposal, proposal),
        };
        match demoted? {
            Demoted::Policy(policy) => {
                let object = Resource::from(policy);
                records.push(Session::record(Verb::Demote, &object, "protect to monitor"));
                changes.push(stored.replace(object));
                Ok("monitor")
            }
            Demoted::Proposal(proposal) => {
                let object = Resource::from(proposal);
                records.push(Session::record(Verb::Demote, &object, "policy to proposal"));
                changes.push(match other {
                    Some(other) => other.replace(object),
                    None => Change::Create(object),
                });
                changes.push(stored.delete());
                Ok("proposal")
            }
        }
    }
}
