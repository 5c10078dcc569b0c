//! The task that sends: it gathers records into batches and tries each batch until the collector took it,
//! refused it for good, or it was tried for too long. One batch after the other, so that a collector that
//! comes back is not run over.

use std::collections::VecDeque;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::config::Limits;
use crate::metrics::{Metrics, Outcome, Receipt};
use crate::record;
use crate::transport::{Failure, Taken, Then, Transport};

/// Records of a request hold this many bytes before it is sent, however few they are: a collector takes 4 MiB
/// by default (gRPC's limit of a message).
const LONGEST_BATCH: usize = 1 << 20;

/// A record that waits.
pub(crate) struct Queued {
    pub(crate) record: LogRecord,
    pub(crate) receipt: Receipt,
}

/// Sends what waits.
pub(crate) struct Sender {
    pub(crate) transport: Transport,
    pub(crate) waiting: mpsc::Receiver<Queued>,
    pub(crate) closed: watch::Receiver<bool>,
    pub(crate) limits: Limits,
    pub(crate) resource: Resource,
    pub(crate) metrics: Metrics,
}

/// Records that go together.
struct Batch {
    records: Vec<LogRecord>,
    receipts: VecDeque<Receipt>,
}

// === impl Sender ===

impl Sender {
    /// Runs until it is told to close and nothing waits, or until nobody is left who could tell of a record.
    pub(crate) async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.deliver(batch).await;
        }
    }

    /// The next batch: full, or the first record of it has waited for its time. `None` at the end.
    async fn gather(&mut self) -> Option<Batch> {
        let first = tokio::select! {
            biased;
            first = self.waiting.recv() => first,
            () = closing(&mut self.closed) => {
                self.waiting.close();
                self.waiting.recv().await
            }
        }?;
        let mut bytes = first.record.encoded_len();
        let mut batch =
            Batch { records: vec![first.record], receipts: VecDeque::from([first.receipt]) };
        let due = Instant::now() + self.limits.delay;
        while batch.records.len() < self.limits.batch && bytes < LONGEST_BATCH {
            let next = tokio::select! {
                biased;
                next = self.waiting.recv() => next,
                () = sleep_until(due) => None,
                () = closing(&mut self.closed) => None,
            };
            let Some(Queued { record, receipt }) = next else { break };
            bytes += record.encoded_len();
            batch.records.push(record);
            batch.receipts.push_back(receipt);
        }
        Some(batch)
    }

    async fn deliver(&mut self, batch: Batch) {
        let Batch { records, receipts } = batch;
        let request = self.request(records);
        let end = Instant::now() + self.limits.age;
        let mut pause = self.limits.pause;
        let mut attempts = 0_u32;
        loop {
            let failure = match self.transport.send(request.clone()).await {
                Ok(taken) => {
                    if attempts > 0 {
                        tracing::info!(collector = %self.transport.uri(), attempts, "the collector takes records again");
                    }
                    return settle_taken(receipts, taken);
                }
                Err(failure) => failure,
            };
            self.metrics.failures.inc();
            attempts += 1;
            self.tell(&failure, attempts, receipts.len());
            let asked = match failure.then {
                Then::Drop => return settle(receipts, Outcome::Rejected),
                Then::Retry(asked) => asked.unwrap_or_default(),
            };
            let next = Instant::now() + pause.max(asked).min(self.limits.longest_pause);
            if next >= end {
                tracing::warn!(records = receipts.len(), attempts, "records are given up");
                return settle(receipts, Outcome::Expired);
            }
            let was_closing = *self.closed.borrow();
            self.rest(next, was_closing).await;
            // A shutdown leaves no time for pauses that have grown.
            let is_new = *self.closed.borrow() && !was_closing;
            pause = if is_new { self.limits.pause } else { doubled(pause, &self.limits) };
        }
    }

    /// Until `next`, or until a shutdown begins.
    async fn rest(&mut self, next: Instant, was_closing: bool) {
        tokio::select! {
            () = sleep_until(next) => {}
            () = closing(&mut self.closed), if !was_closing => {}
        }
    }

    /// The first failure of a batch is worth a warning, those that repeat it are not.
    fn tell(&self, failure: &Failure, attempts: u32, records: usize) {
        let Failure { message, then } = failure;
        let collector = self.transport.uri();
        match then {
            Then::Drop => {
                tracing::warn!(%collector, message, records, "the collector refused records, which are given up");
            }
            Then::Retry(_) if attempts == 1 => {
                tracing::warn!(%collector, message, records, "the collector took no records; it is tried again");
            }
            Then::Retry(_) => {
                tracing::debug!(%collector, message, records, attempts, "the collector took no records");
            }
        }
    }

    fn request(&self, log_records: Vec<LogRecord>) -> ExportLogsServiceRequest {
        let scope = Some(record::scope(env!("CARGO_PKG_VERSION").to_owned()));
        let logs = ScopeLogs { scope, log_records, ..ScopeLogs::default() };
        let resource = Some(self.resource.clone());
        let logs = ResourceLogs { resource, scope_logs: vec![logs], ..ResourceLogs::default() };
        ExportLogsServiceRequest { resource_logs: vec![logs] }
    }
}

/// A collector that rejects some records does not say which; as many are counted.
fn settle_taken(mut receipts: VecDeque<Receipt>, taken: Taken) {
    let Taken { rejected, message } = taken;
    if rejected > 0 || !message.is_empty() {
        tracing::warn!(rejected, message, "the collector has something to say about records");
    }
    let rest = receipts.split_off(rejected.min(receipts.len()));
    settle(receipts, Outcome::Rejected);
    settle(rest, Outcome::Delivered);
}

fn settle(receipts: VecDeque<Receipt>, outcome: Outcome) {
    for receipt in receipts {
        receipt.settle(outcome);
    }
}

fn doubled(pause: Duration, limits: &Limits) -> Duration {
    pause.saturating_mul(2).min(limits.longest_pause)
}

/// Returns when a shutdown begins; never if nobody is left to begin one.
async fn closing(closed: &mut watch::Receiver<bool>) {
    if closed.wait_for(|closed| *closed).await.is_err() {
        std::future::pending::<()>().await;
    }
}
