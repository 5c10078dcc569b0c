//! A server that has no time.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use netenf_testkit::control_plane::proxy::Record;

use super::{Fate, Place, Stage, is_judged, promoted};
use crate::agent::Agent;

/// What the server asks to wait: longer than a request of the agent may take.
const PAUSE: Duration = Duration::from_secs(12);

/// More than the agent works at at once.
const BUSY: usize = 12;

/// The write that the server refuses once for each of the busy names.
fn is_refused(method: &str, path: &str) -> bool {
    method == "DELETE" && path.contains("workloadnetworkpolicyproposals/busy-")
}

/// When each busy proposal was asked to be deleted, and the statuses.
fn attempts(records: &[Record]) -> HashMap<String, Vec<(Instant, Option<u16>)>> {
    let mut attempts: HashMap<String, Vec<_>> = HashMap::new();
    let refused =
        records.iter().filter(|it| is_refused(&it.request.method, &it.request.path)).cloned();
    for Record { request, at, status } in refused {
        attempts.entry(request.path).or_default().push((at, status));
    }
    attempts
}

/// Not before the time that the server asked for, not later than a moment after it, and nobody else waits.
#[test]
fn what_a_busy_server_refuses_comes_again_when_it_said_and_nothing_else_waits() {
    let place = Place::create("too-many");
    let seen = Mutex::new(Vec::new());
    place.proxy.decide(move |request, stage| {
        let mut seen = seen.lock().unwrap();
        if stage != Stage::Asked
            || !is_refused(&request.method, &request.path)
            || seen.contains(&request.path)
        {
            return Fate::Pass;
        }
        seen.push(request.path.clone());
        Fate::Answer { status: 429, retry_after: Some(PAUSE) }
    });
    let agent = Agent::start_alone(&place.agent, &[]);
    let person = place.person();
    let names: Vec<String> = (0..BUSY).map(|number| format!("busy-{number}")).collect();
    for name in &names {
        person.apply(&promoted(name));
    }
    person.wait("all are refused", |_| attempts(&place.proxy.records()).len() == BUSY);
    // A change is no reason to come before.
    person.run("annotate wnpp/busy-0 seen=yes");
    person.apply(&promoted("calm"));
    person.wait("another one is done", |it| it.get("wnpp/calm").is_none());
    let calm = Instant::now();
    person.wait("all are done", |it| it.run("get wnpp -o name").is_empty());
    assert_eq!(person.run("get wnp -o name").lines().count(), BUSY + 1);

    let attempts = attempts(&place.proxy.records());
    for (path, attempts) in &attempts {
        // A change in the meantime has the version looked at again first.
        let statuses: Vec<_> = attempts.iter().map(|(_, status)| *status).collect();
        assert_eq!(statuses, [Some(429), Some(200)], "{path}");
        let waited = attempts[1].0 - attempts[0].0;
        assert!((PAUSE..PAUSE + Duration::from_secs(3)).contains(&waited), "{path}: {waited:?}");
        assert!(calm < attempts[1].0, "{path}: others waited for it");
    }
    assert_eq!(agent.metric("queue_parked"), Some(0));
    let writes = place.proxy.records().into_iter().filter(|it| is_judged(&it.request));
    // For each name a policy, its status and the end of the proposal; and what was refused.
    assert_eq!(writes.count(), 3 * (BUSY + 1) + BUSY);
}
