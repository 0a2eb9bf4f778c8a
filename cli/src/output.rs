use std::io::IsTerminal;

use anyhow::Result;
use comfy_table::presets::{NOTHING, UTF8_HORIZONTAL_ONLY};
use comfy_table::{ContentArrangement, Table};
use serde_json::Value;

/// The form of a command's answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    Text,
    /// One line.
    Json,
    /// What was made, as lines that a shell takes: see [`print_made`]. All else as text.
    Env,
}

/// Prints things that were made, as a list or as variables of a shell. The fields of an `operator_key` are
/// `PURSER_OPERATOR_KEY_ID` and so on, and its `key` is `PURSER_OPERATOR_KEY`. A second thing's names end with `_2`.
pub(super) fn print_made(format: Format, what: &str, names: &[&str], rows: &[Vec<Value>]) -> Result<()> {
    let (Format::Env, what) = (format, what.to_uppercase()) else {
        return match rows {
            [row] if what != "keypair" => {
                print_one(format, &names.iter().copied().zip(row.iter().cloned()).collect::<Vec<_>>())
            }
            rows => print_list(format, names, rows),
        };
    };
    for (row, number) in rows.iter().zip(1..) {
        for (name, value) in names.iter().zip(row).filter(|(_, value)| !value.is_null()) {
            let name = name.to_uppercase();
            let is_the_thing = what.rsplit('_').next() == Some(name.as_str());
            let variable =
                if is_the_thing { format!("PURSER_{what}") } else { format!("PURSER_{what}_{name}") };
            let variable = if number == 1 { variable } else { format!("{variable}_{number}") };
            print_line(&format!("{variable}={}", shell_word(&text(value))))?;
        }
    }
    Ok(())
}

/// As one word of a shell.
pub(super) fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// One thing: a line of JSON, or one field per line.
pub(super) fn print_one(format: Format, fields: &[(&str, Value)]) -> Result<()> {
    match format {
        Format::Json => {
            let object: serde_json::Map<String, Value> =
                fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            print_line(&Value::Object(object).to_string())
        }
        Format::Text | Format::Env => {
            let mut table = Table::new();
            table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
            for (name, value) in fields {
                table.add_row([(*name).to_owned(), text(value)]);
            }
            print_line(&table.trim_fmt())
        }
    }
}

/// A list: a line of JSON with an array of objects, or a table.
pub(super) fn print_list(format: Format, names: &[&str], rows: &[Vec<Value>]) -> Result<()> {
    match format {
        Format::Json => {
            let object = |row: &Vec<Value>| -> Value {
                let fields = names.iter().zip(row);
                fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
            };
            print_line(&rows.iter().map(object).collect::<Value>().to_string())
        }
        Format::Text | Format::Env => {
            let mut table = table();
            table.set_header(names);
            for row in rows {
                table.add_row(row.iter().map(text));
            }
            print_line(&table.trim_fmt())
        }
    }
}

/// Writes the line at once, and does not panic when nobody reads.
pub(super) fn print_line(line: &str) -> Result<()> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes())?;
    Ok(stdout.flush()?)
}

/// Clears the line of progress.
pub(super) fn ends_progress() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// On a terminal, progress redraws one line; elsewhere each update is a line.
pub(super) fn progress(what: String) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    } else {
        eprintln!("{what}");
    }
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
