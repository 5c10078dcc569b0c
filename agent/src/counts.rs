//! What became of observations, as metrics.

use std::time::Duration;

use netenf_learn::proposal::Funnel;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// What learning counts. Sums are of the time that this replica leads, and begin anew with it.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    flows: Family<Labels, Gauge>,
    received: Gauge,
    lost: Gauge,
    before: Gauge,
    edges: Gauge,
    proposals: Gauge,
    violations_dropped: Gauge,
    flush: Histogram,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    source: &'static str,
    outcome: &'static str,
    reason: &'static str,
}

// === impl Counts ===

impl Counts {
    pub(crate) fn new(registry: &mut Registry) -> Self {
        let gauge = |name: &str, help: &str, registry: &mut Registry| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let counts = Self {
            flows: Family::default(),
            received: gauge("flows_received", "Observations of the source", registry),
            lost: gauge("flows_lost", "Events that the source says it lost", registry),
            before: gauge(
                "flows_before_resume",
                "Flows that were learned from before a restart",
                registry,
            ),
            edges: gauge("edges", "Distinct edges that are held in memory", registry),
            proposals: gauge("proposals_learned", "Proposals that were learned", registry),
            violations_dropped: gauge(
                "violations_dropped",
                "Distinct violations of a policy beyond what is kept of it between two writes",
                registry,
            ),
            flush: Histogram::new(exponential_buckets(0.001, 4.0, 8)),
        };
        registry.register(
            "flows",
            "Observations by what became of them, and why",
            counts.flows.clone(),
        );
        registry.register(
            "flush_duration_seconds",
            "Time to find what changed in an interval of learning",
            counts.flush.clone(),
        );
        counts
    }

    pub(crate) fn set(
        &self,
        source: &'static str,
        funnel: &Funnel,
        edges: usize,
        proposals: usize,
    ) {
        let set = |outcome, reason, count| {
            let labels = Labels { source, outcome, reason };
            self.flows.get_or_create(&labels).set(number(count));
        };
        set("Learned", "", funnel.learned);
        set("Uncovered", "", funnel.uncovered);
        set("Violation", "", funnel.violations);
        set("Error", "", funnel.errors);
        for (reason, count) in &funnel.skipped {
            set("Skipped", reason, *count);
        }
        self.received.set(number(funnel.received));
        self.lost.set(number(funnel.lost));
        self.edges.set(edges.try_into().unwrap_or(i64::MAX));
        self.proposals.set(proposals.try_into().unwrap_or(i64::MAX));
    }

    pub(crate) fn flushed(&self, took: Duration) {
        self.flush.observe(took.as_secs_f64());
    }

    pub(crate) fn before(&self, count: u64) {
        self.before.set(number(count));
    }

    pub(crate) fn dropped(&self, count: u64) {
        self.violations_dropped.set(number(count));
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
