//! What went wrong, in the words of the person who typed the command, and the exit code for it (DESIGN D11).

use std::error::Error;
use std::process::ExitCode;

/// Exit codes: 0 done, 1 the answer is no, 2 usage, 3 input, cluster or I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The answer is no: differences, refused by preflight, not found, some of several failed.
    No,
    /// The command line makes no sense.
    Usage,
    /// Input, cluster or I/O failed.
    Failed,
}

/// A command's failure.
#[derive(Debug)]
pub(crate) struct CommandError {
    exit: Exit,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

// === impl CommandError ===

impl CommandError {
    /// The answer is no.
    pub(crate) fn no(message: impl Into<String>) -> Self {
        Self::new(Exit::No, message)
    }

    /// The command line makes no sense.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Input or I/O failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// The same, because of `source`.
    pub(crate) fn because(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// Adds a next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Exit {
        self.exit
    }

    /// What failed.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Why, outermost first.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.source.as_ref().map(|source| &**source as &dyn Error);
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }

    /// Next steps.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), source: None, hints: Vec::new() }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::Failed => 3,
        })
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::failed("cannot write the output").because(error)
    }
}

impl From<netenf_flows::ReplayError> for CommandError {
    fn from(error: netenf_flows::ReplayError) -> Self {
        Self::failed("cannot learn from the recording").because(error)
    }
}

impl From<netenf_store::StoreError> for CommandError {
    fn from(error: netenf_store::StoreError) -> Self {
        let hint = error.next_step();
        Self::failed("the folder cannot be used").because(error).hint(hint)
    }
}

impl From<netenf_k8s::lifecycle::Refusal> for CommandError {
    fn from(refusal: netenf_k8s::lifecycle::Refusal) -> Self {
        let hint = refusal.next_step();
        Self::no(refusal.to_string()).hint(hint)
    }
}

/// Shows clap's own message; help and version are no errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
