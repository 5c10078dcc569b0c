//! One input that is being read: its layout, and the container runtime's prefix taken off.

use std::io::{self, Read};
use std::ops::Range;

use super::documents::{self, Documents};
use super::lines::{Frame, Lines};
use crate::cri::{Joiner, Unwrapped};

/// How much of the beginning is kept to say what stands there.
const SAMPLE: usize = 16 << 10;

/// The mark with which some editors begin UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An open input.
pub(super) struct Reading {
    lines: Lines,
    /// Set if texts are not one on a line.
    documents: Option<Documents>,
    joiner: Joiner,
    limit: usize,
    sample: Vec<u8>,
}

/// The next part of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// A text to decode.
    Text(Place),
    /// A blank line, or a part of a line that goes on.
    Blank,
    /// A text that cannot be decoded.
    Bad(String),
    /// The input is at its end.
    End,
}

/// Where a text is kept until the next one is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the buffer of lines.
    Line(Range<usize>),
    /// Joined from parts.
    Joined,
    /// Put together from several lines.
    Document,
}

// === impl Reading ===

impl Reading {
    /// Reads `reader`, texts of at most `limit` bytes.
    pub(super) fn new(reader: Box<dyn Read + Send>, limit: usize) -> io::Result<Self> {
        let mut lines = Lines::new(reader, limit);
        if lines.peek()?.starts_with(BYTE_ORDER_MARK) {
            lines.take(BYTE_ORDER_MARK.len());
        }
        let beginning = lines.peek()?;
        let documents = documents::are_in(beginning).then(Documents::default);
        let sample = beginning[..beginning.len().min(SAMPLE)].to_vec();
        Ok(Self { lines, documents, joiner: Joiner::new(limit), limit, sample })
    }

    /// The beginning of the input.
    pub(super) fn sample(&self) -> &[u8] {
        &self.sample
    }

    /// The line of the last text.
    pub(super) fn line(&self) -> u64 {
        self.documents.as_ref().map_or(self.lines.number, |documents| documents.number)
    }

    /// The text at `place`.
    #[inline]
    pub(super) fn text(&self, place: &Place) -> &[u8] {
        match (place, &self.documents) {
            (Place::Line(range), _) => self.lines.bytes(range.clone()),
            (Place::Joined, _) => self.joiner.joined(),
            (Place::Document, Some(documents)) => documents.text(),
            (Place::Document, None) => &[],
        }
    }

    /// The next part.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Next> {
        let frame = match &mut self.documents {
            None => self.lines.next()?,
            Some(documents) => documents.next(&mut self.lines, self.limit)?,
        };
        Ok(match frame {
            Frame::Text(_) if self.documents.is_some() => Next::Text(Place::Document),
            Frame::Text(line) => self.unwrap(line),
            Frame::TooLong => Next::Bad(self.too_long()),
            Frame::End if self.joiner.finish() => {
                Next::Bad("the last line was split by the container runtime and never ends".into())
            }
            Frame::End => Next::End,
        })
    }

    /// Takes the container runtime's prefix off a line.
    #[inline]
    fn unwrap(&mut self, line: Range<usize>) -> Next {
        let text = self.lines.bytes(line.clone()).trim_ascii_end();
        if text.is_empty() {
            return Next::Blank;
        }
        let end = line.start + text.len();
        match self.joiner.unwrap(text) {
            Unwrapped::From(offset) if offset == text.len() => Next::Blank,
            Unwrapped::From(offset) => Next::Text(Place::Line(line.start + offset..end)),
            Unwrapped::Joined => Next::Text(Place::Joined),
            Unwrapped::Partial => Next::Blank,
            Unwrapped::TooLong => Next::Bad(self.too_long()),
        }
    }

    fn too_long(&self) -> String {
        format!("longer than {} bytes", self.limit)
    }
}
