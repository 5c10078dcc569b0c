//! A stream as lines, without a copy of any: each is a range of one buffer.

use std::io::{self, Read};
use std::ops::Range;

/// How much is read at once.
const BLOCK: usize = 256 << 10;

/// How much of a stream may be looked at before it is read.
const PEEK: usize = 64 << 10;

/// The next part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// A text, at this place of the buffer.
    Text(Range<usize>),
    /// A text that was longer than the limit; it was not kept.
    TooLong,
    /// The stream is at its end.
    End,
}

/// The unread part of a stream, and how far into it a line has been searched for.
pub(super) struct Lines {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// What was read and not yet taken.
    unread: Range<usize>,
    /// Up to where there is no line end.
    searched: usize,
    is_at_end: bool,
    limit: usize,
    /// The number of the last line, from 1.
    pub(super) number: u64,
}

// === impl Lines ===

impl Lines {
    /// Lines of `reader`, each at most `limit` bytes.
    pub(super) fn new(reader: Box<dyn Read + Send>, limit: usize) -> Self {
        let buffer = vec![0; BLOCK];
        Self { reader, buffer, unread: 0..0, searched: 0, is_at_end: false, limit, number: 0 }
    }

    /// The bytes at a place of the buffer.
    #[inline]
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// The beginning of what is unread: at least one whole line that is not blank, if the stream
    /// has one that is not too long.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        loop {
            let seen = &self.buffer[self.unread.clone()];
            let blank = seen.len() - seen.trim_ascii_start().len();
            let has_line = memchr::memchr(b'\n', &seen[blank..]).is_some();
            if has_line || seen.len() >= PEEK || !self.fill()? {
                return Ok(&self.buffer[self.unread.clone()]);
            }
        }
    }

    /// The next line, without its line end.
    #[inline]
    pub(super) fn next(&mut self) -> io::Result<Frame> {
        loop {
            let unsearched = &self.buffer[self.searched..self.unread.end];
            if let Some(length) = memchr::memchr(b'\n', unsearched) {
                let line = self.unread.start..self.searched + length;
                self.unread.start = line.end + 1;
                self.searched = self.unread.start;
                self.number += 1;
                return Ok(if line.len() > self.limit {
                    Frame::TooLong
                } else {
                    Frame::Text(line)
                });
            }
            self.searched = self.unread.end;
            if self.unread.len() > self.limit {
                return self.skip();
            }
            if !self.fill()? {
                return Ok(self.last());
            }
        }
    }

    /// What stands after the last line end.
    fn last(&mut self) -> Frame {
        if self.unread.is_empty() {
            return Frame::End;
        }
        let line = self.unread.clone();
        self.unread.start = line.end;
        self.number += 1;
        Frame::Text(line)
    }

    /// Passes over the rest of a line that is too long.
    fn skip(&mut self) -> io::Result<Frame> {
        self.number += 1;
        loop {
            self.unread = 0..0;
            self.searched = 0;
            if !self.fill()? {
                return Ok(Frame::TooLong);
            }
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.unread.clone()]) {
                self.unread.start += length + 1;
                self.searched = self.unread.start;
                return Ok(Frame::TooLong);
            }
        }
    }

    /// The next byte, for texts that are not one on a line.
    #[inline]
    pub(super) fn chunk(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            self.fill()?;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    /// Takes the first `length` bytes of [`Self::chunk`].
    pub(super) fn take(&mut self, length: usize) {
        self.unread.start += length;
        self.searched = self.unread.start;
    }

    /// Reads more. False at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        if self.is_at_end {
            return Ok(false);
        }
        self.make_room();
        loop {
            match self.reader.read(&mut self.buffer[self.unread.end..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    return Ok(false);
                }
                Ok(length) => {
                    self.unread.end += length;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Moves what is unread to the front, and doubles the buffer when it is full.
    fn make_room(&mut self) {
        let start = self.unread.start;
        if start > 0 {
            self.buffer.copy_within(self.unread.clone(), 0);
            self.unread = 0..self.unread.end - start;
            self.searched -= start;
        }
        if self.unread.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}
