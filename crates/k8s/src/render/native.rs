//! Policies as the objects that a cluster enforces.
//!
//! An object has the name and the namespace of its policy (`NetworkPolicy` for the kubernetes backend in
//! protect, `AuthorizationPolicy` for the istio backend in both modes), and stands in the form that the API
//! server stores, so that comparing it with what is stored shows what somebody changed.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use netenf_api::istio::IstioWorkloadSelector;
use netenf_api::{
    AuthorizationPolicySpec, Backend, GROUP, IstioPolicySpec, Mode, VERSION, WorkloadNetworkPolicy,
    key,
};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::lifecycle::{Kind, Reason, Refusal, Resource, check_body};

/// The kind of a native object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NativeKind {
    /// `NetworkPolicy` of `networking.k8s.io/v1`.
    NetworkPolicy,
    /// `AuthorizationPolicy` of `security.istio.io/v1`.
    AuthorizationPolicy,
}

/// An object that a cluster enforces, as it should be or as it is stored. Its spec is a document and not
/// a type: a field that this version does not know is a change as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Native {
    /// Kind of the object.
    pub kind: NativeKind,
    /// Metadata of the object.
    pub metadata: ObjectMeta,
    /// Spec of the object.
    pub spec: Value,
}

/// The object that enforces `policy`; none for a `NetworkPolicy` in monitor, which knows no dry run.
///
/// What an `AuthorizationPolicy` cannot express is refused and never dropped: without its expressions a
/// selector would select more pods (W6).
pub fn native(policy: &WorkloadNetworkPolicy) -> Result<Option<Native>, Refusal> {
    let resource = Resource::from(policy.clone());
    rendered(policy, &resource).map_err(|reason| Refusal::new("render", resource.key(), reason))
}

fn rendered(policy: &WorkloadNetworkPolicy, resource: &Resource) -> Result<Option<Native>, Reason> {
    check_body(resource)?;
    let spec = &policy.spec;
    let (kind, body) = match (spec.backend, &spec.kubernetes, &spec.istio) {
        (Backend::Kubernetes, Some(body), _) => (NativeKind::NetworkPolicy, document(body)),
        (Backend::Istio, _, Some(body)) => {
            (NativeKind::AuthorizationPolicy, document(&authorization(body)?))
        }
        (backend, _, _) => return Err(Reason::NoBody { backend }),
    };
    let native = Native { kind, metadata: metadata(policy), spec: kind.stored(body) };
    Ok(match (kind, spec.mode) {
        (NativeKind::NetworkPolicy, Mode::Monitor) => None,
        (NativeKind::AuthorizationPolicy, Mode::Monitor) => Some(native.dry()),
        (NativeKind::NetworkPolicy | NativeKind::AuthorizationPolicy, Mode::Protect) => {
            Some(native)
        }
    })
}

fn document(body: &impl Serialize) -> Value {
    serde_json::to_value(body).unwrap_or_default()
}

fn authorization(body: &IstioPolicySpec) -> Result<AuthorizationPolicySpec, Reason> {
    let selector = &body.selector;
    if selector.match_expressions.as_ref().is_some_and(|expressions| !expressions.is_empty()) {
        return Err(Reason::MatchExpressions);
    }
    let ports = body.rules.iter().flat_map(|rule| &rule.to).flat_map(|to| &to.operation.ports);
    if let Some(port) = ports.into_iter().find(|port| port.parse::<NonZeroU16>().is_err()) {
        return Err(Reason::IstioPort { port: port.clone() });
    }
    Ok(AuthorizationPolicySpec {
        selector: Some(IstioWorkloadSelector {
            match_labels: selector.match_labels.clone().unwrap_or_default(),
        }),
        rules: body.rules.clone(),
        ..AuthorizationPolicySpec::default()
    })
}

