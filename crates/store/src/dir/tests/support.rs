//! A folder for one test, and small objects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Mode, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_k8s::lifecycle::{Key, Record, Resource, Verb, WithoutRules, promote};

use crate::dir::{DirStore, MissingFolder, Writer};
use crate::store::{Batch, Change, Store, Stored};

pub(super) struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A folder that holds these files.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn join(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.join(path)).unwrap()
    }

    pub(super) fn open(&self) -> DirStore {
        DirStore::open(self.path()).unwrap()
    }

    pub(super) fn lock(&self) -> DirStore {
        DirStore::lock(self.path(), writer()).unwrap()
    }

    /// Every file but those of the state, with its text.
    pub(super) fn objects(&self) -> BTreeMap<String, String> {
        let mut files = self.everything();
        files.retain(|path, _| !path.starts_with(".netenf/"));
        files
    }

    /// Every file, with its text.
    pub(super) fn everything(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.path()).unwrap().display().to_string();
                    let bytes = fs::read(&path).unwrap_or_default();
                    files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
                }
            }
        }
        files
    }
}

pub(super) fn writer() -> Writer<'static> {
    Writer { command: "kubectl netenf test", wait: Duration::ZERO, missing: MissingFolder::Refuse }
}

/// The text of a proposal as a person may write it.
pub(super) fn text(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: networkenforcer.kubewarden.io/v1alpha1\n\
         kind: WorkloadNetworkPolicyProposal\n\
         metadata:\n  name: {name}\n  namespace: {namespace}\n\
         spec:\n  backend: kubernetes\n  direction: Egress\n  kubernetes:\n    podSelector:\n      \
         matchLabels:\n        app: web\n    policyTypes:\n    - Egress\n    egress:\n    - to:\n      \
         - podSelector:\n          matchLabels:\n            app: db\n      ports:\n      \
         - protocol: TCP\n        port: 5432\n"
    )
}

pub(super) fn proposal(namespace: &str, name: &str) -> WorkloadNetworkPolicyProposal {
    serde_saphyr::from_str(&text(namespace, name)).unwrap()
}

pub(super) fn policy(namespace: &str, name: &str) -> WorkloadNetworkPolicy {
    promote(&proposal(namespace, name), Mode::Monitor, None, WithoutRules::Refuse).unwrap()
}

/// The object with a label, to tell it from what it was.
pub(super) fn labelled(stored: &Stored, value: &str) -> Resource {
    let mut object = stored.object.clone();
    let metadata = match &mut object {
        Resource::Proposal(proposal) => &mut Arc::make_mut(proposal).metadata,
        Resource::Policy(policy) => &mut Arc::make_mut(policy).metadata,
    };
    metadata.labels.get_or_insert_default().insert("test".to_owned(), value.to_owned());
    object
}

pub(super) fn changes(changes: impl IntoIterator<Item = Change>) -> Batch {
    Batch { changes: changes.into_iter().collect(), ..Batch::default() }
}

pub(super) fn record(object: Resource, summary: &str) -> Record {
    Record {
        time: Time("2026-09-01T10:00:00Z".parse().unwrap()),
        verb: Verb::Promote,
        author: Some("anna".to_owned()),
        summary: summary.to_owned(),
        object,
    }
}

/// The change that promotes the proposal, and that records it.
pub(super) fn promotion(store: &DirStore, namespace: &str, name: &str) -> Batch {
    let stored = store.get(&Key::proposal(namespace, name)).unwrap().unwrap();
    let proposal = stored.object.as_proposal().unwrap();
    let policy = promote(proposal, Mode::Monitor, None, WithoutRules::Refuse).unwrap();
    Batch {
        changes: vec![Change::Create(policy.clone().into()), stored.delete()],
        records: vec![record(policy.into(), "promoted")],
        blobs: Vec::new(),
    }
}
