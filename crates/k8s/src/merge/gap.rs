//! What learning did not see, from before and from now.

use netenf_api::Gap;
use netenf_learn::proposal::Proposal;

use crate::render;
use crate::time::{earlier, later};

/// How many gaps a status lists: nodes come and go, and what they say of their losses is their own.
const LISTED: usize = 20;

/// The reason of what stands for all that are not listed.
const UNLISTED: &str = "over the limit of 20 gaps, and not listed";

/// The gaps of before with those of now. One of a node that reports by now is over.
pub(crate) fn renewed(known: Vec<Gap>, fresh: &Proposal) -> Vec<Gap> {
    let mut gaps = merged(known, render::gaps(fresh));
    for gap in gaps.iter_mut().filter(|gap| lasts(gap)) {
        let reports = |node: &str| {
            let place = fresh.reporting.binary_search_by(|(one, _)| (**one).cmp(node));
            place.ok().map(|place| fresh.reporting[place].1)
        };
        if let Some(since) = gap.node.as_deref().and_then(reports) {
            gap.until = later(gap.since.clone(), since.and_then(render::time));
        }
    }
    gaps
}

/// Gaps of one node and reason are one. Over the limit those that last are listed before others, and those of before
/// before new ones, so that what is listed stays.
pub(super) fn merged(known: Vec<Gap>, fresh: Vec<Gap>) -> Vec<Gap> {
    let (mut unlisted, mut all): (Vec<Gap>, Vec<Gap>) = known.into_iter().partition(is_unlisted);
    let before = all.len();
    for gap in fresh {
        match all.iter_mut().find(|one| (&one.node, &one.reason) == (&gap.node, &gap.reason)) {
            Some(one) => renew(one, gap),
            None => all.push(gap),
        }
    }
    let mut ranked: Vec<(bool, bool, Gap)> =
        all.into_iter().enumerate().map(|(at, gap)| (!lasts(&gap), at >= before, gap)).collect();
    ranked.sort_by(|a, b| (a.0, a.1, key(&a.2)).cmp(&(b.0, b.1, key(&b.2))));
    let mut listed: Vec<Gap> = ranked.into_iter().map(|(_, _, gap)| gap).collect();
    let over = listed.split_off(listed.len().min(LISTED));
    listed.sort_by(|a, b| key(a).cmp(&key(b)));
    if let Some(now) = all_in_one(over) {
        match unlisted.first_mut() {
            Some(one) => widen(one, now),
            None => unlisted.push(now),
        }
    }
    listed.extend(unlisted);
    listed
}

/// Whether it is one of a node that does not report, and still does not.
fn lasts(gap: &Gap) -> bool {
    gap.lost.is_none() && gap.until.is_none()
}

fn is_unlisted(gap: &Gap) -> bool {
    gap.node.is_none() && gap.reason == UNLISTED
}

fn key(gap: &Gap) -> (&Option<String>, &String) {
    (&gap.node, &gap.reason)
}

/// What is told now is all that was lost since learning began, or how the node is.
fn renew(known: &mut Gap, fresh: Gap) {
    let is_lasting = lasts(&fresh);
    widen(known, fresh);
    if is_lasting {
        known.until = None;
    }
}

fn widen(known: &mut Gap, gap: Gap) {
    known.since = earlier(known.since.take(), gap.since);
    known.until = later(known.until.take(), gap.until);
    known.lost = known.lost.max(gap.lost);
}

/// What stands for all of them; it says how many events were lost, and nothing that differs when they are told again.
fn all_in_one(gaps: Vec<Gap>) -> Option<Gap> {
    let lost = gaps.iter().filter_map(|gap| gap.lost).reduce(i64::saturating_add);
    let mut gaps = gaps.into_iter();
    let first = gaps.next()?;
    let mut all = Gap { node: None, reason: UNLISTED.to_owned(), ..first };
    gaps.for_each(|gap| widen(&mut all, gap));
    all.lost = lost;
    Some(all)
}

#[cfg(test)]
mod tests;
