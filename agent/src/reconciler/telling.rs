//! Tells people what happened, by Events.

use k8s_openapi::api::core::v1::ObjectReference;
use netenf_cluster::event::{self, EventType};
use netenf_cluster::watch::Unreadable;
use netenf_k8s::lifecycle::{Key, Kind};
use netenf_k8s::reconcile::{self, EventKind};

use super::Reconciler;
use crate::stored::Name;

// === impl Reconciler ===

impl Reconciler {
    /// Has an Event written, soon.
    pub(super) fn tell(&self, event: reconcile::Event) {
        let kind = match event.kind {
            EventKind::Normal => EventType::Normal,
            EventKind::Warning => EventType::Warning,
        };
        let name = (event.about.namespace.clone(), event.about.name.clone());
        let about = ObjectReference {
            api_version: Some(format!("{}/{}", netenf_api::GROUP, netenf_api::VERSION)),
            kind: Some(event.about.kind.as_str().to_owned()),
            namespace: Some(name.0.clone()),
            name: Some(name.1.clone()),
            uid: self.uid(&event.about, &name),
            ..ObjectReference::default()
        };
        let event = event::Event {
            type_: kind,
            reason: event.reason.to_string(),
            note: event.message,
            action: "Reconcile".to_owned(),
        };
        self.events.publish(event, about);
    }

    fn uid(&self, about: &Key, name: &Name) -> Option<String> {
        let stored = self.stored.lock();
        if let Some(it) = stored.unreadable(name) {
            return it.uid.clone();
        }
        match about.kind {
            Kind::Proposal => stored.proposals.get(name)?.metadata.uid.clone(),
            Kind::Policy => stored.policies.get(name)?.metadata.uid.clone(),
        }
    }
}

/// The key of an object that cannot be read.
pub(super) fn unread_key(it: &Unreadable) -> Key {
    let (namespace, name) = (it.namespace.clone(), it.name.clone());
    match it.kind {
        netenf_cluster::Kind::Proposal => Key::proposal(namespace, name),
        _ => Key::policy(namespace, name),
    }
}
