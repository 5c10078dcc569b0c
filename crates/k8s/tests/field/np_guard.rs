//! What np-guard's netpol-analyzer expects of its own tests (`corpora/manifests/_oracle`): an oracle of what is
//! read, evaluated and explained.
//!
//! np-guard knows TCP, UDP, SCTP and IPv4, and nothing else of a connection. What it says of
//! `{ingress-controller}` comes from Ingresses and Routes, not from policies, and is left out by that name. Of
//! every list it keeps the same in CSV and JSON; the text is read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use netenf_k8s::reach::Reach;
use netenf_k8s::{Index, object};
use netenf_learn::Workload;
use netenf_policy::End;

use self::choice::Choice;
use self::line::Lines;

mod choice;
mod explained;
mod exposure;
mod line;

/// Whom np-guard lets in by Ingresses and Routes.
const INGRESS_CONTROLLER: &str = "{ingress-controller}";

/// A folder of objects, read.
struct Input {
    index: Index,
    /// The workloads that nothing controls, with their ends.
    workloads: Vec<(Workload, Vec<End>)>,
}

impl Input {
    /// The objects of a folder and its folders; each text is read as `taken` takes it.
    fn read(folder: &Path, taken: impl Fn(String) -> String) -> Self {
        let mut objects = Vec::new();
        for path in files_below(folder) {
            let text = taken(std::fs::read_to_string(&path).unwrap());
            let (read, told) = object::read(&path.display().to_string(), &text);
            assert_eq!(told, [], "np-guard's objects must be readable");
            objects.extend(read);
        }
        let index = Index::of(objects);
        let tops: Vec<Workload> = index.top_workloads().cloned().collect();
        let ends = |workload: &Workload| index.ends_of(workload).unwrap();
        let workloads = tops.into_iter().map(|top| (top.clone(), ends(&top))).collect();
        Self { index, workloads }
    }

    fn reach(&self) -> Reach<'_> {
        let cluster = self.index.cluster_policies().iter().map(|policy| &**policy);
        Reach::new(self.index.policies(), cluster)
    }

    /// What passes, as np-guard writes it.
    fn lines(&self) -> BTreeSet<String> {
        Lines::ours(&self.reach().map(&self.index, &self.workloads, |_| true)).whole()
    }

    /// The ends of a workload as np-guard names it.
    fn ends(&self, named: &str) -> &[End] {
        let found = self.workloads.iter().find(|(workload, _)| line::name(workload) == named);
        &found.expect("a workload that np-guard names").1
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            // Beside its objects np-guard keeps what it said of them.
            !name.starts_with("connlist_output")
        })
        .collect();
    files.sort();
    files
}

fn oracle() -> Option<PathBuf> {
    Some(netenf_testkit::shared()?.join("corpora/manifests/_oracle"))
}

/// Every text of one sort that np-guard expects, with the folder that it is about.
fn expected(oracle: &Path, sort: &str) -> Vec<(String, String)> {
    let suffix = format!("_{sort}_output.txt");
    let mut all = Vec::new();
    for path in files_below(&oracle.join("_expected")) {
        if let Some(folder) = path.file_name().unwrap().to_str().unwrap().strip_suffix(&suffix) {
            all.push((folder.to_owned(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert_ne!(all, [], "np-guard expects something of its {sort} tests");
    all
}

#[test]
fn what_passes_is_what_np_guard_expects() {
    let Some(oracle) = oracle() else { return };
    let mut choices = BTreeSet::new();
    let lists = [expected(&oracle, "connlist"), expected(&oracle, "exposure")].concat();
    for (folder, text) in lists {
        let theirs = Lines::theirs(exposure::before(&text)).whole();
        let ours =
            |taken: &dyn Fn(String) -> String| Input::read(&oracle.join(&folder), taken).lines();
        if let Some(choice) = Choice::of(&folder) {
            assert_ne!(ours(&|text| text), theirs, "{folder} needs no {choice:?} any more");
            choices.insert(choice);
        }
        line::assert_same(&folder, &ours(&|text| Choice::taken(&folder, text)), &theirs);
    }
    assert_eq!(choices, BTreeSet::from(Choice::ALL), "what np-guard chose still occurs");
}

#[test]
fn what_decides_is_what_np_guard_explains() {
    let Some(oracle) = oracle() else { return };
    for (folder, text) in expected(&oracle, "explain") {
        let input = Input::read(&oracle.join(&folder), |text| Choice::taken(&folder, text));
        let pairs = explained::pairs(&text);
        assert!(!pairs.is_empty(), "{folder}: something is explained");
        for pair in pairs {
            pair.check(&folder, &input);
        }
    }
}

#[test]
fn what_is_exposed_is_what_np_guard_expects() {
    let Some(oracle) = oracle() else { return };
    for (folder, text) in expected(&oracle, "exposure") {
        let input = Input::read(&oracle.join(&folder), |text| Choice::taken(&folder, text));
        line::assert_same(&folder, &exposure::ours(&input), &exposure::theirs(&text));
    }
}
