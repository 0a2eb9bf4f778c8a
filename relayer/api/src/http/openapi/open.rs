//! Words that are only answered may get new ones: a status, a code, a type of event. The document says so in the form that
//! keeps generated clients typed and lets them read a word that they do not know as text.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOf, AnyOfBuilder, ArrayItems, Object, ObjectBuilder, Type,
};
use utoipa::openapi::{OpenApi, Ref, RefOr, Schema};

/// Longest word there may be.
pub(super) const WORD_CHARS_MAX: usize = 64;

/// What the open form of a list is called that requests name too.
const OR_OTHER: &str = "OrOther";

/// Opens every list of words in answers. One that requests refer to stays as it is there, because what is asked for in other words
/// is refused, and has an open form beside it.
pub(super) fn open_answers(document: &mut OpenApi) {
    let whole = serde_json::to_value(&*document).unwrap_or_default();
    let (mut asked, mut answered) = (BTreeSet::new(), BTreeSet::new());
    let paths = whole["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    for operation in paths.flat_map(|path| path.as_object().into_iter().flat_map(|path| path.values())) {
        collect(&operation["parameters"], &whole, &mut asked);
        collect(&operation["requestBody"], &whole, &mut asked);
        collect(&operation["responses"], &whole, &mut answered);
    }
    let Some(components) = &mut document.components else { return };
    let mut shared = BTreeSet::new();
    for (name, schema) in &mut components.schemas {
        let RefOr::T(Schema::Object(known)) = schema else { continue };
        if known.enum_values.is_none() {
            continue;
        }
        if asked.contains(name) {
            shared.insert(name.clone());
            continue;
        }
        let description = known.description.take();
        let known = RefOr::T(known.clone().into());
        *schema = RefOr::T(or_other(description, known).into());
    }
    let mut opened = BTreeSet::new();
    for (name, schema) in &mut components.schemas {
        // What is answered may be sent back in a request, which then refuses what it does not know.
        if !asked.contains(name) || answered.contains(name) {
            refer_to_open(schema, &shared, &mut opened);
        }
    }
    for name in opened {
        let description = match components.schemas.get(&name) {
            Some(RefOr::T(Schema::Object(Object { description, .. }))) => description.clone(),
            _ => None,
        };
        let known = RefOr::Ref(Ref::from_schema_name(&name));
        components.schemas.insert(name + OR_OTHER, RefOr::T(or_other(description, known).into()));
    }
}

/// Known words, or any text.
fn or_other(description: Option<String>, known: RefOr<Schema>) -> AnyOf {
    let other = ObjectBuilder::new().schema_type(Type::String).max_length(Some(WORD_CHARS_MAX));
    let other = other.description(Some("There may be others later: read them as text."));
    AnyOfBuilder::new().description(description).item(known).item(other).build()
}

/// Has a schema of answers refer to the open forms of these lists, and says which it refers to.
fn refer_to_open(schema: &mut RefOr<Schema>, lists: &BTreeSet<String>, found: &mut BTreeSet<String>) {
    let parts: Vec<&mut RefOr<Schema>> = match schema {
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
            if lists.contains(name) {
                found.insert(name.to_owned());
                reference.ref_location.push_str(OR_OTHER);
            }
            return;
        }
        RefOr::T(Schema::Object(object)) => {
            let others = match object.additional_properties.as_deref_mut() {
                Some(AdditionalProperties::RefOr(others)) => Some(others),
                Some(AdditionalProperties::FreeForm(_)) | None => None,
            };
            object.properties.values_mut().chain(others).collect()
        }
        RefOr::T(Schema::Array(array)) => match &mut array.items {
            ArrayItems::RefOrSchema(items) => vec![&mut **items],
            ArrayItems::False => Vec::new(),
        },
        RefOr::T(Schema::OneOf(choice)) => choice.items.iter_mut().collect(),
        RefOr::T(Schema::AllOf(choice)) => choice.items.iter_mut().collect(),
        RefOr::T(Schema::AnyOf(choice)) => choice.items.iter_mut().collect(),
        RefOr::T(_) => Vec::new(),
    };
    for part in parts {
        refer_to_open(part, lists, found);
    }
}

/// The components that a part of the document refers to, and those that they refer to.
fn collect(part: &Value, whole: &Value, found: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            let named = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix('#'));
            if let Some(pointer) = named
                && let Some((_, name)) = pointer.rsplit_once('/')
                && found.insert(name.to_owned())
            {
                collect(whole.pointer(pointer).unwrap_or(&Value::Null), whole, found);
            }
            fields.values().for_each(|value| collect(value, whole, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, whole, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
