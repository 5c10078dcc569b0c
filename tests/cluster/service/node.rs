//! A client stands for the agent of a node.

use std::time::Duration;

use netenf_proto::netenf::v1;
use netenf_proto::netenf::v1::node_flows_client::NodeFlowsClient;
use netenf_proto::netenf::v1::watch_flows_response::Event;
use netenf_proto::netenf::v1::{
    EdgeReport, ReportEdgesRequest, ReportEdgesResponse, WatchFlowsRequest,
};
use netenf_testkit::control_plane::{Client, ControlPlane};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

use super::{Agent, SOON, client, shop, within};

mod secured;

/// The agent of the node n1.
struct Node {
    reports: mpsc::Sender<ReportEdgesRequest>,
    answers: Streaming<ReportEdgesResponse>,
    sequence: u64,
}

impl Node {
    async fn connect(agent: &Agent) -> Self {
        let address = format!("http://{}", agent.address("node"));
        let endpoint = Endpoint::from_shared(address).unwrap();
        Self::through(endpoint.connect_lazy()).await.unwrap()
    }

    async fn through(channel: Channel) -> Result<Self, Status> {
        let (reports, receiver) = mpsc::channel(8);
        let stream = ReceiverStream::new(receiver);
        let answers = NodeFlowsClient::new(channel).report_edges(stream).await?;
        Ok(Self { reports, answers: answers.into_inner(), sequence: 0 })
    }

    /// Reports, and waits until the agent wrote it.
    async fn report(&mut self, edges: Vec<EdgeReport>) {
        self.send(edges).await;
        self.acknowledged().await;
    }

    async fn send(&mut self, edges: Vec<EdgeReport>) {
        self.sequence += 1;
        let now = Some(std::time::SystemTime::now().into());
        let report = ReportEdgesRequest {
            node: "n1".into(),
            run: "one".into(),
            sequence: self.sequence,
            window_start: now,
            window_end: now,
            edges,
            version: "1.2.3".into(),
            ..ReportEdgesRequest::default()
        };
        self.reports.send(report).await.unwrap();
    }

    /// Waits until everything that was sent is acknowledged.
    async fn acknowledged(&mut self) {
        let taken = async {
            while self.answers.message().await.unwrap().unwrap().acknowledged_sequence
                < self.sequence
            {}
        };
        timeout(SOON, taken).await.unwrap();
    }
}

/// From the Deployment web to db.
fn edge(port: u32) -> EdgeReport {
    let end = |name: &str| v1::Peer {
        kind: v1::PeerKind::Workload.into(),
        workload: Some(v1::Workload {
            namespace: "shop".into(),
            kind: "Deployment".into(),
            name: name.into(),
        }),
        ..v1::Peer::default()
    };
    EdgeReport {
        edge: Some(v1::Edge {
            source: Some(end("web")),
            destination: Some(end("db")),
            direction: v1::Direction::Egress.into(),
            protocol: v1::Protocol::Tcp.into(),
            port,
        }),
        count: 3,
        answered: Some(2),
        verdict: v1::Verdict::Allow.into(),
        ..EdgeReport::default()
    }
}

/// An agent that learns from nodes, and writes once an interval what it learned.
fn start(account: &Client, name: &str, interval: &str) -> Agent {
    let interval = format!("--learning-flush-interval={interval}");
    let status = "--wnp-status-update-interval=200ms";
    let source = ["--provider-name=node", "--provider-tls-mode=insecure", &interval, status];
    Agent::start_with(account, name, &[&source[..], &["--provider-endpoint=127.0.0.1:0"]].concat())
}

