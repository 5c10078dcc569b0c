//! Entries by their short ids, or by the start of one.

use super::refusal::Reason;

/// The position of the one id that `wanted` is, or that begins with it.
pub(super) fn find<'a>(
    ids: impl Iterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Result<usize, Reason> {
    if let Some(position) = ids.clone().position(|id| id == wanted) {
        return Ok(position);
    }
    let mut matches =
        ids.enumerate().filter(|(_, id)| !wanted.is_empty() && id.starts_with(wanted));
    let Some((position, first)) = matches.next() else {
        return Err(Reason::UnknownId { id: wanted.to_owned() });
    };
    let others: Vec<String> = matches.map(|(_, id)| id.to_owned()).collect();
    if others.is_empty() {
        return Ok(position);
    }
    let candidates = std::iter::once(first.to_owned()).chain(others).collect();
    Err(Reason::AmbiguousId { id: wanted.to_owned(), candidates })
}
