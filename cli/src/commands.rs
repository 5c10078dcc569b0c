//! One file a verb: its arguments, whose documentation is the help, and what it does.

use crate::args::{Cli, Command};
use crate::error::{CommandError, Exit};

pub(crate) mod ack;
pub(crate) mod allow;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod completion;
pub(crate) mod demote;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod flows;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod learn;
pub(crate) mod promote;
pub(crate) mod reference;
pub(crate) mod rollback;
pub(crate) mod status;
pub(crate) mod version;
pub(crate) mod violations;

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Result<Exit, CommandError> {
    let global = &cli.global;
    match &cli.command {
        Command::Learn(args) => learn::run(global, args),
        Command::Get(args) => get::run(global, args),
        Command::Diff(args) => diff::run(global, args),
        Command::Check(args) => check::run(global, args),
        Command::Explain(args) => explain::run(global, args),
        Command::Promote(args) => promote::run(global, args),
        Command::Demote(args) => demote::run(global, args),
        Command::Violations(args) => violations::run(global, args),
        Command::Ack(args) => ack::run(global, args),
        Command::Allow(args) => allow::run(global, args),
        Command::Flows(args) => flows::run(global, args),
        Command::Export(args) => export::run(global, args),
        Command::History(args) => history::run(global, args),
        Command::Rollback(args) => rollback::run(global, args),
        Command::Status(args) => status::run(global, args),
        Command::Completion(args) => completion::run(args),
        Command::Version(args) => version::run(args),
        Command::Reference(args) => reference::run(args),
        Command::Complete(args) => complete::run(global, args),
    }
}
