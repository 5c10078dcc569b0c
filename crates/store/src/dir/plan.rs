//! What a batch makes of which files, before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use netenf_k8s::lifecycle::{Key, Kind, Record, Resource};

use super::collect::{Collection, Location, collect};
use super::edit::Edit;
use super::name::{self, shown};
use super::parse::Content;
use super::write::{After, Draft, FileWrite, Home, Plan};
use super::{DirStore, history, place, read};
use crate::error::StoreError;
use crate::store::{Batch, BlobChange, Change, Version};

/// Decides what `batch` makes of the files of `store`, or why it cannot be done.
pub(super) fn plan(store: &DirStore, batch: &Batch) -> Result<Plan, StoreError> {
    check_once(batch)?;
    let collection = collect(store, None)?;
    let mut planner = Planner { store, collection, edits: BTreeMap::new(), creations: Vec::new() };
    for change in &batch.changes {
        planner.add(change)?;
    }
    let finished = planner.finish_leftovers(batch);
    let mut plan = planner.into_plan(batch)?;
    let records = batch.records.iter().cloned().chain(finished.iter().cloned());
    history::plan(store, records, &mut plan)?;
    for change in &batch.blobs {
        plan.blobs.extend(blob(store, change)?);
    }
    plan.applied.finished = finished.iter().map(|record| record.object.key()).collect();
    Ok(plan)
}

/// The changes of a batch on their way to files.
struct Planner<'a> {
    store: &'a DirStore,
    collection: Collection,
    /// By source.
    edits: BTreeMap<usize, Vec<(usize, Edit)>>,
    creations: Vec<Resource>,
}

// === impl Planner ===

