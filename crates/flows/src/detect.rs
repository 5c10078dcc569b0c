//! Which source wrote a line, and what stands there when none did.

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::{self, excerpt};
use crate::{DecodeError, Format};

/// How many keys of a foreign object are named.
const KEYS: usize = 4;

/// What a text looks like that is no flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing at all, or only blank lines.
    Nothing,
    /// Bytes that are no text, with a guess what they are.
    Binary(&'static str),
    /// A web page.
    Html,
    /// An object of Kubernetes, as JSON or YAML, of this kind.
    KubernetesObject(String),
    /// YAML.
    Yaml,
    /// A JSON array.
    JsonArray,
    /// A JSON object with these keys, the first few.
    JsonObject(Vec<String>),
    /// The record of a source.
    Record(Format),
    /// What `hubble observe` prints for people.
    HubbleText,
    /// ztunnel's log as text.
    ZtunnelText,
    /// Any other text, which begins like this.
    Text(String),
}

/// The keys that tell the sources apart.
#[derive(Deserialize)]
struct Probe {
    flow: Option<FlowProbe>,
    #[serde(alias = "lostEvents")]
    lost_events: Option<IgnoredAny>,
    #[serde(alias = "nodeStatus")]
    node_status: Option<IgnoredAny>,
    #[serde(alias = "agentEvent")]
    agent_event: Option<IgnoredAny>,
    #[serde(alias = "debugEvent")]
    debug_event: Option<IgnoredAny>,
    scope: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
}

/// The keys of a flow of Hubble or Goldmane.
#[derive(Deserialize)]
struct FlowProbe {
    #[serde(rename = "Key", alias = "key")]
    key: Option<IgnoredAny>,
    verdict: Option<IgnoredAny>,
    #[serde(rename = "IP")]
    ip: Option<IgnoredAny>,
    l4: Option<IgnoredAny>,
    #[serde(rename = "Type")]
    kind: Option<IgnoredAny>,
    #[serde(alias = "eventType")]
    event_type: Option<IgnoredAny>,
}

/// The source that wrote a JSON text, if it tells.
pub fn detect(line: &[u8]) -> Option<Format> {
    let probe: Probe = serde_json::from_slice(line).ok()?;
    let hubble = [probe.lost_events, probe.node_status, probe.agent_event, probe.debug_event];
    if hubble.iter().any(Option::is_some) {
        return Some(Format::Hubble);
    }
    if probe.scope.is_some() && probe.message.is_some() {
        return Some(Format::Ztunnel);
    }
    let flow = probe.flow.or_else(|| serde_json::from_slice(line).ok());
    flow.and_then(|flow| flow.format())
}

/// The source that wrote a JSON text, or what is wrong with it.
pub(crate) fn identify(line: &[u8]) -> Result<Format, DecodeError> {
    if let Some(format) = detect(line) {
        return Ok(format);
    }
    if line.trim_ascii_start().starts_with(b"{") {
        let _: IgnoredAny = error::parse(error::text(line)?)?;
    }
    Err(DecodeError::Unknown { seen: Seen::of(line).to_string() })
}

// === impl FlowProbe ===

impl FlowProbe {
    fn format(&self) -> Option<Format> {
        let Self { key, verdict, ip, l4, kind, event_type } = self;
        let hubble = [verdict, ip, l4, kind, event_type];
        match key {
            Some(_) => Some(Format::Goldmane),
            None if hubble.iter().any(|field| field.is_some()) => Some(Format::Hubble),
            None => None,
        }
    }
}

// === impl Seen ===

impl Seen {
    /// What the beginning of a text, or of a line, looks like.
    pub fn of(sample: &[u8]) -> Self {
        if let Some(binary) = binary(sample) {
            return Self::Binary(binary);
        }
        let text = String::from_utf8_lossy(sample);
        let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
        match text.as_bytes() {
            [] => Self::Nothing,
            [b'[', ..] if text[1..].trim_start().starts_with(['{', '[', ']']) => Self::JsonArray,
            [b'{', ..] => Self::of_object(text),
            [b'<', ..] => Self::Html,
            _ => Self::of_text(text),
        }
    }

