//! The answer of a command, as text for people or as one line of JSON.

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

/// Exit status if `--yes` was missing.
const NOTHING_DONE: u8 = 3;

/// A sentence, and facts by name. The names are the keys of the JSON object and the labels of the text.
#[derive(Clone)]
pub struct Report {
    title: String,
    facts: Vec<(&'static str, Value)>,
    table: Option<Table>,
    outcome: Outcome,
}

/// Whether the chain has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The command only reads.
    Read,
    Done,
    /// Shown, because `--yes` was missing.
    Shown,
    /// Printed for somebody else to sign.
    Printed,
}

/// Rows under a name: an array of objects in JSON.
#[derive(Clone)]
pub struct Table {
    pub name: &'static str,
    pub columns: Vec<&'static str>,
    /// How many leading columns stand on a line of their own above the rows that share them.
    pub headings: usize,
    pub rows: Vec<Vec<Value>>,
}

impl Report {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), facts: Vec::new(), table: None, outcome: Outcome::Read }
    }

    /// Adds a fact; `null` is shown as "none".
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Adds facts.
    #[must_use]
    pub fn with_all(mut self, facts: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        self.facts.extend(facts);
        self
    }

    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    #[must_use]
    pub fn outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// Appends another report.
    #[must_use]
    pub fn and(mut self, other: Report) -> Self {
        self.title = format!("{}; {}", self.title, other.title);
        self.facts.extend(other.facts);
        self.table = match (self.table, other.table) {
            (Some(mut first), Some(second)) => {
                first.rows.extend(second.rows);
                Some(first)
            }
            (first, second) => first.or(second),
        };
        self.outcome = match (self.outcome, other.outcome) {
            (Outcome::Shown, _) | (_, Outcome::Shown) => Outcome::Shown,
            (Outcome::Read, second) => second,
            (first, _) => first,
        };
        self
    }

    /// The command has taken effect whether or not anybody reads this.
    pub fn print(&self, json: bool) {
        let text = if json { self.json().to_string() } else { self.text() };
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    pub fn exit_code(&self) -> ExitCode {
        match self.outcome {
            Outcome::Shown => ExitCode::from(NOTHING_DONE),
            Outcome::Read | Outcome::Done | Outcome::Printed => ExitCode::SUCCESS,
        }
    }

    fn json(&self) -> Value {
        let mut object: Map<String, Value> =
            self.facts.iter().map(|(name, value)| ((*name).to_string(), value.clone())).collect();
        if let Some(table) = &self.table {
            object.insert(table.name.to_string(), table.json());
        }
        let done = match self.outcome {
            Outcome::Read => None,
            Outcome::Done => Some(true),
            Outcome::Shown | Outcome::Printed => Some(false),
        };
        object.extend(done.map(|done| ("done".to_string(), json!(done))));
        Value::Object(object)
    }

    fn text(&self) -> String {
        let width = self.facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = match self.outcome {
            Outcome::Shown => format!("nothing was done. With --yes: {}", self.title),
            Outcome::Printed => format!("nothing was sent. Once it is signed and submitted: {}", self.title),
            Outcome::Read | Outcome::Done => self.title.clone(),
        };
        for (name, value) in &self.facts {
            let mut values = plain(value).into_iter();
            let first = values.next().unwrap_or_else(|| empty(name).to_string());
            text += &format!("\n  {name:width$}  {first}");
            for next in values {
                text += &format!("\n  {:width$}  {next}", "");
            }
        }
        if let Some(table) = self.table.as_ref().filter(|table| !table.rows.is_empty()) {
            text += "\n\n";
            text += &table.text();
        }
        text
    }
}

impl Table {
    fn json(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let cells = self.columns.iter().zip(row);
            cells.map(|(name, value)| ((*name).to_string(), value.clone())).collect::<Map<_, _>>()
        };
        self.rows.iter().map(object).collect()
    }

    fn text(&self) -> String {
        let names: Vec<Vec<String>> =
            self.columns.iter().skip(self.headings).map(|name| vec![(*name).to_string()]).collect();
        let cells = |row: &Vec<Value>| -> Vec<Vec<String>> {
            row.iter().skip(self.headings).map(|value| filled(plain(value))).collect()
        };
        let rows: Vec<Vec<Vec<String>>> = self.rows.iter().map(cells).collect();
        let widths: Vec<usize> = (0..self.columns.len() - self.headings)
            .map(|column| {
                let all = rows.iter().chain(std::iter::once(&names));
                let lines = all.filter_map(|row| row.get(column)).flatten();
                lines.map(|line| line.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut lines = printed(&names, &widths);
        let mut above: &[Value] = &[];
        for (row, cells) in self.rows.iter().zip(&rows) {
            let heading = row.get(..self.headings).unwrap_or_default();
            if heading != above {
                lines.push(heading.iter().flat_map(plain).collect::<Vec<_>>().join(" "));
                above = heading;
            }
            lines.extend(printed(cells, &widths));
        }
        lines.join("\n")
    }
}

/// The lines of one row: as many as its longest cell has.
fn printed(cells: &[Vec<String>], widths: &[usize]) -> Vec<String> {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |index: usize| {
        let parts = cells.iter().zip(widths).map(|(cell, width)| {
            let text = cell.get(index).map_or("", String::as_str);
            format!("{text:width$}")
        });
        format!("  {}", parts.collect::<Vec<_>>().join("  ")).trim_end().to_string()
    };
    (0..height).map(line).collect()
}

fn filled(lines: Vec<String>) -> Vec<String> {
    if lines.is_empty() { vec!["nobody".to_string()] } else { lines }
}

/// One line for a value, or one for each element of a list.
fn plain(value: &Value) -> Vec<String> {
    match value {
        Value::Null => vec!["none".to_string()],
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(plain).collect(),
        Value::Object(facts) => facts.iter().flat_map(|(name, value)| named(name, value)).collect(),
        Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    }
}

/// What is printed for a list without entries.
fn empty(name: &str) -> &'static str {
    if name == "warnings" { "none" } else { "nobody" }
}

/// Lines that begin with their name.
fn named(name: &str, value: &Value) -> Vec<String> {
    match plain(value) {
        lines if lines.is_empty() => vec![format!("{name}: nobody")],
        lines => lines.iter().map(|line| format!("{name}: {line}")).collect(),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_table_has_its_headings_above_the_rows_that_share_them() {
        let rows = [
            json!(["wallet", "W", "sol", "2.0", "1.0"]),
            json!(["account", "A", "paused", false, true]),
            json!(["account", "A", "wallets", ["x", "y"], null]),
        ];
        let rows = rows.iter().map(|row| row.as_array().unwrap().clone()).collect();
        let columns = vec!["kind", "address", "what", "before", "after"];
        let table = Table { name: "changes", columns, headings: 2, rows };
        let report = Report::new("all change").table(table).outcome(Outcome::Shown);
        assert_eq!(
            report.text(),
            "nothing was done. With --yes: all change\n\n  what     before  after\nwallet W\n  sol      2.0     1.0\n\
             account A\n  paused   false   true\n  wallets  x       none\n           y"
        );
        let json = report.json();
        assert_eq!((&json["done"], &json["changes"][1]["after"]), (&json!(false), &json!(true)));
        assert_eq!(json["changes"][0]["address"], json!("W"));
    }
}
