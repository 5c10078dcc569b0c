//! Field reports (cases.md) as data: a folder of flows, objects and options, and what must come of them.
//!
//! `UPDATE_EXPECTED=1` writes `expected.yaml`, for a person to read before it is committed.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the crate is pure; its tests read fixtures, and their helpers fail as tests do"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use netenf_api::WorkloadNetworkPolicy;
use netenf_flows::{Input, Options, Record, Replay};
use netenf_k8s::monitor::{self, Guard};
use netenf_k8s::{Index, Object, object, render};
use netenf_learn::proposal::{Outcome, Proposal};

use netenf_learn::{Backend, Compat, Config, ExternalPeers, Learner, Scope, Subjects};

mod closing;
mod generated;
mod law;
mod monitoring;
mod np_guard;
mod reaching;
mod recipe;
mod tiers;
mod traffic;
mod world;

/// What a case asks for besides its input.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    subjects: Option<String>,
    external: Option<String>,
    namespaces: Vec<String>,
    state: Option<String>,
    ports: Option<usize>,
    ambient_prefix: Option<u8>,
    compat: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn cases() -> Vec<PathBuf> {
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    cases
}

fn objects(path: &Path) -> Vec<Object> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let (objects, diagnostics) = object::read(&path.display().to_string(), &text);
    assert_eq!(diagnostics, [], "the case's own objects must be readable");
    objects
}

fn config(wanted: &Wanted, istio: bool) -> Config {
    let mut config = Config::default();
    config.caps.ports = wanted.ports.unwrap_or(config.caps.ports);
    config.ambient_probe_v6_prefix =
        wanted.ambient_prefix.unwrap_or(config.ambient_probe_v6_prefix);
    if wanted.subjects.as_deref() == Some("all") {
        config.subjects = Subjects::All;
    }
    if wanted.external.as_deref() == Some("addresses") {
        config.external = ExternalPeers::Addresses;
    }
    if istio {
        config.backend = Backend::Istio;
    }
    let compat = |name: &str| wanted.compat.iter().any(|one| one == name);
    config.compat =
        Compat { service_ports: compat("service-ports"), node_probes: compat("node-probes") };
    config.scope = Scope {
        namespaces: wanted.namespaces.iter().map(|name| name.as_str().into()).collect(),
        ..Scope::default()
    };
    config
}

fn records(case: &Path) -> Vec<Record> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(case).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let inputs = files.into_iter().map(Input::File).collect();
    let mut replay = Replay::new(inputs, Options { strict: true, ..Options::default() }).unwrap();
    let mut records = Vec::new();
    while let Some(item) = replay.next().unwrap() {
        records.push(item.record);
    }
    records
}

/// Our policies of a case.
fn policies(case: &Path) -> Vec<WorkloadNetworkPolicy> {
    let policies = objects(&case.join("policies.yaml")).into_iter().map(|object| match object {
        Object::Policy(policy) => Some(policy),
        _ => None,
    });
    policies.map(|policy| policy.expect("policies.yaml holds our policies only")).collect()
}

fn index(case: &Path, wanted: &Wanted) -> Arc<Index> {
    let mut all = Vec::new();
    if wanted.state.as_deref() != Some("none") {
        all = objects(&folder().join("common.yaml"));
        all.extend(objects(&case.join("state.yaml")));
    }
    Arc::new(Index::of(all))
}

fn wanted(case: &Path) -> Wanted {
    let text = std::fs::read_to_string(case.join("options.yaml")).unwrap_or_default();
    if text.is_empty() { Wanted::default() } else { serde_saphyr::from_str(&text).unwrap() }
}

fn outcome(case: &Path, records: &[Record]) -> Outcome {
    let wanted = wanted(case);
    let istio = records.iter().any(|record| {
        matches!(record, Record::Flow(flow) if flow.provider == netenf_learn::Provider::Ztunnel)
    });
    let config = config(&wanted, istio);
    let mut learner = Learner::new(config, index(case, &wanted));
    for record in records {
        match record {
            Record::Flow(flow) => learner.observe(flow),
            Record::Lost(lost) => learner.lost(lost),
            Record::NodeStatus(status) => learner.node_status(status),
        }
    }
    learner.outcome()
}

/// What the case's policies say of what was seen: each with its violations.
fn violations(case: &Path, outcome: &mut Outcome) -> String {
    let mut text = String::new();
    let policies = policies(case);
    let guards: Vec<Guard> = policies
        .iter()
        .filter_map(|policy| {
            let (namespace, name) =
                (policy.metadata.namespace.as_deref()?, policy.metadata.name.as_deref()?);
            Guard::new("WorkloadNetworkPolicy", namespace, name, &policy.spec)
        })
        .collect();
    let index = index(case, &wanted(case));
    let denied = monitor::judge(&index, &guards, outcome);
    for mut policy in policies {
        let mode = policy.spec.mode;
        let own = denied.iter().filter(|one| Some(&one.policy.1) == policy.metadata.name.as_ref());
        let own: Vec<_> = own.filter_map(|one| monitor::violation(one, mode)).collect();
        monitor::record(&mut policy, own);
        let status = serde_saphyr::to_string(&policy.status).unwrap();
        let _ = writeln!(text, "---\n# {}\n{}", policy.metadata.name.unwrap(), status.trim_end());
    }
    text
}

