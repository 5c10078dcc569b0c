//! What a process takes, as Linux tells it.

use std::fs;
use std::time::Duration;

/// Memory in MB and processor time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) memory: f64,
    /// The most memory that it ever held.
    pub(super) peak: f64,
    pub(super) processor: Duration,
}

impl Usage {
    pub(super) fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let megabytes = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
        };
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // The name, which may hold anything, ends with the last bracket; fields 14 and 15 are ticks.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
        let second = rustix::param::clock_ticks_per_second();
        Self {
            memory: megabytes("VmRSS:"),
            peak: megabytes("VmHWM:"),
            processor: Duration::from_millis(ticks * 1000 / second),
        }
    }
}
