//! One leader, whatever the server does.

use std::time::Duration;

use netenf_cluster::apply::Writer;
use netenf_cluster::lease::{Candidacy, Elector, Leadership, Timing};
use netenf_testkit::control_plane::Client;
use prometheus_client::registry::Registry;
use tokio::time::{Instant, sleep};

use crate::{connect, eventually, plane};

const TIMING: Timing = Timing {
    duration: Duration::from_secs(4),
    renew_deadline: Duration::from_secs(3),
    retry_period: Duration::from_millis(300),
};

async fn candidate(client: &Client, identity: &str) -> (Elector, Leadership) {
    let client = connect(client).await;
    let mut registry = Registry::default();
    let writer = Writer::new(client.clone(), &mut registry);
    let candidacy = Candidacy {
        namespace: "default".to_owned(),
        name: "controller".to_owned(),
        identity: identity.to_owned(),
        timing: TIMING,
        note: None,
    };
    let notes = tokio::sync::watch::channel(None).1;
    Elector::start(client, writer, &candidacy, notes, &mut registry)
}

/// As many as lead now.
fn leaders(candidates: &[Leadership]) -> usize {
    candidates.iter().filter(|it| it.is_held()).count()
}

/// A server that hangs for longer than any lease, and then answers everything at once: late renewals and
/// late takeovers meet.
#[tokio::test(flavor = "multi_thread")]
async fn no_two_lead_while_the_server_hangs_and_after_it() {
    let plane = plane();
    let (first, a) = candidate(plane.admin(), "a").await;
    eventually(Duration::from_secs(20), "one leads alone", || a.is_held()).await;
    let (second, b) = candidate(plane.admin(), "b").await;
    let both = [a.clone(), b.clone()];
    let watched = tokio::spawn(async move {
        loop {
            assert!(leaders(&both) < 2, "two lead");
            sleep(Duration::from_millis(2)).await;
        }
    });

    let paused = plane.pause_api_server().unwrap();
    let both = [a.clone(), b.clone()];
    eventually(TIMING.duration, "the leader stops by itself", || leaders(&both) == 0).await;
    let hang = Instant::now() + 2 * TIMING.duration;
    eventually(3 * TIMING.duration, "the server hangs", || Instant::now() > hang).await;
    assert!(a.trouble().is_some() && b.trouble().is_some(), "nobody knows who leads");
    drop(paused);
    eventually(Duration::from_secs(30), "one leads again", || leaders(&both) == 1).await;

    let (leader, standby) = if a.is_held() { (first, b) } else { (second, a) };
    leader.release().await;
    eventually(TIMING.duration, "the other takes over what was given up", || standby.is_held())
        .await;
    assert!(!watched.is_finished(), "two led at once");
}
