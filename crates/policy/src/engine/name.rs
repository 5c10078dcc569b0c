//! Which rules mean a name. The most specific pattern that means it decides: every other pattern that does is on the
//! way to it, so that names of the same most specific pattern, a class, are meant by the same rules. What is kept of
//! addresses refers to classes; a change of policies changes only the rules of classes, unless a pattern comes or goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Name, Pattern, Tree, tree::Step};

use super::row::{Row, Scratch};
use super::share::Chunks;

/// The patterns of all policies, each the class of the names of which it is the most specific one.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: BTreeMap<Pattern, u32>,
    free: Vec<u32>,
    tree: Tree<AtName>,
    /// The rules of each class, as snapshots see them.
    pub(super) rows: Chunks<Arc<Row>>,
}

/// The patterns at a name.
#[derive(Debug, Default)]
struct AtName {
    itself: Option<Meant>,
    below: Option<Meant>,
}

/// A pattern: the number of its class, and the rules that hold it.
#[derive(Debug)]
struct Meant {
    class: u32,
    rules: Row,
}

// === impl Names ===

impl Names {
    /// The class of a name; `None` if no rule means it.
    pub(super) fn class(&self, name: &Name) -> Option<u32> {
        let meant = self.tree.path(name).filter_map(|(at, step)| match step {
            Step::Above => at.below.as_ref(),
            Step::Name => at.itself.as_ref(),
        });
        meant.last().map(|meant| meant.class)
    }

    /// Takes the rules by pattern. Gives the patterns that came or went: names that they mean may be in other
    /// classes now.
    pub(super) fn rebuild(&mut self, rules: &BTreeMap<Pattern, Row>) -> Vec<Pattern> {
        let mut before = std::mem::take(&mut self.numbers);
        let mut changed = Vec::new();
        self.tree = Tree::default();
        for (pattern, rules) in rules {
            let class = before.remove(pattern).unwrap_or_else(|| {
                changed.push(pattern.clone());
                // Without a free number all below the count of patterns are taken.
                let next = self.numbers.len() + before.len();
                self.free.pop().unwrap_or(u32::try_from(next).unwrap_or(u32::MAX))
            });
            self.numbers.insert(pattern.clone(), class);
            let at = self.tree.value_or_default(&pattern.name);
            let meant = Some(Meant { class, rules: rules.clone() });
            *(if pattern.wildcard { &mut at.below } else { &mut at.itself }) = meant;
        }
        self.free.extend(before.values());
        changed.extend(before.into_keys());
        self.combine();
        changed
    }

    /// The rules of a class are those of its pattern and of the wildcards above.
    fn combine(&mut self) {
        let mut scratch = Scratch::default();
        for (pattern, class) in &self.numbers {
            for (at, step) in self.tree.path(&pattern.name) {
                let meant = match (step, pattern.wildcard) {
                    (Step::Above, _) | (Step::Name, true) => &at.below,
                    (Step::Name, false) => &at.itself,
                };
                if let Some(meant) = meant {
                    scratch.add(&meant.rules);
                }
            }
            self.rows.set(*class, &Arc::new(scratch.take()));
        }
    }
}

#[cfg(test)]
mod tests;
