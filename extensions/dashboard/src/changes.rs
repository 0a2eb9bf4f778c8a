//! What an action changed, in words. The audit log keeps it as JSON.

use purser_model::{ListedAction, Rule};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::text::{short_text, spaced};

/// How many entries of a list are written out, and how long a text may be before its middle is left out.
const ENTRIES: usize = 3;
const CHARS: usize = 44;

/// A line for each field that was asked for: `daily limit 40`.
pub fn changes(listed: &ListedAction) -> Vec<String> {
    in_words(listed.action.after.as_deref())
}

fn in_words(after: Option<&RawValue>) -> Vec<String> {
    let fields = fields(after);
    let asked = fields.iter().filter(|(field, _)| *field != "expected_version");
    asked.map(|(field, value)| format!("{} {}", label(field), value_text(field, value))).collect()
}

/// The fields of an object, those of a policy within it among them. Anything else has none.
fn fields(json: Option<&RawValue>) -> Map<String, Value> {
    let read: Option<Map<String, Value>> = json.and_then(|json| serde_json::from_str(json.get()).ok());
    let mut fields = read.unwrap_or_default();
    if let Some(Value::Object(policy)) = fields.get("policy").cloned() {
        fields.remove("policy");
        fields.extend(policy);
    }
    fields
}

fn label(field: &str) -> String {
    match field {
        "max_30_day_spend" => "30-day limit".to_owned(),
        "budget_id" => "budget".to_owned(),
        other => match Rule::ALL.into_iter().find(|rule| rule.name() == other) {
            Some(rule) => rule.title().to_lowercase(),
            None => spaced(other),
        },
    }
}

fn value_text(field: &str, value: &Value) -> String {
    match value {
        Value::Null if field == "allowed_counterparties" => "anyone".to_owned(),
        Value::Null if field.starts_with("max_") => "no limit".to_owned(),
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() >= CHARS => short_text(text),
        Value::String(text) => text.clone(),
        Value::Array(entries) if entries.is_empty() => "nobody".to_owned(),
        Value::Array(entries) if entries.len() <= ENTRIES => {
            entries.iter().map(|entry| value_text(field, entry)).collect::<Vec<_>>().join(", ")
        }
        Value::Array(entries) => format!("{} entries", entries.len()),
        Value::Object(object) => object
            .iter()
            .map(|(field, value)| format!("{} {}", spaced(field), value_text(field, value)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(after: &str) -> Vec<String> {
        in_words(RawValue::from_string(after.to_owned()).ok().as_deref())
    }

    #[test]
    fn changed_fields_are_said_in_words() {
        let changed = said(r#"{"expected_version":3,"max_daily_spend":40,"reason":"less"}"#);
        assert_eq!(changed, ["daily limit 40", "reason less"]);
        let lifted = said(r#"{"max_single_transfer":null,"allowed_counterparties":null}"#);
        assert_eq!(lifted, ["who may be paid anyone", "limit per payment no limit"]);
        let list = said(r#"{"allowed_counterparties":["9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG"]}"#);
        assert_eq!(list, ["who may be paid 9vJk\u{2026}vehG"]);
        assert_eq!(said(r#"{"paused":true}"#), ["paused yes"]);
    }

    #[test]
    fn the_policy_of_a_new_account_is_among_its_fields_and_long_lists_are_counted() {
        let made = said(
            r#"{"name":"Ada","policy":{"max_daily_spend":5,"allowed_counterparties":["a","b","c","d"]}}"#,
        );
        assert_eq!(made, ["who may be paid 4 entries", "daily limit 5", "name Ada"]);
        for nothing in ["", "null", "[1]", "7"] {
            assert!(said(nothing).is_empty(), "{nothing}");
        }
    }
}
