//! Why an object was not written.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kube::core::Status;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {object}")]
pub struct WriteError {
    /// What was to be done.
    pub verb: Verb,
    /// Kind, namespace and name.
    pub object: String,
    /// Why it was not.
    #[source]
    pub cause: Cause,
}

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Server-side apply of metadata and spec.
    Apply,
    /// A patch of the status.
    PatchStatus,
    /// A new object.
    Create,
    /// The whole object.
    Replace,
    /// The end of an object.
    Delete,
    /// A patch of annotations.
    Annotate,
    /// A look whether it is there.
    Confirm,
}

/// Why a request failed: what can be done about it differs.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// Somebody else wrote the object, or owns a field of it: it has to be looked at again.
    #[error("somebody else changed it: {0}")]
    Conflict(String),
    /// There is an object of that name.
    #[error("there is one already")]
    AlreadyExists,
    /// Another replica may write it.
    #[error("this replica leads no more")]
    NotLeading,
    /// There is no such object, namespace or kind.
    #[error("it is not there: {0}")]
    NotFound(String),
    /// This program may not do that, until somebody grants it.
    #[error("the agent may not do that: {0}")]
    Forbidden(String),
    /// The server refuses the object as it is; the same object will not do later either.
    #[error("the API server refuses it: {0}")]
    Invalid(String),
    /// The server is busy.
    #[error("the API server is busy and asks to wait {} s", after.as_secs())]
    TooManyRequests {
        /// Not before that.
        after: Duration,
    },
    /// No answer, or one that says nothing of the object. The request may have been carried out.
    #[error("the API server cannot be reached or failed")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The API server answered that it could not do it: a webhook that fails, an object that is too large for its
    /// store. That may be about this object alone.
    #[error("the API server failed: {0}")]
    Failed(String),
}

// === impl Verb ===

impl Verb {
    /// Its name in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::PatchStatus => "patch-status",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Annotate => "annotate",
            Self::Confirm => "confirm",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::PatchStatus => "write the status of",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Annotate => "annotate",
            Self::Confirm => "find",
        })
    }
}

// === impl Cause ===

impl Cause {
    /// Its name in metrics.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "Conflict",
            Self::AlreadyExists => "AlreadyExists",
            Self::NotFound(_) => "NotFound",
            Self::NotLeading => "NotLeading",
            Self::Forbidden(_) => "Forbidden",
            Self::Invalid(_) => "Invalid",
            Self::TooManyRequests { .. } => "TooManyRequests",
            Self::Unreachable(_) => "Unreachable",
            Self::Failed(_) => "Failed",
        }
    }

    pub(super) fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(*status),
            other => Self::Unreachable(other.into()),
        }
    }

    /// Sorted by code and reason (Kubernetes' API conventions, "Error codes").
    fn of_status(status: Status) -> Self {
        match status.code {
            409 if status.is_already_exists() => Self::AlreadyExists,
            409 => Self::Conflict(status.message),
            404 | 410 => Self::NotFound(status.message),
            401 | 403 => Self::Forbidden(status.message),
            400 | 405 | 413 | 415 | 422 => Self::Invalid(status.message),
            429 => {
                let after = status.details.as_ref().map_or(0, |it| it.retry_after_seconds);
                Self::TooManyRequests { after: Duration::from_secs(after.max(1).into()) }
            }
            // In its own words it is the server, or what is before it, that is not there.
            502..=504 => Self::Unreachable(status.message.into()),
            _ => Self::Failed(status.message),
        }
    }
}
