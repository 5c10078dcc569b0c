//! Writes comments into a text.

use std::collections::BTreeMap;

use super::anchor::{Anchor, anchor};
use super::layout::{Comment, Entry, Id, Layout, Shape};
use super::pair::Pairs;

/// What is added to a line.
#[derive(Debug, Default)]
struct Additions<'a> {
    above: Vec<&'a Comment>,
    behind: Option<&'a Comment>,
    /// With the column that each stands in.
    below: Vec<(usize, &'a Comment)>,
}

/// Puts the comments of `old` into the text `new`, whose layout is `target`.
pub(super) fn insert(new: &str, old: &Layout, target: &Layout, pairs: &Pairs) -> String {
    let mut writer = Writer { target, lines: BTreeMap::new(), rest: Vec::new() };
    for comment in &old.comments {
        match anchor(old, comment) {
            Anchor::Above(id) => match pairs.get(&id) {
                Some(id) => writer.above(*id, comment),
                None => writer.end(old, pairs, old.entries[id].parent, comment),
            },
            Anchor::Behind(id) => match pairs.get(&id) {
                Some(id) => writer.behind(*id, comment),
                None => writer.end(old, pairs, old.entries[id].parent, comment),
            },
            Anchor::End(owner) => writer.end(old, pairs, owner, comment),
        }
    }
    writer.write(new)
}

struct Writer<'a> {
    target: &'a Layout,
    lines: BTreeMap<usize, Additions<'a>>,
    /// What goes behind everything.
    rest: Vec<&'a Comment>,
}

// === impl Writer ===

impl<'a> Writer<'a> {
    fn above(&mut self, id: Id, comment: &'a Comment) {
        let line = self.target.entries[id].line;
        self.lines.entry(line).or_default().above.push(comment);
    }

    fn behind(&mut self, id: Id, comment: &'a Comment) {
        let entry = &self.target.entries[id];
        let is_taken = self.target.comments.iter().any(|own| own.line == entry.line);
        let additions = self.lines.entry(entry.line).or_default();
        if additions.behind.is_some() || is_taken || !takes_comment(entry) {
            additions.above.push(comment);
        } else {
            additions.behind = Some(comment);
        }
    }

    /// Puts a comment at the end of `owner`, or of the nearest that is left around it.
    fn end(&mut self, old: &Layout, pairs: &Pairs, owner: Option<Id>, comment: &'a Comment) {
        let mut owner = owner;
        while let Some(id) = owner {
            let entry = pairs.get(&id).map(|id| &self.target.entries[*id]);
            if let Some((entry, first)) = entry.and_then(|entry| Some((entry, first(entry)?))) {
                let column = self.target.entries[first].column;
                let below = &mut self.lines.entry(entry.last_line).or_default().below;
                below.push((column, comment));
                return;
            }
            owner = old.entries[id].parent;
        }
        self.rest.push(comment);
    }

    fn write(self, new: &str) -> String {
        let mut text = String::with_capacity(new.len() + 256);
        let first = self.target.entries.first().map(|entry| entry.line);
        for (number, line) in new.split_inclusive('\n').enumerate() {
            let Some(additions) = self.lines.get(&number) else {
                text.push_str(line);
                continue;
            };
            let indent = line.len() - line.trim_start_matches(' ').len();
            for comment in &additions.above {
                push(&mut text, indent, comment);
                if comment.before_blank && first == Some(number) {
                    text.push('\n');
                }
            }
            push_line(&mut text, line, additions.behind);
            let mut below = additions.below.clone();
            // The innermost block ends first.
            below.sort_by_key(|(column, _)| std::cmp::Reverse(*column));
            for (column, comment) in below {
                end_line(&mut text);
                push(&mut text, column, comment);
            }
        }
        for comment in &self.rest {
            end_line(&mut text);
            push(&mut text, 0, comment);
        }
        text
    }
}

/// The first entry of the block that the value of `entry` is.
fn first(entry: &Entry) -> Option<Id> {
    match entry.shape {
        Shape::Block => entry.children.first().copied(),
        Shape::Flow | Shape::Scalar { .. } => None,
    }
}

/// Whether a comment may follow on the first line of the entry.
fn takes_comment(entry: &Entry) -> bool {
    match &entry.shape {
        Shape::Scalar { open, .. } => *open && !entry.in_flow,
        Shape::Block => !entry.in_flow,
        Shape::Flow => !entry.in_flow && entry.line == entry.last_line,
    }
}

fn push(text: &mut String, column: usize, comment: &Comment) {
    text.extend(std::iter::repeat_n(' ', column));
    text.push_str(&comment.text);
    text.push('\n');
}

fn push_line(text: &mut String, line: &str, behind: Option<&Comment>) {
    let Some(comment) = behind else {
        text.push_str(line);
        return;
    };
    text.push_str(line.trim_end_matches('\n'));
    text.push(' ');
    text.push_str(&comment.text);
    text.push('\n');
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
