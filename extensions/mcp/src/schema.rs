//! JSON schemas of tools, taken from REST's OpenAPI document.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

const NAMED: &str = "#/components/schemas/";
const DEFINED: &str = "#/$defs/";

/// A schema of the document, complete in itself.
pub(crate) fn complete(document: &Value, schema: &Value) -> JsonObject {
    let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix(NAMED));
    let mut whole = name.map_or(schema, |name| &document["components"]["schemas"][name]).clone();
    let mut named = JsonObject::new();
    gather(document, &whole, &mut named);
    point_within(&mut whole);
    named.values_mut().for_each(point_within);
    let (plain, mut named) = separated(named);
    put_in(&mut whole, &plain);
    named.values_mut().for_each(|schema| put_in(schema, &plain));
    let mut whole = object(whole);
    if !named.is_empty() {
        whole.insert("$defs".to_owned(), named.into());
    }
    whole
}

/// The schemas that `part` refers to, and those that they refer to.
fn gather(document: &Value, part: &Value, named: &mut JsonObject) {
    match part {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(|name| name.as_str()?.strip_prefix(NAMED));
            if let Some(name) = name
                && !named.contains_key(name)
            {
                let schema = document["components"]["schemas"][name].clone();
                named.insert(name.to_owned(), schema.clone());
                gather(document, &schema, named);
            }
            fields.values().for_each(|value| gather(document, value, named));
        }
        Value::Array(values) => values.iter().for_each(|value| gather(document, value, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Separates the schemas of texts and numbers from those of objects: many clients follow references to objects at most.
fn separated(named: JsonObject) -> (JsonObject, JsonObject) {
    let is_plain = |schema: &Value| {
        ["string", "integer", "number"]
            .iter()
            .any(|plain| schema.get("type").is_some_and(|kind| kind == plain))
    };
    named.into_iter().partition(|(_, schema)| is_plain(schema))
}

/// Replaces references by the schemas that they name, and `oneOf`, which constrained decoding refuses, by `anyOf`. Keywords
/// beside a reference stay.
fn put_in(schema: &mut Value, named: &JsonObject) {
    match schema {
        Value::Object(fields) => {
            if let Some(choice) = fields.remove("oneOf") {
                fields.insert("anyOf".to_owned(), choice);
            }
            let name = fields.get("$ref").and_then(|name| name.as_str()?.strip_prefix(DEFINED));
            if let Some(Value::Object(meant)) = name.and_then(|name| named.get(name)) {
                fields.remove("$ref");
                for (name, value) in meant {
                    fields.entry(name).or_insert_with(|| value.clone());
                }
            }
            fields.values_mut().for_each(|value| put_in(value, named));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| put_in(value, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `schema` as a tool's arguments: without `left_out`, and with `required`. Others are refused, which the schema does not say:
/// Google's Python package cannot read that.
///
/// The types are plain and stand where they are used. OpenAI, Google and Anthropic, or the converters to their forms, refuse a
/// request or lose an argument over references, choices between types and some formats. An argument is left out where REST also
/// takes `null`, and a text where REST takes several types.
pub(crate) fn arguments(
    document: &Value,
    schema: &Value,
    left_out: &[&str],
    required: &[&str],
) -> JsonObject {
    let mut whole = complete(document, schema);
    let named = whole.remove("$defs").map(object).unwrap_or_default();
    let mut schema = Value::Object(whole);
    put_in(&mut schema, &named);
    make_plain(&mut schema);
    let mut schema = object(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !left_out.contains(&name.as_str()));
    }
    schema.remove("required");
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn make_plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            while let Some(choice) = fields.remove("oneOf").or_else(|| fields.remove("anyOf")) {
                let among = choice.as_array().into_iter().flatten().filter(|one| one["type"] != "null");
                if let Some(Value::Object(taken)) = plainest(among, |one| one["type"] == "string") {
                    for (name, value) in taken {
                        fields.entry(name).or_insert(value);
                    }
                }
            }
            if let Some(Value::Array(types)) = fields.get("type") {
                let taken = plainest(types.iter().filter(|one| *one != "null"), |one| one == "string");
                fields.insert("type".to_owned(), taken.unwrap_or_default());
            }
            fields.retain(|name, value| name != "additionalProperties" || !value.is_boolean());
            // Of a text's formats, Google takes this one.
            if fields.get("type").is_some_and(|of| of == "string")
                && fields.get("format").is_some_and(|of| of != "date-time")
            {
                fields.remove("format");
            }
            fields.values_mut().for_each(make_plain);
        }
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The first that is a text, or the first of all.
fn plainest<'a>(
    mut among: impl Iterator<Item = &'a Value> + Clone,
    is_text: fn(&Value) -> bool,
) -> Option<Value> {
    among.clone().find(|one| is_text(one)).or_else(|| among.next()).cloned()
}

/// An answer, or a refusal in its place: old clients check both against the schema, and drop whatever does not match.
pub(crate) fn or_refusal(mut answer: JsonObject) -> JsonObject {
    let named = answer.remove("$defs").unwrap_or_else(|| json!({}));
    let text = json!({ "type": "string" });
    let refusal = json!({
        "description": "A refusal: the error body of REST.",
        "type": "object",
        "properties": { "error": text, "message": text, "request_id": text },
        "required": ["error", "message", "request_id"],
    });
    object(json!({ "type": "object", "anyOf": [answer, refusal], "$defs": named }))
}

/// The fields of an object.
pub(crate) fn object(schema: Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

fn point_within(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if name == "$ref" => *text = text.replace(NAMED, DEFINED),
                    value => point_within(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(point_within),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
