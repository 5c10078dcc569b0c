use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::time::{Instant, timeout};

use super::{Fate, Limits, Outcome, Queue};

#[tokio::test(start_paused = true)]
async fn workers_wait_for_what_is_due() {
    let queue = Arc::new(Queue::new(Limits::default(), &mut Registry::default()));
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.next().await }
    });
    queue.add("a").unwrap();
    assert_eq!(waiting.await.unwrap(), "a");

    let fate = queue.finish(&"a", Outcome::Refused);
    assert_eq!(fate, Fate::Retried { after: Duration::from_secs(1) });
    let failed = Instant::now();
    assert_eq!(queue.next().await, "a");
    assert_eq!(failed.elapsed().as_secs(), 1);

    queue.finish(&"a", Outcome::Done);
    assert!(timeout(Duration::from_hours(1), queue.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn no_worker_sleeps_while_there_is_work() {
    let queue = Arc::new(Queue::new(Limits::default(), &mut Registry::default()));
    let workers = [(); 3].map(|()| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.next().await })
    });
    tokio::task::yield_now().await;
    for key in [1, 2, 3] {
        queue.add(key).unwrap();
    }
    let mut taken = Vec::new();
    for worker in workers {
        taken.push(timeout(Duration::from_secs(1), worker).await.unwrap().unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, [1, 2, 3]);
}

/// Waiting for a turn is no work.
#[tokio::test(start_paused = true)]
async fn the_time_of_work_is_told() {
    let mut registry = Registry::default();
    let queue = Queue::new(Limits::default(), &mut registry);
    queue.add("a").unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    let key = queue.next().await;
    tokio::time::advance(Duration::from_secs(3)).await;
    queue.finish(&key, Outcome::Done);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    assert!(text.contains("reconcile_duration_seconds_sum 3.0\n"), "{text}");
    assert!(text.contains("reconcile_duration_seconds_count 1\n"), "{text}");
}
