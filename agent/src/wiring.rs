//! Joins the parts of the controller, and takes them apart again.

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use anyhow::Context as _;
use kube::{Client, Config};
use netenf_api::key::LEARNED_UNTIL;
use netenf_cluster::apply::Writer;
use netenf_cluster::event::Events;
use netenf_cluster::lease::{Candidacy, Elector, FirstNote, Leadership, Timing};
use netenf_cluster::pulse::{self, Pulse};
use netenf_cluster::queue::{Limits, Queue};
use netenf_cluster::watch::Watches;
use netenf_k8s::{Enforcer, Index};
use netenf_learn::Timestamp;
use netenf_telemetry::Telemetry;
use prometheus_client::registry::Registry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::arguments;
use crate::board::Board;
use crate::clock::now;
use crate::controller::Controller;
use crate::counts::Counts;
use crate::enforcement::Enforcement;
use crate::learning::Learning;
use crate::readiness::Readiness;
use crate::reconciler::Reconciler;
use crate::resume::note;
use crate::server::{serve_health, serve_metrics};
use crate::service::{self, Service};
use crate::source::{Source, State};
use crate::stored::{Name, Shared};
use crate::tap::Tap;

#[cfg(test)]
mod tests;

/// The name of the Lease that replicas contend for.
const LEASE: &str = "netenf-controller";

/// Before every metric.
const PREFIX: &str = "netenf";

/// What was learned last is written within that time after the signal, or is learned again. With [`RELEASE`] it
/// is less than a pod's default grace of 30 seconds, and than the 10 that the reference gives.
const LAST_WRITES: Duration = Duration::from_secs(6);

/// How long giving the lease up may take; the last records have as long ([`netenf_telemetry::config::Limits`]).
const RELEASE: Duration = Duration::from_secs(3);

/// As many names are written at once: the API server is slower than the agent.
const WORKERS: usize = 8;

/// The parts of a running controller.
struct Parts {
    controller: Controller,
    elector: Option<Elector>,
    readiness: Readiness,
    service: Service,
    /// Closed when learning ends.
    learning: Option<oneshot::Receiver<()>>,
    queue: Arc<Queue<Name>>,
    stop: watch::Sender<bool>,
    telemetry: Telemetry,
    tasks: JoinSet<()>,
}

/// Runs the controller until a signal ends it.
pub(crate) async fn run(arguments: &arguments::Controller) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot await SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot await SIGINT")?;
    let config = Config::infer()
        .await
        .context("cannot tell where the cluster is; run in a pod or set KUBECONFIG")?;
    let mut registry = Registry::with_prefix(PREFIX);
    let parts = start(config, arguments, &mut registry)?;
    serve_health(arguments.health_probe_bind_address, parts.readiness.clone()).await?;
    serve_metrics(arguments.metrics_bind_address, registry).await?;

    let Parts {
        mut controller, elector, service, telemetry, learning, queue, stop, mut tasks, ..
    } = parts;
    let leadership = parts.readiness.leadership.clone();
    service::serve(arguments.grpc_bind_address, service).await?;
    // Until everything is written changes are taken in: what is written is decided on by them.
    let shutdown = async {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("shutting down");
        stop.send_replace(true);
        if timeout(LAST_WRITES, write_rest(learning, &queue, &leadership)).await.is_err() {
            tracing::warn!("not everything was written in time; it is learned again");
        }
    };
    // One that panicked leaves the rest waiting for it: all begin anew.
    tokio::select! {
        () = controller.run(shutdown) => {}
        error = panicked(&mut tasks) => return Err(error).context("a part of the agent failed"),
    }
    // The last writes come before the lease is given up: after that another replica writes.
    tokio::join!(release(elector), telemetry.shutdown());
    Ok(())
}