/// Everything that came of a case, as text.
fn told(outcome: &Outcome) -> String {
    let mut text = String::new();
    for proposal in &outcome.proposals {
        let object = render::proposal(proposal, outcome.window.map(|(_, last)| last));
        let _ = write!(text, "---\n{}\n", serde_saphyr::to_string(&object).unwrap().trim_end());
    }
    let _ = writeln!(text, "---\n# not in any proposal");
    for one in &outcome.unplaced {
        let (peer, item) = (render::peer(&one.uncovered.peer), &one.uncovered);
        let subject = render::peer(&one.subject);
        let _ = writeln!(
            text,
            "- {:?} {} {:?} {}/{:?}: {}",
            one.direction,
            serde_json::to_string(&subject).unwrap(),
            serde_json::to_string(&peer).unwrap(),
            item.protocol,
            item.port,
            item.reason.name(),
        );
    }
    for denial in &outcome.denials {
        let end = |peer| serde_json::to_string(&render::peer(peer)).unwrap();
        let _ = writeln!(
            text,
            "- denied {}x by {}: {} -> {} {:?}",
            denial.count,
            denial.by.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
            end(&denial.source.peer),
            end(&denial.destination.peer),
            denial.port,
        );
    }
    let funnel = &outcome.funnel;
    let _ = writeln!(
        text,
        "funnel: {{received: {}, learned: {}, skipped: {:?}, uncovered: {}, violations: {}, errors: {}, lost: {}}}",
        funnel.received,
        funnel.learned,
        funnel.skipped,
        funnel.uncovered,
        funnel.violations,
        funnel.errors,
        funnel.lost
    );
    text
}

#[test]
fn every_case_comes_to_what_is_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let mut wrong = Vec::new();
    for case in cases() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let mut outcome = outcome(&case, &records(&case));
        assert_eq!(outcome.funnel.sum(), outcome.funnel.received, "{name}: counters add up");
        let violations = violations(&case, &mut outcome);
        assert_eq!(outcome.funnel.sum(), outcome.funnel.received, "{name}: judging moves, no more");
        let text = told(&outcome) + &violations;
        let path = case.join("expected.yaml");
        if update {
            std::fs::write(&path, &text).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            wrong.push(format!("{name}: now\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Order, repetition and splitting over inputs change nothing but the funnel (law 2).
#[test]
fn no_case_depends_on_the_order_or_repetition_of_its_flows() {
    for case in cases() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let all = records(&case);
        let proposals = |records: &[Record]| outcome(&case, records).proposals;
        let expected = proposals(&all);
        let mut reversed = all.clone();
        reversed.reverse();
        assert_eq!(proposals(&reversed), expected, "{name} in reverse");
        let mut rotated = all.clone();
        rotated.rotate_left(all.len() / 2);
        assert_eq!(proposals(&rotated), expected, "{name} from the middle");
        let rules = |proposals: &[Proposal]| -> Vec<_> {
            proposals
                .iter()
                .map(|one| (one.subject.clone(), one.direction, one.rules.clone()))
                .collect()
        };
        let twice: Vec<Record> = all.iter().chain(&all).cloned().collect();
        assert_eq!(rules(&proposals(&twice)), rules(&expected), "{name} twice");
    }
}

/// Cases that are answered elsewhere, and where.
const ELSEWHERE: [(&str, &str); 15] = [
    ("B47", "DNS in every egress proposal: all cases here; derive's half later"),
    ("B50", "derive"),
    ("B53", "explain: policy engine issue"),
    ("B55", "lifecycle tests of allow --any"),
    ("B65", "command line: status"),
    ("B73", "agent"),
    ("B77", "agent"),
    ("B85", "derive"),
    ("B86", "render tests: nothing empty is written; interop tests: stored form"),
    ("B88", "derive; render tests: ports are sorted"),
    ("B89", "derive"),
    ("B91", "derive"),
    ("B92", "derive"),
    ("B94", "command line: flows --not"),
    ("B95", "agent: watch"),
];

#[test]
fn every_field_report_is_a_case_or_is_named_with_its_place() {
    let Some(shared) = netenf_testkit::shared() else { return };
    let text = std::fs::read_to_string(shared.join("cases/cases.md")).unwrap();
    let names: Vec<String> =
        cases().iter().map(|p| p.file_name().unwrap().to_string_lossy().into_owned()).collect();
    let missing: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("### ")?.split(' ').next())
        .filter(|id| id.starts_with('B') && id[1..].chars().all(|c| c.is_ascii_digit()))
        .filter(|id| !names.iter().any(|name| name.starts_with(&format!("{id}-"))))
        .filter(|id| !ELSEWHERE.iter().any(|(known, _)| known == id))
        .collect();
    assert!(missing.is_empty(), "no test answers {missing:?}");
    let twice: Vec<&str> = ELSEWHERE
        .iter()
        .map(|(id, _)| *id)
        .filter(|id| names.iter().any(|name| name.starts_with(&format!("{id}-"))))
        .collect();
    assert!(twice.is_empty(), "{twice:?} are cases here");
}
