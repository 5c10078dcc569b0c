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

use netenf_flows::{Input, Options, Record, Replay};
use netenf_k8s::{Index, Object, object, render};
use netenf_learn::proposal::Outcome;
use netenf_learn::{Backend, Config, ExternalPeers, Learner, Scope, Subjects};

mod generated;
mod law;
mod world;

/// What a case asks for besides its input.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    subjects: Option<String>,
    external: Option<String>,
    namespaces: Vec<String>,
    state: Option<String>,
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
    if wanted.subjects.as_deref() == Some("all") {
        config.subjects = Subjects::All;
    }
    if wanted.external.as_deref() == Some("addresses") {
        config.external = ExternalPeers::Addresses;
    }
    if istio {
        config.backend = Backend::Istio;
    }
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

fn outcome(case: &Path, records: &[Record]) -> Outcome {
    let text = std::fs::read_to_string(case.join("options.yaml")).unwrap_or_default();
    let wanted: Wanted =
        if text.is_empty() { Wanted::default() } else { serde_saphyr::from_str(&text).unwrap() };
    let mut all = Vec::new();
    if wanted.state.as_deref() != Some("none") {
        all = objects(&folder().join("common.yaml"));
        all.extend(objects(&case.join("state.yaml")));
    }
    let istio = records.iter().any(|record| {
        matches!(record, Record::Flow(flow) if flow.provider == netenf_learn::Provider::Ztunnel)
    });
    let mut learner = Learner::new(config(&wanted, istio), Arc::new(Index::of(all)));
    for record in records {
        match record {
            Record::Flow(flow) => learner.observe(flow),
            Record::Lost(lost) => learner.lost(lost),
            Record::NodeStatus(status) => learner.node_status(status),
        }
    }
    learner.outcome()
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
        let _ = writeln!(
            text,
            "- denied {}x by {:?}, violation: {}",
            denial.count, denial.by, denial.violation
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
        let outcome = outcome(&case, &records(&case));
        assert_eq!(outcome.funnel.sum(), outcome.funnel.received, "{name}: counters add up");
        let text = told(&outcome);
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
    }
}

/// Cases that are answered elsewhere, and where.
const ELSEWHERE: [(&str, &str); 26] = [
    ("B11", "compat rules of the derive and learn commands: not built yet"),
    ("B14", "derive; the index's half is a unit test of services"),
    ("B17", "policy evaluation: unit tests of netenf-policy"),
    ("B19", "index tests: owners and lasting labels"),
    ("B20", "label tests"),
    ("B22", "index: selectors come from spec.selector (B01)"),
    ("B23", "render tests: SelectorVolatile"),
    ("B25", "index: the owner's selector (B01)"),
    ("B32", "name tests"),
    ("B34", "store and command line tests"),
    ("B47", "DNS in every egress proposal: all cases here; derive's half later"),
    ("B50", "derive"),
    ("B53", "explain: policy engine issue"),
    ("B55", "lifecycle tests of allow --any"),
    ("B65", "command line: status"),
    ("B73", "agent"),
    ("B77", "agent"),
    ("B80", "lifecycle tests of acknowledge"),
    ("B85", "derive"),
    ("B86", "interop tests: stored form"),
    ("B88", "derive"),
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
}
