//! A genuine OpenTelemetry Collector for tests, on loopback, with `tests/peers/otelcol/collector.yaml`.
//!
//! It belongs to the process that started it and ends with it, as a control plane does.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use crate::control_plane::certificate::{Authority, Subject};
use crate::control_plane::keeper::Keeper;
use crate::control_plane::program::Program;
use crate::control_plane::{ATTEMPTS, TAKEN, free_ports};
use crate::peer::peer;

/// What the collector logs when it serves.
const READY: &str = "Everything is ready";

const CONFIGURATION: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/otelcol/collector.yaml");

/// How a collector and its clients know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Not at all: connections are plain.
    None,
    /// The collector shows a certificate.
    Server,
    /// Clients show one too.
    Mutual,
}

/// A running collector. Dropping it ends it.
pub struct Collector {
    // Ended before its folder.
    program: Program,
    ports: Ports,
    security: Security,
    keeper: Keeper,
}

#[derive(Clone, Copy)]
struct Ports {
    grpc: u16,
    http: u16,
    prometheus: u16,
    health: u16,
}

// === impl Collector ===

impl Collector {
    /// Starts a collector and returns when it serves.
    ///
    /// # Errors
    /// If it does not start; the error holds the end of its log.
    ///
    /// # Panics
    /// If it cannot be built.
    pub fn start(security: Security) -> anyhow::Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::start_on(free_ports()?, security) {
                Err(error) if error.to_string().contains(TAKEN) => {}
                decided => return decided,
            }
        }
        Self::start_on(free_ports()?, security)
    }

    fn start_on(
        [grpc, http, prometheus, health]: [u16; 4],
        security: Security,
    ) -> anyhow::Result<Self> {
        let ports = Ports { grpc, http, prometheus, health };
        let keeper = Keeper::start()?;
        certify(keeper.folder())?;
        let arguments = arguments(ports, security, keeper.folder());
        let program =
            Program::start(&peer("otelcol"), &arguments, keeper.folder(), keeper.group())?;
        let mut collector = Self { program, ports, security, keeper };
        collector.await_ready(1)?;
        Ok(collector)
    }

    /// A restarted program goes on in its log, so that it tells that it is ready once more than before.
    fn await_ready(&mut self, times: usize) -> anyhow::Result<()> {
        self.program.await_ready(|it| it.log().matches(READY).count() >= times)
    }

    /// Its address for OTLP/gRPC.
    pub fn grpc(&self) -> String {
        self.address(self.ports.grpc)
    }

    /// Its address for OTLP/HTTP.
    pub fn http(&self) -> String {
        self.address(self.ports.http)
    }

    fn address(&self, port: u16) -> String {
        let scheme = if self.security == Security::None { "http" } else { "https" };
        format!("{scheme}://localhost:{port}")
    }

    /// File of the authority that the certificates of collector and clients are of.
    pub fn authority(&self) -> PathBuf {
        self.keeper.folder().join("authority.crt")
    }

    /// File of another authority, which they are not of.
    pub fn stranger(&self) -> PathBuf {
        self.keeper.folder().join("stranger.crt")
    }

    /// Files of certificate and key of a client.
    pub fn client(&self) -> (PathBuf, PathBuf) {
        let file = |name| self.keeper.folder().join(name);
        (file("client.crt"), file("client.key"))
    }

    /// Ends it for a while; its address stays.
    ///
    /// # Errors
    /// If it did not run.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        self.program.kill()
    }

    /// Starts it again after [`Self::stop`], and returns when it serves.
    ///
    /// # Errors
    /// As [`Self::start`]; also where another process took a port in the meantime.
    pub fn resume(&mut self) -> anyhow::Result<()> {
        let times = self.program.log().matches(READY).count() + 1;
        self.program.restart()?;
        self.await_ready(times)
    }

    /// Writes certificates of a new authority over the old ones, the collector's and the clients'. It takes its
    /// own when it is resumed.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn rotate(&self) -> anyhow::Result<()> {
        certify(self.keeper.folder())
    }

    /// What it received since it was started first, in this order. Each record has its resource, scope and
    /// attributes as objects: `{"event", "severity", "time", "body", "attributes", "resource", "scope"}`.
    ///
    /// # Errors
    /// If the file is not what the collector's file exporter writes.
    pub fn records(&self) -> anyhow::Result<Vec<Value>> {
        let text = fs::read_to_string(self.keeper.folder().join("records.jsonl"))?;
        // The last line may be half written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut records = Vec::new();
        for line in whole.lines() {
            let line: Value = serde_json::from_str(line).context("a line is no JSON")?;
            for (resource, scope, record) in flat(&line) {
                records.push(plain(resource, scope, record));
            }
        }
        Ok(records)
    }

    /// The samples that it serves to Prometheus, one a line.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn samples(&self) -> anyhow::Result<Vec<String>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.ports.prometheus))?;
        write!(stream, "GET /metrics HTTP/1.0\r\nHost: collector\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no answer of HTTP")?;
        Ok(body.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
    }
}

