//! Flows at a rate, through a named pipe: what a recording is that somebody still writes.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use netenf_testkit::generate::{self, Form, Traffic};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A pipe that flows come out of.
pub(super) struct Feed {
    path: PathBuf,
}

impl Feed {
    /// A pipe in `folder`. Who opens it for reading waits until flows are written.
    pub(super) fn new(folder: &Path) -> Self {
        let path = folder.join("flows.fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the flows of `traffic` as they happen; gives how long that took.
    pub(super) fn write(self, traffic: &Traffic) -> JoinHandle<Duration> {
        let traffic = traffic.clone();
        thread::spawn(move || {
            let pipe = OpenOptions::new().write(true).open(&self.path).unwrap();
            let start = Instant::now();
            let mut paced = Paced { pipe, start, lines: 0, rate: traffic.rate };
            generate::write(Form::Hubble, &traffic, &mut paced).unwrap();
            start.elapsed()
        })
    }
}

/// Passes no line on before its time.
struct Paced<W> {
    pipe: W,
    start: Instant,
    lines: u64,
    rate: u64,
}

impl<W: Write> Write for Paced<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let due = self.start + Duration::from_micros(self.lines * 1_000_000 / self.rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let length = self.pipe.write(bytes)?;
        let ends = bytes.iter().take(length).filter(|byte| **byte == b'\n').count();
        self.lines += u64::try_from(ends).unwrap();
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}
