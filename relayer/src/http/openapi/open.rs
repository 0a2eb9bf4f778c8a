//! Words that are only answered may get new ones: a status, a code, a type of event. The document says so in the form that
//! keeps generated clients typed and lets them read a word that they do not know as text.

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Schema};

/// Longest word there may be.
pub(super) const WORD_CHARS_MAX: usize = 64;

/// Opens every list of words that no request refers to; what is asked for in other words is refused.
pub(super) fn open_answers(document: &mut OpenApi) {
    let whole = serde_json::to_value(&*document).unwrap_or_default();
    let mut asked = BTreeSet::new();
    let paths = whole["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    for operation in paths.flat_map(|path| path.as_object().into_iter().flat_map(|path| path.values())) {
        collect(&operation["parameters"], &whole, &mut asked);
        collect(&operation["requestBody"], &whole, &mut asked);
    }
    let Some(components) = &mut document.components else { return };
    for (name, schema) in &mut components.schemas {
        let RefOr::T(Schema::Object(known)) = schema else { continue };
        if known.enum_values.is_none() || asked.contains(name) {
            continue;
        }
        let description = known.description.take();
        let other = ObjectBuilder::new().schema_type(Type::String).max_length(Some(WORD_CHARS_MAX));
        let other = other.description(Some("There may be others later: read them as text."));
        let open = AnyOfBuilder::new().description(description).item(known.clone()).item(other);
        *schema = RefOr::T(open.build().into());
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
