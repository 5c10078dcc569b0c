//! Other people's objects and policies (`corpora/manifests`): `check` and `explain` answer for every set of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::environment::{Environment, Run};

/// What may be told of the sets, and why it is right.
const TOLD: [(&str, &str); 6] = [
    ("are not judged", "Kubeflow has policies of its mesh"),
    ("no Kubernetes object: it has no kind", "what np-guard prints lies beside its input"),
    ("is read as the empty one", "the schema of AdminNetworkPolicy requires what is missing"),
    ("make no range: the port matches nothing", "the range ends before it begins"),
    (
        "nothing may talk to anything, or no workload is known",
        "OpenShift's templates are no objects",
    ),
    ("more of this kind", "what is over a limit is counted"),
];

/// How many workloads of a set are asked about.
const ASKED: usize = 3;

/// Folders that make a cluster together: objects, and one of the policies that people wrote for them.
fn sets(manifests: &Path) -> Vec<Vec<PathBuf>> {
    let mut sets = Vec::new();
    for folder in folders(manifests) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let input = folder.join("input");
        if input.is_dir() {
            let truths = folders(&folder).into_iter().filter(|path| *path != input);
            sets.extend(truths.map(|truth| vec![input.clone(), truth]));
        } else if ["_oracle", "_np-guard-synth"].contains(&name) {
            let own = folders(&folder).into_iter().filter(|path| !path.ends_with("_expected"));
            sets.extend(own.map(|own| vec![own]));
        } else if name != "_recipes" {
            sets.push(vec![folder]);
        }
    }
    sets
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Workloads that may talk to something, some of all, as a person names them.
fn workloads(links: &Value) -> Vec<String> {
    let ends =
        links["items"].as_array().unwrap().iter().flat_map(|link| [&link["from"], &link["to"]]);
    let text = |end: &Value, field: &str| end[field].as_str().unwrap_or_default().to_lowercase();
    let all: BTreeSet<String> = ends
        .filter(|end| end["namespace"].is_string())
        .map(|end| ["namespace", "kind", "name"].map(|field| text(end, field)).join("/"))
        .collect();
    let step = (all.len() / ASKED).max(1);
    all.into_iter().step_by(step).take(ASKED).collect()
}

/// Ends next to each other in a circle that leads through the world.
fn pairs(workloads: &[String]) -> Vec<(String, String)> {
    let world = "world".to_owned();
    let circle: Vec<&String> = [&world].into_iter().chain(workloads).chain([&world]).collect();
    circle.windows(2).map(|two| (two[0].clone(), two[1].clone())).collect()
}

/// What is said of a set, with exit code 0 or 1 and nothing told that is not known.
fn said(environment: &Environment, words: &[&str], set: &[PathBuf]) -> Run {
    let places = set.iter().flat_map(|place| ["-f", place.to_str().unwrap()]);
    let line: Vec<&str> = words.iter().copied().chain(places).collect();
    let run = environment.run_args(&line);
    assert!(run.code == 0 || run.code == 1, "{line:?}: {run}");
    let known = |told: &&str| TOLD.iter().any(|(part, _)| told.contains(part));
    let unknown: Vec<&str> = run.stderr.lines().filter(|told| !known(told)).collect();
    assert!(unknown.is_empty(), "{line:?} tells {unknown:?}");
    run
}

#[test]
fn every_set_of_policies_is_checked_and_explained() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let environment = Environment::new();
    let mut asked = 0;
    for set in sets(&shared.join("corpora/manifests")) {
        let map = said(&environment, &["explain", "-o", "json"], &set).stdout;
        let workloads = workloads(&serde_json::from_str(&map).unwrap());
        for (source, destination) in pairs(&workloads) {
            let to = format!("{destination}:80");
            let run = said(&environment, &["check", "--from", &source, "--to", &to], &set);
            let verdicts: Vec<&str> =
                run.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
            let word = if run.code == 0 { "allowed" } else { "denied" };
            let verdict = format!("{word}  {source} -> {destination} 80/TCP");
            assert_eq!(verdicts, [verdict], "{set:?}: {run}");
            asked += 1;
        }
        for workload in &workloads {
            let run = said(&environment, &["explain", workload], &set);
            assert_eq!(run.stdout.lines().next(), Some(workload.as_str()), "{set:?}: {run}");
        }
    }
    assert!(asked > 100, "only {asked} connections were asked about");
}
