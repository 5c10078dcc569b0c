//! What went wrong, in the words of the person who typed the command, and the exit code for it (DESIGN D11).

use std::error::Error;
use std::process::ExitCode;

use netenf_flows::{Format, ReplayError, Seen};
use netenf_k8s::lifecycle::Refusal;
use netenf_k8s::unclear::{Fault, Hint, Unclear};
use netenf_store::StoreError;

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
pub(crate) struct CommandError(Box<Failure>);

/// What a failure holds; in a box, so that results stay small.
#[derive(Debug)]
struct Failure {
    exit: Exit,
    message: String,
    causes: Vec<String>,
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

    /// The same, because of `source` and what caused that.
    pub(crate) fn because(mut self, source: impl Error) -> Self {
        self.0.causes.push(source.to_string());
        self.0.causes.extend(causes(&source));
        self
    }

    /// Adds a next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// The exit code.
    pub(crate) fn code(&self) -> Exit {
        self.0.exit
    }

    /// What failed.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Why, outermost first.
    pub(crate) fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Next steps.
    pub(crate) fn hints(&self) -> &[String] {
        &self.0.hints
    }

    fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self(Box::new(Failure {
            exit,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
        }))
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

impl From<ReplayError> for CommandError {
    fn from(error: ReplayError) -> Self {
        let mut own = Self::failed(error.to_string());
        own.0.causes = causes(&error);
        match error {
            ReplayError::Open { .. } => own.hint("check the name after --input-file"),
            ReplayError::Read { .. } => own.hint(
                "the file is cut off or damaged; record again, or give the part before that line",
            ),
            ReplayError::Parse { .. } => {
                own.hint("mend that line, or leave --strict out to count bad lines and go on")
            }
            ReplayError::NothingDecodable { input, seen, forced, first_broken, .. } => {
                own.0.causes.extend(first_broken.map(|(location, reason)| {
                    if location.input == input {
                        format!("line {}: {reason}", location.line)
                    } else {
                        format!("{location}: {reason}")
                    }
                }));
                own.hint(recording_hint(&seen, forced))
            }
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let mut own = Self::failed(error.to_string()).hint(error.next_step());
        own.0.causes = causes(&error);
        own
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::no(refusal.to_string()).hint(refusal.next_step())
    }
}

impl From<Unclear> for CommandError {
    fn from(unclear: Unclear) -> Self {
        let exit = match unclear.fault {
            Fault::Malformed => Exit::Usage,
            Fault::Unknown => Exit::No,
        };
        let hints = unclear.hints.into_iter().map(|hint| match hint {
            Hint::Plain(hint) => hint,
            Hint::Namespace(None) => "add -n NAMESPACE".to_owned(),
            Hint::Namespace(Some(form)) => format!("add -n NAMESPACE, or write {form}"),
            Hint::Objects(None) => "give the cluster's objects with --cluster-state".to_owned(),
            Hint::Objects(Some(resource)) => {
                format!("give {resource} among the objects of --cluster-state")
            }
        });
        hints.fold(Self::new(exit, unclear.message), Self::hint)
    }
}

/// What to give instead of an input without flows.
fn recording_hint(seen: &Seen, forced: Option<Format>) -> &'static str {
    match seen {
        Seen::Record(format) if forced.is_some_and(|forced| forced != *format) => {
            "leave --provider out, or name the source that wrote the recording"
        }
        Seen::Record(_) => "record again, with a version of the source that is supported",
        Seen::KubernetesObject(_) => {
            "give the cluster's objects with --cluster-state, and recorded flows with --input-file"
        }
        Seen::HubbleText | Seen::ZtunnelText => "record again in that form",
        Seen::Nothing
        | Seen::Binary(_)
        | Seen::Html
        | Seen::Yaml
        | Seen::JsonArray
        | Seen::JsonObject(_)
        | Seen::Text(_) => {
            "give what hubble observe -o json, Goldmane or ztunnel (in JSON) writes, one record a line"
        }
    }
}

/// What stands behind an error, outermost first.
fn causes(error: &dyn Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
}

/// Shows clap's own message; help and version are no errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
