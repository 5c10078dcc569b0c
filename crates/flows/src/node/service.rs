//! The stream of one agent: its reports in, what was taken out.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use netenf_learn::{NodeState, NodeStatus, Timestamp};
use netenf_proto::netenf::v1::node_flows_server::NodeFlows;
use netenf_proto::netenf::v1::{ReportEdgesRequest, ReportEdgesResponse};
use tokio::sync::mpsc::PermitIterator;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::interval;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::convert::Converter;
use super::intake::{Intake, Turn};
use super::presence::{End, Presence};
use super::{Delivery, tls};
use crate::Record;

/// How many agents report at a time: as many as a Kubernetes cluster has nodes.
const STREAMS: usize = 5_000;

/// How many reports of a stream may wait for their acknowledgement; the next one is read after that. With a report
/// every ten seconds it is ten minutes in which nothing can be written.
const UNCONFIRMED: usize = 64;

/// How often it is looked for nodes that are away.
const TURN: Duration = Duration::from_secs(5);

/// The longest name of a node, and of a run.
const MAX_NAME: usize = 253;

type Acknowledgement = Result<ReportEdgesResponse, Status>;

/// What takes reports. Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Service {
    deliveries: mpsc::Sender<Delivery>,
    intake: Arc<Mutex<Intake>>,
    presence: Arc<Mutex<Presence>>,
    streams: Arc<Semaphore>,
}

/// One agent that reports.
struct Stream {
    service: Service,
    reports: Streaming<ReportEdgesRequest>,
    answers: mpsc::Sender<Acknowledgement>,
    /// The node of the client's certificate, where it names one.
    certified: Option<String>,
    converter: Converter,
    _place: OwnedSemaphorePermit,
}

/// Who reports through a stream.
struct Agent {
    node: String,
    run: String,
}

// === impl Service ===

impl Service {
    pub(super) fn new(deliveries: mpsc::Sender<Delivery>) -> Self {
        let streams = Arc::new(Semaphore::new(STREAMS));
        Self { deliveries, intake: Arc::default(), presence: Arc::default(), streams }
    }

    /// How many agents report.
    #[cfg(test)]
    pub(super) fn streams(&self) -> usize {
        STREAMS - self.streams.available_permits()
    }

    /// Ends when nobody takes deliveries any more.
    pub(super) fn over(&self) -> impl Future<Output = ()> + use<> {
        let deliveries = self.deliveries.clone();
        async move { deliveries.closed().await }
    }

    /// Tells of nodes that are away, until nobody takes deliveries any more.
    pub(super) async fn watch(self) {
        let mut turns = interval(TURN);
        loop {
            tokio::select! {
                _ = turns.tick() => {}
                () = self.deliveries.closed() => return,
            }
            if self.tell_away(Instant::now()).await.is_err() {
                return;
            }
        }
    }

    /// Tells of nodes that are away at `now`.
    pub(super) async fn tell_away(&self, now: Instant) -> Result<(), Status> {
        loop {
            let place = self.deliveries.reserve().await.map_err(|_| over())?;
            // Who returns waits for this, and is told of after it.
            let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
            let Some((node, end)) = presence.away(now) else { return Ok(()) };
            let said = (end.why.as_str(), end.version.as_str());
            place.send(word((&node, end.time), NodeState::Unavailable, said));
        }
    }

    /// Tells that a node reports, and that it is there.
    async fn arrive(&self, node: &str, version: &str) -> Result<(), Status> {
        let place = self.deliveries.reserve().await.map_err(|_| over())?;
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.arrive(node);
        place.send(word((node, now()), NodeState::Connected, ("", version)));
        Ok(())
    }

