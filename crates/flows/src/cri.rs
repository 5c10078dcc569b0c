//! Lines as a container runtime writes them to `/var/log/containers`.
//!
//! `TIMESTAMP stdout|stderr F|P TEXT`: the runtime splits long lines into parts (`P`) that end with
//! a full one (`F`), and the two streams of a container are mixed in one file.

/// The two streams of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

/// A line of the runtime, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part<'a> {
    stream: Stream,
    is_last: bool,
    text: &'a [u8],
}

/// What a line of a log file gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwrapped {
    /// The text from this offset of the line on; 0 if the line is none of a container runtime.
    From(usize),
    /// The text that was joined from parts.
    Joined,
    /// A part of a line; the rest is still to come.
    Partial,
    /// A part that makes its line longer than the limit; the line is lost.
    TooLong,
}

/// Joins the parts of lines, for each stream by itself.
#[derive(Debug)]
pub(crate) struct Joiner {
    stdout: Pending,
    stderr: Pending,
    last: Stream,
    limit: usize,
}

/// The beginning of a line whose end is still to come.
#[derive(Debug, Default)]
struct Pending {
    text: Vec<u8>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Empty,
    Growing,
    Whole,
    Lost,
}

// === impl Joiner ===

impl Joiner {
    /// A joiner of lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { stdout: Pending::default(), stderr: Pending::default(), last: Stream::Stdout, limit }
    }

    /// Takes the next line of a file.
    pub(crate) fn unwrap(&mut self, line: &[u8]) -> Unwrapped {
        let Some(part) = part(line) else { return Unwrapped::From(0) };
        self.last = part.stream;
        let pending = match part.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        match pending.add(part, self.limit) {
            Unwrapped::From(offset) => Unwrapped::From(line.len() - part.text.len() + offset),
            other @ (Unwrapped::Joined | Unwrapped::Partial | Unwrapped::TooLong) => other,
        }
    }

    /// The text of the last [`Unwrapped::Joined`].
    pub(crate) fn joined(&self) -> &[u8] {
        match self.last {
            Stream::Stdout => &self.stdout.text,
            Stream::Stderr => &self.stderr.text,
        }
    }

    /// Whether a line began that did not end; forgets it.
    pub(crate) fn finish(&mut self) -> bool {
        let is_open = |pending: &Pending| matches!(pending.state, State::Growing | State::Lost);
        let open = is_open(&self.stdout) || is_open(&self.stderr);
        self.stdout = Pending::default();
        self.stderr = Pending::default();
        open
    }
}

// === impl Pending ===

impl Pending {
    fn add(&mut self, part: Part<'_>, limit: usize) -> Unwrapped {
        if self.state == State::Whole {
            self.text.clear();
            self.state = State::Empty;
        }
        match (self.state, part.is_last) {
            (State::Empty | State::Whole, true) => return Unwrapped::From(0),
            (State::Lost, is_last) => {
                if is_last {
                    self.state = State::Empty;
                }
                return Unwrapped::Partial;
            }
            (State::Empty | State::Whole | State::Growing, _) => {}
        }
        if self.text.len() + part.text.len() > limit {
            self.text = Vec::new();
            self.state = if part.is_last { State::Empty } else { State::Lost };
            return Unwrapped::TooLong;
        }
        self.text.extend_from_slice(part.text);
        if !part.is_last {
            self.state = State::Growing;
            return Unwrapped::Partial;
        }
        self.state = State::Whole;
        Unwrapped::Joined
    }
}

/// Takes a line of the runtime apart. `None` is no such line.
fn part(line: &[u8]) -> Option<Part<'_>> {
    if !line.first()?.is_ascii_digit() {
        return None;
    }
    let mut words = line.splitn(4, |byte| *byte == b' ');
    let (time, stream, tags) = (words.next()?, words.next()?, words.next()?);
    let text = words.next().unwrap_or_default();
    let stream = match stream {
        b"stdout" => Stream::Stdout,
        b"stderr" => Stream::Stderr,
        _ => return None,
    };
    let is_last = match tags.split(|byte| *byte == b':').next()? {
        b"F" => true,
        b"P" => false,
        _ => return None,
    };
    (time.len() >= 20 && time[10] == b'T').then_some(Part { stream, is_last, text })
}

#[cfg(test)]
mod tests;
