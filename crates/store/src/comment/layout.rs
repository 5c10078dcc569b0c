//! Where the entries and the comments of a text are.

use std::fmt::Write;

use serde_saphyr::granit_parser::{self, Options};

use super::build;

/// Position of an entry in [`Layout::entries`].
pub(super) type Id = usize;

/// The entries of a document in the order of the text, and its comments.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) entries: Vec<Entry>,
    /// Entries of the root.
    pub(super) top: Vec<Id>,
    pub(super) comments: Vec<Comment>,
}

/// An entry of a mapping, or an item of a list.
#[derive(Debug)]
pub(super) struct Entry {
    /// The entry that this one stands in; `None` for those of the root.
    pub(super) parent: Option<Id>,
    /// The key in a mapping; `None` for an item.
    pub(super) key: Option<String>,
    /// Line on which it begins, counted from 0.
    pub(super) line: usize,
    /// Column in which it begins: of its key or of its dash.
    pub(super) column: usize,
    /// Line on which it ends.
    pub(super) last_line: usize,
    /// Whether it stands in a collection in brackets.
    pub(super) in_flow: bool,
    /// What its value is.
    pub(super) shape: Shape,
    pub(super) children: Vec<Id>,
}

/// What the value of an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// A scalar, and whether a comment may follow on its first line.
    Scalar { text: String, open: bool },
    /// A mapping or list on lines of its own.
    Block,
    /// A mapping or list in brackets.
    Flow,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Comment {
    /// All of it, from the `#`.
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// Whether nothing stands before it on its line.
    pub(super) own_line: bool,
    /// Whether an empty line follows.
    pub(super) before_blank: bool,
}

/// Options that let as many comments stand together as there are.
pub(super) fn options() -> Options {
    granit_parser::options! { max_buffered_comment_events: usize::MAX }
}

// === impl Layout ===

impl Layout {
    /// The layout of `text`; `None` if it is no YAML.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut layout = build::build(text)?;
        layout.extend_last_lines();
        Some(layout)
    }

    /// Entries in `parent`, or of the root.
    pub(super) fn children(&self, parent: Option<Id>) -> &[Id] {
        parent.map_or(&self.top, |parent| &self.entries[parent].children)
    }

    /// The child of `parent` under `key`.
    pub(super) fn child(&self, parent: Option<Id>, key: &str) -> Option<Id> {
        let is = |id: &Id| self.entries[*id].key.as_deref() == Some(key);
        self.children(parent).iter().copied().find(is)
    }

    /// The value of an entry in one canonical form: the order of keys and the style do not count.
    pub(super) fn content(&self, id: Id) -> String {
        let entry = &self.entries[id];
        match &entry.shape {
            Shape::Scalar { text, .. } => format!("{text:?}"),
            Shape::Block | Shape::Flow => {
                let mut parts: Vec<String> =
                    entry.children.iter().map(|id| self.part(*id)).collect();
                if entry.children.iter().any(|id| self.entries[*id].key.is_some()) {
                    parts.sort_unstable();
                }
                format!("({})", parts.join(" "))
            }
        }
    }

    fn part(&self, id: Id) -> String {
        let mut part = String::new();
        if let Some(key) = &self.entries[id].key {
            let _ = write!(part, "{key:?}:");
        }
        part + &self.content(id)
    }

    /// An entry ends where the last one in it does.
    fn extend_last_lines(&mut self) {
        for id in (0..self.entries.len()).rev() {
            let Entry { parent, last_line, .. } = self.entries[id];
            if let Some(parent) = parent {
                let own = &mut self.entries[parent].last_line;
                *own = last_line.max(*own);
            }
        }
    }
}
