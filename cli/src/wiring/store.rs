//! A command's work on the folder: what it reads, and what it writes in one step.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Backend, Violation};
use netenf_k8s::monitor::{self, Guard};
use netenf_k8s::{Index, lifecycle::Resource, merge, render};
use netenf_learn::name::policy_name;
use netenf_learn::proposal::{Outcome, Proposal};
use netenf_learn::{Caps, Proposals, Timestamp};
use netenf_store::{
    Batch, Blob, BlobChange, Change as StoreChange, DirStore, Key, Listing, MissingFolder, Record,
    Revision, Scope, Severity, Store as _, Stored, Verb, Writer,
};

use super::state::State;
use super::violation;
use crate::args::Global;
use crate::clock;
use crate::error::{CommandError, Exit};
use crate::output::{count, escaped, tell};

/// Name of the state that learning keeps in the folder.
const STATE: &str = "learned";

/// The folder, open for one command.
pub(crate) struct Session {
    /// The folder; `None` for a dry run on one that is still to be made.
    store: Option<DirStore>,
    listing: Listing,
    dry_run: bool,
}

/// How a recording is learned into the folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learning {
    /// Whether what was counted before is forgotten.
    pub(crate) fresh: bool,
    pub(crate) caps: Caps,
}

/// What learning changed in the folder.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) changes: Vec<Change>,
    pub(crate) proposals: Vec<Resource>,
    pub(crate) tally: Tally,
    /// First and last flow of what was learned before, and is not forgotten.
    pub(crate) before: Option<(Time, Time)>,
}

/// What came of a recording.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) proposals: usize,
    pub(crate) policies: usize,
    /// Items of the recording that are listed in one or the other, and that nobody accepted.
    pub(crate) uncovered: usize,
}

/// What was seen of workloads whose policies are in the folder.
struct Seen {
    /// What would be proposed for them.
    promoted: BTreeMap<Key, Proposal>,
    violations: BTreeMap<Key, Vec<Violation>>,
    last: Option<Timestamp>,
}

/// One changed object.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) object: Key,
    pub(crate) verb: &'static str,
}

// === impl Session ===

impl Session {
    /// Opens the folder for reading.
    pub(crate) fn open(global: &Global) -> Result<Self, CommandError> {
        let store = DirStore::open(folder(global)?)?;
        Self::list(store, true)
    }

    /// Opens the folder for a change, and holds its lock; a dry run only reads.
    pub(crate) fn for_change(
        global: &Global,
        command: &str,
        dry_run: bool,
    ) -> Result<Self, CommandError> {
        let dir = folder(global)?;
        let store =
            if dry_run { DirStore::open(dir)? } else { lock(dir, command, MissingFolder::Refuse)? };
        let session = Self::list(store, dry_run)?;
        session.refuse_broken()?;
        Ok(session)
    }

    /// Opens the folder for learning; it is made if it is not there.
    pub(crate) fn for_learning(dir: &Path, dry_run: bool) -> Result<Self, CommandError> {
        if dry_run && !dir.exists() {
            return Ok(Self { store: None, listing: Listing::default(), dry_run });
        }
        let store =
            if dry_run { DirStore::open(dir)? } else { lock(dir, "learn", MissingFolder::Create)? };
        let session = Self::list(store, dry_run)?;
        session.refuse_broken()?;
        Ok(session)
    }

    fn list(store: DirStore, dry_run: bool) -> Result<Self, CommandError> {
        let listing = listed(&store)?;
        Ok(Self { store: Some(store), listing, dry_run })
    }

    fn blob(&self) -> Result<Option<Blob>, CommandError> {
        Ok(self.store.as_ref().map_or(Ok(None), |store| store.blob(STATE))?)
    }

    fn apply(&self, batch: &Batch) -> Result<(), CommandError> {
        if let Some(store) = self.store.as_ref().filter(|_| !self.dry_run) {
            store.apply(batch)?;
        }
        Ok(())
    }

    /// What stands in the folder.
    pub(crate) fn listing(&self) -> &Listing {
        &self.listing
    }

    /// What learning has kept.
    pub(crate) fn state(&self) -> Result<State, CommandError> {
        parsed(self.blob()?.as_ref())
    }

    /// The history of a name.
    pub(crate) fn history(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Vec<Revision>, CommandError> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        let history = store.history(namespace, name)?;
        for one in &history.diagnostics {
            tell(&escaped(&format!("warning: {one}; {}", one.next_step)));
        }
        Ok(history.revisions)
    }

