//! With genuine clients.

use std::net::SocketAddr;
use std::time::Instant;

use netenf_learn::{NodeState, NodeStatus};
use netenf_proto::netenf::v1::node_flows_client::NodeFlowsClient;
use netenf_proto::netenf::v1::{EdgeReport, Loss, ReportEdgesRequest, ReportEdgesResponse};
use tokio::task::JoinHandle;
use tonic::transport::Endpoint;
use tonic::{Code, Status, Streaming};

use super::sample::{edge, report};
use super::*;

mod authority;
mod secured;

const SOON: Duration = Duration::from_secs(30);

/// A source that serves.
struct Server {
    address: SocketAddr,
    deliveries: mpsc::Receiver<Delivery>,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
}

/// An agent that reports.
struct Agent {
    reports: mpsc::Sender<ReportEdgesRequest>,
    answers: Streaming<ReportEdgesResponse>,
}

impl Server {
    async fn start(tls: Option<Tls>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, deliveries) = mpsc::channel(CAPACITY);
        Self { address, deliveries, task: tokio::spawn(serve(listener, tls, sender)) }
    }

    async fn delivery(&mut self) -> Delivery {
        timeout(SOON, self.deliveries.recv()).await.unwrap().unwrap()
    }

    /// The next report: how many flows and lost events it told, and its receipt.
    async fn taken(&mut self) -> ((u64, u64), Receipt) {
        let (mut flows, mut lost) = (0, 0);
        loop {
            match self.delivery().await {
                Delivery::Record(Record::Flow(flow)) => flows += flow.connections,
                Delivery::Record(Record::Lost(one)) => lost += one.count,
                Delivery::Record(Record::NodeStatus(_)) => {}
                Delivery::Receipt(receipt) => return ((flows, lost), receipt),
            }
        }
    }

    async fn connect(&self) -> Agent {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        Agent::connect(endpoint).await.unwrap()
    }
}

impl Agent {
    async fn connect(endpoint: Endpoint) -> Result<Self, Status> {
        let channel = endpoint.connect().await.map_err(|error| Status::from_error(error.into()))?;
        let (reports, receiver) = mpsc::channel(8);
        let mut client = NodeFlowsClient::new(channel);
        let answers = client.report_edges(ReceiverStream::new(receiver)).await?.into_inner();
        Ok(Self { reports, answers })
    }

    async fn send(&self, report: ReportEdgesRequest) {
        self.reports.send(report).await.unwrap();
    }

    /// What is acknowledged next.
    async fn acknowledged(&mut self) -> Result<u64, Status> {
        let answer = timeout(SOON, self.answers.message()).await.unwrap()?;
        Ok(answer.unwrap().acknowledged_sequence)
    }

    async fn refusal(mut self) -> Status {
        self.acknowledged().await.unwrap_err()
    }
}

#[tokio::test]
async fn a_report_is_acknowledged_once_it_was_taken() {
    let mut server = Server::start(None).await;
    let mut agent = server.connect().await;
    agent.send(report(1, vec![edge(), edge()])).await;
    agent.send(report(2, vec![edge()])).await;
    let (told, first) = server.taken().await;
    assert_eq!(told, (6, 0));
    let (told, second) = server.taken().await;
    assert_eq!(told, (3, 0));
    // Both were handed on, and one was taken.
    first.confirm();
    assert_eq!(agent.acknowledged().await.unwrap(), 1);
    second.confirm();
    assert_eq!(agent.acknowledged().await.unwrap(), 2);
}

/// The connection breaks before the acknowledgement, and the agent sends again what may be lost.
#[tokio::test]
async fn what_is_sent_again_is_counted_once() {
    let mut server = Server::start(None).await;
    let broken = server.connect().await;
    broken.send(report(1, vec![edge()])).await;
    let (told, first) = server.taken().await;
    assert_eq!(told, (3, 0));
    drop(broken);
    let mut agent = server.connect().await;
    agent.send(report(1, vec![edge()])).await;
    agent.send(report(2, vec![edge()])).await;
    let (told, second) = server.taken().await;
    assert_eq!(told, (3, 0), "the first is not handed on again");
    first.confirm();
    assert_eq!(agent.acknowledged().await.unwrap(), 1);
    second.confirm();
    assert_eq!(agent.acknowledged().await.unwrap(), 2);
    // What was taken is acknowledged to whoever asks again.
    let mut again = server.connect().await;
    again.send(report(2, vec![edge()])).await;
    assert_eq!(again.acknowledged().await.unwrap(), 2);
}

#[tokio::test]
async fn what_never_came_and_what_the_agent_lost_is_told() {
    let mut server = Server::start(None).await;
    let agent = server.connect().await;
    agent.send(report(1, vec![])).await;
    let losses = vec![Loss { count: 5, reason: "queue".into(), ..Loss::default() }];
    agent.send(ReportEdgesRequest { losses, ..report(4, vec![edge()]) }).await;
    assert_eq!(server.taken().await.0, (0, 0));
    assert_eq!(server.taken().await.0, (3, 5 + 2));
}

/// The next word about a node.
async fn state(server: &mut Server) -> NodeStatus {
    loop {
        if let Delivery::Record(Record::NodeStatus(status)) = server.delivery().await {
            return status;
        }
    }
}

