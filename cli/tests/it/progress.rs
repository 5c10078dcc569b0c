//! The progress bar, seen by a terminal and by a pipe.

use std::fs::File;
use std::io::{Read, Write as _};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::environment::Environment;
use crate::recording;

/// What only the bar says: how fast it goes.
const SPEED: &str = "B/s";

/// Time enough on the slowest machine.
const DEADLINE: Duration = Duration::from_mins(2);

/// A terminal: the side of the person, and the side of the program.
pub(crate) fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = File::options().read(true).write(true).open(name).unwrap();
    (File::from(person), program)
}

/// Gives what is read, piece by piece, until the other side is closed.
fn pieces(mut source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // A terminal whose program has ended gives an error.
        while let Ok(length @ 1..) = source.read(&mut buffer) {
            let _ = sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
    });
    receiver
}

/// What `learn` tells while it is fed from a slow pipe until `is_enough`, and at its end.
fn told(stderr: Stdio, person: Option<File>, is_enough: impl Fn(&str, Duration) -> bool) -> String {
    let environment = Environment::new();
    let flow = recording::flow().to_string() + "\n";
    let mut command = environment.command(&["learn", "--input-file", "-"]);
    command.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(stderr);
    let mut child = command.spawn().unwrap();
    // The program's side of a terminal stays open as long as the command holds it.
    drop(command);
    let mut flows = child.stdin.take().unwrap();
    let receiver = match person {
        Some(person) => pieces(person),
        None => pieces(child.stderr.take().unwrap()),
    };
    let mut told = String::new();
    let started = Instant::now();
    while !is_enough(&told, started.elapsed()) {
        assert!(started.elapsed() < DEADLINE, "{told:?}");
        flows.write_all(flow.as_bytes()).unwrap();
        match receiver.recv_timeout(Duration::from_millis(5)) {
            Ok(piece) => told.push_str(&piece),
            Err(error) => assert_eq!(error, RecvTimeoutError::Timeout, "{told:?}"),
        }
    }
    drop(flows);
    assert!(child.wait().unwrap().success(), "{told:?}");
    told.extend(receiver);
    told
}

#[test]
fn a_terminal_sees_a_bar_that_goes_away() {
    let (person, program) = terminal();
    let told = told(program.into(), Some(person), |told, _| told.contains(SPEED));
    let after = &told[told.rfind(SPEED).unwrap()..];
    assert!(after.contains("\u{1b}[2K") && after.contains(" received: "), "{told:?}");
}

#[test]
fn a_pipe_sees_none() {
    let told = told(Stdio::piped(), None, |_, elapsed| elapsed > Duration::from_millis(1500));
    assert!(told.contains(" received: "), "{told:?}");
    assert!(!told.contains(SPEED) && !told.contains(['\r', '\u{1b}']), "{told:?}");
}