    /// Writes changes and what they are for the history, all or none.
    pub(crate) fn write(
        &self,
        changes: Vec<StoreChange>,
        records: Vec<Record>,
    ) -> Result<(), CommandError> {
        self.apply(&Batch { changes, records, blobs: Vec::new() })
    }

    /// An entry of the history, as of now.
    pub(crate) fn record(verb: Verb, object: &Resource, summary: impl Into<String>) -> Record {
        Record {
            time: Time(clock::now()),
            verb,
            author: author(),
            summary: summary.into(),
            object: object.clone(),
        }
    }

    /// Merges what was learned into the folder.
    pub(crate) fn learn(
        &mut self,
        mut proposals: Proposals<'_, Arc<Index>>,
        index: &Index,
        how: &Learning,
    ) -> Result<(Outcome, Learned), CommandError> {
        let mut learned = Learned::default();
        let mut batch = Batch::default();
        let mut promoted = BTreeMap::new();
        let last = proposals.window().map(|(_, last)| last);
        for proposal in proposals.by_ref() {
            let name = policy_name(&proposal.subject, proposal.direction);
            let key = Key::policy(&*proposal.subject.namespace, name);
            if self.listing.find(&key).is_some() {
                promoted.insert(key, proposal);
            } else {
                self.learn_proposal(&proposal, last, how, &mut batch, &mut learned);
            }
        }
        let mut outcome = proposals.finish();
        let violations = violation::judged(self, &mut outcome, index);
        let seen = Seen { promoted, violations, last };
        self.learn_policies(seen, how, &mut batch, &mut learned);
        let known = self.blob()?;
        let mut state = parsed(known.as_ref().filter(|_| !how.fresh))?;
        learned.before = state.first.clone().zip(state.last.clone());
        state.add(&outcome);
        let text = serde_json::to_string(&state).map_err(|error| {
            CommandError::failed("cannot write the folder's counters").because(error)
        })?;
        drop(state);
        let expected = known.map(|blob| blob.version);
        batch.blobs.push(BlobChange { name: STATE.to_owned(), text: Some(text), expected });
        self.apply(&batch)?;
        Ok((outcome, learned))
    }

    fn learn_proposal(
        &self,
        proposal: &Proposal,
        last: Option<Timestamp>,
        how: &Learning,
        batch: &mut Batch,
        learned: &mut Learned,
    ) {
        let rendered = Resource::from(render::proposal(proposal, last));
        let key = rendered.key();
        let stored = self.listing.find(&key);
        let (object, verb) = match stored.and_then(|stored| stored.object.as_proposal()) {
            None => (rendered, "created"),
            Some(known) => {
                let known = if how.fresh { merge::forget(known) } else { known.clone() };
                (merge::merge(&known, proposal, &how.caps, last).into(), "updated")
            }
        };
        let change = match stored {
            Some(stored) if stored.object == object => None,
            Some(stored) => Some(stored.replace(object.clone())),
            None => Some(StoreChange::Create(object.clone())),
        };
        let verb = if change.is_some() { verb } else { "unchanged" };
        if spec_changed(stored, &object) {
            let summary = format!("{verb} from a recording");
            batch.records.push(Self::record(Verb::Learn, &object, summary));
        }
        batch.changes.extend(change);
        learned.changes.push(Change { object: key, verb });
        learned.tally.proposals += 1;
        learned.tally.uncovered += still_open(proposal, &object);
        learned.proposals.push(object);
    }

    /// What was seen of promoted workloads: what their policies deny becomes a violation, and what no rule
    /// can express is listed in them.
    fn learn_policies(
        &self,
        mut seen: Seen,
        how: &Learning,
        batch: &mut Batch,
        learned: &mut Learned,
    ) {
        for stored in &self.listing.objects {
            let Some(policy) = stored.object.as_policy() else { continue };
            let key = stored.object.key();
            let denied = seen.violations.remove(&key).unwrap_or_default();
            let fresh = seen.promoted.get(&key);
            let mut policy = match fresh {
                Some(fresh) => merge::merge_uncovered(policy, fresh, &denied, &how.caps, seen.last),
                None => policy.clone(),
            };
            let verb = if denied.is_empty() { "updated" } else { "has violations" };
            if !denied.is_empty() {
                monitor::record(&mut policy, denied);
            }
            let object = Resource::from(policy);
            if let Some(fresh) = fresh {
                learned.tally.policies += 1;
                learned.tally.uncovered += still_open(fresh, &object);
            }
            if object != stored.object {
                batch.changes.push(stored.replace(object));
                learned.changes.push(Change { object: key, verb });
            }
        }
    }

