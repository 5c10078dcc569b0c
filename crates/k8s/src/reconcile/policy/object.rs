//! The native object of a policy: what is written, so that it is what it should be.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use netenf_api::{Mode, key};

use super::super::{Document, FIELD_MANAGER, Step};
use super::{Found, Wanted};
use crate::render::{Native, NativeKind};

/// What is written, if anything.
pub(super) fn step(wanted: &Wanted, found: Found<'_>, mode: Mode) -> Option<Step> {
    match (wanted, found) {
        (Wanted::Object(object), Found::Nothing) => {
            Some(Step::Create(Document::Native(object.clone())))
        }
        // What is about to go is decided on when it is gone.
        (_, Found::Own(own)) if own.metadata.deletion_timestamp.is_some() => None,
        (Wanted::Object(object), Found::Own(own)) => replaced(own, object),
        (Wanted::Nothing, Found::Own(own)) => Some(deleted(own)),
        (Wanted::Last { .. }, Found::Own(own)) => quietened(own, mode),
        (Wanted::LeftAlone, _) | (_, Found::Nothing | Found::Foreign) => None,
    }
}

/// An invalid spec changes nothing but that monitor blocks nothing.
fn quietened(own: &Native, mode: Mode) -> Option<Step> {
    match (mode, own.kind) {
        (Mode::Monitor, NativeKind::NetworkPolicy) => Some(deleted(own)),
        (Mode::Monitor, NativeKind::AuthorizationPolicy) if !own.is_dry() => {
            Some(Step::Replace(Document::Native(Box::new(own.clone().dry()))))
        }
        (Mode::Monitor | Mode::Protect, _) => None,
    }
}

fn deleted(own: &Native) -> Step {
    Step::Delete(Document::Native(Box::new(own.clone())))
}

/// Whether `written` changes what `stored` enforces or whose it is, and not only labels.
pub(super) fn is_drift(stored: &Native, written: &Native) -> bool {
    stored.kind.stored(stored.spec.clone()) != written.spec
        || stored.metadata.annotations != written.metadata.annotations
        || stored.metadata.owner_references != written.metadata.owner_references
}

/// The whole object in place of what is stored, if that differs. Applying would leave in place what others
/// added to a map, such as a label to Istio's selector, or a dry run to what is to protect.
fn replaced(stored: &Native, wanted: &Native) -> Option<Step> {
    let object = Native {
        kind: wanted.kind,
        metadata: metadata(stored, &wanted.metadata),
        spec: wanted.spec.clone(),
    };
    let has_labels = stored.metadata.labels == object.metadata.labels;
    let is_change = !has_labels || is_drift(stored, &object);
    is_change.then(|| Step::Replace(Document::Native(Box::new(object))))
}

/// What is ours as it should be, what is others' as it is: another's label changes nothing that is enforced,
/// and taking it out would be a quarrel without end.
fn metadata(stored: &Native, wanted: &ObjectMeta) -> ObjectMeta {
    let mut metadata = stored.metadata.clone();
    let own = own_labels(stored);
    let mut labels = metadata.labels.take().unwrap_or_default();
    labels.retain(|label, _| !own.contains(label.as_str()));
    labels.extend(wanted.labels.clone().unwrap_or_default());
    metadata.labels = (!labels.is_empty()).then_some(labels);
    let mut annotations = metadata.annotations.take().unwrap_or_default();
    annotations.remove(key::ISTIO_DRY_RUN);
    annotations.extend(wanted.annotations.clone().unwrap_or_default());
    metadata.annotations = (!annotations.is_empty()).then_some(annotations);
    let owners = wanted.owner_references.iter().flatten();
    let is_ours = |uid: &str| owners.clone().any(|owner| owner.uid == uid);
    let mut all = metadata.owner_references.take().unwrap_or_default();
    all.retain(|owner| !is_ours(&owner.uid));
    all.splice(0..0, owners.clone().cloned());
    metadata.owner_references = Some(all);
    metadata
}

/// The labels of `native` that the agent wrote.
fn own_labels(native: &Native) -> BTreeSet<&str> {
    let entries = native.metadata.managed_fields.iter().flatten();
    let own = entries.filter(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER));
    let labels = own.filter_map(|entry| {
        entry.fields_v1.as_ref()?.0.pointer("/f:metadata/f:labels")?.as_object()
    });
    labels.flat_map(|labels| labels.keys()).filter_map(|field| field.strip_prefix("f:")).collect()
}
