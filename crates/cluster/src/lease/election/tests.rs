use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use rstest::rstest;
use tokio::time::Instant;

use super::{Election, Wish};
use crate::lease::{Candidacy, FirstNote, Timing};

const NOTE: &str = "example.org/note";

fn election(identity: &str) -> Election {
    Election::new(&Candidacy {
        namespace: "netenf".to_owned(),
        name: "controller".to_owned(),
        identity: identity.to_owned(),
        timing: Timing::default(),
        note: Some(FirstNote { key: NOTE, text: "mine 0".to_owned(), topic: "mine ".to_owned() }),
    })
}

/// A wall clock that is wrong by as many seconds: it must not matter.
fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn spec(holder: &str, acquired: i64, renewed: i64, transitions: i32) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        acquire_time: Some(MicroTime(wall(acquired))),
        renew_time: Some(MicroTime(wall(renewed))),
        lease_transitions: Some(transitions),
        ..LeaseSpec::default()
    }
}

fn lease(holder: &str, renewed: i64) -> Lease {
    Lease { spec: Some(spec(holder, 0, renewed, 1)), ..Lease::default() }
}

fn wished(wish: Wish) -> Option<LeaseSpec> {
    match wish {
        Wish::Wait => None,
        Wish::Create(lease) | Wish::Replace(lease) => lease.spec,
    }
}

#[rstest]
#[case::no_record(None, 0, Some(spec("a", 100, 100, 1)))]
#[case::given_up(Some(lease("", 0)), 0, Some(spec("a", 100, 100, 2)))]
#[case::own_of_an_earlier_life(Some(lease("a", 0)), 0, Some(spec("a", 0, 100, 1)))]
#[case::of_another(Some(lease("b", 0)), 0, None)]
#[case::of_another_in_its_last_second(Some(lease("b", 0)), 14, None)]
#[case::of_another_that_is_over(Some(lease("b", 0)), 15, Some(spec("a", 100, 100, 2)))]
#[case::written_down_as_long_ago(Some(lease("b", -99_999)), 14, None)]
#[case::written_down_as_to_come(Some(lease("b", 99_999)), 15, Some(spec("a", 100, 100, 2)))]
fn the_record_is_asked_for(
    #[case] record: Option<Lease>,
    #[case] unchanged_for: u64,
    #[case] expected: Option<LeaseSpec>,
) {
    let (mut election, start) = (election("a"), Instant::now());
    election.saw(record.clone(), start);
    let now = start + seconds(unchanged_for);
    election.saw(record, now);
    assert_eq!(wished(election.wish(now, wall(100), None)), expected);
    assert_eq!(election.until(), None);
}

#[test]
fn a_record_that_is_renewed_is_not_taken_over() {
    let (mut election, mut now) = (election("a"), Instant::now());
    for round in 0..10 {
        now += seconds(14);
        election.saw(Some(lease("b", round)), now);
        assert_eq!(election.wish(now, wall(0), None), Wish::Wait);
    }
}

#[test]
fn a_leader_counts_from_before_its_request_and_needs_not_look() {
    let (mut election, asked) = (election("a"), Instant::now());
    election.saw(None, asked);
    let Wish::Create(record) = election.wish(asked, wall(0), None) else { panic!("it is created") };
    assert!(election.needs_to_look(asked), "an answer may never come");

    election.won(record, asked);
    assert_eq!(election.until(), Some(asked + seconds(10)));
    assert!(!election.needs_to_look(asked + seconds(9)));
    assert!(election.needs_to_look(asked + seconds(10)));
}

#[test]
fn a_leader_that_sees_another_holder_stops() {
    let (mut election, now) = (election("a"), Instant::now());
    election.won(lease("a", 0), now);
    election.saw(Some(lease("b", 1)), now);
    assert_eq!((election.until(), election.release(wall(2), None)), (None, None));
}

#[test]
fn what_is_given_up_may_be_taken_at_once() {
    let (mut a, mut b, now) = (election("a"), election("b"), Instant::now());
    a.won(lease("a", 0), now);
    let given_up = a.release(wall(5), None).unwrap();
    assert_eq!(a.until(), None);
    b.saw(Some(given_up), now);
    assert_eq!(wished(b.wish(now, wall(6), None)), Some(spec("b", 6, 6, 2)));
}

/// Two replicas and a server that answers late or not at all, in every order of a small world: the one
/// stops before the other begins.
#[rstest]
fn no_two_lead_at_once(
    #[values(0, 3, 9, 14, 40)] answer_of_a: u64,
    #[values(0, 3, 14, 40)] answer_of_b: u64,
    #[values(0, 1, 9, 20)] look_of_b: u64,
) {
    let (mut a, mut b, start) = (election("a"), election("b"), Instant::now());
    // `a` asks at the start; the server writes its record at once, and the answer takes its time.
    a.saw(None, start);
    let record = Lease { spec: wished(a.wish(start, wall(0), None)), ..Lease::default() };
    a.won(record.clone(), start);
    let a_leads = (start + seconds(answer_of_a))..a.until().unwrap();

    let mut now = start + seconds(look_of_b);
    b.saw(Some(record.clone()), now);
    while b.wish(now, wall(0), None) == Wish::Wait {
        now += seconds(2);
        b.saw(Some(record.clone()), now);
    }
    b.won(record, now);
    let b_leads = (now + seconds(answer_of_b))..b.until().unwrap();
    assert!(a_leads.end <= b_leads.start, "{a_leads:?} {b_leads:?}");
}

fn note_of(wish: &Wish) -> Option<&str> {
    let (Wish::Create(lease) | Wish::Replace(lease)) = wish else { return None };
    lease.metadata.annotations.as_ref()?.get(NOTE).map(String::as_str)
}

/// A leader's own note goes with each renewal; who takes over keeps what the leader before noted, whatever it had
/// noted when it led itself; what is not understood is begun anew.
#[test]
fn a_note_passes_from_leader_to_leader() {
    let now = Instant::now();
    let mut a = election("a");
    let created = a.wish(now, wall(0), Some("mine 9".to_owned()));
    assert_eq!(note_of(&created), Some("mine 0"));
    let Wish::Create(lease) = created else { panic!("it is created") };
    a.won(lease, now);
    let renewed = a.wish(now, wall(1), Some("mine 9".to_owned()));
    assert_eq!(note_of(&renewed), Some("mine 9"));
    let Wish::Replace(lease) = renewed else { panic!("it is renewed") };
    a.won(lease, now);
    assert_eq!(a.note(), Some("mine 9"));
    let given_up = a.release(wall(2), Some("mine 12".to_owned())).unwrap();

    let mut b = election("b");
    b.saw(Some(given_up.clone()), now);
    assert_eq!(note_of(&b.wish(now, wall(3), Some("mine 3".to_owned()))), Some("mine 12"));

    let mut other = given_up;
    other.metadata.annotations.as_mut().unwrap().insert(NOTE.to_owned(), "another 7".to_owned());
    b.saw(Some(other), now);
    assert_eq!(note_of(&b.wish(now, wall(4), None)), Some("mine 0"));
}