/// The policy's labels go with it, save those that mean something to us; annotations do not, because tools
/// that wrote them would take the object for one of theirs.
fn metadata(policy: &WorkloadNetworkPolicy) -> ObjectMeta {
    let labels: BTreeMap<String, String> = policy
        .metadata
        .labels
        .iter()
        .flatten()
        .filter(|(label, _)| !label.starts_with(GROUP))
        .map(|(label, value)| (label.clone(), value.clone()))
        .collect();
    ObjectMeta {
        name: policy.metadata.name.clone(),
        namespace: policy.metadata.namespace.clone(),
        labels: (!labels.is_empty()).then_some(labels),
        ..ObjectMeta::default()
    }
}

// === impl NativeKind ===

impl NativeKind {
    /// The kind by which `backend` enforces.
    pub const fn of(backend: Backend) -> Self {
        match backend {
            Backend::Kubernetes => Self::NetworkPolicy,
            Backend::Istio => Self::AuthorizationPolicy,
        }
    }

    /// The kind as the API names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NetworkPolicy => "NetworkPolicy",
            Self::AuthorizationPolicy => "AuthorizationPolicy",
        }
    }

    /// Group and version of the kind.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::NetworkPolicy => "networking.k8s.io/v1",
            Self::AuthorizationPolicy => "security.istio.io/v1",
        }
    }

    /// The spec as the API server stores it: without what is empty, with the defaults of a NetworkPolicy
    /// ("If no policyTypes are specified … then by default Ingress will always be set and Egress will be set
    /// if the NetworkPolicy has any egress rules"; a port without a protocol "defaults to TCP").
    pub(crate) fn stored(self, mut spec: Value) -> Value {
        without_empty(&mut spec);
        match (self, &mut spec) {
            (Self::NetworkPolicy, Value::Object(fields)) => defaulted(fields),
            (Self::NetworkPolicy | Self::AuthorizationPolicy, _) => {}
        }
        spec
    }
}

fn defaulted(fields: &mut Map<String, Value>) {
    let types = if fields.contains_key("egress") {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    fields.entry("policyTypes").or_insert(types);
    for side in ["ingress", "egress"] {
        let rules = fields.get_mut(side).and_then(Value::as_array_mut);
        let ports = rules.into_iter().flatten().filter_map(|rule| rule.get_mut("ports"));
        for port in ports.filter_map(Value::as_array_mut).flatten() {
            if let Value::Object(port) = port {
                port.entry("protocol").or_insert_with(|| "TCP".into());
            }
        }
    }
}

/// Takes out what Kubernetes' types leave out when they are written: null, and empty lists and maps of
/// labels. Any other empty object means something: a selector of everything, or a rule for everything.
fn without_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_empty);
            fields.retain(|name, value| match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::Object(labels) => name != "matchLabels" || !labels.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            });
        }
        Value::Array(items) => items.iter_mut().for_each(without_empty),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

// === impl Native ===

impl Native {
    /// The object, controlled by `policy`: it goes when the policy goes, and the policy's controller alone
    /// writes it. A policy that no API server stored owns nothing.
    #[must_use]
    pub(crate) fn owned_by(mut self, policy: &WorkloadNetworkPolicy) -> Self {
        let owner = policy.metadata.uid.as_ref().map(|uid| OwnerReference {
            api_version: format!("{GROUP}/{VERSION}"),
            kind: Kind::Policy.as_str().to_owned(),
            name: policy.metadata.name.clone().unwrap_or_default(),
            uid: uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        });
        self.metadata.owner_references = owner.map(|owner| vec![owner]);
        self
    }

    /// The object, reporting what it would deny and denying nothing.
    #[must_use]
    pub(crate) fn dry(mut self) -> Self {
        let annotations = self.metadata.annotations.get_or_insert_default();
        annotations.insert(key::ISTIO_DRY_RUN.to_owned(), "true".to_owned());
        self
    }

    /// Whether it reports only. Istio reads the annotation as a boolean.
    pub(crate) fn is_dry(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(key::ISTIO_DRY_RUN)).is_some_and(|dry| dry == "true")
    }
}

impl Serialize for Native {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Native", 4)?;
        document.serialize_field("apiVersion", self.kind.api_version())?;
        document.serialize_field("kind", self.kind.as_str())?;
        document.serialize_field("metadata", &self.metadata)?;
        document.serialize_field("spec", &self.spec)?;
        document.end()
    }
}

#[cfg(test)]
mod tests;
