//! Brings what a person asked for into force: reads what is known of a name, decides by pure code, and executes
//! the steps in order, up to the first that the API server refuses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use netenf_api::{AuthorizationPolicy, Backend, Violation};
use netenf_cluster::apply::{Cause, Verb, WriteError, Writer, Written};
use netenf_cluster::event::{self, EventType, Events};
use netenf_cluster::lease::Leadership;
use netenf_cluster::queue::{Fate, Outcome, Queue};
use netenf_cluster::watch::Unreadable;
use netenf_k8s::Enforcer;
use netenf_k8s::lifecycle::{Key, Resource};
use netenf_k8s::reconcile::{self, Document, EventKind, News, Step};
use netenf_k8s::render::{Native, NativeKind};
use netenf_learn::Caps;
use netenf_telemetry::Telemetry;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::awaited::{self, Awaited, Left, Sort};
use crate::enforcement::Enforcement;
use crate::export;
use crate::ledger::{self, Draft};
use crate::stored::{Name, Stored};

/// What is read by changes comes some moments after what was written.
const SOON: Duration = Duration::from_millis(200);

/// How long a name waits while another replica leads, or the server does not answer.
const LATER: Duration = Duration::from_secs(1);

/// What is known, shared with the loop that takes changes in.
pub(crate) type Shared = Arc<Mutex<Stored>>;

/// Works at one name after the other; copies of it at several.
#[derive(Clone)]
pub(crate) struct Reconciler {
    pub(crate) stored: Shared,
    pub(crate) queue: Arc<Queue<Name>>,
    pub(crate) writer: Writer,
    pub(crate) events: Events,
    pub(crate) telemetry: Telemetry,
    pub(crate) leadership: Leadership,
    pub(crate) backend: Backend,
    pub(crate) enforcement: Arc<Enforcement>,
    /// What the API server said when it refused a name's last write for good.
    pub(crate) refused: Arc<Mutex<HashMap<Name, String>>>,
    pub(crate) awaited: Arc<Mutex<Awaited>>,
}

/// UID and resourceVersion of what the steps of a plan wrote, by kind.
type Versions = HashMap<&'static str, ObjectMeta>;

// === impl Reconciler ===

impl Reconciler {
    /// Runs for ever.
    pub(crate) async fn run(self) {
        loop {
            let name = self.queue.next().await;
            let outcome = self.work(&name).await;
            if let Fate::Parked { attempts } = self.queue.finish(&name, outcome) {
                let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
                stored.ledger.give_up(&name);
                drop(stored);
                tracing::warn!(
                    namespace = name.0,
                    name = name.1,
                    attempts,
                    "given up until the object changes; its conditions say why"
                );
            }
        }
    }

    async fn work(&self, name: &Name) -> Outcome {
        if !self.leadership.is_held() {
            return Outcome::Interrupted { after: LATER };
        }
        if self.is_behind(name) {
            return Outcome::Early { at_most: awaited::LIMIT };
        }
        let Plan { steps, draft } = self.plan(name);
        if steps.is_empty() {
            return Outcome::Done;
        }
        let policy = export::recorded(&steps);
        match self.execute(name, steps).await {
            // What was written comes back as a change, by which it is decided again.
            Ok(()) => {
                self.refused().remove(name);
                if let Some(draft) = draft {
                    let violations = self.settle(name, &draft);
                    if let Some(policy) = policy {
                        export::observed(&self.telemetry, name, &policy, violations);
                    }
                }
                Outcome::Done
            }
            Err(error) => self.failed(name, &error),
        }
    }

    /// Whether a change that the agent made is still to come, which has the name decided on again.
    fn is_behind(&self, name: &Name) -> bool {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        self.awaited().is_behind(name, &stored, Instant::now())
    }

    /// What is to be done: what was learned first, then promotion, acknowledgements, and the native object and
    /// the status.
    fn plan(&self, name: &Name) -> Plan {
        let enforcer = self.enforcement.now();
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = stored.unreadable(name) {
            let steps = vec![reconcile::unreadable(unread_key(it), &it.message)];
            stored.ledger.give_up(name);
            return Plan { steps, draft: None };
        }
        if let Some(plan) = learned(&mut stored, name) {
            return plan;
        }
        let steps = self.asked(&stored, name, enforcer);
        let policy = stored
            .policies
            .get(name)
            .filter(|one| steps.is_empty() && reconcile::lists_violations(one));
        let policy = policy.cloned();
        drop(stored);
        let allowed = policy.map(|policy| self.enforcement.cleared(&policy));
        Plan { steps: allowed.unwrap_or(steps), draft: None }
    }

