//! Recordings of flows, of any size, from files and pipes, in bounded memory.
//!
//! Every line counts in one of four ways: a record, blank, ignored (of the source, but not about
//! flows) or bad. The first bad one is kept with its place and reason; a strict replay ends there.

mod documents;
mod error;
mod input;
mod lines;
mod reading;
mod summary;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use self::error::ReplayError;
pub use self::input::Input;
use self::reading::{Next, Place, Reading};
pub use self::summary::{InputSummary, Location, Progress, Summary};
use crate::detect::identify;
use crate::{DecodeError, Decoder, Format, Record, Seen};

/// How many lines of an input may pass before its source is known; then it is given up.
const UNKNOWN_LINES: u64 = 64;

/// The longest text that is decoded, unless options say otherwise.
const MAX_LINE: usize = 16 << 20;

/// How to read recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The format of every input; found out for each input when it is `None`.
    pub provider: Option<Format>,
    /// Whether a bad line is an error.
    pub strict: bool,
    /// The longest text that is decoded, in bytes. A longer one is a bad line.
    pub max_line: usize,
}

/// A record and the text that it was decoded from.
#[derive(Debug)]
pub struct Item<'a> {
    /// The record.
    pub record: Record,
    /// The source's own JSON, on one line.
    pub raw: &'a [u8],
    /// Where it stands.
    pub location: Location,
}

/// Reads recordings record by record.
pub struct Replay {
    waiting: VecDeque<(Arc<str>, Input)>,
    current: Option<Current>,
    decoders: Vec<Decoder>,
    options: Options,
    summary: Summary,
    /// The first text that is broken, not merely of something else.
    first_broken: Option<(Location, String)>,
    read: Arc<AtomicU64>,
    total: Option<u64>,
    is_over: bool,
}

/// The input that is being read.
struct Current {
    name: Arc<str>,
    reading: Reading,
    format: Option<Format>,
    /// Lines that passed while its format was not known.
    unknown: u64,
    /// What had been decoded when it was opened.
    decoded_before: u64,
}

/// What one step of a replay gave.
#[expect(clippy::large_enum_variant, reason = "nearly every step gives a record")]
enum Step {
    /// A record, decoded from the text at this place.
    Record(Record, Place),
    /// Nothing.
    Skipped,
    /// The input is at its end, or given up.
    End,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self { provider: None, strict: false, max_line: MAX_LINE }
    }
}

// === impl Replay ===

impl Replay {
    /// A replay of `inputs`, one after the other. Files must be there; they are opened when it is
    /// their turn.
    pub fn new(inputs: Vec<Input>, options: Options) -> Result<Self, ReplayError> {
        let mut total = Some(0_u64);
        let mut waiting = VecDeque::new();
        for input in inputs {
            let name: Arc<str> = input.name().into();
            let size = input
                .size()
                .map_err(|source| ReplayError::Open { input: Arc::clone(&name), source })?;
            total = total.zip(size).map(|(total, size)| total.saturating_add(size));
            waiting.push_back((name, input));
        }
        Ok(Self {
            waiting,
            current: None,
            decoders: Vec::new(),
            options,
            summary: Summary::default(),
            first_broken: None,
            read: Arc::default(),
            total,
            is_over: false,
        })
    }

