//! The engine of kube-network-policies (`tests/peers/knp-oracle`), one process for all documents.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use super::document::Document;

/// A running engine; it ends when its input does.
pub(crate) struct Reference {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What it says about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Said {
    Allow,
    Deny,
    /// It failed.
    Error,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Refused { error: String },
    Judged { verdicts: Vec<String> },
}

// === impl Reference ===

impl Reference {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(netenf_testkit::peer::peer("knp-oracle"))
            .arg("judge")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    /// Its verdict on each packet of a document.
    pub(crate) fn judge(&mut self, document: &Document) -> Vec<Said> {
        let line = document.to_line();
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        match serde_json::from_str(&answer).unwrap() {
            Answer::Judged { verdicts } => verdicts.iter().map(|said| Said::read(said)).collect(),
            Answer::Refused { error } => panic!("the reference refused {line}: {error}"),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        drop(self.input.take());
        // A test that failed must not fail again here.
        let _ = self.process.wait();
    }
}

// === impl Said ===

impl Said {
    fn read(text: &str) -> Self {
        match text {
            "allow" => Self::Allow,
            "deny" => Self::Deny,
            error => {
                assert!(error.starts_with("error: "), "{error}");
                Self::Error
            }
        }
    }

    pub(crate) fn of(allowed: bool) -> Self {
        if allowed { Self::Allow } else { Self::Deny }
    }
}
