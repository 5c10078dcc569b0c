//! What is printed: data on standard output, talk on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::args::Colour;
use crate::error::CommandError;

mod ask;
mod escape;
mod policy;
mod table;
mod transports;
mod wrap;

pub(crate) use netenf_learn::wording::count;

pub(crate) use ask::confirm;
pub(crate) use escape::{escaped, escaped_json};
pub(crate) use policy::{cluster_peer, cluster_ports, peers, ports};
pub(crate) use table::Table;
pub(crate) use transports::{passing_json, passing_words, protocol_name};
pub(crate) use wrap::{width, wrapped};

static COLOUR: AtomicU8 = AtomicU8::new(0);

/// Decides once for the whole run whether output is coloured.
pub(crate) fn set_colour(colour: Colour) {
    let on = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => {
            let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
            wanted && able && std::io::stdout().is_terminal()
        }
    };
    COLOUR.store(u8::from(on), Ordering::Relaxed);
}

/// `text` in an ANSI colour, where output is coloured.
pub(crate) fn painted(code: u8, text: &str) -> String {
    if COLOUR.load(Ordering::Relaxed) == 1 {
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

/// Prints data. A reader that went away ends the program quietly (case B95).
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

/// Text that is printed in blocks: little of it is held at once.
#[derive(Debug, Default)]
pub(crate) struct Pages(String);

// === impl Pages ===

impl Pages {
    /// How much text is gathered before it is written.
    const BLOCK: usize = 64 << 10;

    pub(crate) fn add(&mut self, text: &str) -> Result<(), CommandError> {
        self.0.push_str(text);
        if self.0.len() < Self::BLOCK {
            return Ok(());
        }
        print(&std::mem::take(&mut self.0))
    }

    /// Prints the rest.
    pub(crate) fn finish(self) -> Result<(), CommandError> {
        print(&self.0)
    }
}

/// A workload as a person names it: `deployment/web`.
pub(crate) fn workload(target: &netenf_api::TargetRef) -> String {
    format!("{}/{}", target.kind.to_string().to_lowercase(), target.name)
}

/// A time for people, in whole seconds.
pub(crate) fn time(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Tells something on standard error.
pub(crate) fn tell(text: &str) {
    let mut out = std::io::stderr().lock();
    // Nobody is left to tell if this fails.
    let _ = writeln!(out, "{}", text.trim_end());
}

/// Tells an error, its causes and the next steps.
pub(crate) fn error(error: &CommandError) {
    let mut text = format!("error: {}", escaped(error.message()));
    for cause in error.causes() {
        text.push_str(": ");
        text.push_str(&escaped(cause));
    }
    for hint in error.hints() {
        text.push_str("\nhint: ");
        text.push_str(&escaped(hint));
    }
    tell(&text);
}

/// The only other form of commands that print one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum JsonOnly {
    /// JSON
    Json,
}

/// Pretty JSON with a line break at the end.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, CommandError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CommandError::failed("cannot write JSON").because(error))?;
    Ok(escaped_json(&text) + "\n")
}

/// JSON on one line.
pub(crate) fn json_line(value: &impl serde::Serialize) -> Result<String, CommandError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CommandError::failed("cannot write JSON").because(error))?;
    Ok(escaped_json(&text) + "\n")
}

/// What stands between two YAML documents.
pub(crate) const NEXT_DOCUMENT: &str = "---\n";

/// Objects as YAML documents, in the neat form that the folder store writes.
pub(crate) fn yaml_documents(
    objects: impl Iterator<Item = netenf_store::Resource>,
) -> Result<String, CommandError> {
    let documents: Result<Vec<String>, CommandError> =
        objects.map(|object| yaml(&object)).collect();
    Ok(documents?.join(NEXT_DOCUMENT))
}

/// An object as a YAML document, in the neat form that the folder store writes.
pub(crate) fn yaml(object: &netenf_store::Resource) -> Result<String, CommandError> {
    let text = netenf_store::to_neat_yaml(object)?;
    // YAML may leave such characters as they are; JSON is YAML too, and can write them out.
    if escaped(&text) == text { Ok(text) } else { json(object) }
}

/// Anything as a YAML document.
pub(crate) fn yaml_value(value: &impl serde::Serialize) -> Result<String, CommandError> {
    let text = serde_saphyr::to_string(value)
        .map_err(|error| CommandError::failed("cannot write YAML").because(error))?;
    if escaped(&text) != text {
        return json(value);
    }
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// `TYPE/name`, as kubectl prints objects by name. Where several namespaces are shown the namespace stands
/// before it, so that two of one name are told apart (case B34).
pub(crate) fn object(key: &netenf_store::Key, namespaced: bool) -> String {
    let kind = match key.kind {
        netenf_store::Kind::Proposal => "workloadnetworkpolicyproposal",
        netenf_store::Kind::Policy => "workloadnetworkpolicy",
    };
    let namespace = if namespaced { format!("{}/", key.namespace) } else { String::new() };
    escaped(&format!("{namespace}{kind}.{}/{}", netenf_api::GROUP, key.name))
}

/// A violation by name, as `TYPE/name`.
pub(crate) fn violation(id: &str) -> String {
    escaped(&format!("violation/{id}"))
}

/// The policy of something, with its namespace where several are shown.
pub(crate) fn policy(key: &netenf_store::Key, namespaced: bool) -> String {
    let namespace = if namespaced { format!("{}/", key.namespace) } else { String::new() };
    escaped(&format!("{namespace}{}", key.name))
}

/// An end as one word, with its address where it has a name besides: two addresses of a name are two ends.
pub(crate) fn peer_with_address(end: &netenf_api::PeerRef) -> String {
    let word = peer(end);
    match end.address.as_ref().filter(|address| !word.contains(*address)) {
        Some(address) => format!("{word}({address})"),
        None => word,
    }
}

/// An end as one word.
pub(crate) fn peer(peer: &netenf_api::PeerRef) -> String {
    let kind = peer.kind.as_deref().unwrap_or_default();
    let name =
        peer.name.as_deref().or(peer.names.first().map(String::as_str)).or(peer.address.as_deref());
    let lower = kind.to_ascii_lowercase();
    match (&peer.namespace, name) {
        (Some(namespace), Some(name)) => format!("{namespace}/{lower}/{name}"),
        (None, Some(name)) => format!("{lower}/{name}"),
        (Some(namespace), None) => format!("{namespace}/{lower}"),
        (None, None) => match &peer.service {
            Some(service) => format!("{lower}/{service}"),
            None => lower,
        },
    }
}
