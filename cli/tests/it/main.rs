//! The command line as a process: what it prints, how it ends, and what it leaves in a folder.
//!
//! One module a verb. Outputs are compared as a whole; `INSTA_UPDATE=always INSTA_FORCE_PASS=1` writes
//! what is there now beside the test, and a person decides whether it is right.
#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "helpers of tests fail as tests do, and snapshots are long"
)]

mod ack;
mod allow;
mod candidates;
mod check;
mod completion;
mod decision;
mod demote;
mod diff;
mod document;
mod environment;
mod example;
mod explain;
mod export;
mod flows;
mod generated;
mod get;
mod help;
mod history;
mod hostile;
mod learn;
mod manners;
mod progress;
mod promote;
mod recording;
mod status;
mod violations;
