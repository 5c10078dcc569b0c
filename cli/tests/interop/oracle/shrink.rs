//! What is left of a document when everything is taken away that its fault does not need.

use netenf_policy::Packet;
use serde_json::Value;

use super::document::{Document, kind};

/// Lists of which the last item may go: without it they mean no more than before. An empty list of peers or
/// ports would mean something else.
const MAY_BE_EMPTY: [&str; 4] = ["ingress", "egress", "except", "matchExpressions"];

/// Takes away one thing after the other for as long as `is_faulty` holds of what is left.
pub(crate) fn shrink(
    document: &Document,
    packet: Packet,
    mut is_faulty: impl FnMut(&Document) -> bool,
) -> Document {
    let mut least = document.with_packets(&[packet]);
    while let Some(smaller) = smaller(&least).into_iter().find(|one| is_faulty(one)) {
        least = smaller;
    }
    least
}

/// Every document with one object, or one item of a list in an object, less.
fn smaller(document: &Document) -> Vec<Document> {
    let without = |object: usize, pointer: Option<&Pointer>| {
        let mut smaller = document.clone();
        match pointer {
            // A pod whose namespace is not known has other labels.
            None if kind(&smaller.objects[object]) == "Namespace" => return None,
            None => drop(smaller.objects.remove(object)),
            Some((list, at)) => {
                smaller.objects[object].pointer_mut(list)?.as_array_mut()?.remove(*at);
            }
        }
        Some(smaller)
    };
    let mut all = Vec::new();
    for (number, object) in document.objects.iter().enumerate() {
        all.extend(without(number, None));
        let mut pointers = Vec::new();
        collect(object, "", &mut pointers);
        all.extend(pointers.iter().filter_map(|pointer| without(number, Some(pointer))));
    }
    all
}

/// A list and the place of an item in it.
type Pointer = (String, usize);

/// Notes every item of a list that may go.
fn collect(value: &Value, path: &str, pointers: &mut Vec<Pointer>) {
    match value {
        Value::Array(items) => {
            let field = path.rsplit('/').next().unwrap_or_default();
            if items.len() > 1 || MAY_BE_EMPTY.contains(&field) {
                pointers.extend((0..items.len()).map(|at| (path.to_owned(), at)));
            }
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{path}/{at}"), pointers);
            }
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                let field = field.replace('~', "~0").replace('/', "~1");
                collect(value, &format!("{path}/{field}"), pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
