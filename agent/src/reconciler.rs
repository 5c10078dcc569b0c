//! Brings what a person asked for into force: reads what is known of a name, decides by pure code, and executes
//! the steps in order, up to the first that the API server refuses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use netenf_api::{Backend, Violation, WorkloadNetworkPolicy, WorkloadNetworkPolicyProposal};
use netenf_cluster::apply::{Cause, Verb, WriteError, Writer};
use netenf_cluster::event::Events;
use netenf_cluster::lease::Leadership;
use netenf_cluster::queue::{Fate, Outcome, Queue};
use netenf_k8s::Enforcer;
use netenf_k8s::lifecycle::Key;
use netenf_k8s::reconcile::{self, News, Step};
use netenf_k8s::render::NativeKind;
use netenf_learn::{self as learn, Caps};
use netenf_telemetry::Telemetry;
use tokio::time::Instant;

use crate::awaited::{self, Awaited};
use crate::enforcement::Enforcement;
use crate::export;
use crate::ledger::{self, Draft};
use crate::resume::end_of;
use crate::stored::{Name, Shared, Stored};

mod telling;
mod writing;

use telling::unread_key;

/// What is read by changes comes some moments after what was written.
const SOON: Duration = Duration::from_millis(200);

/// How long a name waits while another replica leads, or the server does not answer.
const LATER: Duration = Duration::from_secs(1);

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

// === impl Reconciler ===

impl Reconciler {
    /// Runs for ever.
    pub(crate) async fn run(self) {
        loop {
            let name = self.queue.next().await;
            let outcome = self.work(&name).await;
            if let Fate::Parked { attempts } = self.queue.finish(&name, outcome) {
                let mut stored = self.stored.lock();
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
            Err(error) => {
                if let Some(draft) = &draft {
                    self.unwritten(name, draft, &error);
                }
                self.failed(name, &error, draft.is_some())
            }
        }
    }

    /// What was learned could not be written, or is not known to be.
    fn unwritten(&self, name: &Name, draft: &Draft, error: &WriteError) {
        let mut stored = self.stored.lock();
        match &error.cause {
            Cause::Unreachable(_) => stored.ledger.doubt(name, draft),
            Cause::Forbidden(_) | Cause::Invalid(_) | Cause::Failed(_) => {
                stored.ledger.refused(name);
                let key =
                    if stored.policies.contains_key(name) { Key::policy } else { Key::proposal };
                let about = key(name.0.clone(), name.1.clone());
                drop(stored);
                let why = format!("what was learned cannot be written: {}", error.cause);
                self.tell(reconcile::Event::refused(about, why));
            }
            _ => {}
        }
    }

    /// Whether a change that the agent made is still to come, which has the name decided on again.
    fn is_behind(&self, name: &Name) -> bool {
        let stored = self.stored.lock();
        self.awaited().is_behind(name, &stored, Instant::now())
    }

    /// What is to be done: what was learned first, then promotion, acknowledgements, and the native object and
    /// the status.
    fn plan(&self, name: &Name) -> Plan {
        let enforcer = self.enforcement.now();
        let mut stored = self.stored.lock();
        if let Some(it) = stored.unreadable(name) {
            let steps = vec![reconcile::unreadable(unread_key(it), &it.message)];
            stored.ledger.give_up(name);
            return Plan { steps, draft: None };
        }
        // What a person asks for does not wait for what is refused.
        let is_refused = stored.ledger.is_refused(name);
        let proposal = stored.proposal(name);
        let proposal = proposal.as_ref();
        if !is_refused && let Some(plan) = learned(&mut stored, name, proposal) {
            return plan;
        }
        let steps = self.asked(&stored, (name, proposal), enforcer);
        if is_refused
            && steps.is_empty()
            && let Some(plan) = learned(&mut stored, name, proposal)
        {
            return plan;
        }
        let policy = stored
            .policies
            .get(name)
            .filter(|one| steps.is_empty() && reconcile::lists_violations(one));
        let policy = policy.cloned();
        drop(stored);
        let allowed = policy.map(|policy| self.enforcement.cleared(&policy));
        Plan { steps: allowed.unwrap_or(steps), draft: None }
    }

    /// What a person asked for, of a name and the proposal that has it.
    fn asked(
        &self,
        stored: &Stored,
        (name, proposal): (&Name, Option<&WorkloadNetworkPolicyProposal>),
        enforcer: Enforcer,
    ) -> Vec<Step> {
        let policy = stored.policies.get(name);
        let (now, refused) = (now(), self.refused().get(name).cloned());
        let refused = refused.as_deref();
        if let Some(proposal) = proposal {
            let facts = reconcile::Proposal { proposal, policy, refused, now: &now };
            let steps = reconcile::proposal(&facts);
            if !steps.is_empty() {
                return steps;
            }
        }
        let Some(policy) = policy else {
            if proposal.is_none() {
                self.refused().remove(name);
            }
            return Vec::new();
        };
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
        let mut stored = self.stored.lock();
        stored.ledger.settle(name, draft, ledger::Written::All)
    }

    /// What becomes of a name, of which `is_learned` was to be written or what a person asked for.
    fn failed(&self, name: &Name, error: &WriteError, is_learned: bool) -> Outcome {
        let cause = &error.cause;
        tracing::info!(%error, %cause, "a step was refused");
        match cause {
            // The kind of its native object is not served, which is told, since it may stay so.
            Cause::NotFound(_) if error.verb == Verb::Create && self.policy(name).is_some() => {
                self.refused().insert(name.clone(), cause.to_string());
                Outcome::Interrupted { after: SOON }
            }
            // Its namespace is gone, or its definition: what is learned of it then has no place.
            Cause::NotFound(_) if error.verb == Verb::Create => {
                let mut stored = self.stored.lock();
                stored.ledger.give_up(name);
                Outcome::Done
            }
            Cause::Conflict(_) | Cause::AlreadyExists | Cause::NotFound(_) => {
                Outcome::Interrupted { after: SOON }
            }
            Cause::TooManyRequests { after } => Outcome::Interrupted { after: *after },
            Cause::Unreachable(_) | Cause::NotLeading => Outcome::Interrupted { after: LATER },
            Cause::Forbidden(_) | Cause::Invalid(_) | Cause::Failed(_) => {
                // A condition tells it of what the policy asks for.
                if !is_learned {
                    self.refused().insert(name.clone(), cause.to_string());
                }
                Outcome::Refused
            }
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

/// What to write of what was learned of a name, which `proposal` has if one is stored; nothing where only counts
/// changed that may wait.
pub(crate) fn learned(
    stored: &mut Stored,
    name: &Name,
    proposal: Option<&WorkloadNetworkPolicyProposal>,
) -> Option<Plan> {
    let until = learned_until(stored.policies.get(name), proposal);
    stored.ledger.resolve(name, until);
    let draft = stored.ledger.draft(name, until);
    if draft.is_empty() {
        return None;
    }
    let policy = stored.policies.get(name);
    let (news, steps) = reconcile::learned(&reconcile::Learned {
        proposal,
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

/// Until when the policy counts, or the proposal if there is none.
fn learned_until(
    policy: Option<&WorkloadNetworkPolicy>,
    proposal: Option<&WorkloadNetworkPolicyProposal>,
) -> Option<learn::Timestamp> {
    let until = match policy {
        Some(policy) => &policy.status.as_ref()?.learned_until,
        None => &proposal?.status.as_ref()?.learned_until,
    };
    end_of(until.as_ref()?)
}

/// In whole seconds, as the API holds times: what is told elsewhere is what it holds.
fn now() -> Time {
    let now = Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::UNIX_EPOCH);
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