impl Planner<'_> {
    fn add(&mut self, change: &Change) -> Result<(), StoreError> {
        let key = change.key();
        name::check(&key)?;
        match change {
            Change::Create(object) => self.create(&key, object),
            Change::Replace { object, expected } => {
                let location = self.expected(&key, expected)?;
                self.check_fields(location)?;
                self.edit(location, Edit::Replace(Box::new(object.clone())))
            }
            Change::Delete { expected, .. } => {
                let location = self.expected(&key, expected)?;
                self.edit(location, Edit::Remove)
            }
        }
    }

    fn create(&mut self, key: &Key, object: &Resource) -> Result<(), StoreError> {
        match self.collection.locate(key)? {
            None => {
                self.collection.check_broken(key)?;
                self.creations.push(object.clone());
                Ok(())
            }
            // What reading does not show is not in the way.
            Some(location) if self.is_leftover(key) => {
                self.edit(location, Edit::Replace(Box::new(object.clone())))
            }
            Some(location) => {
                Err(StoreError::Exists { key: key.clone(), place: self.collection.place(location) })
            }
        }
    }

    fn is_leftover(&self, key: &Key) -> bool {
        self.collection.leftovers().iter().any(|(leftover, _)| leftover == key)
    }

    fn expected(&self, key: &Key, expected: &Version) -> Result<Location, StoreError> {
        let Some(location) = self.collection.locate(key)? else {
            self.collection.check_broken(key)?;
            return Err(StoreError::Changed { place: key.to_string() });
        };
        let source = &self.collection.sources[location.source];
        if source.version != *expected {
            return Err(StoreError::Changed { place: shown(&source.path) });
        }
        Ok(location)
    }

    fn check_fields(&self, location: Location) -> Result<(), StoreError> {
        let document = &self.collection.sources[location.source].documents[location.document];
        match &document.content {
            Content::Ours { unknown, .. } if !unknown.is_empty() => {
                Err(StoreError::UnknownFields {
                    place: self.collection.place(location),
                    fields: unknown.clone(),
                })
            }
            Content::Ours { .. } | Content::Foreign | Content::Broken(_) => Ok(()),
        }
    }

    /// A file in which something cannot be read is not written to at all.
    fn edit(&mut self, location: Location, edit: Edit) -> Result<(), StoreError> {
        let path = &self.collection.sources[location.source].path;
        if let Some((_, broken)) = self.collection.broken.iter().find(|(own, _)| own == path) {
            return Err(StoreError::Broken(Box::new(broken.clone())));
        }
        self.edits.entry(location.source).or_default().push((location.document, edit));
        Ok(())
    }

    /// Removes what interrupted promotions left, and records it, so that nothing is lost.
    fn finish_leftovers(&mut self, batch: &Batch) -> Vec<Record> {
        let changed: BTreeSet<Key> = batch.changes.iter().map(Change::key).collect();
        let mut finished = Vec::new();
        for (key, location) in self.collection.leftovers() {
            let policy = key.with_kind(Kind::Policy);
            let Some(object) = self.collection.object(location).cloned() else { continue };
            if changed.contains(&key) || changed.contains(&policy) && self.is_removed(&policy) {
                continue;
            }
            if self.edit(location, Edit::Remove).is_ok() {
                finished.push(history::leftover(object));
            }
        }
        finished
    }

    fn is_removed(&self, key: &Key) -> bool {
        let Ok(Some(location)) = self.collection.locate(key) else { return false };
        let edits = self.edits.get(&location.source).map_or(&[][..], Vec::as_slice);
        edits.contains(&(location.document, Edit::Remove))
    }

    fn into_plan(mut self, batch: &Batch) -> Result<Plan, StoreError> {
        let mut plan = Plan { litter: self.collection.temporary.clone(), ..Plan::default() };
        let mut texts = BTreeMap::new();
        for source in self.edits.keys() {
            texts.insert(*source, self.text(*source)?);
        }
        for object in mem::take(&mut self.creations) {
            plan.objects.push(self.creation(object, &texts)?);
        }
        for (source, text) in texts {
            plan.objects.push(self.edited(source, text)?);
        }
        plan.homes = self.homes(batch);
        Ok(plan)
    }

    fn creation(
        &self,
        object: Resource,
        texts: &BTreeMap<usize, String>,
    ) -> Result<Draft, StoreError> {
        let key = object.key();
        let (path, target) = place::of_new(self.store, &key)?;
        let old = self.replaced(&key, texts).map(str::to_owned);
        Ok(Draft { path, target, before: None, after: After::New { object, old } })
    }

    /// The text of the object of the other kind that goes as this one comes.
    fn replaced<'a>(&self, key: &Key, texts: &'a BTreeMap<usize, String>) -> Option<&'a str> {
        let other = match key.kind {
            Kind::Proposal => key.with_kind(Kind::Policy),
            Kind::Policy => key.with_kind(Kind::Proposal),
        };
        if !self.is_removed(&other) {
            return None;
        }
        let location = self.collection.locate(&other).ok()??;
        let document = &self.collection.sources[location.source].documents[location.document];
        texts.get(&location.source)?.get(document.span.whole.clone())
    }

    fn edited(&mut self, source: usize, text: String) -> Result<Draft, StoreError> {
        let edits = self.edits.remove(&source).unwrap_or_default();
        let source = &self.collection.sources[source];
        Ok(Draft {
            path: source.path.clone(),
            target: place::of_existing(self.store, &source.path)?,
            before: Some(text.into_bytes()),
            after: After::Edited { documents: Arc::clone(&source.documents), edits },
        })
    }

    /// The text of a source, which must still be what was parsed.
    fn text(&self, source: usize) -> Result<String, StoreError> {
        let source = &self.collection.sources[source];
        let text = read::text(&source.path).map_err(StoreError::Broken)?;
        text.filter(|text| read::version(text.as_bytes()) == source.version)
            .ok_or_else(|| StoreError::Changed { place: shown(&source.path) })
    }

    /// Where the objects that are written will stand.
    fn homes(&self, batch: &Batch) -> Vec<Home> {
        let homes = batch.changes.iter().filter_map(|change| {
            let key = match change {
                Change::Create(object) | Change::Replace { object, .. } => object.key(),
                Change::Delete { .. } => return None,
            };
            let (path, version) = if let Ok(Some(location)) = self.collection.locate(&key) {
                let source = &self.collection.sources[location.source];
                (source.path.clone(), Some(source.version.clone()))
            } else {
                (self.store.root.join(&key.namespace).join(name::file(&key)), None)
            };
            Some(Home { key, path, version })
        });
        homes.collect()
    }
}

fn check_once(batch: &Batch) -> Result<(), StoreError> {
    let mut keys = BTreeSet::new();
    for change in &batch.changes {
        if !keys.insert(change.key()) {
            return Err(StoreError::Twice { what: format!("the {}", change.key()) });
        }
    }
    let mut blobs = BTreeSet::new();
    for change in &batch.blobs {
        if !blobs.insert(&change.name) {
            return Err(StoreError::Twice { what: format!("the state {}", change.name) });
        }
    }
    Ok(())
}

fn blob(store: &DirStore, change: &BlobChange) -> Result<Option<FileWrite>, StoreError> {
    name::check_blob(&change.name)?;
    let path = store.blob_path(&change.name);
    let target = place::of_state(store, &path)?;
    let before = read::optional(&path)?;
    if before.as_deref().map(read::version) != change.expected {
        return Err(StoreError::Changed { place: shown(&path) });
    }
    let write = FileWrite { path, target, before, after: change.text.clone() };
    write.check_size(read::MAX_STATE)?;
    Ok(write.is_change().then_some(write))
}
