//! Genuine kubectl runs us as its plugin, completes our command line, and reads what we export.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::{candidates, demo, root};

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| netenf_testkit::peer::peer("kubectl"));

/// A folder with the demo learned into `policies`.
fn learned() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let recording = demo();
    let mut arguments = vec!["netenf", "learn", "--dir", "policies"];
    arguments.extend(recording.iter().map(String::as_str));
    good(folder.path(), &arguments);
    folder
}

/// A folder of programs as a person installs them.
fn installed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for program in [
        PathBuf::from(env!("CARGO_BIN_EXE_kubectl-netenf")),
        root().join("completions/kubectl_complete-netenf"),
    ] {
        symlink(&program, folder.path().join(program.file_name().unwrap())).unwrap();
    }
    folder
}

/// kubectl in a folder, with our program and its completion installed.
fn kubectl(folder: &Path, arguments: &[&str]) -> Output {
    let programs = installed();
    let mut command = Command::new(&*PROGRAM);
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder);
    command.env("PATH", format!("{}:/usr/bin:/bin", programs.path().display()));
    command.output().unwrap()
}

#[track_caller]
fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = kubectl(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn kubectl_runs_us_as_its_plugin() {
    let folder = tempfile::tempdir().unwrap();
    assert!(good(folder.path(), &["netenf", "version"]).starts_with("kubectl-netenf "));
    let listed = String::from_utf8(kubectl(folder.path(), &["plugin", "list"]).stdout).unwrap();
    assert!(listed.lines().any(|line| line.ends_with("/kubectl-netenf")), "{listed}");
    let output = kubectl(folder.path(), &["netenf", "get", "--dir", "nothere"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn kubectl_completes_our_command_line() {
    let folder = learned();
    let at = |words: &[&str]| {
        let arguments = [&["__complete", "netenf"], words].concat();
        good(folder.path(), &arguments)
    };
    candidates::are_given(at);
}

#[test]
fn kubectl_builds_what_we_export() {
    let folder = learned();
    let export = ["netenf", "export", "--dir", "policies", "--output-dir", "deploy"];
    let built = |more: &[&str]| {
        good(folder.path(), &[&export, more].concat());
        good(folder.path(), &["kustomize", "deploy"]).matches("kind: NetworkPolicy").count()
    };
    assert_eq!(built(&["--assume-protect"]), 6);
    let promote = ["netenf", "promote", "statefulset/db", "-n", "shop", "--dir", "policies"];
    let accept = ["--protect", "--accept", "window,quiet", "--accept-uncovered", "all"];
    good(folder.path(), &[&promote[..], &accept[..]].concat());
    assert_eq!(built(&[]), 1, "what is exported no more is not built either");
}
