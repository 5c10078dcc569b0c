//! Rules on the repository itself, run as tests.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

/// Which of our crates each of them may depend on, outside of tests (ARCHITECTURE.md).
pub const ARROWS: [(&str, &[&str]); 14] = [
    ("netenf-policy", &[]),
    ("netenf-learn", &["netenf-policy"]),
    ("netenf-api", &[]),
    ("netenf-k8s", &["netenf-api", "netenf-learn", "netenf-policy"]),
    ("netenf-proto", &[]),
    ("netenf-flows", &["netenf-learn", "netenf-proto"]),
    ("netenf-store", &["netenf-api", "netenf-k8s"]),
    ("netenf-cluster", &["netenf-api", "netenf-k8s"]),
    ("netenf-telemetry", &["netenf-api"]),
    (
        "netenf-agent",
        &[
            "netenf-api",
            "netenf-cluster",
            "netenf-flows",
            "netenf-k8s",
            "netenf-learn",
            "netenf-policy",
            "netenf-proto",
            "netenf-telemetry",
        ],
    ),
    ("netenf-testkit", &[]),
    ("netenf-cluster-tests", &[]),
    (
        "kubectl-netenf",
        &[
            "netenf-api",
            "netenf-flows",
            "netenf-k8s",
            "netenf-learn",
            "netenf-policy",
            "netenf-store",
        ],
    ),
    ("xtask", &["netenf-api", "netenf-testkit"]),
];

/// Crates of others that pure crates must not depend on, with what they would bring in.
pub const FOREIGN: [(&str, &[&str]); 5] = [
    ("netenf-policy", &["serde", "kube", "k8s-openapi", "tokio", "jiff"]),
    ("netenf-learn", &["serde", "kube", "k8s-openapi", "tokio", "jiff"]),
    ("netenf-flows", &["kube", "k8s-openapi", "ratatui"]),
    ("netenf-cluster", &["ratatui"]),
    ("netenf-telemetry", &["kube", "k8s-openapi", "ratatui"]),
];

/// Direct dependencies of each workspace member, outside of tests.
pub fn dependencies(root: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    Ok(packages.iter().map(|package| (text(&package["name"]), normal(package))).collect())
}

fn normal(package: &serde_json::Value) -> Vec<String> {
    let all = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter(|one| one["kind"].is_null()).map(|one| text(&one["name"])).collect()
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Dependencies that the map does not allow, as sentences.
pub fn wrong_arrows(found: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, dependencies) in found {
        let allowed = ARROWS.iter().find(|(known, _)| known == name).map(|(_, allowed)| *allowed);
        let Some(allowed) = allowed else {
            wrong
                .push(format!("{name} is not on the map in ARCHITECTURE.md and xtask/src/tidy.rs"));
            continue;
        };
        let foreign = FOREIGN.iter().find(|(known, _)| known == name).map_or(&[][..], |(_, f)| *f);
        for dependency in dependencies {
            let ours = ARROWS.iter().any(|(known, _)| known == dependency);
            if (ours && !allowed.contains(&dependency.as_str()))
                || foreign.contains(&dependency.as_str())
            {
                wrong.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests;
