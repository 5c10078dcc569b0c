//! What is counted of watches.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::kind::Kind;

/// Families by kind. A family has every kind from the start, so that a missing one is no zero.
#[derive(Debug, Clone)]
pub(super) struct Metrics {
    pub(super) changes: Family<OfKind, Counter>,
    pub(super) lists: Family<OfKind, Counter>,
    pub(super) errors: Family<OfKind, Counter>,
    pub(super) unreadable: Family<OfKind, Counter>,
    pub(super) synced: Family<OfKind, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfKind {
    resource: &'static str,
}

// === impl OfKind ===

impl OfKind {
    pub(super) fn new(kind: Kind) -> Self {
        Self { resource: kind.resource() }
    }
}

// === impl Metrics ===

impl Metrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            changes: Family::default(),
            lists: Family::default(),
            errors: Family::default(),
            unreadable: Family::default(),
            synced: Family::default(),
        };
        for kind in Kind::ALL.map(OfKind::new) {
            for family in [&metrics.changes, &metrics.lists, &metrics.errors, &metrics.unreadable] {
                drop(family.get_or_create(&kind));
            }
            drop(metrics.synced.get_or_create(&kind));
        }
        registry.register(
            "watch_changes",
            "Objects that watches reported as new, changed or deleted",
            metrics.changes.clone(),
        );
        registry.register(
            "watch_lists",
            "Complete lists of a kind, at the start and where a watch could not be resumed",
            metrics.lists.clone(),
        );
        registry.register(
            "watch_errors",
            "Failed requests to list or watch a kind, each tried again",
            metrics.errors.clone(),
        );
        registry.register(
            "watch_unreadable_objects",
            "Objects of a kind that could not be read, each time one was reported",
            metrics.unreadable.clone(),
        );
        registry.register(
            "watch_synced",
            "1 while everything that the server tells of the kind is known",
            metrics.synced.clone(),
        );
        metrics
    }
}
