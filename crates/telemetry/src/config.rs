//! Where records go, and how long they may take.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderMap;

use crate::endpoint::{self, Endpoint};
use crate::header;

/// How records are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// OTLP/gRPC, by convention on port 4317.
    #[default]
    Grpc,
    /// OTLP/HTTP with binary protobuf bodies, by convention on port 4318.
    HttpProtobuf,
}

/// The collector, and who sends to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `https://HOST:PORT` or `http://HOST:PORT`, for HTTP with a path below which `v1/logs` is; nothing is
    /// sent where it is absent or empty.
    pub endpoint: Option<String>,
    /// How records are sent.
    pub protocol: Protocol,
    /// File of the authorities, in PEM, that the collector's certificate must be of; those of the system if
    /// absent.
    pub authorities: Option<PathBuf>,
    /// Files of the certificate, with its chain, and of the key that are shown to the collector.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Headers of each request, `name=value,…` as in `OTEL_EXPORTER_OTLP_HEADERS`.
    pub headers: Secret,
    /// How long one request may take.
    pub timeout: Duration,
    /// `service.version` of the records.
    pub version: String,
    /// `service.instance.id` of the records: the pod.
    pub instance: Option<String>,
}

/// Text that is not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

/// How much waits, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Records that wait for their turn; one more is dropped.
    pub queue: usize,
    /// Records of a request.
    pub batch: usize,
    /// How long a record waits for others to go with.
    pub delay: Duration,
    /// First pause after a failed request; it doubles.
    pub pause: Duration,
    /// Longest pause, also of those that a collector asks for.
    pub longest_pause: Duration,
    /// How long a batch is tried, from its first request on.
    pub age: Duration,
    /// How long a shutdown may take.
    pub shutdown: Duration,
}

/// A configuration that was understood.
pub(crate) struct Checked {
    pub(crate) endpoint: Endpoint,
    pub(crate) protocol: Protocol,
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    pub(crate) headers: HeaderMap,
    pub(crate) timeout: Duration,
}

/// Time limit of a request (OpenTelemetry specification, OTLP exporter, `OTEL_EXPORTER_OTLP_TIMEOUT`).
const TIMEOUT: Duration = Duration::from_secs(10);

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            endpoint: None,
            protocol: Protocol::default(),
            authorities: None,
            identity: None,
            headers: Secret::default(),
            timeout: TIMEOUT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: None,
        }
    }
}

// === impl Checked ===

impl Checked {
    /// `None` if no collector is named.
    pub(crate) fn new(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(text) = config.endpoint.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let endpoint = endpoint::parse(text, config.protocol)?;
        let has_files = config.authorities.is_some() || config.identity.is_some();
        anyhow::ensure!(
            endpoint.is_secure() || !has_files,
            "certificates are given for the collector {text}, which is spoken to without TLS; write https:// or \
             leave the certificates out"
        );
        Ok(Some(Self {
            endpoint,
            protocol: config.protocol,
            authorities: config.authorities.clone(),
            identity: config.identity.clone(),
            headers: header::parse(&config.headers.0)?,
            timeout: config.timeout,
        }))
    }
}

// === impl Secret ===

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

// === impl Limits ===

impl Default for Limits {
    /// Queue, batch and delay are those of the specification's batching processor for logs.
    fn default() -> Self {
        Self {
            queue: 2048,
            batch: 512,
            delay: Duration::from_secs(1),
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            age: Duration::from_mins(5),
            shutdown: Duration::from_secs(3),
        }
    }
}