    fn of_object(text: &str) -> Self {
        let mut texts = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let first = texts.next().and_then(Result::ok).map_or("", RawValue::get);
        if let Some(format) = detect(first.as_bytes()) {
            return Self::Record(format);
        }
        let kind = json_value(text, "kind");
        if let Some(kind) = kind.filter(|_| text.contains("\"apiVersion\"")) {
            return Self::KubernetesObject(excerpt(kind));
        }
        let keys: Option<Keys> = serde_json::from_str(first).ok();
        Self::JsonObject(keys.map_or_else(Vec::new, |keys| keys.0))
    }

    fn of_text(text: &str) -> Self {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        if let (Some(_), Some(kind)) = (value("apiVersion:"), value("kind:")) {
            return Self::KubernetesObject(excerpt(kind.trim()));
        }
        let line = text.lines().next().unwrap_or_default();
        if line.starts_with("TIMESTAMP") || (line.contains(" -> ") && line.contains("(ID:")) {
            return Self::HubbleText;
        }
        if line.contains("\taccess\tconnection ") || line.contains("\tztunnel::") {
            return Self::ZtunnelText;
        }
        let is_key = |(key, value): (&str, &str)| {
            !key.contains(char::is_whitespace) && (value.is_empty() || value.starts_with(' '))
        };
        if line == "---" || line.starts_with("- ") || line.split_once(':').is_some_and(is_key) {
            return Self::Yaml;
        }
        Self::Text(excerpt(line))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => formatter.write_str("nothing, it is empty"),
            Self::Binary(what) => formatter.write_str(what),
            Self::Html => formatter.write_str("HTML or XML"),
            Self::KubernetesObject(kind) => {
                write!(formatter, "a Kubernetes object (kind: {kind})")
            }
            Self::Yaml => formatter.write_str("YAML"),
            Self::JsonArray => formatter.write_str("a JSON array"),
            Self::JsonObject(keys) if keys.is_empty() => formatter.write_str("a JSON object"),
            Self::JsonObject(keys) => {
                write!(formatter, "a JSON object with the keys {}", keys.join(", "))
            }
            Self::Record(format) => write!(formatter, "a record of {format}"),
            Self::HubbleText => formatter.write_str("text of hubble observe (-o json is needed)"),
            Self::ZtunnelText => {
                formatter.write_str("ztunnel's log as text (LOG_FORMAT=json is needed)")
            }
            Self::Text(text) => write!(formatter, "plain text: {text}"),
        }
    }
}

/// What these bytes are, if they are no text of one byte a character.
fn binary(sample: &[u8]) -> Option<&'static str> {
    match sample {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text (UTF-8 is needed)"),
        [b'P', b'K', 3, 4, ..] => Some("a zip archive (only gzip and zstd are read)"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some("xz data (only gzip and zstd are read)"),
        [b'B', b'Z', b'h', ..] => Some("bzip2 data (only gzip and zstd are read)"),
        [0xd4, 0xc3, 0xb2, 0xa1, ..] | [0x0a, 0x0d, 0x0d, 0x0a, ..] => {
            Some("a packet capture (pcap)")
        }
        _ if sample.contains(&0) => Some("binary data"),
        _ => None,
    }
}

/// The value of the first `"key": "value"` in a text that may be cut off.
fn json_value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\"{key}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split('"').next()
}

/// The first keys of a JSON object.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeysVisitor;
        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = Keys;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                    if keys.len() < KEYS {
                        keys.push(excerpt(&key));
                    }
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(KeysVisitor)
    }
}

// === impl DecodeError ===

impl DecodeError {
    /// The error of a decoder of `format` about JSON of another kind.
    pub(crate) fn foreign(format: Format, line: &[u8]) -> Self {
        Self::Foreign { format, seen: Seen::of(line).to_string() }
    }
}

#[cfg(test)]
mod tests;