/// The same, and the Deployments web and db.
fn started(interval: &str) -> (ControlPlane, Client, Agent) {
    let (plane, account) = shop();
    for name in ["web", "db"] {
        let image = format!("--image={name}");
        plane.admin().kubectl(&["create", "deployment", name, &image, "-n=shop"]).unwrap();
    }
    let agent = start(&account, "one", interval);
    (plane, account, agent)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_reports_becomes_a_proposal() {
    let (plane, _account, agent) = started("200ms");
    let mut node = Node::connect(&agent).await;
    node.report(vec![edge(5432), EdgeReport { answered: Some(0), ..edge(81) }]).await;
    let get = ["get", "wnpp/deployment-web-egress", "-n=shop", "-o=json", "--ignore-not-found"];
    let rules = || {
        let object: Value = serde_json::from_str(&plane.admin().kubectl(&get)?).unwrap_or_default();
        let rules = object.pointer("/status/rules").and_then(Value::as_array).cloned();
        Ok(rules.filter(|rules| !rules.is_empty()).map(|rules| (rules, object)))
    };
    let (rules, object) = within(SOON, "the proposal is there", rules).unwrap();
    let told =
        |rule: &Value| (rule["peer"]["name"].clone(), rule["port"].clone(), rule["count"].clone());
    let own: Vec<_> =
        rules.iter().filter(|rule| rule["provenance"] == "observed").map(told).collect();
    // Of three connections one was not answered; they were attempts all the same.
    assert_eq!(own, [("db".into(), 5432.into(), 3.into())], "{object}");
    // What nobody ever answered is no rule, and is told.
    let uncovered = object.pointer("/status/uncovered").and_then(Value::as_array).unwrap();
    let uncovered: Vec<_> =
        uncovered.iter().map(|it| (it["port"].clone(), it["reason"].clone())).collect();
    assert_eq!(uncovered, [(81.into(), "Unanswered".into())], "{object}");

    let status = client(&agent).status(v1::StatusRequest {}).await.unwrap().into_inner();
    let [source] = status.sources.as_slice() else { panic!("{:?}", status.sources) };
    assert_eq!(
        (source.provider(), source.state()),
        (v1::Provider::Node, v1::SourceState::Streaming)
    );
    assert_eq!(source.endpoint, "127.0.0.1:0");
    // Who reports flows is not known to enforce anything.
    assert_eq!(status.enforcer, "");
    assert_eq!((source.nodes.len(), source.nodes[0].name.as_str()), (1, "n1"));
    assert_eq!(source.nodes[0].state(), v1::SourceState::Streaming);
    assert_eq!((source.nodes[0].message.as_str(), source.nodes[0].version.as_str()), ("", "1.2.3"));
}

/// Whether the proposal of web has a rule for the port.
fn has_rule(plane: &ControlPlane, port: u32) -> bool {
    let path = "-o=jsonpath={.status.rules[*].port}";
    let get = ["get", "wnpp/deployment-web-egress", "-n=shop", path, "--ignore-not-found"];
    plane.admin().kubectl(&get).unwrap().split(' ').any(|own| own == port.to_string())
}

/// Waits until the agent took an observation.
async fn taken(agent: &Agent) {
    let request = WatchFlowsRequest { follow: true, last: 1, ..WatchFlowsRequest::default() };
    let mut watching = client(agent).watch_flows(request).await.unwrap().into_inner();
    timeout(SOON, watching.message()).await.unwrap().unwrap().unwrap();
}

/// What is not written is not acknowledged: whoever comes next gets it again. An agent that ends in order writes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_outlives_an_agent_that_is_killed() {
    let (plane, account, agent) = started("1h");
    let mut node = Node::connect(&agent).await;
    node.send(vec![edge(5432)]).await;
    taken(&agent).await;
    let answer = timeout(Duration::from_millis(300), node.answers.message()).await;
    assert!(answer.is_err(), "it is acknowledged before it is written: {answer:?}");
    drop(agent);
    assert!(node.answers.message().await.is_err(), "the stream broke");
    assert!(!has_rule(&plane, 5432));

    let agent = start(&account, "two", "1h");
    let mut node = Node::connect(&agent).await;
    node.send(vec![edge(5432)]).await;
    taken(&agent).await;
    agent.stop();
    node.acknowledged().await;
    assert!(has_rule(&plane, 5432));
}

