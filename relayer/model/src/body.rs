//! Reads JSON objects by type. Errors use our own words, because a parser's mention things that no client wrote.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use super::Invalid;

/// Longest number that a message quotes, in characters.
const SHOWN_CHARS_MAX: usize = 20;

/// Reads a `T`. Invalid: not exactly one JSON object, an unknown field, a missing one, a field of a wrong type, or a value that its
/// type refuses.
pub fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Invalid> {
    // Derived readers also accept an array of the fields in order; the API does not.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Invalid::new("body", "must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| misfit::<T>(body, error.path(), error.inner()))?;
    json.end().map_err(|_| Invalid::new("body", "must be one JSON object and nothing after it"))?;
    Ok(value)
}

/// The error for malformed JSON, at the field where parsing stopped.
pub fn no_json(path: &Path, error: &serde_json::Error) -> Invalid {
    let message = format!("is not valid JSON: see line {}, column {}", error.line(), error.column());
    Invalid::new(param_of(path), message)
}

/// A field's name by its path, down to a list entry: `policy.allowed_counterparties[2]`.
pub fn param_of(path: &Path) -> String {
    let segments: Vec<&Segment> = path.iter().collect();
    let is_entry = |segment: &&Segment| matches!(segment, Segment::Seq { .. });
    let end = segments.iter().position(is_entry).map_or(segments.len(), |at| at + 1);
    let mut param = String::new();
    for segment in segments.into_iter().take(end) {
        match segment {
            Segment::Seq { index } => param.push_str(&format!("[{index}]")),
            Segment::Map { key } => {
                param.push_str(if param.is_empty() { "" } else { "." });
                param.push_str(key);
            }
            Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    if param.is_empty() { "body".into() } else { param }
}

/// The error for well-formed JSON that is not a `T`.
fn misfit<T: DeserializeOwned>(body: &[u8], path: &Path, error: &serde_json::Error) -> Invalid {
    if !error.is_data() {
        return no_json(path, error);
    }
    let param = param_of(path);
    match Mistake::by(error) {
        Mistake::Refused(invalid) => placed(&param, &invalid),
        Mistake::Missing(field) if path.iter().next().is_none() => Invalid::new(field, "is required"),
        Mistake::Missing(field) => Invalid::new(field, "is required").within(&param),
        Mistake::UnknownField if path.iter().count() == 1 => {
            Invalid::new(param, "is not a field of this request")
        }
        Mistake::UnknownField | Mistake::Misfit => {
            let value = serde_json::from_slice(body).ok().and_then(|whole: Value| at(&whole, path).cloned());
            let shown = value.as_ref().map_or_else(|| "what it is".to_owned(), shown);
            let wanted = wanted::<T>(&param, value.as_ref())
                .map_or(String::new(), |wanted| format!("; send {wanted}"));
            Invalid::new(param, format!("cannot be {shown}{wanted}"))
        }
    }
}

/// What a parser's error means.
enum Mistake {
    /// A value that parses itself refused its text.
    Refused(Invalid),
    /// This field is required.
    Missing(String),
    UnknownField,
    Misfit,
}

impl Mistake {
    /// The parser has no codes, so its words decide: tests below hold them.
    fn by(error: &serde_json::Error) -> Self {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let text = text.strip_suffix(&place).unwrap_or(&text);
        let missing = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        match (Invalid::from_parser(text), missing) {
            (Some(invalid), _) => Self::Refused(invalid),
            (None, Some(field)) => Self::Missing(field.to_owned()),
            (None, None) if text.starts_with("unknown field `") => Self::UnknownField,
            (None, None) => Self::Misfit,
        }
    }
}

/// The refusal of a value that stands here: it knows its own parts, and not where it stands.
fn placed(param: &str, refused: &Invalid) -> Invalid {
    let own = refused.param();
    if own.strip_prefix(param).is_some_and(|rest| rest.starts_with('.')) {
        return refused.clone();
    }
    let part = own.find('[').and_then(|at| own.get(at..)).unwrap_or_default();
    Invalid::new(format!("{param}{part}"), refused.message())
}

/// Distinguishes a given `null` from a field that is left out.
pub fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(json: D) -> Result<Option<T>, D::Error> {
    T::deserialize(json).map(Some)
}

/// What a field of `T` takes instead. `None`: it is no field of the object itself, or takes something else.
fn wanted<T: DeserializeOwned>(field: &str, given: Option<&Value>) -> Option<String> {
    let quoted = match given {
        Some(Value::Number(number)) if number.to_string().len() <= SHOWN_CHARS_MAX => {
            format!(": \"{number}\"")
        }
        _ => String::new(),
    };
    let kinds = [
        (Value::from(""), format!("a text{quoted}")),
        (Value::Bool(true), "true or false".to_owned()),
        (Value::from(0), "a whole number from 0".to_owned()),
        (Value::Array(Vec::new()), "an array".to_owned()),
    ];
    kinds.into_iter().find(|(value, _)| takes::<T>(field, value)).map(|(_, wanted)| wanted)
}

/// Whether a field takes values of this kind, if not this one.
fn takes<T: DeserializeOwned>(name: &str, value: &Value) -> bool {
    let object = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    match serde_json::from_str::<T>(&object.to_string()).as_ref().map_err(Mistake::by) {
        Ok(_) | Err(Mistake::Refused(_) | Mistake::Missing(_)) => true,
        Err(Mistake::UnknownField | Mistake::Misfit) => false,
    }
}

fn at<'a>(whole: &'a Value, path: &Path) -> Option<&'a Value> {
    path.iter().try_fold(whole, |value, segment| match segment {
        Segment::Seq { index } => value.get(index),
        Segment::Map { key } => value.get(key),
        Segment::Enum { .. } | Segment::Unknown => Some(value),
    })
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) if number.to_string().len() <= SHOWN_CHARS_MAX => number.to_string(),
        Value::Number(_) => "such a number".into(),
        Value::String(_) => "a text".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::{Label, Scopes, Tags};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Probe {
        #[allow(dead_code)]
        name: Option<String>,
        #[allow(dead_code)]
        list: Option<Vec<String>>,
        #[allow(dead_code)]
        flag: Option<bool>,
        #[allow(dead_code)]
        #[serde(default, deserialize_with = "never_null")]
        version: Option<u64>,
        #[allow(dead_code)]
        any: Option<Box<RawValue>>,
    }

    fn never_null<'de, D: serde::Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
        u64::deserialize(json).map(Some)
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[allow(dead_code)]
        tags: Tags,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Typed {
        #[allow(dead_code)]
        name: Label,
        #[allow(dead_code)]
        scopes: Option<Scopes>,
        #[allow(dead_code)]
        inner: Option<Inner>,
    }

    #[test]
    fn values_that_parse_themselves_are_refused_by_their_place() {
        for (body, said) in [
            ("{}", "`name` is required"),
            (r#"{"name":""}"#, "`name` must not be empty"),
            (r#"{"name":5}"#, r#"`name` cannot be 5; send a text: "5""#),
            (r#"{"name":null}"#, "`name` cannot be null; send a text"),
            (r#"{"name":"a","scopes":"read"}"#, "`scopes` cannot be a text; send an array"),
            (r#"{"name":"a","scopes":[]}"#, "`scopes` must be 1 to 6 scopes"),
            (r#"{"name":"a","scopes":["read",5]}"#, "`scopes[1]` cannot be 5"),
            (r#"{"name":"a","inner":{}}"#, "`inner.tags` is required"),
            (r#"{"name":"a","inner":{"tags":["eu","eu",5]}}"#, "`inner.tags[2]` cannot be 5"),
            (r#"{"name":"a","colour":"red"}"#, "`colour` is not a field of this request"),
        ] {
            assert_eq!(read_body::<Typed>(body.as_bytes()).expect_err(body).to_string(), said);
        }
        for (body, param) in [
            (r#"{"name":"a","scopes":["read","all"]}"#, "scopes[1]"),
            (r#"{"name":"a","inner":{"tags":["eu","EU"]}}"#, "inner.tags[1]"),
        ] {
            let refused = read_body::<Typed>(body.as_bytes()).expect_err(body);
            assert_eq!(refused.param(), param);
            assert!(refused.message().starts_with("must be ") && !refused.message().contains("line"));
        }
    }

    #[test]
    fn mistakes_are_described_in_our_own_words() {
        for (body, said) in [
            (r#"{"name":5}"#, r#"`name` cannot be 5; send a text: "5""#),
            (r#"{"name":null,"flag":"yes"}"#, "`flag` cannot be a text; send true or false"),
            (r#"{"name":{"a":1}}"#, "`name` cannot be an object; send a text"),
            (r#"{"name":["a"]}"#, "`name` cannot be an array; send a text"),
            (r#"{"list":["a",5]}"#, "`list[1]` cannot be 5"),
            (r#"{"list":["a",{"b":[]}]}"#, "`list[1]` cannot be an object"),
            (r#"{"version":-1}"#, "`version` cannot be -1; send a whole number from 0"),
            (r#"{"version":1.5}"#, "`version` cannot be 1.5; send a whole number from 0"),
            (r#"{"version":null}"#, "`version` cannot be null; send a whole number from 0"),
            (
                r#"{"version":123456789012345678901234567890}"#,
                "`version` cannot be such a number; send a whole number from 0",
            ),
            (r#"{"colour":"red"}"#, "`colour` is not a field of this request"),
            (r#"{"colour":null}"#, "`colour` is not a field of this request"),
            ("[]", "`body` must be a JSON object"),
            ("", "`body` must be a JSON object"),
            ("{} {}", "`body` must be one JSON object and nothing after it"),
        ] {
            assert_eq!(read_body::<Probe>(body.as_bytes()).expect_err(body).to_string(), said);
        }
        for body in [r#"{"name":"#, r#"{"name" 5}"#, "{", "{\"name\":\"\u{1}\"}"] {
            let said = read_body::<Probe>(body.as_bytes()).expect_err(body).to_string();
            assert!(said.contains("is not valid JSON: see line 1, column "), "{said}");
        }
    }
}
