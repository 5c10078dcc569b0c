//! The agent under load: what it writes, and what it takes.
//!
//! The test holds what must hold on any machine, in a cluster of a size that fits into every run. The figures of
//! docs/performance.md are of a large one: `make bench-agent`.
#![expect(clippy::print_stdout, reason = "figures are for people")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "no count here is as large as that"
)]

use std::collections::HashMap;
use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use netenf_testkit::control_plane::ControlPlane;
use netenf_testkit::generate::{Population, Traffic};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use self::feed::Feed;
use self::usage::Usage;
use crate::agent::{Agent, account};
use crate::{connect, eventually, plane};

mod feed;
mod population;
mod usage;
mod written;

/// Long enough on any machine.
const LONG: Duration = Duration::from_mins(10);

const FLUSHES: &str = "netenf_flush_duration_seconds_count";

/// A cluster with an agent that learns from a pipe.
struct Stage {
    plane: ControlPlane,
    client: kube::Client,
    agent: Agent,
    feed: Feed,
    pods: usize,
}

impl Stage {
    async fn set(traffic: &Traffic, arguments: &[&str]) -> Self {
        let plane = plane();
        let client = connect(plane.admin()).await;
        let population = Population::of(traffic).unwrap();
        let pods = population::create(&client, &population).await;
        let feed = Feed::new(plane.folder());
        let endpoint = format!("--provider-endpoint={}", feed.path().display());
        let account = account(&plane);
        let replay = ["--provider-name=replay", &endpoint];
        let agent = Agent::start_with(&account, "one", &[&replay, arguments].concat());
        eventually(LONG, "the agent leads", || count(&agent, "netenf_leader") == 1).await;
        Self { plane, client, agent, feed, pods }
    }
}

fn count(agent: &Agent, metric: &str) -> u64 {
    agent.value(metric).unwrap_or_default() as u64
}

