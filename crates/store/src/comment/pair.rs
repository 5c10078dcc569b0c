//! Which entry of the new text is which of the old.

use std::collections::BTreeMap;

use super::layout::{Id, Layout};

/// For entries of the old text, the same entry of the new one.
pub(super) type Pairs = BTreeMap<Id, Id>;

/// What tells items of a list apart, best first: all of these fields together.
const IDENTITIES: &[&[&str]] = &[
    &["id"],
    &["peer", "protocol", "port", "endPort"],
    &["from"],
    &["to"],
    &["violation"],
    &["ipBlock"],
    &["namespaceSelector", "podSelector"],
    &["protocol", "port"],
    &["port"],
    &["type"],
    &["key"],
    &["name"],
];

/// Pairs the entries of both texts.
pub(super) fn pairs(old: &Layout, new: &Layout) -> Pairs {
    let mut pairs = Pairs::new();
    let mut waiting = vec![(None, None)];
    while let Some((one, other)) = waiting.pop() {
        let found = pair_children(old, one, new, other);
        waiting.extend(found.iter().map(|(one, other)| (Some(*one), Some(*other))));
        pairs.extend(found);
    }
    pairs
}

fn pair_children(
    old: &Layout,
    old_parent: Option<Id>,
    new: &Layout,
    new_parent: Option<Id>,
) -> Vec<(Id, Id)> {
    let (keyed, items): (Vec<Id>, Vec<Id>) =
        old.children(old_parent).iter().partition(|id| old.entries[**id].key.is_some());
    let mut found: Vec<(Id, Id)> = keyed
        .into_iter()
        .filter_map(|id| Some((id, new.child(new_parent, old.entries[id].key.as_deref()?)?)))
        .collect();
    if !items.is_empty() {
        let others = new.children(new_parent).iter().copied();
        let others = others.filter(|id| new.entries[*id].key.is_none()).collect();
        found.extend(pair_items(old, items, new, others));
    }
    found
}

/// Items with the same content are the same; then those with the same identity.
fn pair_items(old: &Layout, mut ours: Vec<Id>, new: &Layout, mut theirs: Vec<Id>) -> Vec<(Id, Id)> {
    let whole = |layout: &Layout, id: Id| Some(layout.content(id));
    let mut found = take_equal(&mut ours, &mut theirs, |id| whole(old, id), |id| whole(new, id));
    for fields in IDENTITIES {
        let own = |id| identity(old, id, fields);
        found.extend(take_equal(&mut ours, &mut theirs, own, |id| identity(new, id, fields)));
    }
    found
}

fn take_equal(
    ours: &mut Vec<Id>,
    theirs: &mut Vec<Id>,
    own: impl Fn(Id) -> Option<String>,
    other: impl Fn(Id) -> Option<String>,
) -> Vec<(Id, Id)> {
    // By identity, in the order of the text, the first last so that it is taken first.
    let mut waiting: BTreeMap<String, Vec<Id>> = BTreeMap::new();
    for id in theirs.iter().rev() {
        if let Some(identity) = other(*id) {
            waiting.entry(identity).or_default().push(*id);
        }
    }
    let mut found = BTreeMap::new();
    ours.retain(|id| {
        let partner = own(*id).and_then(|identity| waiting.get_mut(&identity)?.pop());
        found.extend(partner.map(|partner| (partner, *id)));
        partner.is_none()
    });
    theirs.retain(|id| !found.contains_key(id));
    found.into_iter().map(|(partner, id)| (id, partner)).collect()
}

/// The values of `fields`, if the item has the first of them.
fn identity(layout: &Layout, id: Id, fields: &[&str]) -> Option<String> {
    layout.child(Some(id), fields.first()?)?;
    let value = |field: &&str| layout.child(Some(id), field).map(|id| value(layout, field, id));
    Some(fields.iter().map(|field| value(field).unwrap_or_default()).collect::<Vec<_>>().join(" "))
}

fn value(layout: &Layout, field: &str, id: Id) -> String {
    // A violation changes with every recurrence, its id does not.
    let own = if field == "violation" { layout.child(Some(id), "id") } else { None };
    layout.content(own.unwrap_or(id))
}