    /// The folder's policies that `wanted` accepts, ready to be evaluated.
    pub(crate) fn guards(&self, wanted: impl Fn(&Key) -> bool) -> Vec<Guard> {
        let objects = self.listing.objects.iter().filter(|stored| wanted(&stored.object.key()));
        objects
            .filter_map(|stored| {
                let policy = stored.object.as_policy()?;
                let key = stored.object.key();
                Guard::new("WorkloadNetworkPolicy", &key.namespace, &key.name, &policy.spec)
            })
            .collect()
    }

    /// The exit code of a command that only reads: what could be read is shown, and what could not be is
    /// no answer.
    pub(crate) fn exit(&self, answer: Exit) -> Exit {
        if unreadable(&self.listing) > 0 { Exit::Failed } else { answer }
    }

    /// Objects of two backends would stand under one name: what the second recording taught would be left
    /// out of the first one's.
    pub(crate) fn refuse_other_backend(&self, backend: Backend) -> Result<(), CommandError> {
        let stored = self.listing.objects.iter().map(|stored| &stored.object);
        let others: Vec<_> = stored.filter(|object| object.backend() != backend).collect();
        let Some(first) = others.first() else { return Ok(()) };
        let (number, other) = (count(others.len(), "object"), first.backend());
        Err(CommandError::no(format!(
            "these flows become policies for {backend}, but the folder holds {number} for {other}, such as {}",
            first.key()
        ))
        .hint("give a folder of their own with --dir"))
    }

    /// What a broken file holds cannot be known, and nothing is changed or written beside it.
    pub(crate) fn refuse_broken(&self) -> Result<(), CommandError> {
        let broken = unreadable(&self.listing);
        if broken == 0 {
            return Ok(());
        }
        Err(CommandError::failed(format!(
            "nothing was changed: {} in the folder cannot be read",
            count(broken, "file")
        ))
        .hint("mend or remove what is named above, and run the command again"))
    }
}

/// How many files or objects could not be read.
pub(crate) fn unreadable(listing: &Listing) -> usize {
    listing.diagnostics.iter().filter(|one| one.severity == Severity::Error).count()
}

/// What stands in a folder; what could not be read there is told.
pub(crate) fn listed(store: &DirStore) -> Result<Listing, CommandError> {
    let listing = store.list(Scope::All)?;
    for one in &listing.diagnostics {
        let word = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        tell(&escaped(&format!("{word}: {one}; {}", one.next_step)));
    }
    Ok(listing)
}

/// What a folder keeps of what it learned; nothing is kept before the first time.
fn parsed(blob: Option<&Blob>) -> Result<State, CommandError> {
    let Some(blob) = blob else { return Ok(State::default()) };
    serde_json::from_str(&blob.text).map_err(|error| {
        CommandError::failed("the folder's counters cannot be read").because(error).hint(
            "learn again with --fresh to start them over; proposals and policies are not touched by that",
        )
    })
}

/// How many of a recording's uncovered items stand in the object.
fn still_open(fresh: &Proposal, object: &Resource) -> usize {
    let open = |id: &str| object.uncovered().iter().any(|one| one.id == id && !one.accepted);
    fresh.uncovered.iter().filter(|item| open(&item.id)).count()
}

fn spec_changed(stored: Option<&Stored>, object: &Resource) -> bool {
    let known = stored.and_then(|stored| stored.object.as_proposal());
    let fresh = object.as_proposal();
    known.map(|known| &known.spec) != fresh.map(|fresh| &fresh.spec)
}

fn folder(global: &Global) -> Result<&Path, CommandError> {
    global.folder().ok_or_else(|| {
        CommandError::usage("there is no store to work on")
            .hint("give --dir DIR or set NETENF_DIR; a cluster as the store comes with the agent")
    })
}

fn lock(dir: &Path, command: &str, missing: MissingFolder) -> Result<DirStore, CommandError> {
    let command = format!("kubectl netenf {command}");
    Ok(DirStore::lock(dir, Writer { command: &command, wait: Duration::ZERO, missing })?)
}

/// Who is at the keyboard, as far as the environment tells.
pub(crate) fn author() -> Option<String> {
    ["NETENF_AUTHOR", "USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .filter(|name| !name.is_empty())
}
