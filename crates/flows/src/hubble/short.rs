//! A line without the endpoints that are known.
//!
//! Endpoints are more than half of a line, and to pass over one costs nearly as much as to read it. So those
//! whose text was read before are looked up and taken out first: a `0` stands in the place of each. A text that
//! was a whole JSON value once is one wherever it stands, so what is left is JSON exactly if the line is, with
//! the same fields. Where a short line cannot be decoded the whole one is, and tells what is wrong with it.

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::endpoint::Known;
use crate::cache::Cache;

/// A text that is decoded.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    taken: &'a [Taken],
}

/// An endpoint that was taken out.
#[derive(Debug)]
struct Taken {
    /// Where in the short line the `0` stands.
    place: usize,
    known: Known,
}

/// A short line; one after the other is kept in the same memory.
#[derive(Debug, Default)]
pub(super) struct Short {
    text: Vec<u8>,
    taken: Vec<Taken>,
}

/// What stands before and behind endpoints in a line as Hubble writes it.
#[derive(Debug)]
pub(super) struct Marks([(Finder<'static>, Finder<'static>); 2]);

// === impl Marks ===

impl Default for Marks {
    fn default() -> Self {
        let finder = |text: &'static str| Finder::new(text);
        Self([
            (finder("\"source\":{"), finder(",\"destination\":")),
            (finder("\"destination\":{"), finder(",\"Type\":")),
        ])
    }
}

// === impl Short ===

impl Short {
    /// Shortens `line`; `None` if no endpoint in it is known.
    pub(super) fn shorten(
        &mut self,
        line: &[u8],
        marks: &Marks,
        endpoints: &Cache<Known>,
    ) -> Option<Line<'_>> {
        self.text.clear();
        self.taken.clear();
        let mut rest = line;
        for (before, behind) in &marks.0 {
            let Some(at) = before.find(rest) else { continue };
            let (head, tail) = rest.split_at(at + before.needle().len() - 1);
            let Some(length) = behind.find(tail) else { continue };
            let (endpoint, tail) = tail.split_at(length);
            let Some(known) = endpoints.known(endpoint) else { continue };
            self.text.extend_from_slice(head);
            self.taken.push(Taken { place: self.text.len(), known });
            self.text.push(b'0');
            rest = tail;
        }
        if self.taken.is_empty() {
            return None;
        }
        self.text.extend_from_slice(rest);
        let text = str::from_utf8(&self.text).ok()?;
        Some(Line { text, taken: &self.taken })
    }
}

// === impl Line ===

impl<'a> Line<'a> {
    /// A line with everything in it.
    pub(super) fn whole(text: &'a str) -> Self {
        Self { text, taken: &[] }
    }

    /// The endpoint that was taken out of the place of `value`.
    pub(super) fn taken(&self, value: &RawValue) -> Option<&'a Known> {
        let place = value.get().as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        self.taken.iter().find(|taken| taken.place == place).map(|taken| &taken.known)
    }
}
