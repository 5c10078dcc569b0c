//! Every object of the folder, and what could not be read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use netenf_k8s::lifecycle::{Key, Kind, Resource, is_leftover};

use super::DirStore;
use super::name::{self, shown};
use super::parse::{Content, Document, parse};
use super::{read, walk};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::StoreError;
use crate::store::{Listing, Scope, Stored, Version};

/// What was parsed before, by content: a file that did not change is not parsed again.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<Version, Arc<Vec<Document>>>>);

/// A file with objects of ours.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) version: Version,
    pub(super) documents: Arc<Vec<Document>>,
}

/// Where an object is: which file, and which document of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) source: usize,
    pub(super) document: usize,
}

/// What the folder holds.
#[derive(Debug, Default)]
pub(super) struct Collection {
    pub(super) sources: Vec<Source>,
    /// Where each object is; twice is an error, but not for the others.
    pub(super) objects: BTreeMap<Key, Vec<Location>>,
    /// Files and documents that cannot be read, with the file.
    pub(super) broken: Vec<(PathBuf, Diagnostic)>,
    /// What else there is to say.
    notes: Vec<Diagnostic>,
    /// What a writer that was killed left behind.
    pub(super) temporary: Vec<PathBuf>,
}

/// Reads the folder: all of it, or only files in which the text `needle` stands.
pub(super) fn collect(store: &DirStore, needle: Option<&str>) -> Result<Collection, StoreError> {
    let walk = walk::walk(&store.root, &store.real)?;
    let mut collection = Collection { temporary: walk.temporary, ..Collection::default() };
    for diagnostic in walk.diagnostics {
        match diagnostic.severity {
            Severity::Error => collection.broken.push((PathBuf::new(), diagnostic)),
            Severity::Warning | Severity::Note => collection.notes.push(diagnostic),
        }
    }
    for path in walk.files {
        match read::text(&path) {
            // An escape may hide what is looked for.
            Ok(Some(text))
                if needle.is_none_or(|needle| text.contains(needle) || text.contains('\\')) =>
            {
                collection.add(path, &text, &store.memory);
            }
            Ok(_) => {}
            Err(diagnostic) => match diagnostic.severity {
                Severity::Error => collection.broken.push((path, *diagnostic)),
                Severity::Warning | Severity::Note => collection.notes.push(*diagnostic),
            },
        }
    }
    if needle.is_none() {
        store.memory.keep(&collection.sources);
    }
    Ok(collection)
}

// === impl Memory ===

impl Memory {
    fn parse(&self, version: &Version, text: &str) -> Arc<Vec<Document>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(version.clone()).or_insert_with(|| Arc::new(parse(text))))
    }

    /// Forgets what is in none of `sources`, which are all there are.
    fn keep(&self, sources: &[Source]) {
        let current: HashSet<&Version> = sources.iter().map(|source| &source.version).collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|version, _| current.contains(version));
    }
}

// === impl Collection ===

impl Collection {
    /// The object at `location`.
    pub(super) fn object(&self, location: Location) -> Option<&Resource> {
        match &self.sources[location.source].documents[location.document].content {
            Content::Ours { object, .. } => Some(object),
            Content::Foreign | Content::Broken(_) => None,
        }
    }

    /// The place of `location`, for messages.
    pub(super) fn place(&self, location: Location) -> String {
        let source = &self.sources[location.source];
        let place = shown(&source.path);
        match source.documents.len() {
            1 => place,
            _ => format!("{place}:{}", source.documents[location.document].line),
        }
    }

    /// The one location of `key`, if it is there.
    pub(super) fn locate(&self, key: &Key) -> Result<Option<Location>, StoreError> {
        match self.objects.get(key).map_or(&[][..], Vec::as_slice) {
            [] => Ok(None),
            [only] => Ok(Some(*only)),
            [first, second, ..] => Err(StoreError::Duplicate {
                key: key.clone(),
                first: self.place(*first),
                second: self.place(*second),
            }),
        }
    }

    /// Refuses if `key` may be in something that cannot be read.
    pub(super) fn check_broken(&self, key: &Key) -> Result<(), StoreError> {
        let hides = |path: &Path| match read::text(path) {
            Ok(text) => text.is_some_and(|text| name::mentions(&text, &key.name)),
            Err(_) => name::mentions(&path.to_string_lossy(), &key.name),
        };
        match self.broken.iter().find(|(path, _)| hides(path)) {
            Some((_, diagnostic)) => Err(StoreError::Broken(Box::new(diagnostic.clone()))),
            None => Ok(()),
        }
    }

