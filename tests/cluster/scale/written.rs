//! Every change of an object that the API server told.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::Api;
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;

use tokio::time::{Instant, sleep};

use super::ByName;

const SOON: Duration = Duration::from_secs(30);

/// What was written so far.
pub(super) struct Written {
    changes: Arc<Mutex<ByName<Changes>>>,
    _watch: tokio::task::JoinSet<()>,
}

/// The changes of one object.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    /// How often its spec was written, its creation too.
    pub(super) specs: usize,
    pub(super) statuses: usize,
    /// What it told after each change.
    told: Vec<(Value, Value)>,
}

impl Written {
    /// Watches from now on; there is nothing yet.
    pub(super) async fn watch(api: Api<DynamicObject>) -> Self {
        let changes = Arc::new(Mutex::new(ByName::<Changes>::new()));
        let mut watch = tokio::task::JoinSet::new();
        let noted = Arc::clone(&changes);
        let events = api.watch(&WatchParams::default().timeout(290), "0").await.unwrap();
        watch.spawn(async move {
            let mut events = pin!(events);
            while let Some(event) = events.next().await {
                match event.unwrap() {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                        let name = &object.metadata;
                        let name = (name.namespace.clone().unwrap(), name.name.clone().unwrap());
                        noted.lock().unwrap().entry(name).or_default().note(&object.data);
                    }
                    WatchEvent::Bookmark(_) => {}
                    other => panic!("unexpected: {other:?}"),
                }
            }
        });
        Self { changes, _watch: watch }
    }

    /// All changes, once there are as many as there were requests: one that changed nothing is none.
    pub(super) async fn until(&self, requests: u64) -> ByName<Changes> {
        let count = || {
            let changes = self.changes.lock().unwrap();
            changes.values().map(|one| one.specs + one.statuses).sum::<usize>() as u64
        };
        let end = Instant::now() + SOON;
        while count() != requests {
            assert!(Instant::now() < end, "{requests} requests made {} changes", count());
            sleep(Duration::from_millis(20)).await;
        }
        self.changes.lock().unwrap().clone()
    }
}

impl Changes {
    fn note(&mut self, object: &Value) {
        let told = (object["spec"].clone(), object["status"].clone());
        let is_spec = self.told.last().is_none_or(|(spec, _)| *spec != told.0);
        if is_spec {
            self.specs += 1;
        } else {
            self.statuses += 1;
        }
        self.told.push(told);
    }

    /// Panics if a change told nothing but how often and when something was seen.
    #[track_caller]
    pub(super) fn assert_new(&self, name: &(String, String)) {
        let plain: Vec<(Value, Value)> =
            self.told.iter().map(|(spec, status)| (spec.clone(), without_counts(status))).collect();
        for pair in plain.windows(2) {
            assert!(
                pair[0] != pair[1],
                "{name:?} was written for its counts: {:#}",
                pair[1].1["conditions"]
            );
        }
    }
}

fn without_counts(status: &Value) -> Value {
    match status {
        Value::Object(fields) => {
            let is_kept = |name: &str| {
                !["count", "lastSeen", "learnedUntil", "lastTransitionTime"].contains(&name)
            };
            let kept = fields.iter().filter(|(name, _)| is_kept(name));
            let value = |name: &str, value: &Value| match value.as_str() {
                // Messages of conditions hold counts.
                Some(text) if name == "message" => {
                    Value::from(text.replace(|one: char| one.is_ascii_digit(), ""))
                }
                _ => without_counts(value),
            };
            kept.map(|(name, it)| (name.clone(), value(name, it))).collect()
        }
        Value::Array(items) => items.iter().map(without_counts).collect(),
        other => other.clone(),
    }
}
