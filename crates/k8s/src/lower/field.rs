//! A value of a document and where it stands, in the API's own spelling.

use serde_json::Value;

use crate::object::Diagnostic;

/// A value of a document.
pub(super) struct Field<'a> {
    path: String,
    value: &'a Value,
}

/// What is wrong at a place of an object.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) path: String,
    pub(super) what: String,
}

/// What is told about one object.
pub(super) struct Told {
    object: String,
    diagnostics: Vec<Diagnostic>,
}

// === impl Field ===

impl<'a> Field<'a> {
    /// The member `name` of a document; one that is absent is null.
    pub(super) fn of(document: &'a Value, name: &str) -> Self {
        Self { path: name.to_owned(), value: document.get(name).unwrap_or(&Value::Null) }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// Something wrong here.
    pub(super) fn problem(&self, what: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), what: what.into() }
    }

    /// The member `name`; null is no value of any field.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self { path: format!("{}.{name}", self.path), value })
    }

    pub(super) fn required(&self, name: &str) -> Result<Self, Problem> {
        self.member(name).ok_or_else(|| Problem {
            path: format!("{}.{name}", self.path),
            what: "is missing".to_owned(),
        })
    }

    /// The members that are set, in the order of their names.
    fn members(&self) -> Result<Vec<(&'a str, Self)>, Problem> {
        let fields = self.value.as_object().ok_or_else(|| self.problem("is no object"))?;
        let all = fields.keys().map(|name| (name.as_str(), self.member(name)));
        Ok(all.filter_map(|(name, member)| Some((name, member?))).collect())
    }

    /// The member of an object that has exactly one ("exactly one field must be set").
    pub(super) fn only_member(&self) -> Result<(&'a str, Self), Problem> {
        let mut members = self.members()?;
        match (members.pop(), members.is_empty()) {
            (Some(member), true) => Ok(member),
            (Some(_), false) => Err(self.problem("has several members where the API wants one")),
            (None, _) => Err(self.problem("is empty")),
        }
    }

    /// What is wrong with members that are not among `known`; an error if it is no object at all.
    pub(super) fn strangers(&self, known: &[&str]) -> Result<Vec<Problem>, Problem> {
        let strangers = self.members()?.into_iter().filter(|(name, _)| !known.contains(name));
        Ok(strangers.map(|(_, member)| member.problem("is not known")).collect())
    }

    /// Refuses what is no object, and members that are not among `known`.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        self.strangers(known)?.into_iter().next().map_or(Ok(()), Err)
    }

    pub(super) fn items(&self) -> Result<Vec<Self>, Problem> {
        let items = self.value.as_array().ok_or_else(|| self.problem("is no list"))?;
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn text(&self) -> Result<&'a str, Problem> {
        self.value.as_str().ok_or_else(|| self.problem("is no text"))
    }

    pub(super) fn number(&self) -> Result<i64, Problem> {
        self.value.as_i64().ok_or_else(|| self.problem("is no whole number"))
    }
}

// === impl Told ===

impl Told {
    /// Of nothing yet, about `object`: kind, namespace and name.
    pub(super) fn about(object: String) -> Self {
        Self { object, diagnostics: Vec::new() }
    }

    /// Tells a problem and what follows from it for verdicts.
    pub(super) fn report(&mut self, problem: &Problem, effect: &str) {
        let place = format!("{}: {}", self.object, problem.path);
        let message = format!("{}: {effect}", problem.what);
        self.diagnostics.push(Diagnostic { place, message });
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}
