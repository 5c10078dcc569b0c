//! Kubernetes Events about our objects. Nobody waits for them: they are published by a task of its own, at
//! a limited rate, and equal ones become one with a count. What does not fit is dropped and counted.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Recorder, Reporter};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};

pub use kube::runtime::events::{Event, EventType};

/// As many Events wait for their turn.
const CAPACITY: usize = 256;

/// Between two Events. The recorder remembers those of six minutes, so it remembers 3,600 at most.
const PERIOD: Duration = Duration::from_millis(100);

/// One that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// What the API lets a note hold (Kubernetes API, events.k8s.io/v1 Event).
const LONGEST_NOTE: usize = 1024;

/// Publishes Events.
#[derive(Clone)]
pub struct Events {
    waiting: mpsc::Sender<(Event, ObjectReference)>,
    counts: Family<Labels, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

const PUBLISHED: Labels = Labels { outcome: "Published" };
const DROPPED: Labels = Labels { outcome: "Dropped" };
const FAILED: Labels = Labels { outcome: "Failed" };

// === impl Events ===

impl Events {
    /// Starts to publish in the name of the replica `instance`.
    pub fn start(client: Client, instance: String, registry: &mut Registry) -> Self {
        let counts = Family::<Labels, Counter>::default();
        for labels in [PUBLISHED, DROPPED, FAILED] {
            drop(counts.get_or_create(&labels));
        }
        registry.register(
            "events",
            "Kubernetes Events by what became of them: published, dropped because too many waited, or failed",
            counts.clone(),
        );
        let reporter =
            Reporter { controller: crate::apply::FIELD_MANAGER.into(), instance: Some(instance) };
        let (waiting, queue) = mpsc::channel(CAPACITY);
        tokio::spawn(publish(Recorder::new(client, reporter), queue, counts.clone()));
        Self { waiting, counts }
    }

    /// Publishes `event` about `object`, soon. `action` and `reason` of it are words, the note is for people.
    pub fn publish(&self, mut event: Event, object: ObjectReference) {
        event.note = event.note.map(|note| cut(&note).to_owned());
        if self.waiting.try_send((event, object)).is_err() {
            self.counts.get_or_create(&DROPPED).inc();
        }
    }
}

async fn publish(
    recorder: Recorder,
    mut queue: mpsc::Receiver<(Event, ObjectReference)>,
    counts: Family<Labels, Counter>,
) {
    let mut period = interval(PERIOD);
    while let Some((event, object)) = queue.recv().await {
        period.tick().await;
        let outcome = match timeout(LIMIT, recorder.publish(&event, &object)).await {
            Ok(Ok(())) => PUBLISHED,
            Ok(Err(error)) => {
                tracing::debug!(%error, reason = event.reason, "an Event was not published");
                FAILED
            }
            Err(_) => FAILED,
        };
        counts.get_or_create(&outcome).inc();
    }
}

fn cut(note: &str) -> &str {
    &note[..note.floor_char_boundary(LONGEST_NOTE)]
}

#[cfg(test)]
mod tests;
