//! What a comment belongs to.

use super::layout::{Comment, Entry, Id, Layout, Shape};

/// What a comment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The entry below it.
    Above(Id),
    /// The entry on its line.
    Behind(Id),
    /// The end of what stands in an entry, or of the document.
    End(Option<Id>),
}

/// What `comment` belongs to in `layout`.
pub(super) fn anchor(layout: &Layout, comment: &Comment) -> Anchor {
    if !comment.own_line
        && let Some(id) = beside(layout, comment.line)
    {
        return Anchor::Behind(id);
    }
    if let Some(owner) = brackets(layout, comment.line) {
        let children = layout.entries[owner].children.iter().copied();
        let next = children.into_iter().find(|id| layout.entries[*id].line > comment.line);
        return next.map_or(Anchor::End(Some(owner)), Anchor::Above);
    }
    let next = layout.entries.iter().position(|entry| entry.line > comment.line);
    let outer = next.map(|id| layout.entries[id].column);
    // Indented further than what follows, it ends a block that came before.
    if outer.is_none_or(|outer| comment.column > outer)
        && let Some(id) = last_within(layout, comment, outer)
    {
        return Anchor::End(layout.entries[id].parent);
    }
    next.map_or(Anchor::End(None), Anchor::Above)
}

/// The entry that a comment at the end of `line` is about: the innermost that begins there outside
/// brackets, else inside, else the innermost that goes on there.
fn beside(layout: &Layout, line: usize) -> Option<Id> {
    let last = |is: &dyn Fn(&Entry) -> bool| layout.entries.iter().rposition(is);
    last(&|entry| entry.line == line && !entry.in_flow)
        .or_else(|| last(&|entry| entry.line == line))
        .or_else(|| last(&|entry| entry.line < line && line <= entry.last_line))
}

/// The innermost collection in brackets around `line`.
fn brackets(layout: &Layout, line: usize) -> Option<Id> {
    layout.entries.iter().rposition(|entry| {
        entry.shape == Shape::Flow && entry.line <= line && line < entry.last_line
    })
}

/// The innermost entry before the comment whose block the comment can end.
fn last_within(layout: &Layout, comment: &Comment, outer: Option<usize>) -> Option<Id> {
    let mut current = layout.entries.iter().rposition(|entry| entry.line < comment.line);
    while let Some(id) = current {
        let entry = &layout.entries[id];
        let is_within = outer.is_none_or(|outer| entry.column > outer);
        if entry.column <= comment.column && is_within && !entry.in_flow {
            return Some(id);
        }
        current = entry.parent;
    }
    None
}