/// Two authorities, and certificates of the first for a collector and for a client.
fn certify(folder: &Path) -> anyhow::Result<()> {
    Authority::create(folder, "stranger")?;
    let authority = Authority::create(folder, "authority")?;
    authority.server("server", &["localhost", "127.0.0.1"])?;
    authority.client("client", &Subject { user: "network-enforcer", group: None })?;
    Ok(())
}

fn arguments(ports: Ports, security: Security, folder: &Path) -> Vec<String> {
    let Ports { grpc, http, prometheus, health } = ports;
    let mut arguments = vec![
        format!("--config=file:{CONFIGURATION}"),
        format!("--set=exporters.prometheus.endpoint=127.0.0.1:{prometheus}"),
        format!("--set=extensions.health_check.endpoint=127.0.0.1:{health}"),
        format!("--set=exporters.file.path={}", folder.join("records.jsonl").display()),
        "--set=exporters.file.append=true".to_owned(),
    ];
    for (protocol, port) in [("grpc", grpc), ("http", http)] {
        let set = |key: &str, value: &str| {
            format!("--set=receivers.otlp.protocols.{protocol}.{key}={value}")
        };
        let file = |name: &str| folder.join(name).display().to_string();
        arguments.push(set("endpoint", &format!("127.0.0.1:{port}")));
        if security != Security::None {
            arguments.push(set("tls.cert_file", &file("server.crt")));
            arguments.push(set("tls.key_file", &file("server.key")));
        }
        if security == Security::Mutual {
            arguments.push(set("tls.client_ca_file", &file("authority.crt")));
        }
    }
    arguments
}

/// Resource, scope and record of each record of a request (OTLP/JSON).
fn flat<'a>(request: &'a Value) -> Vec<(&'a Value, &'a Value, &'a Value)> {
    let each = |value: &'a Value, key: &str| value[key].as_array().into_iter().flatten();
    let mut all = Vec::new();
    for resource in each(request, "resourceLogs") {
        for scope in each(resource, "scopeLogs") {
            let records = each(scope, "logRecords");
            all.extend(records.map(|record| (&resource["resource"], &scope["scope"], record)));
        }
    }
    all
}

fn plain(resource: &Value, scope: &Value, record: &Value) -> Value {
    json!({
        "event": record["eventName"],
        "severity": record["severityText"],
        "time": record["timeUnixNano"],
        "body": content(&record["body"]),
        "attributes": attributes(&record["attributes"]),
        "resource": attributes(&resource["attributes"]),
        "scope": scope["name"],
    })
}

/// A list of keys and values as an object; a key that stands twice is an array.
fn attributes(list: &Value) -> Value {
    let mut object = Map::new();
    for attribute in list.as_array().into_iter().flatten() {
        let key = attribute["key"].as_str().unwrap_or_default().to_owned();
        let value = content(&attribute["value"]);
        let value = match object.remove(&key) {
            Some(other) => json!([other, value]),
            None => value,
        };
        object.insert(key, value);
    }
    Value::Object(object)
}

/// OTLP/JSON has integers as strings.
fn content(value: &Value) -> Value {
    let integer = value["intValue"].as_str().and_then(|it| it.parse::<i64>().ok());
    integer.map_or_else(|| value["stringValue"].clone(), Value::from)
}