    /// What a person asked for.
    fn asked(&self, stored: &Stored, name: &Name, enforcer: Enforcer) -> Vec<Step> {
        let (proposal, policy) = (stored.proposal(name), stored.policies.get(name));
        let (now, refused) = (now(), self.refused().get(name).cloned());
        let refused = refused.as_deref();
        if let Some(proposal) = &proposal {
            let facts = reconcile::Proposal { proposal, policy, refused, now: &now };
            let steps = reconcile::proposal(&facts);
            if !steps.is_empty() {
                return steps;
            }
        }
        let Some(policy) = policy else { return Vec::new() };
        let steps = reconcile::acknowledge(policy, &now);
        if !steps.is_empty() {
            return steps;
        }
        let kind = match policy.spec.backend {
            Backend::Kubernetes => NativeKind::NetworkPolicy,
            Backend::Istio => NativeKind::AuthorizationPolicy,
        };
        reconcile::policy(&reconcile::Policy {
            policy,
            native: stored.native(kind, name),
            backend: self.backend,
            enforcer,
            refused,
            now: &now,
        })
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<Name, String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awaited(&self) -> MutexGuard<'_, Awaited> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was learned is written; gives the violations that are.
    fn settle(&self, name: &Name, draft: &Draft) -> Vec<Violation> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.ledger.settle(name, draft, ledger::Written::All)
    }

    fn failed(&self, name: &Name, error: &WriteError) -> Outcome {
        let cause = &error.cause;
        tracing::info!(%error, %cause, "a step was refused");
        match cause {
            // Its namespace is gone, or its definition: what is learned of it then has no place.
            Cause::NotFound(_) if error.verb == Verb::Create => {
                let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
                stored.ledger.give_up(name);
                Outcome::Done
            }
            Cause::Conflict(_) | Cause::AlreadyExists | Cause::NotFound(_) => {
                Outcome::Interrupted { after: SOON }
            }
            Cause::TooManyRequests { after } => Outcome::Interrupted { after: *after },
            Cause::Unreachable(_) => Outcome::Interrupted { after: LATER },
            Cause::Forbidden(_) | Cause::Invalid(_) => {
                self.refused().insert(name.clone(), cause.to_string());
                Outcome::Refused
            }
        }
    }

    async fn execute(&self, name: &Name, steps: Vec<Step>) -> Result<(), WriteError> {
        let mut versions = Versions::new();
        for step in steps {
            let (document, how) = match step {
                Step::Create(document) => (document, How::Create),
                Step::Replace(document) => (document, How::Replace),
                Step::ReplaceStatus(resource) => (Document::Ours(resource), How::Status),
                Step::Delete(document) => (document, How::Delete),
                Step::Export(export) => {
                    export::acknowledged(&self.telemetry, &export);
                    continue;
                }
                Step::Event(event) => {
                    self.tell(event);
                    continue;
                }
            };
            let sort = Sort::of(&document);
            let left = self.write(document, &mut versions, how).await?;
            self.wrote(name, sort, left);
        }
        Ok(())
    }

    /// The change that a write makes is awaited.
    fn wrote(&self, name: &Name, sort: Sort, left: Option<Left>) {
        if matches!(sort, Sort::Proposal | Sort::Policy) {
            let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
            stored.ledger.wrote(name, left.as_ref().and_then(Left::version));
        }
        if let Some(left) = left {
            self.awaited().note(name, sort, left, Instant::now());
        }
    }

