//! Flows as Hubble tells them, written while the agent reads them: a recording that is a named pipe.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::jiff::Timestamp;
use netenf_testkit::control_plane::Client;
use netenf_testkit::deadline::within;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::ioctl_fionread;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::person::SOON;

/// A source that says what a test has it say. It ends with this value.
pub(crate) struct Feed {
    path: PathBuf,
    pipe: File,
    told: AtomicU64,
    port: AtomicU16,
}

impl Feed {
    /// Beside the files of the client's plane, which go with it.
    pub(crate) fn new(client: &Client, name: &str) -> Self {
        let path = client.kubeconfig().parent().unwrap().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // Open at both ends, so that it waits for no reader.
        let pipe = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Self { path, pipe, told: AtomicU64::new(0), port: AtomicU16::new(20_000) }
    }

    /// A replica that learns from it, and writes what it learned soon.
    pub(crate) fn start(&self, account: &Client, name: &str) -> Agent {
        self.start_with(account, name, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(&self, account: &Client, name: &str, arguments: &[&str]) -> Agent {
        let endpoint = format!("--provider-endpoint={}", self.path.display());
        let intervals = ["--learning-flush-interval", "--wnp-status-update-interval"];
        let is_told = |flag: &&&str| arguments.iter().any(|one| one.starts_with(**flag));
        let intervals = intervals.iter().filter(|flag| !is_told(flag));
        let intervals: Vec<String> = intervals.map(|flag| format!("{flag}=200ms")).collect();
        let mut all = vec!["--provider-name=replay", &endpoint];
        all.extend(intervals.iter().map(String::as_str));
        all.extend(arguments);
        Agent::start_with(account, name, &all)
    }

    /// A new connection, `shop/web > shop/db:5432`; see [`end`].
    pub(crate) fn connects(&self, flow: &str) {
        self.tell(&self.flow(flow));
    }

    /// A connection of the same form that a policy denied where the opener is.
    pub(crate) fn is_denied(&self, flow: &str) {
        let mut flow = self.flow(flow);
        flow["verdict"] = json!("DROPPED");
        flow["drop_reason_desc"] = json!("POLICY_DENIED");
        flow["traffic_direction"] = json!("EGRESS");
        self.tell(&flow);
    }

    /// Waits until the agent knows everything that was told, and wrote what it made of it, if it is to be written
    /// at once.
    #[track_caller]
    pub(crate) fn wait(&self, agent: &Agent) {
        agent.wait_for_flows(self.told.load(Ordering::Relaxed));
    }

    /// Ends it once everything that was told is read.
    #[track_caller]
    pub(crate) fn end(self) {
        let is_read = || Ok((ioctl_fionread(&self.pipe)? == 0).then_some(()));
        within(SOON, "the pipe is empty", is_read).unwrap();
    }

    /// The flow of a new connection, now.
    pub(crate) fn flow(&self, flow: &str) -> Value {
        let (source, destination) = flow.split_once(" > ").unwrap();
        let (destination, port) = destination.rsplit_once(':').unwrap();
        let port: u16 = port.parse().unwrap();
        let own = self.port.fetch_add(1, Ordering::Relaxed);
        let flags = json!({"SYN": true});
        json!({
            "time": now(), "verdict": "FORWARDED", "node_name": "n1",
            "IP": {"source": address(source), "destination": address(destination), "ipVersion": "IPv4"},
            "l4": {"TCP": {"source_port": own, "destination_port": port, "flags": flags}},
            "source": end(source), "destination": end(destination),
            "Type": "L3_L4", "event_type": {"type": 4}, "is_reply": false, "trace_reason": "NEW",
            "traffic_direction": "INGRESS", "trace_observation_point": "TO_ENDPOINT",
        })
    }

    pub(crate) fn tell(&self, flow: &Value) {
        self.tell_line(&json!({"flow": flow, "node_name": "n1", "time": flow["time"]}));
    }

    /// A line of any source.
    pub(crate) fn tell_line(&self, line: &Value) {
        self.told.fetch_add(1, Ordering::Relaxed);
        (&self.pipe).write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// `NAMESPACE/NAME` is a Deployment whose pods have the label `app`, `NAMESPACE/KIND/NAME` another owner, an address
/// is outside of the cluster.
fn end(text: &str) -> Value {
    let parts: Vec<&str> = text.split('/').collect();
    let (namespace, kind, name) = match parts[..] {
        [namespace, name] => (namespace, "Deployment", name),
        [namespace, kind, name] => (namespace, kind, name),
        _ => return json!({"identity": 2, "labels": ["reserved:world"]}),
    };
    let pod = match kind {
        "Deployment" => format!("{}-7d9f8b6c5-abcde", &name[..name.len().min(230)]),
        _ => format!("{name}-0"),
    };
    json!({
        "identity": 12_000, "namespace": namespace, "pod_name": pod,
        "labels": [format!("k8s:app={}", label(name)), format!("k8s:io.kubernetes.pod.namespace={namespace}")],
        "workloads": [{"name": name, "kind": kind}],
    })
}

/// A label's value holds 63 characters.
pub(crate) fn label(name: &str) -> &str {
    &name[..name.len().min(63)]
}

/// One of its own for each pod.
fn address(text: &str) -> String {
    if !text.contains('/') {
        return text.to_owned();
    }
    let sum = text.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let [_, a, b, c] = sum.to_be_bytes();
    format!("10.{a}.{b}.{c}")
}

/// The time as sources write it.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::from_microsecond(since.as_micros().try_into().unwrap()).unwrap().to_string()
}
