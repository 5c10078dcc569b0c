//! What we write, judged by genuine Kubernetes code: definitions, proposals, policies and exports; and
//! genuine kubectl, whose plugin we are; and our verdicts beside those of kube-network-policies.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

#[path = "../it/candidates.rs"]
mod candidates;
mod doctored;
mod folder;
mod judge;
mod kubectl;
mod oracle;

use std::path::{Path, PathBuf};

use folder::Folder;

/// Accepts all doubts of the preflight by their names.
const PROTECT: [&str; 9] = [
    "promote",
    "--all",
    "--deny-all",
    "--protect",
    "--accept",
    "window,quiet,traffic,enforcer,dns",
    "--accept-uncovered",
    "all",
    "--output=json",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// `learn`'s arguments for a recording and the cluster's objects, from the root of the repository.
fn recording(flows: &str, state: &str) -> Vec<String> {
    let path = |name: &str| root().join(name).to_str().unwrap().to_owned();
    vec!["--input-file".into(), path(flows), "--cluster-state".into(), path(state)]
}

fn demo() -> Vec<String> {
    recording("docs/demo/flows.jsonl", "docs/demo/state.yaml")
}

fn ztunnel() -> Vec<String> {
    recording("cli/tests/testdata/ztunnel/flows.jsonl", "cli/tests/testdata/ztunnel/state.yaml")
}

/// `learn`'s arguments for a recording of the shared corpora.
fn corpus(flows: &str) -> Option<Vec<String>> {
    let path = netenf_testkit::shared()?.join("corpora/flows").join(flows);
    Some(vec!["--input-file".into(), path.to_str().unwrap().to_owned()])
}

fn learned(recording: &[String], more: &[&str]) -> Folder {
    let folder = Folder::new();
    let arguments = recording.iter().map(String::as_str);
    folder.run(
        &["learn"].into_iter().chain(arguments).chain(more.iter().copied()).collect::<Vec<_>>(),
    );
    folder
}

/// The names without their kind.
fn names(keys: &[String]) -> Vec<&str> {
    keys.iter().map(|key| key.split_once(' ').unwrap().1).collect()
}

/// The whole life of what a recording teaches: each thing that is stored or exported on the way is
/// accepted, as a new object and as an update of what was there before. Returns the native objects
/// of monitor and of protect.
#[track_caller]
fn is_accepted_on_the_whole_way(recording: &[String], more: &[&str]) -> (String, String) {
    let folder = learned(recording, more);
    let proposals = judge::create(&folder.proposals()).all();
    assert!(!proposals.is_empty(), "the recording taught nothing");

    folder.run(&["promote", "--all"]);
    let monitored = folder.policies();
    let policies = judge::create(&monitored).all();
    assert_eq!(names(&policies), names(&proposals));
    let monitoring = folder.run(&["export"]);

    let assumed = folder.run(&["export", "--assume-protect"]);
    assert_eq!(names(&judge::create(&assumed).all()), names(&proposals));

    folder.run(&PROTECT);
    let protected = folder.policies();
    assert_eq!(judge::create(&protected).all(), policies);
    assert_eq!(judge::update(&monitored, &protected).all(), policies);
    assert_eq!(judge::create(&folder.run(&["export", "--as", "wnp"])).all(), policies);

    let protecting = folder.run(&["export"]);
    assert_eq!(names(&judge::create(&protecting).all()), names(&proposals));
    judge::update(&assumed, &protecting).all();
    (monitoring, protecting)
}

#[test]
fn the_demo_is_accepted() {
    let (monitoring, protecting) = is_accepted_on_the_whole_way(&demo(), &[]);
    assert_eq!(monitoring, "", "a NetworkPolicy has no monitor mode");
    let kinds: Vec<String> = judge::create(&protecting).all();
    assert!(kinds.iter().all(|key| key.starts_with("NetworkPolicy ")), "{kinds:?}");
}

#[test]
fn the_demo_with_addresses_and_all_kinds_is_accepted() {
    is_accepted_on_the_whole_way(&demo(), &["--external", "addresses", "--subjects", "all"]);
}

#[test]
fn goldmane_is_accepted() {
    let Some(recording) = corpus("goldmane.jsonl") else { return };
    is_accepted_on_the_whole_way(&recording, &[]);
    is_accepted_on_the_whole_way(&recording, &["--external", "addresses", "--subjects", "all"]);
}

#[test]
fn hubble_is_accepted() {
    let Some(recording) = corpus("hubble-genuine.jsonl") else { return };
    is_accepted_on_the_whole_way(&recording, &[]);
    is_accepted_on_the_whole_way(&recording, &["--external", "addresses", "--subjects", "all"]);
}

#[test]
fn ztunnel_is_accepted() {
    let (monitoring, protecting) = is_accepted_on_the_whole_way(&ztunnel(), &[]);
    let policies = [
        "AuthorizationPolicy shop/deployment-api-ingress",
        "AuthorizationPolicy shop/deployment-web-ingress",
        "AuthorizationPolicy shop/statefulset-db-ingress",
    ];
    assert_eq!(judge::create(&monitoring).all(), policies);
    assert_eq!(judge::create(&protecting).all(), policies);
    assert_eq!(judge::update(&monitoring, &protecting).all(), policies);
    assert_eq!(monitoring.matches("istio.io/dry-run: \"true\"").count(), policies.len());
    assert!(!protecting.contains("dry-run"), "{protecting}");
    for caller in ["edge/sa/gateway", "shop/sa/web", "shop/sa/api", "monitoring/sa/prometheus"] {
        assert!(protecting.contains(&format!("cluster.local/ns/{caller}\n")), "{protecting}");
    }
}

#[test]
fn ztunnel_for_network_policies_is_accepted() {
    is_accepted_on_the_whole_way(&ztunnel(), &["--backend", "kubernetes"]);
}

#[test]
fn what_was_learned_again_is_an_update() {
    let folder = learned(&demo(), &[]);
    let first = folder.proposals();
    let later = recording("docs/demo/later.jsonl", "docs/demo/state.yaml");
    let later: Vec<&str> = ["learn"].into_iter().chain(later.iter().map(String::as_str)).collect();
    folder.run(&later);
    let second = folder.proposals();
    assert_ne!(second, first);
    judge::update(&first, &second).all();

    folder.run(&["promote", "--all"]);
    let promoted = folder.policies();
    folder.run(&later);
    judge::update(&promoted, &folder.policies()).all();
}

#[test]
fn what_a_person_allowed_is_accepted() {
    let folder = learned(&demo(), &[]);
    let shown = folder.run(&["get", "deployment-web-egress", "-n", "shop", "-o", "json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let uncovered = shown["items"][0]["status"]["uncovered"].as_array().unwrap();
    let external = uncovered.iter().find(|item| item["peer"]["kind"] == "External").unwrap();
    folder.run(&["allow", external["id"].as_str().unwrap(), "-n", "shop"]);
    judge::create(&folder.proposals()).all();
    let exported = folder.run(&["export", "--assume-protect"]);
    assert!(exported.contains("cidr: "), "{exported}");
    judge::create(&exported).all();
}
