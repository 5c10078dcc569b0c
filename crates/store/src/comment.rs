//! Keeps the comments of a person when a file is written anew.
//!
//! A comment belongs to the entry that it stands above or behind, or to the end of a block. It goes to the
//! same entry of the new text: the same key, and in a list the item with the same content or the same
//! identity. Where that is gone, the comment goes to the end of what is left around it. Only comments of
//! whole lines and at the ends of lines are written, so the new text means what it meant.

mod anchor;
mod build;
mod insert;
mod layout;
mod pair;

use serde_saphyr::granit_parser::{Event, Parser};

use layout::{Layout, options};

/// `new`, with every comment of `old` at the place that it belongs to.
///
/// Both are single YAML documents. The result means the same as `new`; without comments in `old` it is
/// `new`.
pub fn keep_comments(old: &str, new: &str) -> String {
    let Some((_, comments)) = events(old) else { return with_lines(new, &lines_of(old)) };
    if comments.is_empty() {
        return new.to_owned();
    }
    let placed = Layout::of(old).zip(Layout::of(new)).map(|(old, target)| {
        let pairs = pair::pairs(&old, &target);
        insert::insert(new, &old, &target, &pairs)
    });
    match placed {
        Some(kept) if is_faithful(new, &kept, &comments) => kept,
        Some(_) | None => with_lines(new, &comments),
    }
}

/// Whether `kept` means what `new` means, and holds all of `comments`.
fn is_faithful(new: &str, kept: &str, comments: &[String]) -> bool {
    let (Some((expected, _)), Some((actual, mut found))) = (events(new), events(kept)) else {
        return false;
    };
    let mut take = |comment: &String| {
        let position = found.iter().position(|text| text == comment);
        position.map(|position| found.swap_remove(position)).is_some()
    };
    expected == actual && comments.iter().all(&mut take)
}

/// What a text means, and its comments.
fn events(text: &str) -> Option<(Vec<Event<'_>>, Vec<String>)> {
    let mut events = Vec::new();
    let mut comments = Vec::new();
    for event in Parser::new_from_str_with_options(text, options()) {
        match event.ok()?.0 {
            Event::Comment(text, _) => comments.push(format!("#{}", text.trim_end())),
            event => events.push(event),
        }
    }
    Some((events, comments))
}

/// `text` below lines of comments: the last resort, which means what `text` means whatever that is.
fn with_lines(text: &str, comments: &[String]) -> String {
    let lines = comments.iter().map(|comment| format!("{comment}\n"));
    lines.chain([text.to_owned()]).collect()
}

/// Whole lines of comments in a text that is no YAML.
fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
