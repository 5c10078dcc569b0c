//! The watch of one kind: list, follow, list again where needed.

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::core::Status;
use kube::runtime::watcher::{self, DefaultBackoff, Event, watcher};
use kube::{Api, Resource, ResourceExt as _};
use netenf_k8s::Object;
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::metric::{Metrics, OfKind};
use super::{Change, State, States, Unreadable};
use crate::kind::Kind;

/// The server ends a watch after as long, and it is resumed. A connection that broke without a word is
/// found out no later than five seconds after that.
const WATCH_SECONDS: u32 = 60;

/// A watcher tells of its failures only. One that is silent for as long after a failure goes well again;
/// that the server answers at all is what [`crate::pulse`] finds out.
const GRACE: Duration = Duration::from_secs(5);

/// A kind that may not be read is asked for again after as long.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(30);

/// A kind that is not served is asked for again after pauses that double from the first to the second. A
/// changed definition begins anew: the server serves a kind a moment after it says so.
const ABSENT_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// What all watches share.
#[derive(Clone)]
pub(super) struct Hub {
    pub(super) changes: mpsc::Sender<Change>,
    pub(super) states: watch::Sender<States>,
    pub(super) definitions: watch::Receiver<()>,
    pub(super) metrics: Metrics,
}

/// The watch of one kind.
pub(super) struct Source<K, R> {
    pub(super) kind: Kind,
    /// Of the versions that the kind may be served in, the best first.
    pub(super) apis: Vec<Api<K>>,
    pub(super) read: R,
    pub(super) hub: Hub,
}

/// What a list told until now.
#[derive(Default)]
struct Listed {
    objects: Vec<Object>,
    unreadable: Vec<Unreadable>,
}

/// Why the objects of a version are no longer followed.
enum End {
    NotServed,
    Forbidden(String),
    /// Nobody receives changes any more.
    Closed,
}

// === impl Source ===

impl<K, R> Source<K, R>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    R: Fn(K) -> Result<Object, String> + Sync,
{
    /// Watches for as long as somebody receives changes.
    pub(super) async fn run(mut self) {
        let mut pause = ABSENT_PAUSES.0;
        loop {
            match self.follow_any().await {
                End::Closed => return,
                End::Forbidden(message) => {
                    tracing::warn!(kind = %self.kind, message, "the kind may not be read; grant list and watch");
                    self.enter(State::Forbidden(message));
                    sleep(FORBIDDEN_PAUSE).await;
                }
                End::NotServed => {
                    if self.leave().await.is_err() {
                        return;
                    }
                    pause = match timeout(pause, self.hub.definitions.changed()).await {
                        Ok(Ok(())) => ABSENT_PAUSES.0,
                        Ok(Err(_)) => return,
                        Err(_) => ABSENT_PAUSES.1.min(pause * 2),
                    };
                }
            }
        }
    }

    /// Follows the first version that is served.
    async fn follow_any(&self) -> End {
        for api in &self.apis {
            match self.follow(api.clone()).await {
                End::NotServed => {}
                end @ (End::Forbidden(_) | End::Closed) => return end,
            }
        }
        End::NotServed
    }

    async fn follow(&self, api: Api<K>) -> End {
        let config = watcher::Config::default().timeout(WATCH_SECONDS);
        let mut events = pin!(watcher(api, config));
        let mut backoff = DefaultBackoff::default();
        let mut listed = Some(Listed::default());
        loop {
            let event = match timeout(GRACE, events.next()).await {
                Ok(Some(event)) => event,
                Ok(None) => return End::NotServed,
                Err(_) if listed.is_none() => {
                    self.enter(State::Synced);
                    continue;
                }
                Err(_) => continue,
            };
            match event {
                Ok(event) => {
                    if self.take(event, &mut listed).await.is_err() {
                        return End::Closed;
                    }
                }
                Err(error) => {
                    if let Some(end) = self.judge(&error) {
                        return end;
                    }
                    sleep(backoff.next().unwrap_or(GRACE)).await;
                }
            }
        }
    }

