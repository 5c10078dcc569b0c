//! What the documents of a file are.

use netenf_api::{GROUP, VERSION, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_k8s::lifecycle::{Key, Kind, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::name;
use super::split::{Span, lines_before, split};
use crate::yaml::node::Node;
use crate::yaml::tree;

/// Fields that an API server sets and that are not kept.
const SERVERS: &[&str] =
    &["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// A document of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    /// Where it is.
    pub(super) span: Span,
    /// Line of its first content, counted from 1.
    pub(super) line: usize,
    /// What it is.
    pub(super) content: Content,
}

/// What a document is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// Something else, which is left alone.
    Foreign,
    /// One of ours.
    Ours {
        /// The object.
        object: Resource,
        /// Fields that this version does not know, and would lose.
        unknown: Vec<String>,
    },
    /// Meant to be one of ours, but cannot be read.
    Broken(Problem),
}

/// Why a document cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// Line of the file, counted from 1.
    pub(super) line: usize,
    /// What is wrong.
    pub(super) cause: String,
    /// What a person can do next.
    pub(super) next_step: String,
}

/// What tells the kind of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
}

/// Whether something could be one of ours at all.
pub(super) fn mentions_ours(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, GROUP.as_bytes()).is_some()
}

/// The documents of `text`.
pub(super) fn parse(text: &str) -> Vec<Document> {
    let documents = split(text).into_iter().map(|span| {
        let body = &text[span.body.clone()];
        let blank = body.len() - body.trim_start().len();
        let line = lines_before(text, span.body.start + blank) + 1;
        let content = if mentions_ours(body.as_bytes()) {
            content(body, lines_before(text, span.body.start), line).unwrap_or_else(Content::Broken)
        } else {
            Content::Foreign
        };
        Document { span, line, content }
    });
    documents.collect()
}

/// Line and cause of what makes the text no YAML, if something does.
pub(super) fn no_yaml(text: &str) -> Option<(usize, String)> {
    split(text).into_iter().find_map(|span| {
        let before = lines_before(text, span.body.start);
        let body = padded(&text[span.body.clone()], before);
        let problem = read::<serde::de::IgnoredAny>(&body, before + 1).err()?;
        Some((problem.line, problem.cause))
    })
}

fn content(body: &str, before: usize, line: usize) -> Result<Content, Problem> {
    let padded = padded(body, before);
    let head: Head = read(&padded, line)?;
    let version = head.api_version.unwrap_or_default();
    let kind = head.kind.unwrap_or_default();
    let Some((GROUP, version)) = version.split_once('/') else {
        return if is_list(&kind) { Err(list(line)) } else { Ok(Content::Foreign) };
    };
    if is_list(&kind) {
        return Err(list(line));
    }
    if version != VERSION {
        return Err(problem(
            line,
            format!("the version {version} of {GROUP} is not known"),
            format!("use apiVersion {GROUP}/{VERSION}, or a newer netenf"),
        ));
    }
    let object = match Kind::of(&kind) {
        Some(Kind::Proposal) => {
            Resource::from(read::<WorkloadNetworkPolicyProposal>(&padded, line)?)
        }
        Some(Kind::Policy) => Resource::from(read::<WorkloadNetworkPolicy>(&padded, line)?),
        None => {
            let next_step = "use WorkloadNetworkPolicyProposal or WorkloadNetworkPolicy";
            return Err(problem(line, format!("{GROUP} has no kind {kind:?}"), next_step.into()));
        }
    };
    check_names(&object, line)?;
    let unknown = unknown_fields(&read(&padded, line)?, &object);
    Ok(Content::Ours { object, unknown })
}

/// Blank lines in front let the parser count lines as the file does.
fn padded(body: &str, before: usize) -> String {
    format!("{}{body}", "\n".repeat(before))
}

fn read<T: DeserializeOwned>(text: &str, line: usize) -> Result<T, Problem> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        // Comments are kept elsewhere; here they would count against a limit.
        emit_comments: false,
        // As strict as kubectl: what looks like a number is no label.
        no_schema: true,
        strict_booleans: true,
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_documents: 1,
            max_aliases: 10_000,
            max_anchors: 1_000,
            max_recorded_anchor_events: 100_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 16,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let found = error.location().and_then(|place| usize::try_from(place.line()).ok());
        let found = found.filter(|found| *found > 0).unwrap_or(line);
        problem(found, error.to_string(), "correct the file, or restore it from Git".to_owned())
    })
}

fn is_list(kind: &str) -> bool {
    kind.ends_with("List")
}

fn list(line: usize) -> Problem {
    let cause = "objects in a List cannot be updated one by one".to_owned();
    problem(line, cause, "write each of its items as a document of its own".to_owned())
}

fn problem(line: usize, cause: String, next_step: String) -> Problem {
    Problem { line, cause, next_step }
}

fn check_names(object: &Resource, line: usize) -> Result<(), Problem> {
    let Key { namespace, name, .. } = object.key();
    if name.is_empty() {
        let next_step = "add metadata.name".to_owned();
        return Err(problem(line, "it has no name".to_owned(), next_step));
    }
    if namespace.is_empty() {
        let next_step = "add metadata.namespace".to_owned();
        return Err(problem(line, format!("{name} has no namespace"), next_step));
    }
    name::check(&object.key()).map_err(|error| problem(line, error.to_string(), error.next_step()))
}

/// Paths of the fields that `raw` has and `object` does not.
fn unknown_fields(raw: &Node, object: &Resource) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Ok(known) = tree(object) {
        compare("", raw, &known, &mut unknown);
    }
    unknown
}

fn compare(path: &str, raw: &Node, known: &Node, unknown: &mut Vec<String>) {
    match (raw, known) {
        (Node::Map(entries), Node::Map(_)) => {
            for (key, value) in entries {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let servers = path.strip_prefix("metadata.");
                match known.value(key) {
                    Some(known) => compare(&path, value, known, unknown),
                    None if value.is_nothing() => {}
                    None if servers.is_some_and(|field| SERVERS.contains(&field)) => {}
                    None => unknown.push(path),
                }
            }
        }
        (Node::List(items), Node::List(known)) => {
            for (position, (item, known)) in items.iter().zip(known).enumerate() {
                compare(&format!("{path}[{position}]"), item, known, unknown);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
