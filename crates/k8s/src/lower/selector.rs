//! Label selectors.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use netenf_learn::name::is_label;
use netenf_policy::{Operator, Requirement, Selector};

use super::field::{Field, Problem, Told};
use crate::object::{self, Diagnostic};

/// Lowers a label selector; a requirement that the API refuses is one that nothing meets.
pub fn selector(selector: &LabelSelector) -> (Selector, Vec<Diagnostic>) {
    let (lowered, problems) = lower("matchLabels and matchExpressions", selector);
    let mut told = Told::about("selector".to_owned());
    for problem in problems {
        told.report(&problem, "the selector matches nothing");
    }
    (lowered, told.into_diagnostics())
}

/// Lowers the selector at `path`, unless the API refuses it.
pub(super) fn valid(path: &str, selector: &LabelSelector) -> Result<Selector, Problem> {
    let (lowered, problems) = lower(path, selector);
    problems.into_iter().next().map_or(Ok(lowered), Err)
}

/// Reads a selector of a document, in which members that are not known are refused too.
pub(super) fn of_field(field: &Field<'_>) -> Result<Selector, Problem> {
    field.only(&["matchLabels", "matchExpressions"])?;
    for expression in field.member("matchExpressions").map_or(Ok(Vec::new()), |it| it.items())? {
        expression.only(&["key", "operator", "values"])?;
    }
    let selector = serde_json::from_value(field.value().clone())
        .map_err(|error| field.problem(format!("is no label selector ({error})")))?;
    valid(field.path(), &selector)
}

fn lower(path: &str, selector: &LabelSelector) -> (Selector, Vec<Problem>) {
    let mut problems = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        if !is_label(key, value) {
            let what = format!("{key:?}: {value:?} is no label");
            problems.push(Problem { path: format!("{path}.matchLabels"), what });
        }
    }
    let mut requirements = Vec::new();
    for (index, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let operator = operator(expression).unwrap_or_else(|what| {
            let what = format!("{what}, which the API refuses");
            problems.push(Problem { path: format!("{path}.matchExpressions[{index}]"), what });
            Operator::In(Vec::new())
        });
        requirements.push(Requirement { key: expression.key.as_str().into(), operator });
    }
    let labels = object::labels(selector.match_labels.as_ref());
    (Selector { labels, requirements }, problems)
}

/// The operator of a requirement, or what the API refuses about it ("values … must be non-empty" for In and
/// `NotIn`, "must be empty" for the others).
fn operator(expression: &LabelSelectorRequirement) -> Result<Operator, String> {
    let LabelSelectorRequirement { key, operator, values } = expression;
    let values = values.as_deref().unwrap_or_default();
    if let Some(value) = values.iter().find(|value| !is_label(key, value)) {
        return Err(format!("{key:?} with {value:?} is no label"));
    }
    if !is_label(key, "") {
        return Err(format!("{key:?} is no key of a label"));
    }
    let all = || values.iter().map(|value| Arc::from(value.as_str())).collect();
    match (operator.as_str(), values.is_empty()) {
        ("In", false) => Ok(Operator::In(all())),
        ("NotIn", false) => Ok(Operator::NotIn(all())),
        ("Exists", true) => Ok(Operator::Exists),
        ("DoesNotExist", true) => Ok(Operator::DoesNotExist),
        ("In" | "NotIn", true) => Err(format!("operator {operator} is without values")),
        ("Exists" | "DoesNotExist", false) => Err(format!("operator {operator} is with values")),
        _ => Err(format!("operator {operator:?} is not known")),
    }
}
