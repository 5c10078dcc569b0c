//! A folder of its own for each test, and nothing else of the machine.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The present of all tests: half an hour after the last flow of the demo.
const NOW: &str = "2026-09-02T12:30:00Z";

/// The folder that holds the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A temporary folder with the demo's recordings, where commands run.
pub(crate) struct Environment {
    temp: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Environment ===

impl Environment {
    /// The recordings and the cluster's objects; nothing learned.
    pub(crate) fn new() -> Self {
        let environment = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir(environment.path(".")).unwrap();
        for name in ["flows.jsonl", "later.jsonl", "state.yaml"] {
            let text = fs::read(repository().join("docs/demo").join(name)).unwrap();
            fs::write(environment.path(name), text).unwrap();
        }
        environment
    }

    /// The same, with the demo learned into the folder `policies`.
    pub(crate) fn learned() -> Self {
        let environment = Self::new();
        environment
            .good("learn --input-file flows.jsonl --cluster-state state.yaml --dir policies");
        environment
    }

    /// The path of a file in the folder where commands run.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let work = self.temp.path().join("work");
        if name == "." { work } else { work.join(name) }
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A command that sees only what a test gave it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-netenf"));
        command.args(args).current_dir(self.path(".")).env_clear();
        command.env("NETENF_TEST_NOW", NOW).env("HOME", self.temp.path());
        command.stdin(Stdio::null());
        command
    }

    /// Runs a line of words.
    pub(crate) fn run(&self, line: &str) -> Run {
        self.run_args(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn run_args(&self, args: &[&str]) -> Run {
        self.finish(&mut self.command(args), b"")
    }

    /// Runs a line of words that must do what it says; returns what it printed.
    pub(crate) fn good(&self, line: &str) -> String {
        let run = self.run(line);
        assert_eq!(run.code, 0, "{line}\n{run}");
        run.stdout
    }

    /// Runs a line of words with a text on standard input.
    pub(crate) fn pipe(&self, line: &str, input: &[u8]) -> Run {
        self.finish(&mut self.command(&line.split_whitespace().collect::<Vec<_>>()), input)
    }

    pub(crate) fn finish(&self, command: &mut Command, input: &[u8]) -> Run {
        if !input.is_empty() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            // A command may end before it has read everything.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| {
            let place = self.temp.path().to_str().unwrap();
            String::from_utf8(bytes).unwrap().replace(place, "$TEMP")
        };
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Every file below a folder, with its content.
    pub(crate) fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let root = self.path(folder);
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// The id of something uncovered in an object of the folder `policies`.
    pub(crate) fn uncovered(&self, name: &str, reason: &str) -> String {
        let list = self.good(&format!("get {name} --dir policies -o json"));
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let items = list["items"][0]["status"]["uncovered"].as_array().unwrap();
        let item = items.iter().find(|item| item["reason"] == reason).unwrap();
        item["id"].as_str().unwrap().to_owned()
    }
}

// === impl Run ===

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "exit {}", self.code)?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                write!(formatter, "----- {name} -----\n{text}")?;
            }
        }
        Ok(())
    }
}
