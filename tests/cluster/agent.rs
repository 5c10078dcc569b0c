//! The agent as a process, under its own `ServiceAccount` and with exactly the rules of `agent/rbac.yaml`.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use netenf_testkit::control_plane::{Client, ControlPlane};
use netenf_testkit::deadline::within;
use netenf_testkit::peer::binary;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::plane;

const SOON: Duration = Duration::from_mins(1);
pub(crate) const RULES: &str = include_str!("../../agent/rbac.yaml");

/// A running agent. It ends with this value.
pub(crate) struct Agent {
    child: Child,
    health: String,
    metrics: String,
    /// What else it serves, once the log tells.
    addresses: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Agent {
    /// Starts a replica, and returns once it serves.
    pub(crate) fn start(client: &Client, name: &str) -> Self {
        Self::start_with(client, name, &[])
    }

    /// The same with further arguments.
    pub(crate) fn start_with(client: &Client, name: &str, arguments: &[&str]) -> Self {
        let elected = ["--leader-elect", "--namespace=netenf", "--pod-name", name];
        Self::start_alone(client, &[&elected[..], arguments].concat())
    }

    /// An agent that takes part in no election.
    pub(crate) fn start_alone(client: &Client, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary("netenf-agent"))
            .arg("controller")
            .args(["--health-probe-bind-address=127.0.0.1:0"])
            .args(["--metrics-bind-address=127.0.0.1:0"])
            .args(["--grpc-bind-address=127.0.0.1:0"])
            .args(arguments)
            .env_clear()
            .env("KUBECONFIG", client.kubeconfig())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut address_of = |what: &str| loop {
            let line: Value = serde_json::from_str(&log.next().unwrap().unwrap()).unwrap();
            if line["what"] == what {
                return line["address"].as_str().unwrap().to_owned();
            }
        };
        let (health, metrics) = (address_of("health"), address_of("metrics"));
        let addresses = Arc::default();
        let told = Arc::clone(&addresses);
        // The pipe must not fill.
        std::thread::spawn(move || {
            log.for_each(|line| note_address(&told, &line.unwrap_or_default()));
        });
        Self { child, health, metrics, addresses }
    }

    /// Where it serves `what`, once it does.
    pub(crate) fn address(&self, what: &str) -> String {
        let look = || Ok(self.addresses.lock().unwrap().get(what).cloned());
        within(SOON, &format!("{what} is served"), look).unwrap()
    }

    pub(crate) fn report(&self) -> Value {
        self.try_report().unwrap()
    }

    /// The same of an agent that may end.
    fn try_report(&self) -> Option<Value> {
        serde_json::from_str(&ask(&self.health, "/readyz?verbose").ok()?.1).ok()
    }

    /// How many requests wrote to the API server, but for the renewals of the lease.
    pub(crate) fn writes(&self) -> u64 {
        let metrics = self.metrics();
        let writes = metrics
            .lines()
            .filter(|line| line.starts_with("netenf_api_writes_total{") && !line.contains("Lease"));
        writes.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// All lines of a metric.
    pub(crate) fn lines(&self, metric: &str) -> Vec<String> {
        let metrics = get(&self.metrics, "/metrics").1;
        let is_of =
            |line: &&str| line.strip_prefix(metric).is_some_and(|it| it.starts_with(['{', ' ']));
        metrics.lines().filter(is_of).map(str::to_owned).collect()
    }

    /// The value of a metric, the sum if it has several.
    pub(crate) fn value(&self, metric: &str) -> Option<f64> {
        let lines = self.lines(metric);
        let values = lines.iter().filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.reduce(|sum, value| sum + value)
    }

    /// Of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How many of them ended so.
    pub(crate) fn writes_that_ended(&self, outcome: &str) -> u64 {
        let metrics = self.metrics();
        let label = format!("outcome=\"{outcome}\"");
        let writes = metrics
            .lines()
            .filter(|line| line.starts_with("netenf_api_writes_total{") && line.contains(&label));
        writes.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
    }

    /// Whether it learned something, and wrote all of it that is to be written.
    pub(crate) fn has_learned(&self) -> bool {
        let metrics = self.metrics();
        let is = |line: &str| metrics.lines().any(|other| other == line);
        !is("netenf_proposals_learned 0") && is("netenf_queue_depth 0")
    }

    /// Whether its source has nothing more, and nothing is to be written.
    pub(crate) fn has_ended(&self) -> bool {
        let has_ended = |report: Value| report["source"]["state"] == "ended";
        self.is_idle() && self.try_report().is_some_and(has_ended)
    }

    /// Waits until as many flows came, and everything that there is to write of them at once is written.
    #[track_caller]
    pub(crate) fn wait_for_flows(&self, count: u64) {
        let is_done = || self.metric("flows_received") == Some(count) && self.is_idle();
        let answer = within(SOON, "the flows", || Ok(is_done().then_some(())));
        assert!(answer.is_ok(), "{count} flows are not all written: {}", self.metrics());
    }

    /// Whether nothing is to be written, but for what was given up.
    pub(crate) fn is_idle(&self) -> bool {
        let metrics = ["queue_depth", "queue_parked"].map(|name| self.metric(name));
        metrics[0].is_some() && metrics[0] == metrics[1]
    }

    fn metrics(&self) -> String {
        get(&self.metrics, "/metrics").1
    }

    /// A metric, by its name and labels, of an agent that lives.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let (_, metrics) = ask(&self.metrics, "/metrics").ok()?;
        let prefix = format!("netenf_{name} ");
        metrics.lines().find_map(|line| line.strip_prefix(&prefix)?.parse().ok())
    }

