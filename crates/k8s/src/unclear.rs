//! Why a question of a person cannot be answered, in words that fit wherever it was asked.

/// Why a question cannot be answered. The message names what was written; it holds what a person wrote as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unclear {
    /// What is wrong with it.
    pub fault: Fault,
    /// What it is, without a final period.
    pub message: String,
    /// Next steps, the nearest first.
    pub hints: Vec<Hint>,
}

/// What is wrong with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It makes no sense, or several.
    Malformed,
    /// It is about something that is not known.
    Unknown,
}

/// A next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// It can be done wherever the question is asked.
    Plain(String),
    /// A namespace would tell, said as an option of a command; or what else to write.
    Namespace(Option<&'static str>),
    /// These objects would tell: their resources, or `None` for the cluster's objects.
    Objects(Option<&'static str>),
}

// === impl Unclear ===

impl Unclear {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self { fault: Fault::Malformed, message: message.into(), hints: Vec::new() }
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self { fault: Fault::Unknown, message: message.into(), hints: Vec::new() }
    }

    #[must_use]
    pub(crate) fn plain(self, hint: impl Into<String>) -> Self {
        self.hint(Hint::Plain(hint.into()))
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: Hint) -> Self {
        self.hints.push(hint);
        self
    }
}