    async fn write(
        &self,
        document: Document,
        versions: &mut Versions,
        how: How,
    ) -> Result<Option<Left>, WriteError> {
        match document {
            Document::Ours(Resource::Proposal(it)) => {
                self.write_one(Arc::unwrap_or_clone(it), versions, how).await
            }
            Document::Ours(Resource::Policy(it)) => {
                self.write_one(Arc::unwrap_or_clone(it), versions, how).await
            }
            Document::Native(native) => match native.kind {
                NativeKind::NetworkPolicy => {
                    self.write_one(typed::<NetworkPolicy>(&native)?, versions, how).await
                }
                NativeKind::AuthorizationPolicy => {
                    self.write_one(typed::<AuthorizationPolicy>(&native)?, versions, how).await
                }
            },
        }
    }

    /// Without a version of its own the object is what an earlier step wrote. Gives the version that it has now.
    async fn write_one<K: Written>(
        &self,
        mut object: K,
        versions: &mut Versions,
        how: How,
    ) -> Result<Option<Left>, WriteError> {
        let kind = std::any::type_name::<K>();
        if let (None, Some(known), false) =
            (&object.meta().resource_version, versions.get(kind), how == How::Create)
        {
            let meta = object.meta_mut();
            meta.resource_version.clone_from(&known.resource_version);
            meta.uid.clone_from(&known.uid);
        }
        let written = match how {
            How::Create => self.writer.create(&object).await?,
            How::Replace => self.writer.replace(&object).await?,
            How::Status => self.writer.replace_status(&object).await?,
            How::Delete => {
                self.writer.delete(&object).await?;
                return Ok(object.meta().uid.clone().map(Left::Gone));
            }
        };
        versions.insert(kind, written.meta().clone());
        Ok(written.meta().resource_version.clone().map(Left::Version))
    }

    fn tell(&self, event: reconcile::Event) {
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

    fn uid(&self, about: &netenf_k8s::lifecycle::Key, name: &Name) -> Option<String> {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = stored.unreadable(name) {
            return it.uid.clone();
        }
        match about.kind {
            netenf_k8s::lifecycle::Kind::Proposal => {
                stored.proposals.get(name)?.metadata.uid.clone()
            }
            netenf_k8s::lifecycle::Kind::Policy => stored.policies.get(name)?.metadata.uid.clone(),
        }
    }
}

/// What is to be done about a name.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// What of the ledger is written by it.
    pub(crate) draft: Option<Draft>,
}

/// What to write of what was learned; nothing where only counts changed that may wait.
pub(crate) fn learned(stored: &mut Stored, name: &Name) -> Option<Plan> {
    let draft = stored.ledger.draft(name);
    if draft.is_empty() {
        return None;
    }
    let (proposal, policy) = (stored.proposal(name), stored.policies.get(name));
    let (news, steps) = reconcile::learned(&reconcile::Learned {
        proposal: proposal.as_ref(),
        policy,
        fresh: draft.fresh.as_ref().map(|(_, proposal)| proposal),
        denied: draft.violations.clone(),
        caps: draft.fresh.as_ref().map_or_else(Caps::default, |(fresh, _)| fresh.caps),
        last: draft.last,
    });
    let is_written = !steps.is_empty() && (news == News::Rules || draft.is_due());
    if is_written {
        return Some(Plan { steps, draft: Some(draft) });
    }
    let is_absent = proposal.is_none() && policy.is_none();
    let written = ledger::Written::Nothing { counts: news == News::Counts, is_absent };
    stored.ledger.settle(name, &draft, written);
    None
}

/// The key of an object that cannot be read.
fn unread_key(it: &Unreadable) -> Key {
    let (namespace, name) = (it.namespace.clone(), it.name.clone());
    match it.kind {
        netenf_cluster::Kind::Proposal => Key::proposal(namespace, name),
        _ => Key::policy(namespace, name),
    }
}

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Create,
    Replace,
    Status,
    Delete,
}

/// The native object as its type has it.
fn typed<K: DeserializeOwned>(native: &Native) -> Result<K, WriteError> {
    let document = serde_json::to_value(native).and_then(serde_json::from_value);
    document.map_err(|error| {
        let (namespace, name) = (&native.metadata.namespace, &native.metadata.name);
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        WriteError {
            verb: Verb::Replace,
            object: format!("{} {}/{}", native.kind.as_str(), part(namespace), part(name)),
            cause: Cause::Invalid(error.to_string()),
        }
    })
}

/// In whole seconds, as the API holds times: what is told elsewhere is what it holds.
fn now() -> Time {
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
