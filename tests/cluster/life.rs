//! How planes begin and end, and what tests can do to them.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netenf_testkit::control_plane::{ControlPlane, Options};
use netenf_testkit::deadline::within;
use netenf_testkit::peer::peer;

use crate::refusal;

/// Tells this program that it is the owner of a plane which a test of it started.
const OWNER: &str = "NETENF_TEST_OWNS_A_PLANE";

/// Stands before the folder of the owner's plane.
const MARK: &str = "plane: ";

/// What is left of the plane in `folder`: its processes, each of which names the folder, and the folder.
fn left_of(folder: &Path) -> Vec<String> {
    let name = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let command = fs::read(entry.unwrap().path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.contains(name).then_some(command)
    });
    processes.chain(folder.exists().then(|| name.to_owned())).collect()
}

/// A plane takes 4 seconds alone; others run beside this one.
fn start_in_time() -> ControlPlane {
    let start = Instant::now();
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(30), "the plane took {took:?}");
    plane
}

#[test]
fn planes_live_side_by_side() {
    let _ = ["etcd", "control-plane", "kubectl"].map(peer); // building them is no part of the start
    let (first, mut second) = thread::scope(|scope| {
        let first = scope.spawn(start_in_time);
        let second = start_in_time();
        (first.join().unwrap(), second)
    });
    let namespace = ["get", "namespace/only", "-o=name", "--request-timeout=10s"];
    second.admin().kubectl(&["create", "namespace", "only"]).unwrap();

    let missing = refusal(first.admin().kubectl(&namespace));
    assert!(missing.ends_with("namespaces \"only\" not found"), "{missing}");

    let paused = first.pause_api_server().unwrap();
    let unanswered = ["get", "namespaces", "--request-timeout=1s"];
    refusal(first.admin().kubectl(&unanswered));
    second.restart_api_server().unwrap();
    assert_eq!(second.admin().kubectl(&namespace).unwrap(), "namespace/only\n");
    drop(paused);
    first.admin().kubectl(&["get", "namespaces"]).unwrap();

    let folders = [first.folder().to_owned(), second.folder().to_owned()];
    drop((first, second));
    assert_eq!(folders.map(|folder| left_of(&folder)), [[""; 0], [""; 0]]);
}

/// Runs in two roles: the test starts this very test in processes of its own, which own a plane each.
#[test]
fn a_plane_ends_with_its_owner_whatever_way_that_ends() {
    if env::var_os(OWNER).is_some() {
        own();
    }
    let mut exits = start_owner();
    let mut is_killed = start_owner();
    let folders = [&mut exits, &mut is_killed].map(plane_of);
    drop(exits.stdin.take());
    is_killed.kill().unwrap();
    exits.wait().unwrap();
    is_killed.wait().unwrap();
    for folder in folders {
        within(Duration::from_mins(1), "nothing is left of the plane", || {
            Ok(left_of(&folder).is_empty().then_some(()))
        })
        .unwrap();
    }
}

/// Owns the shared plane until standard input ends; then ends without dropping anything.
#[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
fn own() -> ! {
    println!("{MARK}{}", ControlPlane::shared().folder().display());
    let _ = io::stdin().read_line(&mut String::new());
    process::exit(0)
}

fn start_owner() -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "life::a_plane_ends_with_its_owner_whatever_way_that_ends"])
        .args(["--nocapture"])
        .env(OWNER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The folder of an owner's plane, which runs.
fn plane_of(owner: &mut Child) -> PathBuf {
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let folder: PathBuf =
        lines.find_map(|line| Some(PathBuf::from(line.split_once(MARK)?.1))).unwrap();
    assert_ne!(left_of(&folder), [""; 0]);
    folder
}