/// What a slow reader misses is told by its number: all that was reported is told or missed.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_is_told_what_it_missed_and_slows_nobody() {
    const REPORTS: u32 = 20;
    let (_plane, _account, agent) = started("200ms");
    let request = WatchFlowsRequest { follow: true, ..WatchFlowsRequest::default() };
    let mut watching = client(&agent).watch_flows(request).await.unwrap().into_inner();
    let mut node = Node::connect(&agent).await;
    for number in 0..REPORTS {
        // Through as many Services, since what differs by decision alone is one.
        let through = |service| {
            let mut through = EdgeReport { answered: Some(3), ..edge(1 + number) };
            let destination = through.edge.as_mut().unwrap().destination.as_mut().unwrap();
            destination.service = format!("shop/db{service}");
            through
        };
        node.report((0..1_000).map(through).collect()).await;
    }
    let all = u64::from(REPORTS) * 1_000;
    let (mut told, mut missed) = (0, 0);
    let read = async {
        while told + missed < all {
            match watching.message().await.unwrap().unwrap().event.unwrap() {
                Event::Observation(_) => told += 1,
                Event::Loss(loss) => {
                    assert_eq!(loss.reason, "the reader of this stream was too slow");
                    missed += loss.count;
                }
            }
        }
    };
    timeout(SOON, read).await.unwrap();
    assert_eq!(told + missed, all);
    assert!(missed > 0 && told > 0, "{told} told, {missed} missed");
    // It goes on with what comes.
    node.report(vec![EdgeReport { answered: None, ..edge(9999) }]).await;
    let Event::Observation(next) = watching.message().await.unwrap().unwrap().event.unwrap() else {
        panic!("nothing is missed any more")
    };
    assert_eq!((next.edge.unwrap().port, next.count, next.node.as_str()), (9999, 3, "n1"));
    assert_eq!(next.provider, i32::from(v1::Provider::Node));
}

/// A policy of the Deployment web that lets it reach db at port 5432 only.
const POLICY: &str = r"
apiVersion: networkenforcer.kubewarden.io/v1alpha1
kind: WorkloadNetworkPolicy
metadata: {name: deployment-web-egress, namespace: shop}
spec:
  backend: kubernetes
  mode: protect
  targetRef: {kind: Deployment, name: web}
  direction: Egress
  kubernetes:
    podSelector: {matchLabels: {app: web}}
    policyTypes: [Egress]
    egress: [{to: [{podSelector: {matchLabels: {app: db}}}], ports: [{protocol: TCP, port: 5432}]}]
";

/// What a node denied stands in the status under the id that who watches is told; and it is written when the node
/// hears that its report is.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_node_denied_is_a_violation_once_it_is_acknowledged() {
    let (plane, _account, agent) = started("200ms");
    plane.admin().kubectl_reading(POLICY, &["apply", "-f", "-"]).unwrap();
    let native =
        ["get", "netpol/deployment-web-egress", "-n=shop", "-o=name", "--ignore-not-found"];
    let look = || Ok(plane.admin().kubectl(&native)?.contains('/').then_some(()));
    within(SOON, "the policy is in force", look).unwrap();
    let request = WatchFlowsRequest { follow: true, ..WatchFlowsRequest::default() };
    let mut watching = client(&agent).watch_flows(request).await.unwrap().into_inner();
    let policy = v1::PolicyRef {
        kind: "WorkloadNetworkPolicy".into(),
        namespace: "shop".into(),
        name: "deployment-web-egress".into(),
    };
    let decision = v1::Decision {
        verdict: v1::Verdict::Deny.into(),
        policy: Some(policy.clone()),
        ..v1::Decision::default()
    };
    let denied = EdgeReport {
        verdict: v1::Verdict::Deny.into(),
        answered: None,
        decision: Some(decision),
        ..edge(81)
    };
    let mut node = Node::connect(&agent).await;
    node.report(vec![denied]).await;

    let get = ["get", "wnp/deployment-web-egress", "-n=shop", "-o=json"];
    let object: Value = serde_json::from_str(&plane.admin().kubectl(&get).unwrap()).unwrap();
    let [violation] = object["status"]["violations"].as_array().unwrap().as_slice() else {
        panic!("{object}")
    };
    assert_eq!((&violation["dstPort"], &violation["count"]), (&81.into(), &3.into()));
    assert_eq!(violation["action"], "protect");
    let Event::Observation(told) = watching.message().await.unwrap().unwrap().event.unwrap() else {
        panic!("nothing is missed")
    };
    assert_eq!((told.outcome(), told.verdict()), (v1::Outcome::Violation, v1::Verdict::Deny));
    assert_eq!(violation["id"], told.violation);
    let decision = told.decision.unwrap();
    assert_eq!((decision.verdict(), decision.mode()), (v1::Verdict::Deny, v1::Mode::Protect));
    assert_eq!((decision.policy, decision.rule), (Some(policy), None));
}