    /// The next record, or `None` at the end of the last input. Behind an error the replay goes on.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its items")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, ReplayError> {
        let (record, place) = loop {
            if self.current.is_none() && !self.open()? {
                return self.finish().map(|()| None);
            }
            match self.step()? {
                Step::Record(record, place) => break (record, place),
                Step::Skipped => {}
                Step::End => self.close(),
            }
        };
        Ok(self.current.as_ref().map(|current| Item {
            record,
            raw: current.reading.text(&place),
            location: current.location(),
        }))
    }

    /// How far the replay is.
    pub fn progress(&self) -> Progress {
        Progress { read: self.read.load(Ordering::Relaxed), total: self.total }
    }

    /// What was met so far.
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Opens the next input. False if there is none.
    fn open(&mut self) -> Result<bool, ReplayError> {
        let Some((name, input)) = self.waiting.pop_front() else { return Ok(false) };
        let reader = input
            .open(&self.read)
            .map_err(|source| ReplayError::Open { input: Arc::clone(&name), source })?;
        let reading = Reading::new(reader, self.options.max_line)
            .map_err(|source| ReplayError::Read { input: Arc::clone(&name), line: 0, source })?;
        self.summary.inputs.push(InputSummary {
            input: Arc::clone(&name),
            format: self.options.provider,
            seen: None,
            is_abandoned: false,
        });
        self.current = Some(Current {
            name,
            reading,
            format: self.options.provider,
            unknown: 0,
            decoded_before: self.summary.decoded(),
        });
        Ok(true)
    }

    /// Notes what the input was, and leaves it.
    fn close(&mut self) {
        let Some(current) = self.current.take() else { return };
        let is_empty = self.summary.decoded() == current.decoded_before;
        if let Some(input) = self.summary.inputs.last_mut() {
            input.seen = is_empty.then(|| Seen::of(current.reading.sample()));
            input.is_abandoned = current.is_given_up();
        }
    }

    /// All inputs are read: they must have held something.
    fn finish(&mut self) -> Result<(), ReplayError> {
        if self.is_over || self.summary.decoded() > 0 {
            return Ok(());
        }
        self.is_over = true;
        let [first, others @ ..] = &self.summary.inputs[..] else { return Ok(()) };
        Err(ReplayError::NothingDecodable {
            input: Arc::clone(&first.input),
            others: others.len(),
            seen: first.seen.clone().unwrap_or(Seen::Nothing),
            forced: self.options.provider,
            first_broken: self.first_broken.clone(),
        })
    }

    #[inline]
    fn step(&mut self) -> Result<Step, ReplayError> {
        let Some(current) = &mut self.current else { return Ok(Step::End) };
        let next = match current.reading.next() {
            Ok(next) => next,
            Err(source) => return Err(self.lose(source)),
        };
        self.summary.lines += u64::from(next != Next::End);
        match next {
            Next::Text(place) => self.decode(place),
            Next::Blank => {
                self.summary.blank += 1;
                Ok(Step::Skipped)
            }
            Next::Bad(reason) => self.broken(reason),
            Next::End => Ok(Step::End),
        }
    }

    /// Decodes one text, after finding out what it is if that is not known yet.
    #[inline]
    fn decode(&mut self, place: Place) -> Result<Step, ReplayError> {
        let Some(current) = &mut self.current else { return Ok(Step::End) };
        let text = current.reading.text(&place);
        let format = match current.format.map_or_else(|| identify(text), Ok) {
            Ok(format) => format,
            Err(error) => return self.unknown(&error),
        };
        if current.format.is_none() {
            current.format = Some(format);
            if let Some(input) = self.summary.inputs.last_mut() {
                input.format = Some(format);
            }
        }
        match decoder(&mut self.decoders, format).decode(text) {
            Ok(Some(record)) => {
                self.summary.records += 1;
                Ok(Step::Record(record, place))
            }
            Ok(None) => {
                self.summary.ignored += 1;
                Ok(Step::Skipped)
            }
            Err(error) => self.undecodable(&error),
        }
    }

    /// Counts a text of an input whose format is not known yet.
    #[cold]
    fn unknown(&mut self, error: &DecodeError) -> Result<Step, ReplayError> {
        self.undecodable(error)?;
        let Some(current) = &mut self.current else { return Ok(Step::End) };
        current.unknown += 1;
        Ok(if current.is_given_up() { Step::End } else { Step::Skipped })
    }

    /// Counts a text that the decoder refuses.
    #[cold]
    fn undecodable(&mut self, error: &DecodeError) -> Result<Step, ReplayError> {
        match error {
            DecodeError::Foreign { .. } | DecodeError::Unknown { .. } => {
                self.bad(error.to_string())
            }
            DecodeError::Parse { .. } | DecodeError::Incomplete { .. } => {
                self.broken(error.to_string())
            }
        }
    }

    /// Counts a text that is broken.
    #[cold]
    fn broken(&mut self, reason: String) -> Result<Step, ReplayError> {
        if let Some(current) = &self.current {
            self.first_broken.get_or_insert_with(|| (current.location(), reason.clone()));
        }
        self.bad(reason)
    }

    /// Counts a bad text; a strict replay fails.
    #[cold]
    fn bad(&mut self, reason: String) -> Result<Step, ReplayError> {
        let Some(current) = &self.current else { return Ok(Step::End) };
        let location = current.location();
        self.summary.bad += 1;
        if self.options.strict {
            return Err(ReplayError::Parse { location, reason });
        }
        self.summary.first_bad.get_or_insert((location, reason));
        Ok(Step::Skipped)
    }

    /// Leaves an input that cannot be read on.
    #[cold]
    fn lose(&mut self, source: std::io::Error) -> ReplayError {
        let (input, line) = match &self.current {
            Some(current) => (Arc::clone(&current.name), current.reading.line()),
            None => ("".into(), 0),
        };
        self.close();
        ReplayError::Read { input, line, source }
    }
}

// === impl Current ===

impl Current {
    fn location(&self) -> Location {
        Location { input: Arc::clone(&self.name), line: self.reading.line() }
    }

    fn is_given_up(&self) -> bool {
        self.format.is_none() && self.unknown >= UNKNOWN_LINES
    }
}

/// The decoder of `format`, made when it is first needed.
#[inline]
fn decoder(decoders: &mut Vec<Decoder>, format: Format) -> &mut Decoder {
    let index = decoders.iter().position(|decoder| decoder.format() == format);
    let index = index.unwrap_or_else(|| {
        decoders.push(Decoder::new(format));
        decoders.len() - 1
    });
    &mut decoders[index]
}
