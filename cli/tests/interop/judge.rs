//! What an API server's own code (`tests/peers/kube-validate`) says to documents.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| netenf_testkit::peer::peer("kube-validate"));

/// The answer to each document, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// `KIND NAMESPACE/NAME` of what would be stored.
    pub(crate) accepted: Vec<String>,
    /// `KIND NAMESPACE/NAME: reason` of what would not.
    pub(crate) refused: Vec<String>,
    /// What the server would warn of.
    pub(crate) warnings: String,
}

/// Our own custom resource definitions.
pub(crate) fn definitions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds")
}

/// Judges documents as new objects.
pub(crate) fn create(documents: &str) -> Judgement {
    judge(documents, None)
}

/// Judges documents as updates of those of the same names that the server has.
pub(crate) fn update(old: &str, documents: &str) -> Judgement {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(old.as_bytes()).unwrap();
    judge(documents, Some(file.path()))
}

fn judge(documents: &str, old: Option<&Path>) -> Judgement {
    let mut command = Command::new(&*PROGRAM);
    command.arg("-crds").arg(definitions());
    if let Some(old) = old {
        command.arg("-old").arg(old);
    }
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Answers come only after everything is read, so that neither side waits for the other.
    child.stdin.take().unwrap().write_all(documents.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let mut judgement =
        Judgement { warnings: String::from_utf8(output.stderr).unwrap(), ..Judgement::default() };
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        match line.split_once(' ') {
            Some(("ok", key)) => judgement.accepted.push(key.to_owned()),
            Some(("refused", rest)) => judgement.refused.push(rest.to_owned()),
            _ => panic!("kube-validate said {line:?}"),
        }
    }
    let code = i32::from(!judgement.refused.is_empty());
    assert_eq!(output.status.code(), Some(code), "{judgement:?}");
    judgement
}

// === impl Judgement ===

impl Judgement {
    /// What was accepted, if that is everything and nothing is to be warned of.
    #[track_caller]
    pub(crate) fn all(self) -> Vec<String> {
        assert!(self.refused.is_empty() && self.warnings.is_empty(), "{self:#?}");
        self.accepted
    }

    /// Why the only document was refused.
    #[track_caller]
    pub(crate) fn reason(self) -> String {
        assert!(self.accepted.is_empty() && self.refused.len() == 1, "{self:#?}");
        self.refused.concat()
    }
}
