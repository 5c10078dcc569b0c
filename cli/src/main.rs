//! `kubectl netenf`: learn, review and promote least-privilege network policies.

use std::process::ExitCode;

use clap::Parser as _;

mod args;
mod clock;
mod commands;
mod error;
mod output;
mod wiring;

use args::Cli;
use error::CommandError;

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(args::spelled_as_plugin(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => return error::usage(&error),
    };
    output::set_colour(cli.global.color);
    match commands::run(&cli) {
        Ok(code) => code.into(),
        Err(error) => report(&error),
    }
}

/// Tells the error, its causes and the next step on standard error.
fn report(error: &CommandError) -> ExitCode {
    output::error(error);
    error.code().into()
}
