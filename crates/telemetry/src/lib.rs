//! Violations as OpenTelemetry logs: what a record says (`record`), where it goes (`config`), how it gets
//! there (`transport`), and what becomes of it (`sender`, `metrics`).
//!
//! ```text
//! observed, acknowledged -> record -> bounded queue -> batch -> gRPC or HTTP, tried again -> collector
//!                                      |                         |
//!                                      +-- full: counted         +-- refused, too old: counted
//! ```
//!
//! Whoever tells of a violation never waits. Each record is counted exactly once under what became of it,
//! whatever that is. What is sent to `https` is sent over TLS to a server that is known, or not at all.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use netenf_api::{AcknowledgedViolation, Backend, Violation};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use prometheus_client::registry::Registry;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use config::{Checked, Limits};
use metrics::{Event, Metrics, Outcome, Receipt};
use sender::{Queued, Sender};
use transport::Transport;

pub use config::{Config, Protocol};

pub mod config;
mod endpoint;
mod header;
mod metrics;
mod record;
mod sender;
mod transport;
mod trust;

/// The name of this service, and of the scope of its records.
pub const SERVICE: &str = "network-enforcer";

/// Sends violations to a collector, or nowhere if none is named. Clones share the queue.
#[derive(Clone)]
pub struct Telemetry {
    running: Option<Arc<Running>>,
    metrics: Metrics,
}

struct Running {
    queue: mpsc::Sender<Queued>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    shutdown: Duration,
}

// === impl Telemetry ===

impl Telemetry {
    /// Starts to send to the collector of `config`; must be called within a Tokio runtime. Nothing is sent
    /// here: a collector that is not there yet is no error.
    ///
    /// # Errors
    /// If the endpoint or a header cannot be understood, or a file of certificates cannot be used.
    pub fn start(config: &Config, registry: &mut Registry) -> anyhow::Result<Self> {
        Self::start_within(config, Limits::default(), registry)
    }

    /// [`Self::start`] with other limits than an agent has.
    ///
    /// # Errors
    /// As there.
    pub fn start_within(
        config: &Config,
        limits: Limits,
        registry: &mut Registry,
    ) -> anyhow::Result<Self> {
        let metrics = Metrics::new(registry);
        let Some(checked) = Checked::new(config)? else {
            return Ok(Self { running: None, metrics });
        };
        let transport = Transport::new(checked)?;
        let (queue, waiting) = mpsc::channel(limits.queue);
        let (closing, closed) = watch::channel(false);
        let shutdown = limits.shutdown;
        let resource = record::resource(config);
        let sender =
            Sender { transport, waiting, closed, limits, resource, metrics: metrics.clone() };
        let task = Mutex::new(Some(tokio::spawn(sender.run())));
        let running = Running { queue, closing, task, shutdown };
        Ok(Self { running: Some(Arc::new(running)), metrics })
    }

    /// Sends `policy_violation_observed` about the policy (namespace, name), soon.
    pub fn observed(&self, violation: &Violation, policy: (&str, &str), backend: Backend) {
        self.send(Event::Observed, || record::observed(violation, policy, backend));
    }

    /// Sends `policy_violation_acknowledged` about the policy (namespace, name), soon.
    pub fn acknowledged(
        &self,
        acknowledged: &AcknowledgedViolation,
        policy: (&str, &str),
        backend: Backend,
    ) {
        self.send(Event::Acknowledged, || record::acknowledged(acknowledged, policy, backend));
    }

    fn send(&self, event: Event, record: impl FnOnce() -> LogRecord) {
        let Some(running) = &self.running else { return };
        let receipt = Receipt::new(event, &self.metrics);
        match running.queue.try_reserve() {
            Ok(place) => place.send(Queued { record: record(), receipt }),
            Err(mpsc::error::TrySendError::Full(())) => receipt.settle(Outcome::Overflowed),
            // Nothing is sent after a shutdown.
            Err(mpsc::error::TrySendError::Closed(())) => receipt.settle(Outcome::Abandoned),
        }
    }

    /// Sends what waits, for [`Limits::shutdown`] at most, and ends. What could not be sent by then is counted, and so is
    /// what a clone tells of later.
    pub async fn shutdown(self) {
        let Some(running) = &self.running else { return };
        running.closing.send_replace(true);
        let task = running.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        if timeout(running.shutdown, &mut task).await.is_err() {
            tracing::warn!("the collector did not take everything in time; the rest is given up");
            task.abort();
            // Ended by the abort, at the latest when its current step returns.
            let _ = task.await;
        }
    }
}

#[cfg(test)]
mod tests;
