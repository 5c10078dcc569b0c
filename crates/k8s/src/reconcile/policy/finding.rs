//! What the status of a policy says: whether it is valid, whether it is enforced, and what is in the way.

use netenf_api::{ConditionType, Mode, StateReason};

use super::{Found, Policy, Wanted, key};
use crate::enforcer::Enforcer;
use crate::reconcile::condition::{Finding, Holds};

/// All that is said.
pub(super) fn all(facts: &Policy<'_>, wanted: &Wanted, found: Found<'_>) -> Vec<Finding> {
    vec![
        ready(facts, wanted, found),
        enforced(facts, wanted, found),
        conflict(facts, wanted, found),
    ]
}

fn ready(facts: &Policy<'_>, wanted: &Wanted, found: Found<'_>) -> Finding {
    let (holds, reason, message) = match (wanted, found) {
        (Wanted::LeftAlone, _) => (Holds::False, StateReason::OtherBackend, other_backend(facts)),
        (Wanted::Last { problem }, _) => (Holds::False, StateReason::InvalidSpec, problem.clone()),
        (Wanted::Object(_), Found::Foreign) => {
            (Holds::False, StateReason::ForeignObject, foreign(facts))
        }
        (Wanted::Object(_), Found::Nothing | Found::Own(_)) | (Wanted::Nothing, _) => {
            match facts.refused {
                Some(why) => (Holds::False, StateReason::Refused, refused(facts, why)),
                None => (Holds::True, StateReason::Valid, "the spec is valid".to_owned()),
            }
        }
    };
    Finding { type_: ConditionType::Ready, holds, reason, message }
}

fn enforced(facts: &Policy<'_>, wanted: &Wanted, found: Found<'_>) -> Finding {
    let kind = facts.kind();
    let (holds, reason, message) = match (wanted, facts.policy.spec.mode) {
        (Wanted::LeftAlone, _) => match found {
            Found::Own(_) => (Holds::Unknown, StateReason::OtherBackend, other_backend(facts)),
            Found::Nothing | Found::Foreign => {
                (Holds::False, StateReason::OtherBackend, other_backend(facts))
            }
        },
        (_, Mode::Monitor) => (
            Holds::False,
            StateReason::Monitoring,
            "what the policy does not allow is reported and not blocked".to_owned(),
        ),
        (_, Mode::Protect) if found == Found::Foreign => {
            (Holds::False, StateReason::ForeignObject, foreign(facts))
        }
        (Wanted::Last { .. }, Mode::Protect) => {
            (Holds::False, StateReason::InvalidSpec, last(kind, found))
        }
        (Wanted::Nothing | Wanted::Object(_), Mode::Protect) => match facts.refused {
            Some(why) => (Holds::False, StateReason::Refused, refused(facts, why)),
            None => by_enforcer(facts.enforcer, kind),
        },
    };
    Finding { type_: ConditionType::Enforced, holds, reason, message }
}

fn by_enforcer(enforcer: Enforcer, kind: &str) -> (Holds, StateReason, String) {
    match enforcer {
        Enforcer::Present { name } => (
            Holds::True,
            StateReason::Protecting,
            format!("the {kind} of this policy blocks what it does not allow, by {name}"),
        ),
        Enforcer::Absent { why } => (
            Holds::False,
            StateReason::NoEnforcer,
            format!(
                "the {kind} is there and nothing in the cluster enforces it ({why}): install a CNI that does"
            ),
        ),
        Enforcer::Unknown => (
            Holds::Unknown,
            StateReason::EnforcerUnknown,
            format!(
                "the {kind} is there, and whether the cluster enforces it is not known: no network plugin was found \
                 that is known to"
            ),
        ),
    }
}

/// A name that is taken is told in monitor too, where it is not in the way yet.
fn conflict(facts: &Policy<'_>, wanted: &Wanted, found: Found<'_>) -> Finding {
    let (holds, reason, message) = match (wanted, found) {
        (Wanted::Nothing | Wanted::Object(_) | Wanted::Last { .. }, Found::Foreign) => {
            (Holds::True, StateReason::ForeignObject, foreign(facts))
        }
        (Wanted::LeftAlone, _) | (_, Found::Nothing | Found::Own(_)) => {
            (Holds::False, StateReason::NameFree, format!("no other {} has the name", facts.kind()))
        }
    };
    Finding { type_: ConditionType::Conflict, holds, reason, message }
}

fn last(kind: &str, found: Found<'_>) -> String {
    match found {
        Found::Own(own) if !own.is_dry() => {
            format!("the spec is not valid: the {kind} of the last valid one stays in force")
        }
        Found::Own(_) | Found::Nothing | Found::Foreign => {
            "the spec is not valid, and nothing is enforced".to_owned()
        }
    }
}

fn other_backend(facts: &Policy<'_>) -> String {
    format!(
        "the policy is for {}, and the provider for {}: the policy and what it wrote are left alone; delete it, \
         or write one for {}",
        facts.policy.spec.backend, facts.backend, facts.backend
    )
}

fn refused(facts: &Policy<'_>, why: &str) -> String {
    format!("the API server refused the {} and is asked again: {why}", facts.kind())
}

fn foreign(facts: &Policy<'_>) -> String {
    let key = key(facts.policy);
    format!(
        "the {} {}/{} is not of this policy and is left as it is: rename or delete it",
        facts.kind(),
        key.namespace,
        key.name
    )
}