    /// Notes a failure, and says whether following ends with it.
    fn judge(&self, error: &watcher::Error) -> Option<End> {
        match status(error).map(|status| (status.code, &status.message)) {
            Some((404, _)) => return Some(End::NotServed),
            Some((403, message)) => return Some(End::Forbidden(message.clone())),
            // The watcher lists again by itself, which its next events show.
            Some((410, _)) => {}
            Some(_) | None => {
                self.hub.metrics.errors.get_or_create(&OfKind::new(self.kind)).inc();
                let trouble = State::Failing(error.to_string());
                if self.hub.states.borrow().get(&self.kind) != Some(&trouble) {
                    tracing::warn!(kind = %self.kind, %error, "the watch failed; it is tried again");
                }
                self.enter(trouble);
            }
        }
        None
    }

    /// Hands an event on. Objects between the begin and the end of a list are gathered in `listed`.
    async fn take(
        &self,
        event: Event<K>,
        listed: &mut Option<Listed>,
    ) -> Result<(), mpsc::error::SendError<Change>> {
        match event {
            Event::Init => *listed = Some(Listed::default()),
            Event::InitApply(object) => match self.read(object) {
                Ok(object) => listed.get_or_insert_default().objects.push(object),
                Err(unreadable) => listed.get_or_insert_default().unreadable.push(unreadable),
            },
            Event::InitDone => {
                let Listed { objects, unreadable } = listed.take().unwrap_or_default();
                self.send(Change::Replaced(self.kind, objects)).await?;
                for one in unreadable {
                    self.send(Change::Unreadable(one)).await?;
                }
                self.hub.metrics.lists.get_or_create(&OfKind::new(self.kind)).inc();
                self.enter(State::Synced);
            }
            Event::Apply(object) => {
                self.send(self.read(object).map_or_else(Change::Unreadable, Change::Applied))
                    .await?;
                self.count_change();
            }
            Event::Delete(object) => {
                let gone = |it| Change::Unreadable(Unreadable { is_gone: true, ..it });
                self.send(self.read(object).map_or_else(gone, Change::Deleted)).await?;
                self.count_change();
            }
        }
        Ok(())
    }

    fn read(&self, object: K) -> Result<Object, Unreadable> {
        let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
        let uid = object.uid();
        (self.read)(object).map_err(|message| {
            self.hub.metrics.unreadable.get_or_create(&OfKind::new(self.kind)).inc();
            Unreadable { kind: self.kind, namespace, name, uid, is_gone: false, message }
        })
    }

    /// Says, once, that a kind which is not served has no objects.
    async fn leave(&self) -> Result<(), mpsc::error::SendError<Change>> {
        let is_known = self.hub.states.borrow().get(&self.kind) == Some(&State::Absent);
        if !is_known {
            self.send(Change::Replaced(self.kind, Vec::new())).await?;
            self.enter(State::Absent);
        }
        Ok(())
    }

    async fn send(&self, change: Change) -> Result<(), mpsc::error::SendError<Change>> {
        self.hub.changes.send(change).await
    }

    fn count_change(&self) {
        self.hub.metrics.changes.get_or_create(&OfKind::new(self.kind)).inc();
    }

    fn enter(&self, state: State) {
        let synced = i64::from(state == State::Synced);
        self.hub.metrics.synced.get_or_create(&OfKind::new(self.kind)).set(synced);
        self.hub.states.send_if_modified(|states| {
            let is_new = states.get(&self.kind) != Some(&state);
            states.insert(self.kind, state);
            is_new
        });
    }
}

/// What the server said, if it answered.
fn status(error: &watcher::Error) -> Option<&Status> {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => match error {
            kube::Error::Api(status) => Some(status),
            _ => None,
        },
        watcher::Error::WatchError(status) => Some(status),
        watcher::Error::NoResourceVersion => None,
    }
}
