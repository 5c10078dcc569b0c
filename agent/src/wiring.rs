//! Joins the parts of the controller, and takes them apart again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use netenf_cluster::apply::Writer;
use netenf_cluster::event::Events;
use netenf_cluster::lease::{Candidacy, Elector, Leadership, Timing};
use netenf_cluster::pulse;
use netenf_cluster::queue::{Limits, Queue};
use netenf_cluster::watch::Watches;
use prometheus_client::registry::Registry;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::arguments;
use crate::controller::Controller;
use crate::learning::{Counts, Learning, replay};
use crate::readiness::Readiness;
use crate::reconciler::{Reconciler, Shared};
use crate::server::{serve_health, serve_metrics};

#[cfg(test)]
mod tests;

/// The name of the Lease that replicas contend for.
const LEASE: &str = "netenf-controller";

/// Before every metric.
const PREFIX: &str = "netenf";

/// From the signal to the end, at most: a pod's default grace is 30 seconds.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// The parts of a running controller.
struct Parts {
    controller: Controller,
    elector: Option<Elector>,
    readiness: Readiness,
    _tasks: tokio::task::JoinSet<()>,
}

/// Runs the controller until a signal ends it.
pub(crate) async fn run(arguments: &arguments::Controller) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot await SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot await SIGINT")?;
    let client = Client::try_default()
        .await
        .context("cannot tell where the cluster is; run in a pod or set KUBECONFIG")?;
    let mut registry = Registry::with_prefix(PREFIX);
    let Parts { mut controller, elector, readiness, _tasks } =
        start(&client, arguments, &mut registry);
    serve_health(arguments.health_probe_bind_address, readiness).await?;
    serve_metrics(arguments.metrics_bind_address, registry).await?;

    controller
        .run(async {
            tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        })
        .await;
    tracing::info!("shutting down");
    if timeout(SHUTDOWN, end(controller, elector)).await.is_err() {
        tracing::warn!("shutting down took too long; what was not written is learned again");
    }
    Ok(())
}

/// The last writes come before the lease is given up: after that another replica writes.
async fn end(controller: Controller, elector: Option<Elector>) {
    controller.finish();
    if let Some(elector) = elector {
        elector.release().await;
    }
}

fn start(client: &Client, arguments: &arguments::Controller, registry: &mut Registry) -> Parts {
    let watches = Watches::start(client, registry);
    let pulse = pulse::start(client.clone(), registry);
    let writer = Writer::new(client.clone(), registry);
    let (elector, leadership) = elect(client, arguments, writer.clone(), registry);
    let stored = Shared::default();
    let queue = Arc::new(Queue::new(Limits::default(), registry));
    let instance = arguments.pod_name.clone().unwrap_or_else(|| "netenf-agent".to_owned());
    let reconciler = Reconciler {
        stored: stored.clone(),
        queue: queue.clone(),
        writer,
        events: Events::start(client.clone(), instance, registry),
        leadership: leadership.clone(),
        backend: arguments.backend(),
        refused: HashMap::new(),
    };
    let mut tasks = watches.tasks;
    tasks.spawn(reconciler.run());
    let index = Arc::default();
    let learning = Learning {
        index: Arc::clone(&index),
        config: arguments.config(),
        flush_interval: arguments.flush_interval(),
        stored: stored.clone(),
        queue: queue.clone(),
        counts: Counts::new(registry),
    };
    let (controller, pending) =
        Controller::new(watches.changes, leadership.clone(), index, (stored, queue));
    if let Some(recording) = arguments.recording() {
        let mut known = pending.clone();
        tasks.spawn(async move {
            // Who is who is told by objects: flows that come before them would be taken for strangers'.
            if known.wait_for(BTreeSet::is_empty).await.is_ok() {
                learning.run(replay(recording)).await;
            }
        });
    }
    let readiness = Readiness { pending, states: watches.states, pulse, leadership };
    Parts { controller, elector, readiness, _tasks: tasks }
}

fn elect(
    client: &Client,
    arguments: &arguments::Controller,
    writer: Writer,
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
    };
    let (elector, leadership) = Elector::start(client.clone(), writer, &candidacy, registry);
    (Some(elector), leadership)
}
