//! What a definition promises to a peer, and where two of them disagree.

use std::collections::BTreeMap;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet, MethodDescriptorProto, OneofDescriptorProto, ServiceDescriptorProto,
};

/// Every message, field, oneof, enum, value, service and method by full name, in words that are
/// equal when the two are compatible.
#[derive(Default)]
pub(crate) struct Surface(BTreeMap<String, String>);

impl Surface {
    /// The surface of a set, without the types of protobuf itself.
    pub(crate) fn new(files: &FileDescriptorSet) -> Self {
        let mut surface = Self::default();
        files
            .file
            .iter()
            .filter(|file| file.package() != "google.protobuf")
            .for_each(|file| surface.add_file(file));
        surface
    }

    /// Says of everything in this trimmed definition that `public` does not have, or has otherwise.
    pub(crate) fn differences(&self, public: &Self) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|(name, ours)| match public.0.get(name) {
                Some(theirs) if ours == theirs => None,
                Some(theirs) => Some(format!("{name} is {ours}, but publicly {theirs}")),
                None => Some(format!("{name} is {ours}, but publicly nothing")),
            })
            .collect()
    }

    /// Whether something of this full name is defined.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn add(&mut self, scope: &str, name: &str, words: String) -> String {
        let name = format!("{scope}.{name}");
        let previous = self.0.insert(name.clone(), words);
        assert_eq!(previous, None, "{name} is defined twice");
        name
    }

    fn add_file(&mut self, file: &FileDescriptorProto) {
        assert_eq!(file.syntax(), "proto3", "{} has presence rules of its own", file.name());
        let package = file.package();
        file.message_type.iter().for_each(|message| self.add_message(package, message));
        file.enum_type.iter().for_each(|kind| self.add_enum(package, kind));
        file.service.iter().for_each(|service| self.add_service(package, service));
    }

    fn add_message(&mut self, scope: &str, message: &DescriptorProto) {
        let scope = &self.add(scope, message.name(), "a message".into());
        for oneof in &message.oneof_decl {
            self.add(scope, oneof.name(), "a oneof".into());
        }
        for field in &message.field {
            self.add(scope, field.name(), field_words(field, &message.oneof_decl));
        }
        message.nested_type.iter().for_each(|nested| self.add_message(scope, nested));
        message.enum_type.iter().for_each(|nested| self.add_enum(scope, nested));
    }

    fn add_enum(&mut self, scope: &str, kind: &EnumDescriptorProto) {
        let scope = &self.add(scope, kind.name(), "an enum".into());
        for value in &kind.value {
            self.add(scope, value.name(), format!("value {}", value.number()));
        }
    }

    fn add_service(&mut self, scope: &str, service: &ServiceDescriptorProto) {
        let scope = &self.add(scope, service.name(), "a service".into());
        for method in &service.method {
            self.add(scope, method.name(), method_words(method));
        }
    }
}

fn field_words(field: &FieldDescriptorProto, oneofs: &[OneofDescriptorProto]) -> String {
    let mut words = vec![format!("field {}", field.number())];
    match field.label() {
        Label::Optional => {}
        Label::Repeated => words.push("repeated".into()),
        Label::Required => words.push("required".into()),
    }
    if field.proto3_optional() {
        words.push("optional".into());
    }
    words.push(type_words(field));
    if let Some(index) = field.oneof_index {
        let oneof = usize::try_from(index).ok().and_then(|index| oneofs.get(index));
        words.push(format!("in oneof {}", oneof.expect("the oneof is declared").name()));
    }
    if let Some(packed) = field.options.as_ref().and_then(|options| options.packed) {
        words.push(format!("packed {packed}"));
    }
    words.join(" ")
}

fn type_words(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message => format!("message {}", field.type_name()),
        Type::Enum => format!("enum {}", field.type_name()),
        scalar => scalar.as_str_name().trim_start_matches("TYPE_").to_lowercase(),
    }
}

fn method_words(method: &MethodDescriptorProto) -> String {
    let stream = |streaming: bool| if streaming { "stream " } else { "" };
    format!(
        "a method ({}{}) returns ({}{})",
        stream(method.client_streaming()),
        method.input_type(),
        stream(method.server_streaming()),
        method.output_type(),
    )
}

mod tests;
