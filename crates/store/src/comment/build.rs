//! Reads the layout of a text from the events of the parser.

use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::layout::{Comment, Entry, Id, Layout, Shape, options};

/// The entries and comments of `text`; `None` if it is no YAML.
pub(super) fn build(text: &str) -> Option<Layout> {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).map(|position| position + 1);
    let mut builder = Builder {
        text,
        starts: std::iter::once(0).chain(newlines).collect(),
        layout: Layout::default(),
        open: Vec::new(),
        documents: 0,
    };
    for event in Parser::new_from_str_with_options(text, options()) {
        let (event, span) = event.ok()?;
        builder.read(event, &span)?;
    }
    Some(builder.layout)
}

/// A collection that is open while events are read.
struct Open {
    owner: Option<Id>,
    is_map: bool,
    flow: bool,
    /// The key that waits for its value.
    key: Option<(String, usize, usize)>,
}

struct Builder<'a> {
    text: &'a str,
    starts: Vec<usize>,
    layout: Layout,
    open: Vec<Open>,
    /// Documents that have ended.
    documents: usize,
}

// === impl Builder ===

impl Builder<'_> {
    fn read(&mut self, event: Event<'_>, span: &Span) -> Option<()> {
        let range = span.byte_range()?;
        match event {
            Event::Comment(text, _) => self.comment(&text, range.start),
            Event::DocumentEnd => self.documents += 1,
            // Only the first document has entries; comments of others are kept.
            _ if self.documents > 0 => {}
            Event::Scalar(text, style, ..) => self.scalar(&text, style, range),
            Event::Alias(id) => self.scalar(&format!("*{id}"), ScalarStyle::Plain, range),
            Event::MappingStart(style, ..) => self.start(true, style, range.start)?,
            Event::SequenceStart(style, ..) => self.start(false, style, range.start)?,
            Event::MappingEnd | Event::SequenceEnd => self.end(range.end),
            _ => {}
        }
        Some(())
    }

    fn comment(&mut self, text: &str, start: usize) {
        let line = self.line(start);
        let column = self.column(start);
        let before = &self.text[self.starts[line]..start];
        let next = self.starts.get(line + 1).map(|start| &self.text[*start..]);
        self.layout.comments.push(Comment {
            text: format!("#{}", text.trim_end()),
            line,
            column,
            own_line: before.trim_start_matches('\u{feff}').trim().is_empty(),
            before_blank: next.is_some_and(|rest| {
                rest.contains('\n')
                    && rest.lines().next().is_some_and(|line| line.trim().is_empty())
            }),
        });
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, range: Range<usize>) {
        if let Some(open) = self.open.last_mut()
            && open.is_map
            && open.key.is_none()
        {
            let place = (self.line(range.start), self.column(range.start));
            if let Some(open) = self.open.last_mut() {
                open.key = Some((text.to_owned(), place.0, place.1));
            }
            return;
        }
        let source = self.text.get(range.clone()).unwrap_or_default().trim_end();
        let mut last = self.line((range.start + source.len()).saturating_sub(1));
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let open = is_block || !source.contains('\n');
        let shape = Shape::Scalar { text: text.to_owned(), open };
        let start = if is_block { self.header(range.start) } else { range.start };
        let Some(id) = self.entry(shape, start) else { return };
        if source.is_empty() {
            // Nothing is nowhere: it ends where its key does.
            last = self.layout.entries[id].line;
        }
        if is_block {
            last = self.last_blank(last);
        }
        let entry = &mut self.layout.entries[id];
        entry.last_line = last.max(entry.line);
    }

    fn start(&mut self, is_map: bool, style: StructureStyle, start: usize) -> Option<()> {
        let flow = style == StructureStyle::Flow;
        if self.open.last().is_some_and(|open| open.is_map && open.key.is_none()) {
            // A key that is a collection itself: no object has one.
            return None;
        }
        let shape = if flow { Shape::Flow } else { Shape::Block };
        let owner = self.entry(shape, start);
        self.open.push(Open { owner, is_map, flow, key: None });
        Some(())
    }

    fn end(&mut self, end: usize) {
        let Some(closed) = self.open.pop() else { return };
        if let Some(owner) = closed.owner.filter(|_| closed.flow) {
            let last = self.line(end.saturating_sub(1));
            let entry = &mut self.layout.entries[owner];
            entry.last_line = entry.last_line.max(last);
        }
    }

    /// Adds the entry whose value begins at `start`; there is none for the root itself.
    fn entry(&mut self, shape: Shape, start: usize) -> Option<Id> {
        let (line, column, dash) = (self.line(start), self.column(start), self.dash(start));
        let open = self.open.last_mut()?;
        let (key, line, column) = match open.key.take() {
            Some((key, line, column)) => (Some(key), line, column),
            None if open.flow => (None, line, column),
            None => (None, line, dash),
        };
        let id = self.layout.entries.len();
        let (parent, in_flow) = (open.owner, open.flow);
        self.layout.entries.push(Entry {
            parent,
            key,
            line,
            column,
            last_line: line,
            in_flow,
            shape,
            children: Vec::new(),
        });
        match parent {
            Some(parent) => self.layout.entries[parent].children.push(id),
            None => self.layout.top.push(id),
        }
        Some(id)
    }

    /// Where the indicator of a block scalar is whose content begins at `content`.
    fn header(&self, content: usize) -> usize {
        let mut line = self.line(content);
        if self.text[self.starts[line]..content].trim().is_empty() {
            // Above the content, with empty lines that are part of it between.
            line = line.saturating_sub(1);
            while line > 0 && self.line_text(line).trim().is_empty() {
                line -= 1;
            }
        }
        self.starts[line] + self.line_text(line).find(['|', '>']).unwrap_or_default()
    }

    /// The last of the empty lines below `line`: they may be part of a block scalar.
    fn last_blank(&self, line: usize) -> usize {
        let below = (line + 1..self.starts.len()).take_while(|line| {
            // What follows the last line feed is no line.
            self.starts[*line] < self.text.len() && self.line_text(*line).trim().is_empty()
        });
        below.last().unwrap_or(line)
    }

    fn line_text(&self, line: usize) -> &str {
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[line]..end]
    }

    /// Column of the dash before the item that begins at `position`.
    fn dash(&self, position: usize) -> usize {
        let line = &self.text[self.starts[self.line(position)]..position];
        let before = line.trim_end();
        match before.strip_suffix('-') {
            Some(before) => before.chars().count(),
            // Its dash is on a line above, or a tag stands between.
            None => line.chars().count() - line.trim_start().chars().count(),
        }
    }

    fn line(&self, position: usize) -> usize {
        self.starts.partition_point(|start| *start <= position).saturating_sub(1)
    }

    fn column(&self, position: usize) -> usize {
        let line = &self.text[self.starts[self.line(position)]..position];
        line.chars().count()
    }
}
