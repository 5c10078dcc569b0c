//! What is asked of a person.

use std::io::IsTerminal as _;

use super::tell;
use crate::error::CommandError;

/// Asks whether to do it. Where nobody is there to answer, nothing is done (`--yes` does it unasked).
pub(crate) fn confirm(what: &str) -> Result<(), CommandError> {
    let input = std::io::stdin();
    if !input.is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CommandError::usage(format!("nobody is there to be asked: {what}?"))
            .hint("give --yes, or see with --dry-run what would be done"));
    }
    tell(&format!("{what}? [y/N]"));
    let mut answer = String::new();
    input
        .read_line(&mut answer)
        .map_err(|error| CommandError::failed("cannot read the answer").because(error))?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::no("nothing was changed")),
    }
}