    /// Proposals that an interrupted promotion left over.
    pub(super) fn leftovers(&self) -> Vec<(Key, Location)> {
        let found = self.objects.iter().filter_map(|(key, locations)| {
            let [proposal] = locations.as_slice() else { return None };
            let [policy] = self.objects.get(&key.with_kind(Kind::Policy))?.as_slice() else {
                return None;
            };
            let own = self.object(*proposal)?.as_proposal()?;
            let policy = self.object(*policy)?.as_policy()?;
            is_leftover(own, policy).then(|| (key.clone(), *proposal))
        });
        found.collect()
    }

    /// The one object that `key` names.
    pub(super) fn into_stored(self, key: &Key) -> Result<Option<Stored>, StoreError> {
        let hidden = self.leftovers().iter().any(|(leftover, _)| leftover == key);
        match self.locate(key)?.filter(|_| !hidden) {
            Some(location) => Ok(self.stored(location)),
            None => self.check_broken(key).map(|()| None),
        }
    }

    /// Everything in `scope`.
    pub(super) fn into_listing(mut self, scope: Scope<'_>) -> Listing {
        let leftovers = self.leftovers();
        for (key, location) in &leftovers {
            let diagnostic = leftover(key, self.place(*location));
            self.notes.push(diagnostic);
            self.objects.remove(key);
        }
        let mut listing = Listing::default();
        for (key, locations) in &self.objects {
            if !scope.contains(&key.namespace) {
                continue;
            }
            match locations.as_slice() {
                [only] => listing.objects.extend(self.stored(*only)),
                several => listing.diagnostics.extend(self.duplicate(key, several)),
            }
        }
        let unknown = self.unknown_fields();
        let other = self.broken.into_iter().map(|(_, diagnostic)| diagnostic);
        let told = other.chain(self.notes).chain(unknown);
        listing.diagnostics.extend(told.filter(|diagnostic| {
            diagnostic.object.as_ref().is_none_or(|key| scope.contains(&key.namespace))
        }));
        listing.diagnostics.sort_by(|one, other| {
            (&one.place, one.line, &one.cause).cmp(&(&other.place, other.line, &other.cause))
        });
        listing
    }

    fn add(&mut self, path: PathBuf, text: &str, memory: &Memory) {
        let version = read::version(text.as_bytes());
        let documents = memory.parse(&version, text);
        let source = self.sources.len();
        for (position, document) in documents.iter().enumerate() {
            match &document.content {
                Content::Foreign => {}
                Content::Ours { object, .. } => {
                    let location = Location { source, document: position };
                    self.objects.entry(object.key()).or_default().push(location);
                }
                Content::Broken(problem) => {
                    let diagnostic = Diagnostic {
                        severity: Severity::Error,
                        place: shown(&path),
                        line: Some(problem.line),
                        cause: problem.cause.clone(),
                        next_step: problem.next_step.clone(),
                        object: None,
                    };
                    self.broken.push((path.clone(), diagnostic));
                }
            }
        }
        self.sources.push(Source { path, version, documents });
    }

    fn stored(&self, location: Location) -> Option<Stored> {
        Some(Stored {
            object: self.object(location)?.clone(),
            version: self.sources[location.source].version.clone(),
            place: self.place(location),
        })
    }

    fn duplicate(&self, key: &Key, locations: &[Location]) -> Vec<Diagnostic> {
        let (Some(first), Some(second)) = (locations.first(), locations.get(1)) else {
            return Vec::new();
        };
        let (first, second) = (self.place(*first), self.place(*second));
        vec![Diagnostic {
            severity: Severity::Error,
            cause: format!("the {key} is in {second} too; neither is used"),
            place: first,
            line: None,
            next_step: "delete one of the two".to_owned(),
            object: Some(key.clone()),
        }]
    }

    fn unknown_fields(&self) -> Vec<Diagnostic> {
        let documents = self
            .sources
            .iter()
            .flat_map(|source| source.documents.iter().map(|document| (&source.path, document)));
        let told = documents.filter_map(|(path, document)| match &document.content {
            Content::Ours { object, unknown } if !unknown.is_empty() => Some(Diagnostic {
                severity: Severity::Warning,
                place: shown(path),
                line: Some(document.line),
                cause: format!("unknown and not used: {}", unknown.join(", ")),
                next_step: "remove those fields, or use a newer netenf".to_owned(),
                object: Some(object.key()),
            }),
            Content::Ours { .. } | Content::Foreign | Content::Broken(_) => None,
        });
        told.collect()
    }
}

fn leftover(key: &Key, place: String) -> Diagnostic {
    Diagnostic {
        severity: Severity::Note,
        place,
        line: None,
        cause: format!(
            "the {key} is promoted and only left over, as its promotion was interrupted"
        ),
        next_step: "the next command that writes to the folder removes it".to_owned(),
        object: Some(key.clone()),
    }
}
