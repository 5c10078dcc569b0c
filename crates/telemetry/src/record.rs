//! What a record says: one schema of attributes for both events (docs/telemetry.md). What is not known has no
//! attribute.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use netenf_api::{AcknowledgedViolation, Backend, Mode, PeerRef, Violation};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::config::Config;
use crate::metrics::Event;

/// The most bytes of a text: a reason of [`netenf_api::violation::MAX_REASON`] characters fits. What others
/// named may be longer, and a queue of it must not fill the memory.
const LONGEST: usize = 4096;

/// The attributes of a record, in the order in which they were added.
#[derive(Default)]
struct Attributes(Vec<KeyValue>);

/// Who sends.
pub(crate) fn resource(config: &Config) -> Resource {
    let mut attributes = Attributes::default();
    attributes.text("service.name", crate::SERVICE);
    attributes.text("service.version", &config.version);
    attributes.maybe("service.instance.id", config.instance.as_deref());
    Resource { attributes: attributes.0, ..Resource::default() }
}

/// What the records of a request are about.
pub(crate) fn scope(version: String) -> InstrumentationScope {
    InstrumentationScope { name: crate::SERVICE.to_owned(), version, ..Default::default() }
}

/// Traffic that a policy does not allow, at the time when it was last seen.
pub(crate) fn observed(violation: &Violation, policy: (&str, &str), backend: Backend) -> LogRecord {
    let verb = match violation.action {
        Mode::Monitor => "does not allow",
        Mode::Protect => "denied",
    };
    let body = format!("policy {}/{} {verb} {}", policy.0, policy.1, connection(violation));
    let attributes = common(violation, policy, backend);
    let time = violation.last_seen.0.as_nanosecond();
    record(Event::Observed, SeverityNumber::Warn, time, &body, attributes)
}

/// A violation that a person acknowledged, at the time when they did.
pub(crate) fn acknowledged(
    acknowledged: &AcknowledgedViolation,
    policy: (&str, &str),
    backend: Backend,
) -> LogRecord {
    let AcknowledgedViolation { violation, reason, acknowledged_at, acknowledged_by, .. } =
        acknowledged;
    let by = acknowledged_by.as_deref();
    let body = format!(
        "{} acknowledged that policy {}/{} does not allow {}",
        by.unwrap_or("a person"),
        policy.0,
        policy.1,
        connection(violation)
    );
    let mut attributes = common(violation, policy, backend);
    attributes.text("acknowledgement.reason", reason);
    attributes.maybe("acknowledgement.by", by);
    attributes.time("acknowledgement.time", acknowledged_at.0);
    let time = acknowledged_at.0.as_nanosecond();
    record(Event::Acknowledged, SeverityNumber::Info, time, &body, attributes)
}

fn record(
    event: Event,
    severity: SeverityNumber,
    nanoseconds: i128,
    body: &str,
    attributes: Attributes,
) -> LogRecord {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (_, severity_text) = severity.as_str_name().split_at("SEVERITY_NUMBER_".len());
    LogRecord {
        event_name: event.name().to_owned(),
        time_unix_nano: u64::try_from(nanoseconds).unwrap_or_default(),
        observed_time_unix_nano: u64::try_from(now.as_nanos()).unwrap_or_default(),
        severity_number: severity.into(),
        severity_text: severity_text.to_owned(),
        body: Some(value(Value::StringValue(printable(body)))),
        attributes: attributes.0,
        ..LogRecord::default()
    }
}

/// What both events say.
fn common(violation: &Violation, policy: (&str, &str), backend: Backend) -> Attributes {
    let mut attributes = Attributes::default();
    attributes.text("enforcement.provider", backend.as_str());
    attributes.text("action", violation.action.as_str());
    attributes.peer("source", &violation.source);
    attributes.peer("destination", &violation.dest);
    attributes.text("network.transport", violation.protocol.as_str());
    attributes.number("destination.port", violation.dst_port.map(i64::from));
    attributes.text("policy.ref.namespace", policy.0);
    attributes.text("policy.ref.name", policy.1);
    attributes.text("violation.id", &violation.id);
    attributes.text("violation.direction", violation.direction.as_str());
    attributes.text("violation.reason", violation.reason.as_str());
    attributes.number("violation.count", Some(violation.count));
    attributes.time("violation.first_seen", violation.first_seen.0);
    attributes.time("violation.last_seen", violation.last_seen.0);
    if let Some(decision) = &violation.decided_by {
        attributes.text("violation.decided_by.tier", decision.tier.as_str());
        attributes.maybe("violation.decided_by.kind", decision.kind.as_deref());
        attributes.maybe("violation.decided_by.namespace", decision.namespace.as_deref());
        attributes.maybe("violation.decided_by.name", decision.name.as_deref());
        attributes.number("violation.decided_by.rule", decision.rule.map(i64::from));
    }
    attributes
}

/// The connection in words.
fn connection(violation: &Violation) -> String {
    let Violation { source, dest, protocol, dst_port, .. } = violation;
    let mut text = format!("{protocol} from {} to {}", end(source), end(dest));
    if let Some(port) = dst_port {
        // Writing to a string cannot fail.
        let _ = write!(text, " port {port}");
    }
    text
}

/// A peer in words: its kind, and its name, domain name or address.
fn end(peer: &PeerRef) -> String {
    let kind = peer.kind.as_deref();
    let name = match (&peer.namespace, &peer.name) {
        (Some(namespace), Some(name)) => Some(format!("{namespace}/{name}")),
        (None, Some(name)) => Some(name.clone()),
        (_, None) => {
            peer.names.first().or(peer.address.as_ref()).or(peer.identity.as_ref()).cloned()
        }
    };
    match (kind, name) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => kind.to_owned(),
        (None, Some(name)) => name,
        (None, None) => "an unknown peer".to_owned(),
    }
}

// === impl Attributes ===

impl Attributes {
    /// Empty text says nothing and is left out.
    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.add(key, Value::StringValue(cut(text).to_owned()));
        }
    }

    fn maybe(&mut self, key: &str, text: Option<&str>) {
        self.text(key, text.unwrap_or_default());
    }

    fn number(&mut self, key: &str, number: Option<i64>) {
        if let Some(number) = number {
            self.add(key, Value::IntValue(number));
        }
    }

    /// What a source told without a time is as of 1970, which is none.
    fn time(&mut self, key: &str, time: Timestamp) {
        if time != Timestamp::UNIX_EPOCH {
            self.text(key, &time.to_string());
        }
    }

    fn peer(&mut self, end: &str, peer: &PeerRef) {
        self.maybe(&format!("{end}.workload.name"), peer.name.as_deref());
        self.maybe(&format!("{end}.workload.namespace"), peer.namespace.as_deref());
        self.maybe(&format!("{end}.workload.kind"), peer.kind.as_deref());
        self.maybe(&format!("{end}.workload.identity"), peer.identity.as_deref());
        self.maybe(&format!("{end}.address"), peer.address.as_deref());
    }

    fn add(&mut self, key: &str, content: Value) {
        let value = Some(value(content));
        self.0.push(KeyValue { key: key.to_owned(), value, ..KeyValue::default() });
    }
}

fn value(content: Value) -> AnyValue {
    AnyValue { value: Some(content) }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// A body is what collectors print: control characters of names are written out.
fn printable(text: &str) -> String {
    let escaped = |one: char| {
        if one.is_control() { one.escape_default().to_string() } else { one.to_string() }
    };
    cut(text).chars().map(escaped).collect()
}

#[cfg(test)]
mod tests;
