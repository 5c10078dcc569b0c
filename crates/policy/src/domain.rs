//! Domain names, as rules name them (NPEP-133) and as DNS answers tell them.
//!
//! ```text
//! answer -> cache (name -> addresses, until when, for whom) -> rules by pattern
//! ```

use std::fmt;
use std::sync::Arc;

pub mod cache;
pub mod tree;

pub use cache::{Answer, Asker, Data, DomainCache, Record, Refusal, Scope, Settings};
pub use tree::Tree;

/// The longest name in its text form (RFC 1035, 2.3.4).
const MAX_NAME: usize = 253;
/// The longest label (RFC 1035, 2.3.4).
const MAX_LABEL: usize = 63;

/// A domain name: lower case and without the final dot, since names compare so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

/// What a rule names: a name, or all names below one (`*.`: "one or more extra labels, never the apex").
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    /// The name, without `*.`.
    pub name: Name,
    /// Whether names below it are meant instead of itself.
    pub wildcard: bool,
}

// === impl Name ===

impl Name {
    /// Reads a name; `None` for what is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let valid = text.len() <= MAX_NAME && text.split('.').all(is_label);
        valid.then(|| Self(text.to_ascii_lowercase().into()))
    }

    /// The name in lower case, without a final dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The labels from the root on.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.rsplit('.')
    }
}

fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(allowed)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl Pattern ===

impl Pattern {
    /// Reads a pattern; `None` for what the API refuses: it asks for at least two labels, beside `*.`.
    pub fn parse(text: &str) -> Option<Self> {
        let (wildcard, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let name = Name::parse(rest)?;
        (name.labels().count() >= 2).then_some(Self { name, wildcard })
    }

    /// Whether `name` is meant.
    pub fn matches(&self, name: &Name) -> bool {
        if !self.wildcard {
            return self.name == *name;
        }
        let below = name.0.strip_suffix(&*self.name.0);
        below.is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.wildcard { "*." } else { "" }, self.name)
    }
}

#[cfg(test)]
mod tests;
