//! One leader among replicas, by a Lease of `coordination.k8s.io/v1`, in the way of client-go: who holds
//! the record leads, renews it, and stops by itself before anybody else may take it.
//!
//! Clocks of other machines are not believed. A replica takes a record over once it did not change for its
//! duration *here*; a leader counts from before it sent the request that renewed it. So the leader has
//! stopped before another can begin, however late the server answers, as long as clocks run at about the
//! same speed.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::apply::{Cause, WriteError, Writer};
use election::{Election, Wish};

mod election;

/// A deadline for those who have none.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

/// The times of client-go: how long a record holds, how long a leader tries to renew it before it stops,
/// and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// A record that did not change for as long may be taken over. More than `renew_deadline`.
    pub duration: Duration,
    /// A leader that could not renew for as long leads no more.
    pub renew_deadline: Duration,
    /// Between two attempts.
    pub retry_period: Duration,
}

/// Which record it is about, and who asks for it.
#[derive(Debug, Clone)]
pub struct Candidacy {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Unique among the replicas: the name of the pod.
    pub identity: String,
    /// The times.
    pub timing: Timing,
    /// What the record says besides.
    pub note: Option<FirstNote>,
}

/// An annotation that a leader leaves for the next one; it costs no request of its own.
#[derive(Debug, Clone)]
pub struct FirstNote {
    /// The annotation.
    pub key: &'static str,
    /// What stands there from the first, or in place of what does not begin with `topic`.
    pub text: String,
    /// With this begins what a leader of this kind understands.
    pub topic: String,
}

/// Whether this process leads, now.
#[derive(Debug, Clone)]
pub struct Leadership {
    until: watch::Receiver<Option<Instant>>,
    trouble: watch::Receiver<Option<String>>,
    note: watch::Receiver<Option<String>>,
}

/// Takes part in the election until it is released or dropped.
pub struct Elector {
    task: JoinHandle<()>,
    release: oneshot::Sender<()>,
}

// === impl Timing ===

impl Default for Timing {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

// === impl Leadership ===

impl Leadership {
    /// Of a process that runs alone.
    pub fn unopposed() -> Self {
        let until = watch::channel(Some(Instant::now() + FAR)).1;
        Self { until, trouble: watch::channel(None).1, note: watch::channel(None).1 }
    }

    /// What the leader before, or this one, noted in the record when it was last seen.
    pub fn note(&self) -> Option<String> {
        self.note.borrow().clone()
    }

    /// Why it is not known who leads; `None` if this replica or another does.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Whether this process leads. To be asked before each write: nobody else can lead while it holds.
    pub fn is_held(&self) -> bool {
        is_ahead(*self.until.borrow())
    }

    /// Waits until [`Self::is_held`] is no longer `before`.
    pub async fn changed_from(&mut self, before: bool) {
        loop {
            let until = *self.until.borrow_and_update();
            if is_ahead(until) != before {
                return;
            }
            let end = until.filter(|_| before).unwrap_or_else(|| Instant::now() + FAR);
            tokio::select! {
                changed = self.until.changed() => if changed.is_err() {
                    sleep_until(end).await;
                },
                () = sleep_until(end) => {}
            }
        }
    }
}

fn is_ahead(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() < until)
}

// === impl Elector ===

impl Elector {
    /// Begins to ask for the record. While this replica leads, what is in `notes` is noted with each renewal, and
    /// when it gives the record up.
    pub fn start(
        client: Client,
        writer: Writer,
        candidacy: &Candidacy,
        notes: watch::Receiver<Option<String>>,
        registry: &mut Registry,
    ) -> (Self, Leadership) {
        let leads = Gauge::default();
        registry.register("leader", "1 while this replica leads", leads.clone());
        let (sender, until) = watch::channel(None);
        let (troubles, trouble) = watch::channel(Some("not asked for yet".to_owned()));
        let (noted, note) = watch::channel(None);
        let (release, released) = oneshot::channel();
        let campaign = Campaign {
            leases: Api::namespaced(client, &candidacy.namespace),
            election: Election::new(candidacy),
            timing: candidacy.timing,
            until: sender,
            trouble: troubles,
            notes,
            noted,
            led: false,
            leads,
            writer,
        };
        let task = tokio::spawn(campaign.run(released));
        (Self { task, release }, Leadership { until, trouble, note })
    }

    /// Gives the record up, if this replica holds it, so that another need not wait for its end.
    pub async fn release(self) {
        let _ = self.release.send(());
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the election ended early");
        }
    }
}

/// The election, and what it needs of the world.
struct Campaign {
    leases: Api<Lease>,
    writer: Writer,
    election: Election,
    timing: Timing,
    until: watch::Sender<Option<Instant>>,
    trouble: watch::Sender<Option<String>>,
    notes: watch::Receiver<Option<String>>,
    noted: watch::Sender<Option<String>>,
    /// As of the last attempt.
    led: bool,
    leads: Gauge,
}

// === impl Campaign ===

impl Campaign {
    async fn run(mut self, mut released: oneshot::Receiver<()>) {
        loop {
            self.attempt().await;
            self.publish();
            tokio::select! {
                _ = &mut released => break,
                () = sleep(self.timing.retry_period) => {}
            }
        }
        self.give_up().await;
    }

    /// One attempt to get or renew the record. What went wrong is tried again, and seen in the metrics.
    async fn attempt(&mut self) {
        let limit = self.timing.renew_deadline / 2;
        let trouble = match timeout(limit, self.ask()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(chain(&*error)),
            Err(_) => Some(format!("the API server did not answer in {} s", limit.as_secs())),
        };
        let known = self.trouble.send_replace(trouble.clone());
        if let Some(trouble) = trouble.filter(|trouble| known.as_ref() != Some(trouble)) {
            tracing::warn!(trouble, "the lease was not got or renewed; it is tried again");
        }
    }

    async fn ask(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let asked = Instant::now();
        if self.election.needs_to_look(asked) {
            let lease = self.leases.get_opt(self.election.name()).await?;
            self.election.saw(lease, Instant::now());
        }
        let own = self.notes.borrow().clone();
        let (wish, asked) = (self.election.wish(Instant::now(), now(), own), Instant::now());
        let written = match &wish {
            Wish::Wait => return Ok(()),
            Wish::Create(lease) => self.writer.create(lease).await,
            Wish::Replace(lease) => self.writer.replace(lease).await,
        };
        match written {
            Ok(lease) => self.election.won(lease, asked),
            Err(WriteError { cause: Cause::Conflict(_) | Cause::AlreadyExists, .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn publish(&mut self) {
        let until = self.election.until();
        // Who begins to lead asks for the note at once.
        self.noted.send_replace(self.election.note().map(str::to_owned));
        self.until.send_replace(until);
        let leads = is_ahead(until);
        if leads != self.led {
            tracing::info!(leads, "the leadership changed");
        }
        self.led = leads;
        self.leads.set(i64::from(leads));
    }

    async fn give_up(&mut self) {
        let own = self.notes.borrow().clone();
        let released = self.election.release(now(), own);
        self.until.send_replace(None);
        self.leads.set(0);
        let Some(lease) = released else { return };
        match timeout(self.timing.retry_period, self.writer.replace(&lease)).await {
            Ok(Ok(_)) => tracing::info!("the lease was given up"),
            Ok(Err(error)) => tracing::warn!(error = %chain(&error), "the lease was not given up"),
            Err(_) => tracing::warn!("the lease was not given up: the API server does not answer"),
        }
    }
}

fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |error| error.source())
        .fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
