//! Who may lead when: pure, with both times as arguments. `Instant` is the clock of this process, which
//! decides; the other one is only written down for people.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use tokio::time::Instant;

use super::{Candidacy, FirstNote, Timing};

#[cfg(test)]
mod tests;

/// What one replica knows of the record.
pub(super) struct Election {
    metadata: ObjectMeta,
    identity: String,
    timing: Timing,
    first: Option<FirstNote>,
    /// The record as it was last seen, and since when it has been the same.
    seen: Option<(Lease, Instant)>,
    /// Whether nothing was asked of the server since, so that the record may still be this one.
    is_known: bool,
    /// This replica leads until then.
    until: Option<Instant>,
}

/// What is to be written.
#[derive(Debug, PartialEq)]
pub(super) enum Wish {
    /// Nothing: another one leads.
    Wait,
    Create(Lease),
    /// Over the version that was seen.
    Replace(Lease),
}

// === impl Election ===

impl Election {
    pub(super) fn new(candidacy: &Candidacy) -> Self {
        let metadata = ObjectMeta {
            namespace: Some(candidacy.namespace.clone()),
            name: Some(candidacy.name.clone()),
            ..ObjectMeta::default()
        };
        Self {
            metadata,
            identity: candidacy.identity.clone(),
            timing: candidacy.timing,
            first: candidacy.note.clone(),
            seen: None,
            is_known: false,
            until: None,
        }
    }

    pub(super) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Whether the record has to be read first. A leader knows what it wrote.
    pub(super) fn needs_to_look(&self, now: Instant) -> bool {
        !self.is_known || self.until.is_none_or(|until| until <= now)
    }

    /// The record is this now. As long as nobody writes it, its time runs from when it was first seen so.
    pub(super) fn saw(&mut self, lease: Option<Lease>, now: Instant) {
        self.is_known = true;
        self.seen = lease.map(|lease| match self.seen.take() {
            Some((known, since)) if known.spec == lease.spec => (lease, since),
            _ => (lease, now),
        });
        if !self.is_holder() {
            self.until = None;
        }
    }

    /// What to write now, with `own` noted by who leads already. Until that is known to be written, the record is not
    /// known.
    pub(super) fn wish(&mut self, now: Instant, wall: Timestamp, own: Option<String>) -> Wish {
        self.is_known = false;
        let Some((lease, since)) = &self.seen else {
            let spec = self.record(&LeaseSpec::default(), wall);
            let metadata = self.noting(self.metadata.clone(), None);
            return Wish::Create(Lease { metadata, spec: Some(spec) });
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let is_free = holder(&spec).is_empty() || self.is_holder();
        if !is_free && now < *since + duration(&spec, self.timing) {
            return Wish::Wait;
        }
        let spec = Some(self.record(&spec, wall));
        // What another noted counts for who takes over.
        let own = own.filter(|_| self.is_holder());
        Wish::Replace(Lease { metadata: self.noting(lease.metadata.clone(), own), spec })
    }

    /// What is noted in the record as it was last seen.
    pub(super) fn note(&self) -> Option<&str> {
        let (lease, _) = self.seen.as_ref()?;
        let annotations = lease.metadata.annotations.as_ref()?;
        annotations.get(self.first.as_ref()?.key).map(String::as_str)
    }

    /// The metadata with `own` as the note, or what stands there if it is understood.
    fn noting(&self, mut metadata: ObjectMeta, own: Option<String>) -> ObjectMeta {
        let Some(first) = &self.first else { return metadata };
        let annotations = metadata.annotations.get_or_insert_default();
        let known = annotations.get(first.key).filter(|one| one.starts_with(&first.topic));
        let text = own.or(known.cloned()).unwrap_or_else(|| first.text.clone());
        annotations.insert(first.key.to_owned(), text);
        metadata
    }

    /// The record was written as wished, by a request that was sent no earlier than `asked`.
    pub(super) fn won(&mut self, lease: Lease, asked: Instant) {
        self.is_known = true;
        self.seen = Some((lease, asked));
        self.until = Some(asked + self.timing.renew_deadline);
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Leads no more. The record that says so, if this replica holds it: it may be taken at once.
    pub(super) fn release(&mut self, wall: Timestamp, own: Option<String>) -> Option<Lease> {
        self.until.take()?;
        let (lease, _) = self.seen.as_ref()?;
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(wall)),
            ..lease.spec.clone()?
        };
        let metadata = self.noting(lease.metadata.clone(), own);
        Some(Lease { metadata, spec: Some(spec) })
    }

    fn is_holder(&self) -> bool {
        let spec = self.seen.as_ref().and_then(|(lease, _)| lease.spec.as_ref());
        spec.is_some_and(|spec| holder(spec) == self.identity)
    }

    /// The record that follows on `before` if this replica holds it.
    fn record(&self, before: &LeaseSpec, wall: Timestamp) -> LeaseSpec {
        let is_renewal = holder(before) == self.identity;
        let transitions = before.lease_transitions.unwrap_or_default();
        let seconds = self.timing.duration.as_secs().try_into().unwrap_or(i32::MAX);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            acquire_time: before
                .acquire_time
                .clone()
                .filter(|_| is_renewal)
                .or(Some(MicroTime(wall))),
            renew_time: Some(MicroTime(wall)),
            lease_transitions: Some(transitions.saturating_add(i32::from(!is_renewal))),
            ..before.clone()
        }
    }
}

fn holder(spec: &LeaseSpec) -> &str {
    spec.holder_identity.as_deref().unwrap_or_default()
}

/// How long the holder of the record asked for.
fn duration(spec: &LeaseSpec, timing: Timing) -> Duration {
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or(timing.duration, Duration::from_secs)
}
