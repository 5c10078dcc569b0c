//! What holds against a genuine Kubernetes API server: our definitions, and the control plane that
//! tests of this environment share (`netenf_testkit::control_plane`).
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod definition;
mod life;
mod server;

use netenf_testkit::control_plane::{Client, ControlPlane};

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
