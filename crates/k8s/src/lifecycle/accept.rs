//! Accepts that something was seen and that no rule allows it.

use super::identifier;
use super::refusal::Refusal;
use super::resource::Resource;

/// Which entries are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Every one.
    All,
    /// These, by id or the start of one.
    Ids(&'a [String]),
}

/// Marks uncovered peers of `resource` as accepted, so that they do not hold a promotion up.
pub fn accept_uncovered(
    resource: &Resource,
    selection: Selection<'_>,
) -> Result<Resource, Refusal> {
    let mut object = resource.clone();
    let positions: Vec<usize> = match selection {
        Selection::All => (0..object.uncovered().len()).collect(),
        Selection::Ids(ids) => ids
            .iter()
            .map(|id| {
                identifier::find(object.uncovered().iter().map(|entry| entry.id.as_str()), id)
            })
            .collect::<Result<_, _>>()
            .map_err(|reason| Refusal::new("accept uncovered peers of", resource.key(), reason))?,
    };
    if positions.is_empty() {
        return Ok(object);
    }
    let uncovered = object.uncovered_mut();
    for position in positions {
        if let Some(entry) = uncovered.get_mut(position) {
            entry.accepted = true;
        }
    }
    object.recount();
    Ok(object)
}

#[cfg(test)]
mod tests;