fn proposals(client: &kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(
        netenf_api::GROUP,
        netenf_api::VERSION,
        "WorkloadNetworkPolicyProposal",
    );
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// However many flows come: an object is written once in a flush, its status once, and never where nothing is new.
#[tokio::test(flavor = "multi_thread")]
async fn no_write_is_wasted_under_load() {
    let traffic = Traffic {
        flows: 20_000,
        workloads: 60,
        edges: 600,
        namespaces: 4,
        nodes: 5,
        rate: 2_000,
        ..Traffic::default()
    };
    let Stage { plane: _plane, client, agent, feed, .. } =
        Stage::set(&traffic, &["--learning-flush-interval=1s"]).await;
    let written = written::Written::watch(proposals(&client)).await;
    let before = agent.writes();
    let feeding = feed.write(&traffic);
    eventually(LONG, "all flows are learned", || agent.has_ended()).await;
    feeding.join().unwrap();

    assert_eq!(count(&agent, "netenf_flows_received"), traffic.flows, "flows were lost");
    let changes = written.until(agent.writes() - before).await;
    let flushes = count(&agent, FLUSHES);
    assert!(flushes >= 3, "only {flushes} flushes");
    for (name, changes) in &changes {
        changes.assert_new(name);
        let most = changes.specs.max(changes.statuses) as u64;
        assert!(most <= flushes, "{name:?} was written {most} times in {flushes} flushes");
    }
    assert!(changes.len() > 100, "only {} proposals", changes.len());

    // Nothing comes any more, and nothing is written.
    let done = || (agent.writes(), count(&agent, FLUSHES));
    let before = done();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(done(), before);
}

/// One row of the table.
fn row(what: &str, usage: Usage, before: Usage, wall: Duration, rest: &str) {
    let processor = usage.processor.saturating_sub(before.processor);
    let share = processor.as_secs_f64() / wall.as_secs_f64();
    let Usage { memory, peak, .. } = usage;
    println!("| {what} | {memory:.0} | {peak:.0} | {share:.3} | {rest} |");
}

/// The figures of docs/performance.md.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a benchmark: make bench-agent"]
async fn figures() {
    let traffic = Traffic {
        flows: 1_200_000,
        workloads: 2_000,
        replicas: 9,
        edges: 100_000,
        namespaces: 50,
        nodes: 100,
        rate: 20_000,
        ..Traffic::default()
    };
    let start = Instant::now();
    let Stage { plane: _plane, client, agent, feed, pods } = Stage::set(&traffic, &[]).await;
    eprintln!("{pods} pods stand after {:.0?}", start.elapsed());
    println!("| phase | RSS MB | peak MB | cores | API writes |\n|---|---|---|---|---|");
    let idle = idle(&agent, "idle, nothing learned").await;

    let start = Instant::now();
    let mut loaded = idle;
    let feeding = feed.write(&traffic);
    while !feeding.is_finished() {
        let second = Usage::of(agent.id());
        sleep(Duration::from_secs(1)).await;
        loaded = Usage::of(agent.id());
        let depth = agent.value("netenf_queue_depth").unwrap();
        eprintln!(
            "{:.0?}: {:.0} MB, {:.0?} of a second, {} writes, {depth} wait",
            start.elapsed(),
            loaded.memory,
            loaded.processor.saturating_sub(second.processor),
            agent.writes(),
        );
    }
    let fed = feeding.join().unwrap();
    row("20,000 flows a second", loaded, idle, fed, &agent.writes().to_string());
    let start = Instant::now();
    eventually(LONG, "all is written", || agent.has_ended()).await;
    let written = Usage::of(agent.id());
    row("until all is written", written, loaded, start.elapsed(), &agent.writes().to_string());
    self::idle(&agent, "idle, all learned").await;
    println!("\nflows were fed in {fed:.1?}; the rest was written in {:.1?}", start.elapsed());
    for name in [
        "netenf_flows_received",
        "netenf_edges",
        "netenf_proposals_learned",
        "netenf_flush_duration_seconds_count",
        "netenf_flush_duration_seconds_sum",
    ] {
        println!("{name} {}", agent.value(name).unwrap());
    }
    for line in agent.lines("netenf_api_writes_total") {
        println!("{line}");
    }
    by_observation(&client, &agent).await;
}

/// Nothing happens for a while.
async fn idle(agent: &Agent, what: &str) -> Usage {
    let (before, writes) = (Usage::of(agent.id()), agent.writes());
    let wall = Duration::from_secs(30);
    sleep(wall).await;
    let usage = Usage::of(agent.id());
    row(what, usage, before, wall, &(agent.writes() - writes).to_string());
    usage
}

/// What one request to read and one to write for every observation would come to, with as many workers as the agent
/// has, on the same objects and server.
async fn by_observation(client: &kube::Client, agent: &Agent) {
    let api = proposals(client);
    let all = api.list(&ListParams::default().limit(512)).await.unwrap();
    let names = all.items.into_iter().map(|one| (one.metadata.namespace, one.metadata.name));
    let names: Vec<(String, String)> =
        names.map(|(namespace, name)| (namespace.unwrap(), name.unwrap())).collect();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        netenf_api::GROUP,
        netenf_api::VERSION,
        "WorkloadNetworkPolicyProposal",
    ));
    let (start, mut workers) = (Instant::now(), tokio::task::JoinSet::new());
    for share in names.chunks(names.len().div_ceil(8)) {
        let (client, resource, share) = (client.clone(), resource.clone(), share.to_vec());
        workers.spawn(async move {
            for (namespace, name) in share {
                let api =
                    Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
                let mut found = api.get(&name).await.unwrap();
                found.data["status"]["learnedSince"] = Value::Null;
                api.replace_status(&name, &PostParams::default(), &found).await.unwrap();
            }
        });
    }
    workers.join_all().await;
    let rate = names.len() as f64 / start.elapsed().as_secs_f64();
    let received = agent.value("netenf_flows_received").unwrap();
    let (requests, hours) = (2.0 * received, received / rate / 3600.0);
    println!(
        "\nread and written back one by one: {rate:.0} objects a second; one for each of the {received} \
         observations: {requests} requests in {hours:.1} hours, instead of {}",
        agent.writes()
    );
}

/// Kept apart by namespace and name.
type ByName<T> = HashMap<(String, String), T>;
