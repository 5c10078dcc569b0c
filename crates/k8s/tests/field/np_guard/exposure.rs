//! What np-guard says of workloads towards pods that are not there yet, and of those that nothing protects.
//!
//! What is exposed to pods with some labels is left out: we ask about ends, not about selectors.

use std::collections::BTreeSet;

use netenf_policy::{Decider, End, Pod, Side};

use super::{Input, line};

const EXPOSURE: &str = "Exposure Analysis Result:";
const ANY_POD: &str = " entire-cluster : ";
const UNPROTECTED: &str = " is not protected on ";

/// The part of a text that lists what passes.
pub(super) fn before(text: &str) -> &str {
    text.split_once(EXPOSURE).map_or(text, |(before, _)| before)
}

/// What np-guard says of any pod that may come, and of workloads for which no policy decides.
pub(super) fn theirs(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| line.contains(ANY_POD) || line.contains(UNPROTECTED)).collect()
}

/// The same in our words.
pub(super) fn ours(input: &Input) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let reach = input.reach();
    let any = [End::Pod(Pod { namespace: "any".into(), ..Pod::default() })];
    for (workload, ends) in &input.workloads {
        let name = line::name(workload);
        let sides = [
            (Side::Egress, "=>", reach.passing(ends, &any)),
            (Side::Ingress, "<=", reach.passing(&any, ends)),
        ];
        for (side, arrow, passing) in sides {
            if !passing.is_empty() {
                lines.insert(format!("{name} {arrow}{ANY_POD}{}", line::transports(&passing.some)));
            }
            if is_unprotected(input, ends, side) {
                lines.insert(format!("{name}{UNPROTECTED}{side:?}"));
            }
        }
    }
    lines
}

/// Whether nothing but the default decides, whoever is on the other side.
fn is_unprotected(input: &Input, ends: &[End], side: Side) -> bool {
    let reach = input.reach();
    let is_default = |end: &End, other: &End| {
        let parts = match side {
            Side::Egress => reach.policies().parts(side, end, other),
            Side::Ingress => reach.policies().parts(side, other, end),
        };
        parts.iter().all(|part| matches!(part.by, Decider::Default | Decider::Itself))
    };
    let world = reach.world(&input.index).into_iter().map(|range| End::Address(range.first));
    let pods = input.workloads.iter().flat_map(|(workload, ends)| {
        let neighbour = End::Pod(input.index.pod_in(&workload.namespace));
        ends.iter().cloned().chain([neighbour])
    });
    world.chain(pods).all(|other| ends.iter().all(|end| is_default(end, &other)))
}
