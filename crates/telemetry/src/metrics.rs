//! What is counted: each record once, under what became of it.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What a record tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Observed,
    Acknowledged,
}

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The collector has it.
    Delivered,
    /// The collector refused it for good.
    Rejected,
    /// It was tried for too long.
    Expired,
    /// Too many waited.
    Overflowed,
    /// The agent ended before.
    Abandoned,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    event: &'static str,
    outcome: &'static str,
}

/// The metrics of a sender.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    records: Family<Labels, Counter>,
    pub(crate) waiting: Gauge,
    pub(crate) failures: Counter,
}

/// Stands for one record until it is settled. A record whose receipt is dropped was abandoned: no way that a
/// record can take leaves it uncounted.
#[derive(Debug)]
pub(crate) struct Receipt {
    event: Event,
    outcome: Outcome,
    metrics: Metrics,
}

// === impl Event ===

impl Event {
    /// The name of the event.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Observed => "policy_violation_observed",
            Self::Acknowledged => "policy_violation_acknowledged",
        }
    }
}

// === impl Outcome ===

impl Outcome {
    const ALL: [Self; 5] =
        [Self::Delivered, Self::Rejected, Self::Expired, Self::Overflowed, Self::Abandoned];

    const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "Delivered",
            Self::Rejected => "Rejected",
            Self::Expired => "Expired",
            Self::Overflowed => "Overflowed",
            Self::Abandoned => "Abandoned",
        }
    }
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        for event in [Event::Observed, Event::Acknowledged] {
            for outcome in Outcome::ALL {
                drop(metrics.records.get_or_create(&labels(event, outcome)));
            }
        }
        registry.register(
            "telemetry_records",
            "Log records for the collector, by event and by what became of them",
            metrics.records.clone(),
        );
        registry.register(
            "telemetry_records_waiting",
            "Log records that are not yet sent or given up",
            metrics.waiting.clone(),
        );
        registry.register(
            "telemetry_request_failures",
            "Requests that the collector did not take, whether they are tried again or not",
            metrics.failures.clone(),
        );
        metrics
    }
}

// === impl Receipt ===

impl Receipt {
    pub(crate) fn new(event: Event, metrics: &Metrics) -> Self {
        metrics.waiting.inc();
        Self { event, outcome: Outcome::Abandoned, metrics: metrics.clone() }
    }

    pub(crate) fn settle(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.metrics.waiting.dec();
        self.metrics.records.get_or_create(&labels(self.event, self.outcome)).inc();
    }
}

const fn labels(event: Event, outcome: Outcome) -> Labels {
    Labels { event: event.name(), outcome: outcome.name() }
}
