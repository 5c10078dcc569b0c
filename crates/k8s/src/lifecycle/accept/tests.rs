use super::*;
use crate::lifecycle::refusal::Reason;
use crate::lifecycle::sample::{policy, proposal};

fn accepted(resource: &Resource) -> Vec<&str> {
    let accepted = resource.uncovered().iter().filter(|entry| entry.accepted);
    accepted.map(|entry| entry.id.as_str()).collect()
}

#[test]
fn some_or_all_are_accepted() {
    let ids = ["u3f9k".to_owned(), "uanp".to_owned()];
    let some = accept_uncovered(&proposal().into(), Selection::Ids(&ids)).unwrap();
    assert_eq!(accepted(&some), ["u3f9k", "uanp"]);
    assert_eq!(some.as_proposal().unwrap().status.as_ref().unwrap().uncovered_count, 7);
    let all = accept_uncovered(&some, Selection::All).unwrap();
    assert_eq!(accepted(&all).len(), 9);
    assert_eq!(accepted(&accept_uncovered(&policy().into(), Selection::All).unwrap()), ["u3f9k"]);
}

#[test]
fn with_a_wrong_id_nothing_is_accepted() {
    let ids = ["u3f9k".to_owned(), "nope".to_owned()];
    let refusal = accept_uncovered(&proposal().into(), Selection::Ids(&ids)).unwrap_err();
    assert_eq!(*refusal.reason, Reason::UnknownId { id: "nope".to_owned() });
}

#[test]
fn an_object_without_a_status_is_left_as_it_is() {
    let mut own = proposal();
    own.status = None;
    let accepted = accept_uncovered(&own.clone().into(), Selection::All).unwrap();
    assert_eq!(accepted, own.into());
}
