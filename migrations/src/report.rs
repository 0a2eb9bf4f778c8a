//! One answer, as text for people or as one line of JSON.

use std::io::Write;

use serde_json::{Map, Value};

/// A sentence, and facts by name. The names are the keys of the JSON object and the labels of the text.
pub struct Report {
    title: String,
    facts: Vec<(&'static str, Value)>,
}

impl Report {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), facts: Vec::new() }
    }

    /// Adds a fact; `null` is shown as "none".
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Adds the facts of another report after these.
    #[must_use]
    pub fn and(mut self, other: Report) -> Self {
        self.title = format!("{}; {}", self.title, other.title);
        self.facts.extend(other.facts);
        self
    }

    /// What was done is done, whether or not anybody reads of it.
    pub fn print(&self, json: bool) {
        let text = if json { self.json().to_string() } else { self.text() };
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    fn json(&self) -> Value {
        Value::Object(
            self.facts
                .iter()
                .map(|(name, value)| ((*name).to_string(), value.clone()))
                .collect::<Map<_, _>>(),
        )
    }

    fn text(&self) -> String {
        let width = self.facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = self.title.clone();
        for (name, value) in &self.facts {
            let mut values = plain(value).into_iter();
            let first = values.next().unwrap_or_else(|| "nobody".to_string());
            text += &format!("\n  {name:width$}  {first}");
            for next in values {
                text += &format!("\n  {:width$}  {next}", "");
            }
        }
        text
    }
}

/// One line for a value, or one for each of a list.
fn plain(value: &Value) -> Vec<String> {
    match value {
        Value::Null => vec!["none".to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(plain).collect(),
        Value::Object(facts) => facts.iter().flat_map(|(name, value)| named(name, value)).collect(),
        Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    }
}

/// Lines that say in front whose they are.
fn named(name: &str, value: &Value) -> Vec<String> {
    match plain(value) {
        lines if lines.is_empty() => vec![format!("{name}: nobody")],
        lines => lines.iter().map(|line| format!("{name}: {line}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_json_tell_the_same_facts() {
        let report = Report::new("done")
            .with("short", "a")
            .with("a_longer_one", json!(["b", "c"]))
            .with("none", Value::Null)
            .with("empty", json!([]))
            .with("inner", json!({"list": ["d", "e"], "nobody": []}));
        assert_eq!(
            report.text(),
            "done\n  short         a\n  a_longer_one  b\n                c\n  none          none\n  empty         nobody\n  \
             inner         list: d\n                list: e\n                nobody: nobody"
        );
        assert_eq!(
            report.json(),
            json!({
                "short": "a", "a_longer_one": ["b", "c"], "none": null, "empty": [],
                "inner": {"list": ["d", "e"], "nobody": []}
            })
        );
    }
}
