//! An Event as the API has it. The limits are those of events.k8s.io/v1 (Kubernetes API reference, Event).

use std::fmt::Write as _;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Document, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use sha2::{Digest as _, Sha256};

use super::{Event, EventType};
use crate::apply::FIELD_MANAGER;

/// What a note may hold, in bytes.
const LONGEST_NOTE: usize = 1024;

/// What a reason, an action and the name of an instance may hold.
const LONGEST_WORD: usize = 128;

/// What the name of an object may hold.
const LONGEST_NAME: usize = 253;

/// Where Events about cluster-wide objects stand.
const CLUSTER_WIDE: &str = "default";

/// Which Event it is: the same for all that is told in one.
pub(super) type Id = u64;

/// An Event about an object, as it is to be written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Telling {
    pub(super) id: Id,
    name: String,
    instance: String,
    event: Event,
    object: ObjectReference,
}

// === impl Telling ===

impl Telling {
    pub(super) fn new(event: Event, object: ObjectReference, instance: &str) -> Self {
        let Event { type_, reason, action, note } = event;
        let event = Event {
            type_,
            reason: cut(&reason, LONGEST_WORD).to_owned(),
            action: cut(&action, LONGEST_WORD).to_owned(),
            note: readable(&note),
        };
        let instance = cut(instance, LONGEST_WORD).to_owned();
        let id = identify(&event, &object, &instance);
        let name = name(object.name.as_deref().unwrap_or_default(), id);
        Self { id, name, instance, event, object }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or(CLUSTER_WIDE)
    }

    /// The Event of what happened so many times, the last one `now`.
    pub(super) fn document(&self, times: u32, now: Timestamp) -> Document {
        let series = (times > 1).then(|| EventSeries {
            count: i32::try_from(times).unwrap_or(i32::MAX),
            last_observed_time: MicroTime(now),
        });
        Document {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace().to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some(self.event.type_.as_str().to_owned()),
            reason: Some(self.event.reason.clone()),
            action: Some(self.event.action.clone()),
            note: Some(self.event.note.clone()),
            event_time: Some(MicroTime(now)),
            regarding: Some(self.object.clone()),
            reporting_controller: Some(FIELD_MANAGER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            series,
            ..Document::default()
        }
    }
}

// === impl EventType ===

impl EventType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// How often it happened.
pub(super) fn times(stored: &Document) -> u32 {
    stored.series.as_ref().map_or(1, |series| u32::try_from(series.count).unwrap_or(1))
}

/// All that may not change once an Event is written.
fn identify(event: &Event, object: &ObjectReference, instance: &str) -> Id {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let parts = [
        event.type_.as_str().to_owned(),
        event.reason.clone(),
        event.action.clone(),
        event.note.clone(),
        instance.to_owned(),
        part(&object.api_version),
        part(&object.kind),
        part(&object.namespace),
        part(&object.name),
        part(&object.uid),
    ];
    let digest = Sha256::digest(parts.join("\0"));
    digest.iter().take(8).fold(0, |id, byte| id << 8 | u64::from(*byte))
}

/// The object's name as far as it fits, and what tells its Events apart. Before the dot stands a letter or a
/// digit, as names of objects want it.
fn name(object: &str, id: Id) -> String {
    let room = LONGEST_NAME - ".0123456789abcdef".len();
    let is_outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let name: String =
        object.chars().map(|c| if is_outer(c) || c == '.' { c } else { '-' }).take(room).collect();
    let name = name.trim_matches(|c| !is_outer(c));
    let name = if name.is_empty() { "unnamed" } else { name };
    format!("{name}.{id:016x}")
}

/// A note without control characters and without what would turn the order of its letters, which are written
/// out, and not longer than it may be.
fn readable(note: &str) -> String {
    const MARK: &str = "…";
    let mut text = String::with_capacity(note.len());
    for character in note.chars() {
        let length = text.len();
        if is_hidden(character) {
            let _ = write!(text, "{}", character.escape_default());
        } else {
            text.push(character);
        }
        if text.len() > LONGEST_NOTE {
            text.truncate(length);
            text.truncate(text.floor_char_boundary(LONGEST_NOTE - MARK.len()));
            return text + MARK;
        }
    }
    text
}

fn is_hidden(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

#[cfg(test)]
mod tests;