/// Waits for a task that ends as none should.
async fn panicked(tasks: &mut JoinSet<()>) -> anyhow::Error {
    loop {
        match tasks.join_next().await {
            Some(Err(error)) if error.is_panic() => return error.into(),
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

/// Waits until what was learned is written.
async fn write_rest(
    learning: Option<oneshot::Receiver<()>>,
    queue: &Queue<Name>,
    leadership: &Leadership,
) {
    if let Some(learning) = learning {
        // It tells nothing but that it ended.
        let _ = learning.await;
    }
    // Who stands by has nothing to write.
    if leadership.is_held() {
        queue.until_idle().await;
    }
}

async fn release(elector: Option<Elector>) {
    if let Some(elector) = elector
        && timeout(RELEASE, elector.release()).await.is_err()
    {
        tracing::warn!("the lease was not given up in time: another replica waits for its end");
    }
}

fn start(
    config: Config,
    arguments: &arguments::Controller,
    registry: &mut Registry,
) -> anyhow::Result<Parts> {
    let source = arguments.source()?;
    let telemetry = Telemetry::start(&arguments.telemetry(), registry)
        .context("cannot send violations; see the arguments --otlp-log-…")?;
    let writing = netenf_cluster::client::writing(config.clone())?;
    let client = &Client::try_from(config)?;
    if source.is_none() {
        tracing::info!("nothing is learned: no --provider-name is given");
    }
    // Outside of the cluster no policy can cut the agent off.
    let is_inside = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let own = arguments.namespace.clone();
    let own = own.or_else(|| is_inside.then(|| client.default_namespace().to_owned()));
    let learning_config = arguments.config(own.as_deref());
    let watches = Watches::start(client, registry);
    let pulse = pulse::start(client.clone(), registry);
    let writer = Writer::new(writing, registry);
    let (note, notes) = watch::channel(None);
    let noted = source.as_ref().map(first_note);
    let (elector, leadership) = elect(client, arguments, writer.clone(), (noted, notes), registry);
    let stored = Shared::default();
    let queue = Arc::new(Queue::new(Limits::default(), registry));
    let instance = arguments.pod_name.clone().unwrap_or_else(|| "netenf-agent".to_owned());
    let index: Arc<RwLock<Index>> = Arc::default();
    let enforcement = Arc::new(Enforcement {
        index: Arc::clone(&index),
        provider: arguments.enforcing_provider(),
        backend: arguments.backend(),
        last: Mutex::new(Enforcer::Unknown),
    });
    let reconciler = Reconciler {
        stored: stored.clone(),
        queue: queue.clone(),
        writer,
        events: Events::start(client.clone(), instance, registry),
        telemetry: telemetry.clone(),
        leadership: leadership.clone(),
        backend: arguments.backend(),
        enforcement: Arc::clone(&enforcement),
        refused: Arc::default(),
        awaited: Arc::default(),
    };
    let mut tasks = watches.tasks;
    for _ in 0..WORKERS {
        tasks.spawn(reconciler.clone().run());
    }
    tasks.spawn(hurry(pulse.clone(), queue.clone()));
    let shared = (stored.clone(), queue.clone());
    let (controller, pending) =
        Controller::new(watches.changes, leadership.clone(), Arc::clone(&enforcement), shared);
    let (states, state) = watch::channel(State::default());
    let (tap, board) = (Tap::default(), Board::new(source.as_ref().map(Source::told), now()));
    tasks.spawn(board.clone().follow(state.clone()));
    let service = Service {
        tap: tap.clone(),
        board: board.clone(),
        index: Arc::clone(&index),
        stored: stored.clone(),
        config: learning_config.clone(),
        backend: arguments.backend(),
        enforcement,
        leadership: leadership.clone(),
        pending: pending.clone(),
        pod: arguments.pod_name.clone().unwrap_or_default(),
        started: now(),
    };
    let (stop, stopped) = watch::channel(false);
    let counts = Counts::new(registry);
    let learning = source.map(|source| Learning {
        source,
        config: learning_config,
        backend: arguments.backend(),
        flush_interval: arguments.flush_interval(),
        status_interval: arguments.status_interval(),
        index,
        pending: pending.clone(),
        leadership: leadership.clone(),
        stored,
        queue: queue.clone(),
        counts,
        tap,
        board,
        states,
        note,
        stop: stopped,
    });
    let learning = learning.map(|learning| {
        let (running, ended) = oneshot::channel();
        tasks.spawn(async move {
            learning.run().await;
            drop(running);
        });
        ended
    });
    let readiness = Readiness { pending, states: watches.states, pulse, leadership, source: state };
    Ok(Parts { controller, elector, readiness, service, learning, queue, stop, telemetry, tasks })
}

/// What failed while the server did not answer is tried soon after it does.
async fn hurry(mut pulse: watch::Receiver<Pulse>, queue: Arc<Queue<Name>>) {
    while pulse.changed().await.is_ok() {
        if *pulse.borrow_and_update() == Pulse::Answers {
            queue.hurry();
        }
    }
}

/// A source that was never learned from is learned from its beginning.
fn first_note(source: &Source) -> FirstNote {
    let topic = format!("{source} ");
    FirstNote { key: LEARNED_UNTIL, text: note(&source.to_string(), Timestamp(0)), topic }
}

fn elect(
    client: &Client,
    arguments: &arguments::Controller,
    writer: Writer,
    (note, notes): (Option<FirstNote>, watch::Receiver<Option<String>>),
    registry: &mut Registry,
) -> (Option<Elector>, Leadership) {
    let Some(identity) = arguments.pod_name.clone().filter(|_| arguments.leader_elect) else {
        return (None, Leadership::unopposed());
    };
    let namespace = arguments.namespace.clone();
    let candidacy = Candidacy {
        namespace: namespace.unwrap_or_else(|| client.default_namespace().to_owned()),
        name: LEASE.to_owned(),
        identity,
        timing: Timing::default(),
        note,
    };
    let (elector, leadership) = Elector::start(client.clone(), writer, &candidacy, notes, registry);
    (Some(elector), leadership)
}