    /// Ends it as Kubernetes does, and waits until it has.
    pub(crate) fn stop(mut self) {
        self.signal(Signal::TERM);
        let status = within(SOON, "it ends", || Ok(self.child.try_wait()?)).unwrap();
        assert_eq!(status.code(), Some(0));
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn is_dead(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn is_ready(&self) -> bool {
        get(&self.health, "/readyz").0 == 200
    }

    pub(crate) fn leads(&self) -> bool {
        self.report()["leads"] == true
    }
}

/// Keeps what a line of the log says of what is served where.
fn note_address(all: &Mutex<BTreeMap<String, String>>, line: &str) {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    if let (Some(what), Some(address)) = (line["what"].as_str(), line["address"].as_str()) {
        all.lock().unwrap().insert(what.to_owned(), address.to_owned());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body.
fn get(address: &str, path: &str) -> (u16, String) {
    ask(address, path).unwrap()
}

/// The same of an agent that may end.
fn ask(address: &str, path: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
}

#[track_caller]
fn wait(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    within(limit, what, || Ok(holds().then_some(()))).unwrap();
}

/// The agent's account in a plane.
pub(crate) fn account(plane: &ControlPlane) -> Client {
    plane.admin().kubectl(&["create", "namespace", "netenf"]).unwrap();
    let apply = ["apply", "--server-side", "-f", "-"];
    plane.admin().kubectl_reading(RULES, &apply).unwrap();
    plane.service_account("netenf", "netenf-agent").unwrap()
}

#[test]
fn the_agent_is_ready_while_it_knows_the_cluster_and_only_then() {
    let plane = plane();
    let account = account(&plane);
    // Without one rule, and only that kind keeps it from being ready.
    let without =
        RULES.replace("[namespaces, nodes, pods, services]", "[namespaces, pods, services]");
    let apply = ["apply", "--server-side", "-f", "-"];
    plane.admin().kubectl_reading(&without, &apply).unwrap();
    let mut agent = Agent::start(&account, "one");
    wait(SOON, "only nodes are missing", || {
        let report = agent.report();
        let faults = report["faults"].as_object().unwrap();
        faults.keys().eq(["nodes"]) && faults["nodes"].as_str().unwrap().starts_with("forbidden: ")
    });
    assert!(!agent.is_ready());
    assert_eq!(get(&agent.health, "/healthz"), (200, "ok".to_owned()));

    // It asks again by itself.
    plane.admin().kubectl_reading(RULES, &apply).unwrap();
    wait(2 * SOON, "the agent is ready", || agent.is_ready());
    let report = agent.report();
    assert_eq!(report["faults"], serde_json::json!({}), "{report}");
    assert_eq!(report["kinds"]["pods"], "synced");
    wait(SOON, "it leads", || agent.leads());
    let (status, metrics) = get(&agent.metrics, "/metrics");
    assert_eq!(status, 200);
    assert!(metrics.contains("netenf_watch_synced{resource=\"pods\"} 1\n"), "{metrics}");
    assert!(metrics.contains("netenf_leader 1\n"), "{metrics}");

    let paused = plane.pause_api_server().unwrap();
    wait(Duration::from_secs(15), "the agent is not ready", || !agent.is_ready());
    assert_eq!(agent.report()["faults"]["apiServer"], "does not answer: no answer in 3 s");
    drop(paused);
    wait(SOON, "the agent is ready again", || agent.is_ready());

    let start = Instant::now();
    agent.signal(Signal::TERM);
    let status = agent.child.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    assert_eq!(status.code(), Some(0));
    let holder =
        ["get", "lease/netenf-controller", "-n=netenf", "-o=jsonpath={.spec.holderIdentity}"];
    assert_eq!(plane.admin().kubectl(&holder).unwrap(), "");
}

/// 15 seconds of the record, and twice the pause between two attempts.
#[test]
fn a_killed_leader_is_followed_within_the_time_of_its_lease() {
    let plane = plane();
    let account = account(&plane);
    let mut first = Agent::start(&account, "first");
    wait(SOON, "the first leads", || first.leads());
    let second = Agent::start(&account, "second");
    wait(SOON, "the second stands by", || second.is_ready());
    assert!(first.leads() && !second.leads());

    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let killed = Instant::now();
    wait(SOON, "the second leads", || second.leads());
    assert!(killed.elapsed() < Duration::from_secs(22), "it took {:?}", killed.elapsed());
}

#[test]
fn wrong_arguments_and_a_missing_cluster_have_their_own_exit_codes() {
    let run = |arguments: &[&str]| {
        let mut agent = Command::new(binary("netenf-agent"));
        let agent = agent.args(arguments).env_clear().env("KUBECONFIG", "/nowhere");
        agent.output().unwrap().status.code()
    };
    assert_eq!(run(&["controller", "--no-such-flag"]), Some(2));
    assert_eq!(run(&["controller", "--grpc-bind-address=:9443"]), Some(2));
    assert_eq!(run(&["controller"]), Some(3));
}
