//! The new text of a file, one document at a time.

use netenf_k8s::lifecycle::Resource;

use super::parse::{Content, Document};
use crate::comment::keep_comments;
use crate::error::StoreError;
use crate::yaml::to_neat_yaml;

/// What becomes of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edit {
    /// It holds this object.
    Replace(Box<Resource>),
    /// It is removed.
    Remove,
}

/// The text of a new file; the comments of `old` go with it.
pub(super) fn new_text(object: &Resource, old: Option<&str>) -> Result<String, StoreError> {
    let text = to_neat_yaml(object)?;
    Ok(match old {
        Some(old) => keep_comments(&old.replace("\r\n", "\n"), &text),
        None => text,
    })
}

/// The text of a file after `edits`, each with the position of its document; `None` where nothing is left.
pub(super) fn edited(
    text: &str,
    documents: &[Document],
    edits: &[(usize, Edit)],
) -> Result<Option<String>, StoreError> {
    let mut new = text.to_owned();
    let mut ordered: Vec<&(usize, Edit)> = edits.iter().collect();
    ordered.sort_by_key(|(position, _)| *position);
    // From the end, so that the places of what stands before stay right.
    for (position, edit) in ordered.into_iter().rev() {
        let Some(document) = documents.get(*position) else { continue };
        match edit {
            Edit::Replace(object) => replace(&mut new, text, document, object)?,
            Edit::Remove => new.replace_range(document.span.whole.clone(), ""),
        }
    }
    let removed = |position: usize| {
        edits.iter().any(|(edited, edit)| *edited == position && *edit == Edit::Remove)
    };
    let is_left = documents
        .iter()
        .enumerate()
        .any(|(position, document)| !removed(position) && !is_empty(text, document));
    Ok(is_left.then_some(new))
}

fn replace(
    new: &mut String,
    text: &str,
    document: &Document,
    object: &Resource,
) -> Result<(), StoreError> {
    let neat = to_neat_yaml(object)?;
    if let Content::Ours { object: old, .. } = &document.content
        && to_neat_yaml(old)? == neat
    {
        // Nothing changed: the file stays as a person wrote it.
        return Ok(());
    }
    let body = &text[document.span.body.clone()];
    let mut neat = keep_comments(&body.replace("\r\n", "\n"), &neat);
    let before = &text[..document.span.body.start];
    if !before.is_empty() && !before.ends_with('\n') {
        neat.insert(0, '\n');
    }
    if text.contains("\r\n") {
        neat = neat.replace('\n', "\r\n");
    }
    new.replace_range(document.span.body.clone(), &neat);
    Ok(())
}

/// Whether the document holds nothing but comments.
fn is_empty(text: &str, document: &Document) -> bool {
    text[document.span.body.clone()].lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#')
    })
}
