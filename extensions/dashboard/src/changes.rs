//! What an action changed, in words. The audit log keeps it as JSON.

use purser_model::{ListedAction, Rule};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::text::{short_text, spaced};

/// How many entries of a list are written out, and how long a text may be before its middle is left out.
const ENTRIES: usize = 3;
const CHARS: usize = 44;

/// A line for each field that was asked for, with its previous value where that is on record: `daily limit 50 → 40`.
pub fn changes(listed: &ListedAction) -> Vec<String> {
    in_words(listed.action.before.as_deref(), listed.action.after.as_deref())
}

fn in_words(before: Option<&RawValue>, after: Option<&RawValue>) -> Vec<String> {
    let (before, after) = (fields(before), fields(after));
    let of = |(field, value): (&String, &Value)| {
        let after = value_text(field, value);
        let said = match before.get(field).map(|value| value_text(field, value)) {
            Some(before) if before != after => format!("{before} \u{2192} {after}"),
            Some(_) | None => after,
        };
        format!("{} {said}", label(field))
    };
    after.iter().filter(|(field, _)| *field != "expected_version").map(of).collect()
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

    fn said(before: &str, after: &str) -> Vec<String> {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        in_words(raw(before).as_deref(), raw(after).as_deref())
    }

    #[test]
    fn changed_fields_are_said_with_what_they_were() {
        let changed = said(
            r#"{"max_daily_spend":50}"#,
            r#"{"expected_version":3,"max_daily_spend":40,"reason":"less"}"#,
        );
        assert_eq!(changed, ["daily limit 50 \u{2192} 40", "reason less"]);
        let lifted = said(
            r#"{"max_single_transfer":"25","allowed_counterparties":["9vJkP9D4Ks3yC3sMXkDz4WT3KdxceM57QhDbb9uPvehG"]}"#,
            r#"{"max_single_transfer":null,"allowed_counterparties":null}"#,
        );
        let anyone = "who may be paid 9vJk\u{2026}vehG \u{2192} anyone";
        assert_eq!(lifted, [anyone, "limit per payment 25 \u{2192} no limit"]);
        assert_eq!(said("null", r#"{"paused":true}"#), ["paused yes"]);
        assert_eq!(said(r#"{"paused":true}"#, r#"{"paused":true}"#), ["paused yes"], "it was so before");
    }

    #[test]
    fn the_policy_of_a_new_account_is_among_its_fields_and_long_lists_are_counted() {
        let made = said(
            "",
            r#"{"name":"Ada","policy":{"max_daily_spend":5,"allowed_counterparties":["a","b","c","d"]}}"#,
        );
        assert_eq!(made, ["who may be paid 4 entries", "daily limit 5", "name Ada"]);
        for nothing in ["", "null", "[1]", "7"] {
            assert!(said(nothing, nothing).is_empty(), "{nothing}");
        }
    }
}
