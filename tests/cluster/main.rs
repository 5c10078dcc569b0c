//! What holds against a genuine Kubernetes API server: our definitions, and the control plane that
//! tests of this environment share (`netenf_testkit::control_plane`).
#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod admission;
mod agent;
mod definition;
mod enforcer;
mod event;
mod fault;
mod feed;
mod foreign;
mod guide;
mod hostile;
mod lease;
mod life;
mod lifecycle;
mod person;
mod place;
mod proxy;
mod rights;
mod scale;
mod server;
mod service;
mod table;
mod telemetry;
mod watch;
mod weakness;
mod write;
mod writers;

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use netenf_testkit::control_plane::{Client, ControlPlane, Options};
use tokio::time::{Instant, sleep};

fn admin() -> &'static Client {
    ControlPlane::shared().admin()
}

fn create_namespace(name: &str) {
    admin().kubectl(&["create", "namespace", name]).unwrap();
}

/// Creates or changes what `manifest` holds.
fn apply(manifest: &str) {
    admin().kubectl_reading(manifest, &["apply", "--server-side", "-f", "-"]).unwrap();
}

/// Why the request was refused.
#[track_caller]
fn refusal(answer: anyhow::Result<String>) -> String {
    answer.expect_err("the request is refused").to_string()
}

/// A plane of a test's own, with our definitions, for what would disturb others.
fn plane() -> ControlPlane {
    plane_with(Options::default())
}

fn plane_with(options: Options) -> ControlPlane {
    let definitions = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../crds").into()];
    ControlPlane::start(&Options { definitions, ..options }).unwrap()
}

/// The same one as kube's client.
async fn connect(client: &Client) -> kube::Client {
    let kubeconfig = Kubeconfig::read_from(client.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}

/// Waits until `holds`, without keeping others from running.
#[track_caller]
fn eventually(limit: Duration, what: &str, holds: impl Fn() -> bool) -> impl Future<Output = ()> {
    let end = Instant::now() + limit;
    async move {
        while !holds() {
            assert!(Instant::now() < end, "{what}: not within {limit:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}