/// Nothing is lost between two connections of an agent, so that nothing is told of it.
#[tokio::test]
async fn a_node_is_away_only_when_it_does_not_return() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, deliveries) = mpsc::channel(CAPACITY);
    let service = Service::new(sender);
    let task = tokio::spawn(run(TcpListenerStream::new(listener), service.clone()));
    let mut server = Server { address, deliveries, task };
    let later = || Instant::now() + 2 * presence::AWAY;

    let old = server.connect().await;
    old.send(report(1, vec![])).await;
    assert_eq!(state(&mut server).await.state, NodeState::Connected);
    // The new stream begins before the old one ends.
    let new = server.connect().await;
    new.send(report(2, vec![])).await;
    assert_eq!(state(&mut server).await.state, NodeState::Connected);
    drop(old);
    streams(&service, 1).await;
    service.tell_away(later()).await.unwrap();
    // The next one begins within moments.
    drop(new);
    streams(&service, 0).await;
    service.tell_away(Instant::now()).await.unwrap();
    let again = server.connect().await;
    again.send(report(3, vec![])).await;
    assert_eq!(state(&mut server).await.state, NodeState::Connected, "nothing is told meanwhile");
    drop(again);
    streams(&service, 0).await;
    service.tell_away(later()).await.unwrap();
    let status = state(&mut server).await;
    assert_eq!((status.state, &*status.nodes[0]), (NodeState::Unavailable, "n1"));
}

/// Waits until as many agents report.
async fn streams(service: &Service, count: usize) {
    let reached = async {
        while service.streams() != count {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, reached).await.unwrap();
}

#[tokio::test]
async fn a_hostile_report_is_refused_and_harms_nobody_else() {
    let mut server = Server::start(None).await;
    let named = |node: &str| ReportEdgesRequest { node: node.into(), ..report(1, vec![]) };
    let unnamed = ReportEdgesRequest { run: String::new(), ..report(1, vec![]) };
    let refused = [
        named(""),
        named("a/b"),
        named(&"a".repeat(254)),
        unnamed,
        report(0, vec![]),
        report(1, vec![edge(); EDGES + 1]),
    ];
    for hostile in refused {
        let agent = server.connect().await;
        agent.send(hostile).await;
        assert_eq!(agent.refusal().await.code(), Code::InvalidArgument);
    }
    let agent = server.connect().await;
    agent.send(ReportEdgesRequest { version: "x".repeat(MAX_REPORT), ..report(1, vec![]) }).await;
    assert_eq!(agent.refusal().await.code(), Code::OutOfRange);

    let agent = server.connect().await;
    agent.send(report(1, vec![edge()])).await;
    assert_eq!(server.taken().await.0, (3, 0));
    // A stream is of one run of one node.
    agent.send(named("n2")).await;
    assert_eq!(agent.refusal().await.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_stream_ends_when_nobody_takes_reports_any_more() {
    let server = Server::start(None).await;
    let agent = server.connect().await;
    let Server { deliveries, task, .. } = server;
    drop(deliveries);
    agent.send(report(1, vec![edge()])).await;
    assert_eq!(agent.refusal().await.code(), Code::Unavailable);
    timeout(SOON, task).await.unwrap().unwrap().unwrap();
}

/// An agent that stops reading keeps nobody from reporting.
#[tokio::test]
async fn an_agent_that_reads_no_answers_keeps_nobody_waiting() {
    let mut server = Server::start(None).await;
    let silent = server.connect().await;
    for sequence in 1..200 {
        silent.send(report(sequence, edges(100))).await;
        server.taken().await.1.confirm();
    }
    let mut other = server.connect().await;
    other.send(ReportEdgesRequest { node: "n2".into(), ..report(1, vec![edge()]) }).await;
    assert_eq!(server.taken().await.0, (3, 0));
    drop(silent);
    other.send(ReportEdgesRequest { node: "n2".into(), ..report(2, vec![edge()]) }).await;
    server.taken().await.1.confirm();
    assert_eq!(other.acknowledged().await.unwrap(), 2);
}

/// What waits for its acknowledgement is bounded: further reports are read after it.
#[tokio::test]
async fn an_agent_whose_reports_are_not_taken_is_read_no_further() {
    let mut server = Server::start(None).await;
    let mut agent = server.connect().await;
    let reports = agent.reports.clone();
    let sending = tokio::spawn(async move {
        for sequence in 1..=100 {
            reports.send(report(sequence, vec![])).await.unwrap();
        }
    });
    let mut receipts = Vec::new();
    while receipts.len() < 64 {
        receipts.push(server.taken().await.1);
    }
    let more = timeout(Duration::from_millis(200), server.delivery()).await;
    assert!(more.is_err(), "{more:?}");
    receipts.into_iter().for_each(Receipt::confirm);
    for _ in 64..100 {
        server.taken().await.1.confirm();
    }
    timeout(SOON, sending).await.unwrap().unwrap();
    while agent.acknowledged().await.unwrap() < 100 {}
}

/// As many edges of different ports.
fn edges(count: u32) -> Vec<EdgeReport> {
    let port = |port| {
        let mut edge = edge();
        edge.edge.as_mut().unwrap().port = port;
        edge
    };
    (1..=count).map(port).collect()
}

/// Who ends takes no more reports, and writes what it took: the agents hear of it, though nothing more is taken of them.
#[tokio::test]
async fn what_was_taken_is_acknowledged_while_nothing_more_is_taken() {
    let mut server = Server::start(None).await;
    let mut agent = server.connect().await;
    agent.send(report(1, vec![edge()])).await;
    agent.send(report(2, vec![edge()])).await;
    let (first, second) = (server.taken().await.1, server.taken().await.1);
    for sequence in 3..9 {
        agent.send(report(sequence, edges(1_000))).await;
    }
    // Whoever waits for places has those that are left.
    let full = async {
        while server.deliveries.capacity() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, full).await.unwrap();
    first.confirm();
    assert_eq!(agent.acknowledged().await.unwrap(), 1);
    second.confirm();
    drop(server.deliveries);
    assert_eq!(agent.acknowledged().await.unwrap(), 2);
    assert_eq!(agent.refusal().await.code(), Code::Unavailable);
}
