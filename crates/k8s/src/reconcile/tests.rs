//! Whole controllers on a small API server: whatever a person does in between and wherever they are
//! interrupted, nothing is lost, doubled or written over, and they come to rest.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use netenf_api::{Backend, Mode, UncoveredReason, WorkloadNetworkPolicy, key};
use netenf_learn::{Caps, Timestamp};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::enforcer::Enforcer;
use crate::lifecycle::{Demoted, Kind, Step as LifecycleStep, WithoutRules, demote_to, promote};
use crate::merge::tests::learned as fresh;
use crate::reconcile::sample::{foreign, now};
use crate::render::{self, NativeKind};

mod server;

use server::{Server, Sort};

const PRESENT: Enforcer = Enforcer::Present { name: "Cilium" };

/// One of the controllers.
#[derive(Debug, Clone, Copy)]
enum Controller {
    Proposal,
    Policy,
    Acknowledge,
    /// Learns a connection to that port.
    Learn(u16),
}

/// What a person, or a tool of theirs, does.
#[derive(Debug, Clone, Copy)]
enum Person {
    Label(Option<&'static str>),
    Refuse,
    SetMode(Mode),
    Spoil,
    WritePolicy,
    DeletePolicy,
    WriteForeign,
    DeleteForeign,
    EditNative,
    Annotate(&'static str),
}

/// A controller reads, a person may act, and the first steps of the plan are done.
#[derive(Debug, Clone, Copy)]
struct Turn {
    controller: Controller,
    between: Option<Person>,
    steps: usize,
}

const VIOLATION: &str = "k7m2q9x4";

fn controller() -> impl Strategy<Value = Controller> {
    prop_oneof![
        Just(Controller::Proposal),
        Just(Controller::Policy),
        Just(Controller::Acknowledge),
        (1..5_u16).prop_map(Controller::Learn),
    ]
}

fn person() -> impl Strategy<Value = Person> {
    prop_oneof![
        Just(Person::Label(Some("monitor"))),
        Just(Person::Label(Some("protect"))),
        Just(Person::Label(Some("perhaps"))),
        Just(Person::Label(None)),
        Just(Person::Refuse),
        Just(Person::SetMode(Mode::Monitor)),
        Just(Person::SetMode(Mode::Protect)),
        Just(Person::Spoil),
        Just(Person::WritePolicy),
        Just(Person::DeletePolicy),
        Just(Person::WriteForeign),
        Just(Person::DeleteForeign),
        Just(Person::EditNative),
        Just(Person::Annotate(VIOLATION)),
        Just(Person::Annotate("none")),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let between = prop::option::weighted(0.4, person());
    (controller(), between, 0..6_usize).prop_map(|(controller, between, steps)| Turn {
        controller,
        between,
        steps,
    })
}

fn plan(server: &Server, controller: Controller) -> Vec<Step> {
    let now = server.now();
    let (stored, own, native) = (server.proposal(), server.policy(), server.native());
    match (controller, &stored, &own) {
        (Controller::Proposal, Some(stored), _) => {
            proposal(&Proposal { proposal: stored, policy: own.as_ref(), refused: None, now: &now })
        }
        (Controller::Policy, _, Some(own)) => policy(&Policy {
            policy: own,
            native: native.as_ref(),
            backend: Backend::Kubernetes,
            enforcer: PRESENT,
            refused: None,
            now: &now,
        }),
        (Controller::Acknowledge, _, Some(own)) => acknowledge(own, &now),
        (Controller::Learn(port), _, _) => {
            let facts = Learned {
                proposal: stored.as_ref(),
                policy: own.as_ref(),
                fresh: Some(&fresh(&format!("db:{port}"))),
                denied: Vec::new(),
                caps: Caps::default(),
                last: Some(Timestamp::from_seconds(200)),
            };
            learned(&facts).1
        }
        (Controller::Proposal | Controller::Policy | Controller::Acknowledge, _, _) => Vec::new(),
    }
}

fn act(server: &mut Server, person: Person) {
    match person {
        Person::Label(mode) => server.change_proposal(|proposal| {
            let labels = proposal.metadata.labels.get_or_insert_default();
            labels.remove(key::PROMOTE);
            labels.extend(mode.map(|mode| (key::PROMOTE.to_owned(), mode.to_owned())));
        }),
        Person::Refuse => server.change_proposal(|proposal| {
            if let Some(body) = &mut proposal.spec.kubernetes {
                body.egress = None;
            }
        }),
        Person::SetMode(mode) => server.change_policy(|policy| policy.spec.mode = mode),
        Person::Spoil => server.change_policy(|policy| {
            if let Some(body) = &mut policy.spec.kubernetes {
                body.policy_types = Some(vec!["Both".to_owned()]);
            }
        }),
        Person::WritePolicy => server.create(Document::Ours(hand_written().into())),
        Person::DeletePolicy => server.remove(Sort::Policy),
        Person::WriteForeign => server.create(Document::Native(Box::new(named_foreign()))),
        Person::DeleteForeign => server.remove(Sort::Native),
        Person::EditNative => {
            server.change_native(|native| native.spec = json!({"podSelector": {}}));
        }
        Person::Annotate(id) => server.change_policy(|policy| {
            let annotations = policy.metadata.annotations.get_or_insert_default();
            annotations.insert(key::acknowledge(id), "known".to_owned());
        }),
    }
}

fn learned_proposal() -> netenf_api::WorkloadNetworkPolicyProposal {
    render::proposal(&fresh("db:1"), Some(Timestamp::from_seconds(200)))
}

fn hand_written() -> WorkloadNetworkPolicy {
    let mut policy =
        promote(&learned_proposal(), Mode::Protect, None, WithoutRules::Refuse).unwrap();
    policy.metadata.labels = None;
    policy
}

fn named_foreign() -> Native {
    let mut native = foreign(Backend::Kubernetes);
    native.metadata.name = learned_proposal().metadata.name;
    native
}

/// Ports that proposal or policy know of, in the spec, as evidence, or as what has no rule.
fn ports(server: &Server) -> BTreeSet<u16> {
    let resources = [server.proposal().map(Resource::from), server.policy().map(Resource::from)];
    let resources: Vec<Resource> = resources.into_iter().flatten().collect();
    let rules = resources.iter().flat_map(Resource::evidence).filter_map(|rule| rule.port);
    let items = resources.iter().flat_map(Resource::uncovered).filter_map(|item| item.port);
    let written = resources.iter().filter_map(Resource::kubernetes).flat_map(|body| &body.egress);
    let written = written.flatten().flat_map(|rule| &rule.ports).flatten();
    let written = written.filter_map(|port| match port.port {
        Some(IntOrString::Int(number)) => u16::try_from(number).ok(),
        Some(IntOrString::String(_)) | None => None,
    });
    rules.chain(items).chain(written).collect()
}

/// All controllers, again and again, until none has anything to do; whether they came to rest.
fn settle(server: &mut Server) -> bool {
    for _ in 0..6 {
        let mut is_still = true;
        for controller in [Controller::Proposal, Controller::Policy, Controller::Acknowledge] {
            let steps = plan(server, controller);
            is_still &= steps.is_empty();
            assert_eq!(server.execute(&steps, usize::MAX), steps.len(), "nothing is in the way");
        }
        if is_still {
            return true;
        }
    }
    false
}

/// What must hold when nothing is left to do.
fn check_settled(server: &Server) {
    let (proposal, policy, native) = (server.proposal(), server.policy(), server.native());
    if let Some(policy) = &policy {
        let wants = policy.spec.mode == Mode::Protect && policy::rendered(policy).is_ok();
        assert!(!wants || native.is_some());
        let is_own = native.as_ref().is_some_and(|one| one.metadata.owner_references.is_some());
        assert!(policy.spec.mode == Mode::Protect || !is_own, "monitor blocks nothing");
        let annotations = policy.metadata.annotations.iter().flatten();
        assert_eq!(annotations.filter(|(name, _)| key::acknowledged_id(name).is_some()).count(), 0);
        let is_promoted =
            policy.metadata.labels.as_ref().is_some_and(|all| all.contains_key(key::PROMOTED_FROM));
        assert!(!(is_promoted && proposal.is_some()), "a promotion leaves nothing over");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// W27, W29 and DESIGN §5: "Nothing learned in between is lost."
    #[test]
    fn controllers_come_to_rest_and_lose_nothing(turns in prop::collection::vec(turn(), 1..14)) {
        let mut server = Server::default();
        let mut seen: BTreeSet<u16> = BTreeSet::new();
        for turn in turns {
            let steps = plan(&server, turn.controller);
            if let Some(person) = turn.between {
                act(&mut server, person);
                // What a person takes away is theirs to lose. With a policy goes what its promotion left over,
                // which may be on its way out by then.
                match person {
                    Person::DeletePolicy => seen.clear(),
                    Person::Refuse => seen = ports(&server),
                    _ => {}
                }
            }
            let others = server.foreign();
            let done = server.execute(&steps, turn.steps);
            prop_assert_eq!(server.foreign(), others, "a foreign object is as it was");
            if let Controller::Learn(port) = turn.controller
                && steps.iter().take(done).any(|step| matches!(step, Step::Create(_) | Step::Replace(_)))
            {
                seen.insert(port);
            }
            prop_assert!(seen.is_subset(&ports(&server)), "{:?} of {:?}", ports(&server), seen);
        }
        server.wait_for_an_hour();
        prop_assert!(settle(&mut server), "it comes to rest: {:?}", server);
        prop_assert!(seen.is_subset(&ports(&server)));
        check_settled(&server);
    }
}

/// Wherever an acknowledgement is interrupted, there is one record of it, and telemetry at most once.
#[test]
fn an_interrupted_acknowledgement_counts_once() {
    for first in 0..4 {
        let mut server = Server::default();
        server.create(Document::Ours(hand_written().into()));
        let mut own = server.policy().unwrap();
        own.status.get_or_insert_default().violations =
            crate::lifecycle::sample::policy().status.unwrap().violations;
        server.execute(&[Step::ReplaceStatus(own.into())], 1);
        act(&mut server, Person::Annotate(VIOLATION));
        let steps = plan(&server, Controller::Acknowledge);
        server.execute(&steps, first);
        assert!(settle(&mut server));
        let status = server.policy().unwrap().status.unwrap();
        let ids: Vec<&str> =
            status.acknowledged_violations.iter().map(|one| &*one.violation.id).collect();
        assert_eq!(ids, [VIOLATION]);
        assert_eq!(server.exported.len(), usize::from(first != 1), "after {first} steps");
    }
}

/// Wherever a promotion is interrupted, it is finished later, with all that was known.
#[test]
fn an_interrupted_promotion_is_finished() {
    for first in 0..5 {
        let mut server = Server::default();
        let steps = plan(&server, Controller::Learn(1));
        server.execute(&steps, usize::MAX);
        act(&mut server, Person::Label(Some("protect")));
        let steps = plan(&server, Controller::Proposal);
        server.execute(&steps, first);
        let steps = plan(&server, Controller::Learn(2));
        server.execute(&steps, usize::MAX);
        assert!(settle(&mut server));
        let policy = server.policy().unwrap();
        assert_eq!((server.proposal(), policy.spec.mode), (None, Mode::Protect));
        assert!(server.native().is_some_and(|one| one.kind == NativeKind::NetworkPolicy));
        let rules = policy.status.unwrap().rules;
        // Before the promotion a rule is learned into the proposal, after it is a person's.
        assert_eq!(rules.len(), if first == 0 { 2 } else { 1 }, "after {first} steps");
    }
}

/// W29: the proposal changed after it was read, and the agent that changed it may have ended before it wrote
/// the status. It is not deleted, and what it has more is told in the policy.
#[rstest]
fn a_proposal_that_learned_while_it_was_promoted_is_read_again(#[values(1, 2)] written: usize) {
    let mut server = Server::default();
    let steps = plan(&server, Controller::Learn(1));
    server.execute(&steps, usize::MAX);
    act(&mut server, Person::Label(Some("monitor")));
    let promotion = plan(&server, Controller::Proposal);
    let steps = plan(&server, Controller::Learn(2));
    assert_eq!(server.execute(&steps, written), written);
    assert_eq!(server.execute(&promotion, usize::MAX), 2);
    assert!(server.proposal().is_some());
    assert!(settle(&mut server));
    let policy = server.policy().unwrap();
    assert_eq!(server.proposal(), None);
    assert_eq!(policy.spec, learned_proposal().spec.to_policy_spec(Mode::Monitor));
    let late = policy.status.iter().flat_map(|status| &status.uncovered);
    let late: Vec<_> = late.map(|item| (item.reason, item.port)).collect();
    assert_eq!(late, [(UncoveredReason::Late, Some(2))]);
}

/// A demotion writes the proposal and then deletes the policy; controllers that run in between leave both.
/// One that was given up leaves the policy.
#[rstest]
#[case::done(true, (true, false))]
#[case::given_up(false, (false, true))]
fn a_demotion_is_not_taken_for_a_left_over(#[case] is_done: bool, #[case] expected: (bool, bool)) {
    let mut server = Server::default();
    let policy = promote(&learned_proposal(), Mode::Protect, None, WithoutRules::Refuse).unwrap();
    server.create(Document::Ours(policy.into()));
    let policy = server.policy().unwrap();
    let Ok(Demoted::Proposal(proposal)) = demote_to(&policy, LifecycleStep::Proposal, None) else {
        unreachable!()
    };
    server.create(Document::Ours(proposal.into()));
    assert!(settle(&mut server));
    assert!(server.proposal().is_some());
    if is_done {
        act(&mut server, Person::DeletePolicy);
    }
    server.wait_for_an_hour();
    assert!(settle(&mut server));
    assert_eq!((server.proposal().is_some(), server.policy().is_some()), expected);
}

/// W24: what is wrong with one object stops nothing, and reading it never fails.
#[test]
fn an_object_without_anything_is_no_danger() {
    let mut policy_ = hand_written();
    policy_.metadata = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta::default();
    policy_.spec.kubernetes = None;
    let facts = Policy {
        policy: &policy_,
        native: None,
        backend: Backend::Kubernetes,
        enforcer: Enforcer::Unknown,
        refused: None,
        now: &now(),
    };
    assert_eq!(policy(&facts).len(), 2);
    let mut proposal_ = learned_proposal();
    proposal_.metadata = policy_.metadata.clone();
    let facts =
        Proposal { proposal: &proposal_, policy: Some(&policy_), refused: None, now: &now() };
    assert_eq!(proposal(&facts), []);
}
