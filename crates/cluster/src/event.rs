//! Kubernetes Events about our objects. Nobody waits for them: they are written by a task of its own, at a
//! limited rate. What is told again is counted in the Event that told it first, also after a restart. What
//! does not fit is dropped and counted.
//!
//! kube's own recorder makes an Event's name of the object's and a time, which the API server refuses for
//! objects whose names are near their limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Document, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use document::Telling;
use ledger::{Entry, Ledger};

mod document;
mod ledger;

/// Between two requests.
const PERIOD: Duration = Duration::from_millis(100);

/// A request that takes longer is given up.
const LIMIT: Duration = Duration::from_secs(10);

/// What happened to an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Event {
    /// How it is marked.
    pub type_: EventType,
    /// Why it is told, a word.
    pub reason: String,
    /// What was done, a word.
    pub action: String,
    /// What happened, for people. Whatever it holds, no control character of it is written.
    pub note: String,
}

/// How an Event is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// All is as it should be.
    Normal,
    /// Somebody has to do something.
    Warning,
}

/// Writes Events.
#[derive(Clone)]
pub struct Events {
    shared: Arc<Shared>,
}

struct Shared {
    instance: String,
    ledger: Mutex<Ledger>,
    changed: Notify,
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
    /// Starts to write in the name of the replica `instance`, for as long as the runtime lives.
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
        let (ledger, changed) = (Mutex::default(), Notify::new());
        let shared = Arc::new(Shared { instance, ledger, changed, counts });
        tokio::spawn(write(client, shared.clone()));
        Self { shared }
    }

    /// Has `event` about `object` written, soon. An object without a namespace is a cluster-wide one.
    pub fn publish(&self, event: Event, object: ObjectReference) {
        let telling = Telling::new(event, object, &self.shared.instance);
        match self.shared.ledger().add(telling, Instant::now()) {
            Ok(()) => self.shared.changed.notify_one(),
            Err(_) => self.shared.count(&DROPPED, 1),
        }
    }
}

// === impl Shared ===

impl Shared {
    /// No method of the ledger panics halfway.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, labels: &Labels, times: u32) {
        self.counts.get_or_create(labels).inc_by(times.into());
    }

    /// What is to be written next, once it is due.
    async fn next(&self) -> Entry {
        loop {
            let changed = self.changed.notified();
            let (next, due) = {
                let mut ledger = self.ledger();
                (ledger.next(Instant::now()), ledger.due())
            };
            match (next, due) {
                (Some(entry), _) => return entry,
                (None, Some(due)) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                },
                (None, None) => changed.await,
            }
        }
    }

    /// Tells of it as often as it happened. The first Event of a kind is created, what follows is counted there.
    async fn tell(&self, client: &Client, entry: &Entry) -> kube::Result<()> {
        let telling = &entry.telling;
        let events: Api<Document> = Api::namespaced(client.clone(), telling.namespace());
        let told = self.ledger().told(&telling.id);
        let mut total = told.unwrap_or_default().saturating_add(entry.times);
        if told.is_none() || !recount(&events, telling.name(), total).await? {
            total = entry.times;
            let document = telling.document(total, Timestamp::now());
            match events.create(&PostParams::default(), &document).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => {
                    let stored = events.get(telling.name()).await?;
                    total = document::times(&stored).saturating_add(total);
                    recount(&events, telling.name(), total).await?;
                }
                answer => drop(answer?),
            }
        }
        self.ledger().remember(telling.id, total, Instant::now());
        Ok(())
    }
}

async fn write(client: Client, shared: Arc<Shared>) {
    let mut period = interval(PERIOD);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let entry = shared.next().await;
        period.tick().await;
        let labels = match timeout(LIMIT, shared.tell(&client, &entry)).await {
            Ok(Ok(())) => PUBLISHED,
            Ok(Err(error)) => {
                tracing::debug!(%error, event = entry.telling.name(), "an Event was not written");
                FAILED
            }
            Err(_) => FAILED,
        };
        shared.count(&labels, entry.times);
    }
}

/// Writes how often it happened; false where the Event is gone, as they all go after a while.
async fn recount(events: &Api<Document>, name: &str, times: u32) -> kube::Result<bool> {
    let series = EventSeries {
        count: i32::try_from(times).unwrap_or(i32::MAX),
        last_observed_time: MicroTime(Timestamp::now()),
    };
    let patch = Patch::Merge(json!({ "series": series }));
    match events.patch(name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(false),
        answer => answer.map(|_| true),
    }
}
