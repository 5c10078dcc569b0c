//! What the command line asks the controller (`netenf.v1`, `Controller`), on loopback within its pod: a port-forward
//! reaches it, so that whoever may forward ports to the pod may ask, and nothing listens on the pod network.
//!
//! ```text
//! Tap ───────────────► watch ─► WatchFlows      told of each observation when it is sent
//! Board, Leadership ─► status ─► Status
//! Index, Stored ─────► explain ─► Explain       k8s::inquiry, as `kubectl netenf check` asks it
//! ```

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use netenf_api::Backend;
use netenf_cluster::Kind;
use netenf_cluster::lease::Leadership;
use netenf_k8s::Index;
use netenf_k8s::monitor::Guard;
use netenf_learn::{Config, Timestamp};
use netenf_proto::netenf::v1::controller_server::{Controller, ControllerServer};
use netenf_proto::netenf::v1::{
    ExplainRequest, ExplainResponse, StatusRequest, StatusResponse, WatchFlowsRequest,
    WatchFlowsResponse,
};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, watch as channel};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::address::Loopback;
use crate::board::Board;
use crate::enforcement::Enforcement;
use crate::judging::guards;
use crate::stored::Shared;
use crate::tap::Tap;

mod convert;
mod explain;
mod filter;
mod status;
mod watch;

/// A request is this long at most: filters are short.
const MAX_REQUEST: usize = 64 << 10;

/// Streams and requests of one connection at a time.
const MAX_STREAMS: u32 = 32;

/// How many watch at a time.
const MAX_WATCHERS: usize = 16;

/// How many questions are answered at a time; the others wait for their turn.
const MAX_QUESTIONS: usize = 2;

/// How many of them are about proposals, whose rules are many: all are held until it is answered.
const MAX_ASSUMPTIONS: usize = 1;

/// How long a question may take, and how long the start of a stream.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long policies that observations are judged by are taken for those in force.
const FRESH: Duration = Duration::from_secs(1);

/// What answers.
pub(crate) struct Service {
    pub(crate) tap: Tap,
    pub(crate) board: Board,
    pub(crate) index: Arc<RwLock<Index>>,
    pub(crate) stored: Shared,
    pub(crate) config: Config,
    pub(crate) backend: Backend,
    pub(crate) enforcement: Arc<Enforcement>,
    pub(crate) leadership: Leadership,
    /// Kinds that were not listed yet.
    pub(crate) pending: channel::Receiver<BTreeSet<Kind>>,
    pub(crate) pod: String,
    pub(crate) started: Timestamp,
}

/// The same behind what limits it.
#[derive(Clone)]
struct Limited {
    service: Arc<Service>,
    watchers: Arc<Semaphore>,
    questions: Arc<Semaphore>,
    assumptions: Arc<Semaphore>,
    guards: Arc<Mutex<Option<(Instant, Guards)>>>,
}

/// Policies of ours, ready to be evaluated.
type Guards = Arc<Vec<Guard>>;

/// Serves until the process ends.
pub(crate) async fn serve(address: Loopback, service: Service) -> anyhow::Result<()> {
    let listener = address.0.listen().await;
    let listener = listener.with_context(|| {
        format!("cannot serve gRPC at {:?}; choose another --grpc-bind-address", address.0)
    })?;
    let Some(listener) = listener else { return Ok(()) };
    let local = listener.local_addr().context("a listener has an address")?;
    tracing::info!(what = "grpc", address = %local, "serving");
    let controller =
        ControllerServer::new(Limited::new(service)).max_decoding_message_size(MAX_REQUEST);
    let mut server = Server::builder()
        .timeout(TIMEOUT)
        .max_concurrent_streams(MAX_STREAMS)
        .http2_keepalive_interval(Some(TIMEOUT))
        .http2_max_pending_accept_reset_streams(Some(MAX_STREAMS as usize));
    let router = server.add_service(controller);
    tokio::spawn(async move {
        if let Err(error) = router.serve_with_incoming(TcpListenerStream::new(listener)).await {
            tracing::error!(what = "grpc", %error, "serving ended");
        }
    });
    Ok(())
}

// === impl Limited ===

#[tonic::async_trait]
impl Controller for Limited {
    type WatchFlowsStream = ReceiverStream<Result<WatchFlowsResponse, Status>>;

    async fn watch_flows(
        &self,
        request: Request<WatchFlowsRequest>,
    ) -> Result<Response<Self::WatchFlowsStream>, Status> {
        let wanted = filter::Wanted::new(request.get_ref())?;
        let place = self.watchers.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "{MAX_WATCHERS} watch flows already; end one of them"
            ))
        })?;
        Ok(Response::new(watch::start(self.clone(), wanted, place)))
    }

    async fn status(
        &self,
        _request: Request<StatusRequest>,
    ) -> Result<Response<StatusResponse>, Status> {
        Ok(Response::new(status::answer(&self.service)))
    }

    async fn explain(
        &self,
        request: Request<ExplainRequest>,
    ) -> Result<Response<ExplainResponse>, Status> {
        let asked = explain::Asked::new(request.into_inner())?;
        self.knows_the_cluster()?;
        let turn = self.turn(asked.is_of_proposals()).await;
        let turn = turn.map_err(|_| Status::unavailable("the controller ends"))?;
        let service = self.service.clone();
        let answered = tokio::task::spawn_blocking(move || {
            let answer = explain::answer(&service, &asked);
            drop(turn);
            answer
        });
        let answer = answered.await.map_err(|_| Status::internal("the question was not answered"));
        answer?.map(Response::new)
    }
}

impl Limited {
    fn new(service: Service) -> Self {
        Self {
            service: Arc::new(service),
            watchers: Arc::new(Semaphore::new(MAX_WATCHERS)),
            questions: Arc::new(Semaphore::new(MAX_QUESTIONS)),
            assumptions: Arc::new(Semaphore::new(MAX_ASSUMPTIONS)),
            guards: Arc::default(),
        }
    }

    /// The turn of a question. One about proposals waits for others of its kind first, and keeps nobody else waiting.
    async fn turn(
        &self,
        is_of_proposals: bool,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), AcquireError> {
        let alone = if is_of_proposals {
            Some(self.assumptions.clone().acquire_owned().await?)
        } else {
            None
        };
        Ok((alone, self.questions.clone().acquire_owned().await?))
    }

    /// Before all kinds are listed the answer would be about a part of the cluster.
    fn knows_the_cluster(&self) -> Result<(), Status> {
        let pending = self.service.pending.borrow();
        if pending.is_empty() {
            return Ok(());
        }
        let kinds: Vec<&str> = pending.iter().map(|kind| kind.resource()).collect();
        Err(Status::unavailable(format!(
            "the controller does not know all objects yet: {}; ask again in a moment",
            kinds.join(", ")
        )))
    }

    /// Our policies, as they were within the last second.
    fn guards(&self) -> Guards {
        let mut known = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((time, guards)) = &*known
            && time.elapsed() < FRESH
        {
            return guards.clone();
        }
        let stored = self.service.stored.lock();
        let guards = Arc::new(guards(&stored, self.service.backend));
        *known = Some((Instant::now(), guards.clone()));
        guards
    }
}

#[cfg(test)]
mod tests;
