//! Names that a person may have meant.

/// Those of `names` that are most like `wanted`, the nearest first; a few at most.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let last = |name: &'a str| name.rsplit('/').next().unwrap_or_default();
    let own = wanted.rsplit('/').next().unwrap_or_default();
    // Kinds and namespaces are short of choice: the name itself must be like it.
    let limit = own.chars().count() / 3 + 1;
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let is_part = !wanted.is_empty() && name.contains(wanted) || last(name) == own;
            let distance = if is_part { 0 } else { distance(wanted, name) };
            (distance <= limit).then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many characters must be changed, added or removed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (position, own) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = position + 1;
        for column in 1..row.len() {
            let changed = diagonal + usize::from(other[column - 1] != own);
            diagonal = row[column];
            row[column] = changed.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_a_little_are_near() {
        let names = ["shop/deployment/web", "shop/deployment/api", "shop/statefulset/db"];
        let of = |wanted: &str| near(wanted, names.into_iter());
        assert_eq!(of("shop/deployment/wbe")[0], "shop/deployment/web");
        assert_eq!(of("store/deployment/web")[0], "shop/deployment/web");
        assert_eq!(of("web"), ["shop/deployment/web"]);
        assert!(of("nothing-like-it").is_empty());
        assert!(of("shop/deployment/nothere").is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
