//! Revisions as files, numbered within a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use netenf_k8s::lifecycle::{Record, Resource, Revision, Verb};

use super::name::shown;
use super::write::{After, Draft, Plan};
use super::{DirStore, STATE, name, place, read};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::StoreError;
use crate::store::History;

/// The most revisions that are kept of one name; the oldest go.
pub(super) const MAX_REVISIONS: usize = 100;

/// The record of a proposal that an interrupted promotion left over.
pub(super) fn leftover(object: Resource) -> Record {
    let now = jiff::Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    Record {
        time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now),
        verb: Verb::Promote,
        author: None,
        summary: "left over by a promotion that was interrupted, and removed".to_owned(),
        object,
    }
}

/// Reads the history of a name.
pub(super) fn read(store: &DirStore, namespace: &str, name: &str) -> Result<History, StoreError> {
    let mut history = History::default();
    for (number, path) in numbered(store, namespace, name)? {
        match revision(store, &path) {
            Ok(Some(revision)) => history.revisions.push(Revision { number, ..revision }),
            Ok(None) => {}
            Err(cause) => history.diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                place: shown(&path),
                line: None,
                cause,
                next_step: "restore the file from Git, or delete it".to_owned(),
                object: None,
            }),
        }
    }
    Ok(history)
}

/// Adds the files of `records` to `plan`.
pub(super) fn plan(
    store: &DirStore,
    records: impl Iterator<Item = Record>,
    plan: &mut Plan,
) -> Result<(), StoreError> {
    let mut next: BTreeMap<(String, String), u64> = BTreeMap::new();
    for record in records {
        let key = record.object.key();
        name::check(&key)?;
        let own = (key.namespace.clone(), key.name.clone());
        let number = match next.get(&own) {
            Some(number) => *number,
            None => first_free(store, &own, plan)?,
        };
        next.insert(own, number + 1);
        let path = folder(store, &key.namespace, &key.name).join(format!("{number}.yaml"));
        let target = place::of_state(store, &path)?;
        let after = After::Revision(Box::new(record.numbered(number)));
        plan.history.push(Draft { path, target, before: None, after });
        plan.applied.revisions.push((key, number));
    }
    Ok(())
}

/// The next number of a name; what is too old to be kept goes to the litter.
fn first_free(
    store: &DirStore,
    (namespace, name): &(String, String),
    plan: &mut Plan,
) -> Result<u64, StoreError> {
    let known = numbered(store, namespace, name)?;
    let number = known.last().map_or(1, |(number, _)| number + 1);
    let over = (known.len() + 1).saturating_sub(MAX_REVISIONS);
    plan.litter.extend(known.into_iter().take(over).map(|(_, path)| path));
    Ok(number)
}

fn folder(store: &DirStore, namespace: &str, name: &str) -> PathBuf {
    store.root.join(STATE).join("history").join(namespace).join(name)
}

/// The revisions of a name by number.
fn numbered(
    store: &DirStore,
    namespace: &str,
    name: &str,
) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let folder = folder(store, namespace, name);
    place::check_state_folder(&store.root, &folder)?;
    let mut numbered = Vec::new();
    for name in read::names(&folder)? {
        // No revision has a larger number, and the one after it is a number too.
        if let Some(Ok(number)) = name.strip_suffix(".yaml").map(str::parse::<u32>) {
            numbered.push((u64::from(number), folder.join(name)));
        }
    }
    numbered.sort_unstable();
    Ok(numbered)
}

fn revision(store: &DirStore, path: &Path) -> Result<Option<Revision>, String> {
    place::check_state(&store.root, path).map_err(|_| "is no regular file".to_owned())?;
    let text = read::text(path).map_err(|diagnostic| diagnostic.cause)?;
    let Some(text) = text else { return Err("is no revision".to_owned()) };
    let options = serde_saphyr::options! { with_snippet: false, emit_comments: false };
    serde_saphyr::from_str_with_options(&text, options).map(Some).map_err(|error| error.to_string())
}