    fn leave(&self, node: &str, end: End) {
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.leave(node, end, Instant::now());
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Intake) -> T) -> T {
        ask(&mut self.intake.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[tonic::async_trait]
impl NodeFlows for Service {
    type ReportEdgesStream = ReceiverStream<Acknowledgement>;

    async fn report_edges(
        &self,
        request: Request<Streaming<ReportEdgesRequest>>,
    ) -> Result<Response<Self::ReportEdgesStream>, Status> {
        let place =
            self.streams.clone().try_acquire_owned().map_err(|_| {
                Status::resource_exhausted(format!("{STREAMS} agents report already"))
            })?;
        let certificates = request.peer_certs();
        let certified = certificates.and_then(|all| all.first().and_then(tls::node));
        let (answers, acknowledgements) = mpsc::channel(1);
        let stream = Stream {
            service: self.clone(),
            reports: request.into_inner(),
            answers,
            certified,
            converter: Converter::default(),
            _place: place,
        };
        tokio::spawn(stream.run());
        Ok(Response::new(ReceiverStream::new(acknowledgements)))
    }
}

// === impl Stream ===

impl Stream {
    async fn run(mut self) {
        let Err(status) = self.take_all().await else { return };
        // An agent that is gone needs no answer.
        let _ = self.answers.send(Err(status)).await;
    }

    async fn take_all(&mut self) -> Result<(), Status> {
        let Some(first) = self.next().await? else { return Ok(()) };
        let agent = self.agent(&first)?;
        let mut taken = self.service.with(|intake| intake.taken(&agent.node, &agent.run));
        self.service.arrive(&agent.node, &first.version).await?;
        let version = first.version.clone();
        let ended = self.take_from(first, &agent, &mut taken).await;
        let why = ended.as_ref().err().map_or("the stream ended", Status::message).to_owned();
        self.service.leave(&agent.node, End { time: now(), why, version });
        if taken.has_changed().unwrap_or_default() {
            // Whoever reports next to another replica need not send it again.
            let _ = self.acknowledge(latest(&mut taken)).await;
        }
        ended
    }

    /// Takes one report after the other, and acknowledges what was taken in between.
    async fn take_from(
        &mut self,
        first: ReportEdgesRequest,
        agent: &Agent,
        taken: &mut watch::Receiver<u64>,
    ) -> Result<(), Status> {
        let mut waiting = VecDeque::from_iter(self.take(&first, agent, taken).await?);
        loop {
            let known = *taken.borrow();
            while waiting.front().is_some_and(|sequence| *sequence <= known) {
                waiting.pop_front();
            }
            let has_room = waiting.len() < UNCONFIRMED;
            tokio::select! {
                // What was taken is told, even if nothing more is taken.
                biased;
                changed = taken.changed() => {
                    changed.map_err(|_| over())?;
                    self.acknowledge(latest(taken)).await?;
                }
                report = self.reports.message(), if has_room => match report? {
                    Some(report) => waiting.extend(self.take(&report, agent, taken).await?),
                    None => return self.wait_for_rest(taken).await,
                },
                () = self.answers.closed() => return Ok(()),
                () = self.service.deliveries.closed() => return Err(over()),
            }
        }
    }

    /// The agent sends no more, and waits for the acknowledgement of what it sent.
    async fn wait_for_rest(&self, taken: &mut watch::Receiver<u64>) -> Result<(), Status> {
        loop {
            tokio::select! {
                biased;
                changed = taken.changed() => changed.map_err(|_| over())?,
                () = self.answers.closed() => return Ok(()),
                () = self.service.deliveries.closed() => return Err(over()),
            }
            self.acknowledge(latest(taken)).await?;
        }
    }

    async fn next(&mut self) -> Result<Option<ReportEdgesRequest>, Status> {
        tokio::select! {
            report = self.reports.message() => report,
            () = self.service.deliveries.closed() => Err(over()),
        }
    }

    /// Takes a report in; gives its number where it is new. Who sends one again hears what was taken.
    async fn take(
        &mut self,
        report: &ReportEdgesRequest,
        agent: &Agent,
        taken: &mut watch::Receiver<u64>,
    ) -> Result<Option<u64>, Status> {
        let own = self.agent(report)?;
        if own.node != agent.node || own.run != agent.run {
            return Err(Status::invalid_argument("one stream is of one run of one node"));
        }
        if report.sequence == 0 {
            return Err(Status::invalid_argument("sequences begin at 1"));
        }
        let records = self.converter.report(report, now()).map_err(Status::invalid_argument)?;
        if self.hand_on(report, records, taken).await? {
            return Ok(Some(report.sequence));
        }
        self.acknowledge(latest(taken)).await?;
        Ok(None)
    }

    /// Hands a report on as a whole, or nothing of it; whether it was new.
    async fn hand_on(
        &mut self,
        report: &ReportEdgesRequest,
        records: Vec<Record>,
        taken: &mut watch::Receiver<u64>,
    ) -> Result<bool, Status> {
        let deliveries = self.service.deliveries.clone();
        // Beside the records what never came, and the receipt.
        let places = deliveries.reserve_many(records.len() + 2);
        let mut places = self.reserved(pin!(places), taken).await?;
        // From here on nothing waits.
        let Self { service, converter, .. } = self;
        let turn = service.with(|intake| intake.hand(&report.node, &report.run, report.sequence));
        let Turn::Next { missing, receipt } = turn else { return Ok(false) };
        let missing = (missing > 0).then(|| converter.missing(&report.node, missing, now()));
        let all = missing.into_iter().chain(records).map(Delivery::Record);
        for (delivery, place) in all.chain([Delivery::Receipt(receipt)]).zip(&mut places) {
            place.send(delivery);
        }
        Ok(true)
    }

    /// Waits for places, and tells meanwhile what was taken: who takes no more may still write what it took.
    async fn reserved<'a>(
        &self,
        mut places: Pin<
            &mut impl Future<Output = Result<PermitIterator<'a, Delivery>, SendError<()>>>,
        >,
        taken: &mut watch::Receiver<u64>,
    ) -> Result<PermitIterator<'a, Delivery>, Status> {
        loop {
            tokio::select! {
                biased;
                changed = taken.changed() => {
                    changed.map_err(|_| over())?;
                    self.acknowledge(latest(taken)).await?;
                }
                places = &mut places => return places.map_err(|_| over()),
                () = self.answers.closed() => return Err(gone()),
            }
        }
    }

    async fn acknowledge(&self, sequence: u64) -> Result<(), Status> {
        if sequence == 0 {
            return Ok(());
        }
        let answer = ReportEdgesResponse { acknowledged_sequence: sequence };
        self.answers.send(Ok(answer)).await.map_err(|_| gone())
    }

    /// Who the report says that it is of, if it may.
    fn agent(&self, report: &ReportEdgesRequest) -> Result<Agent, Status> {
        let is_of_node = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
        let node = &report.node;
        if node.is_empty() || node.len() > MAX_NAME || !node.chars().all(is_of_node) {
            return Err(Status::invalid_argument("node is the name of no node"));
        }
        if report.run.is_empty() || report.run.len() > MAX_NAME {
            return Err(Status::invalid_argument("run names no run"));
        }
        match &self.certified {
            Some(own) if own != node => Err(Status::permission_denied(format!(
                "the certificate is of the agent of the node {own}, and the report of {node}"
            ))),
            Some(_) | None => Ok(Agent { node: node.clone(), run: report.run.clone() }),
        }
    }
}

fn latest(taken: &mut watch::Receiver<u64>) -> u64 {
    *taken.borrow_and_update()
}

/// How a node is since when, with what is wrong and the version of its agent.
fn word(
    (node, time): (&str, Timestamp),
    state: NodeState,
    (message, version): (&str, &str),
) -> Delivery {
    let text = |text: &str| -> Option<Arc<str>> {
        let text: String =
            text.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect();
        (!text.is_empty()).then(|| text.into())
    };
    Delivery::Record(Record::NodeStatus(NodeStatus {
        state,
        nodes: vec![node.into()],
        message: text(message),
        version: text(version),
        time: Some(time),
    }))
}

fn gone() -> Status {
    Status::cancelled("the agent is gone")
}

/// Nobody takes reports any more.
fn over() -> Status {
    Status::unavailable("this replica takes no reports any more; another one may lead")
}

fn now() -> Timestamp {
    Timestamp::from(SystemTime::now())
}
