//! JSON documents that span lines, or stand in an array: `jq .` and `jq -s .` write such.
//!
//! A document is found by counting brackets outside strings. Blanks outside strings are left out,
//! so that its text is one line, as the sources write it.

use std::io;

use super::lines::{Frame, Lines};

/// Finds documents in a stream.
#[derive(Debug, Default)]
pub(super) struct Documents {
    text: Vec<u8>,
    /// Whether the text had more bytes than the limit; the others were not kept.
    is_too_long: bool,
    place: Place,
    is_escaped: bool,
    at_line_start: bool,
    /// Lines that are over.
    lines: u64,
    /// The line on which the last document began, from 1.
    pub(super) number: u64,
}

/// Where in the stream a byte stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Between documents, in an array or not.
    #[default]
    Between,
    /// In something that is no object.
    Other,
    /// In an object, below so many brackets.
    Object(usize),
    /// In a string of an object.
    String(usize),
}

/// What one byte does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The document goes on.
    On,
    /// The document ends with this byte.
    Last,
    /// The document ended before this byte.
    Before,
}

/// Whether a stream that begins like this has documents over several lines, or an array of them.
pub(super) fn are_in(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    match line {
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [] | [b'{', ..]),
        [b'{', .., last] => matches!(last, b'{' | b'[' | b',' | b':'),
        line => line == b"{",
    }
}

// === impl Documents ===

impl Documents {
    /// The text of the last document, on one line.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The next document of at most `limit` bytes. [`Frame::Text`] stands for [`Self::text`].
    pub(super) fn next(&mut self, stream: &mut Lines, limit: usize) -> io::Result<Frame> {
        self.text.clear();
        self.is_too_long = false;
        self.place = Place::Between;
        loop {
            let chunk = stream.chunk()?;
            if chunk.is_empty() {
                return Ok(if self.place == Place::Between { Frame::End } else { self.frame() });
            }
            let (used, is_whole) = self.scan(chunk, limit);
            stream.take(used);
            if is_whole {
                return Ok(self.frame());
            }
        }
    }

    fn frame(&self) -> Frame {
        if self.is_too_long { Frame::TooLong } else { Frame::Text(0..self.text.len()) }
    }

    /// Takes bytes until a document is whole: how many, and whether it is.
    fn scan(&mut self, chunk: &[u8], limit: usize) -> (usize, bool) {
        for (at, byte) in chunk.iter().enumerate() {
            match self.step(*byte, limit) {
                Step::On => {}
                Step::Last => return (at + 1, true),
                Step::Before => return (at, true),
            }
        }
        (chunk.len(), false)
    }

    fn step(&mut self, byte: u8, limit: usize) -> Step {
        let step = match self.place {
            Place::Between => self.between(byte, limit),
            Place::Other => self.other(byte, limit),
            Place::Object(depth) => self.object(byte, depth, limit),
            Place::String(depth) => self.string(byte, depth, limit),
        };
        if step != Step::Before {
            self.at_line_start = byte == b'\n';
            self.lines += u64::from(byte == b'\n');
        }
        step
    }

    fn between(&mut self, byte: u8, limit: usize) -> Step {
        if byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b',') {
            return Step::On;
        }
        self.number = self.lines + 1;
        self.place = if byte == b'{' { Place::Object(1) } else { Place::Other };
        self.keep(byte, limit);
        Step::On
    }

    /// What is no object is one text up to the end of its line, or up to an object.
    fn other(&mut self, byte: u8, limit: usize) -> Step {
        match byte {
            b'{' => Step::Before,
            b'\n' => Step::Last,
            _ => {
                self.keep(byte, limit);
                Step::On
            }
        }
    }

    fn object(&mut self, byte: u8, depth: usize, limit: usize) -> Step {
        if byte.is_ascii_whitespace() {
            return Step::On;
        }
        let may_follow = matches!(self.text.last(), Some(b',' | b':' | b'[' | b'{'));
        if byte == b'{' && self.at_line_start && !may_follow {
            return Step::Before;
        }
        self.keep(byte, limit);
        self.place = match byte {
            b'"' => Place::String(depth),
            b'{' | b'[' => Place::Object(depth + 1),
            b'}' | b']' if depth == 1 => return Step::Last,
            b'}' | b']' => Place::Object(depth - 1),
            _ => Place::Object(depth),
        };
        Step::On
    }

    /// A string has no line end: one that has was cut off, and the document with it.
    fn string(&mut self, byte: u8, depth: usize, limit: usize) -> Step {
        if byte == b'\n' {
            return Step::Last;
        }
        self.keep(byte, limit);
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.place = Place::Object(depth),
            _ => {}
        }
        Step::On
    }

    fn keep(&mut self, byte: u8, limit: usize) {
        if self.text.len() < limit {
            self.text.push(byte);
        } else {
            self.is_too_long = true;
        }
    }
}
