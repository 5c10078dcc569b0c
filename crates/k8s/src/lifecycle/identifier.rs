//! Entries by their short ids, or by the start of one.

use super::refusal::Reason;

/// The least characters of an id that may stand for it: what is typed by chance names nothing.
pub const MIN_PREFIX: usize = 4;

/// Whether `wanted` is the id, or enough of its beginning.
pub fn is_named(id: &str, wanted: &str) -> bool {
    id == wanted || (wanted.len() >= MIN_PREFIX && id.starts_with(wanted))
}

/// The position of the one id that `wanted` is, or that begins with it.
pub(super) fn find<'a>(
    ids: impl Iterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Result<usize, Reason> {
    if let Some(position) = ids.clone().position(|id| id == wanted) {
        return Ok(position);
    }
    let mut matches = ids.enumerate().filter(|(_, id)| is_named(id, wanted));
    let Some((position, first)) = matches.next() else {
        if wanted.len() < MIN_PREFIX {
            return Err(Reason::ShortId { id: wanted.to_owned() });
        }
        return Err(Reason::UnknownId { id: wanted.to_owned() });
    };
    let others: Vec<String> = matches.map(|(_, id)| id.to_owned()).collect();
    if others.is_empty() {
        return Ok(position);
    }
    let candidates = std::iter::once(first.to_owned()).chain(others).collect();
    Err(Reason::AmbiguousId { id: wanted.to_owned(), candidates })
}
