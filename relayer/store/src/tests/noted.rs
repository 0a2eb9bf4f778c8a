//! Notes the statements that the rules in `cases` run: every statement of the store, with its values.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;

use super::super::statement::Value;

/// Names a file. Every statement is then written there once per pattern of empty values.
const FILE: &str = "PURSER_TEST_NOTE_STATEMENTS";

/// The file, and what it already contains.
type Notes = Mutex<(File, HashSet<String>)>;

static NOTES: OnceLock<Option<Notes>> = OnceLock::new();

/// A statement that was run.
pub(super) struct Noted {
    pub sql: String,
    pub values: Vec<Value>,
}

/// Notes a statement if the process was asked to.
pub(crate) fn note(sql: &sqlx::SqlStr, values: &[Value]) {
    let Some(notes) = NOTES.get_or_init(open) else { return };
    let values: Vec<serde_json::Value> = values.iter().map(to_json).collect();
    let is_empty = |value: &serde_json::Value| value.is_null() || value.is_array() || value == "";
    let empty: Vec<bool> = values.iter().map(is_empty).collect();
    let mut notes = notes.lock();
    if notes.1.insert(format!("{} {empty:?}", sql.as_str())) {
        let line = serde_json::json!({ "sql": sql.as_str(), "values": values });
        writeln!(notes.0, "{line}").expect("written");
    }
}

fn open() -> Option<Mutex<(File, HashSet<String>)>> {
    let file = OpenOptions::new().append(true).create(true).open(std::env::var_os(FILE)?).expect("a file");
    Some(Mutex::new((file, HashSet::new())))
}

fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::Number(Some(number)) => (*number).into(),
        Value::Number(None) => serde_json::json!([]),
        Value::Flag(Some(flag)) => (*flag).into(),
        Value::Flag(None) => serde_json::json!({}),
    }
}

fn from_json(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Bool(flag) => Value::Flag(Some(*flag)),
        serde_json::Value::Number(number) => Value::Number(number.as_i64()),
        serde_json::Value::String(text) => Value::Text(Some(text.clone())),
        serde_json::Value::Array(_) => Value::Number(None),
        serde_json::Value::Object(_) => Value::Flag(None),
        _ => Value::Text(None),
    }
}

/// Every statement of the store, from the rules, which run once for all who ask, in a separate process and on SQLite. On Postgres the
/// same statements are run; some also skip rows that are locked.
pub(super) fn statements() -> &'static [Noted] {
    static ALL: OnceLock<Vec<Noted>> = OnceLock::new();
    ALL.get_or_init(run_rules)
}

fn run_rules() -> Vec<Noted> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("statements");
    let run = Command::new(std::env::current_exe().expect("a path"))
        .args(["tests::sqlite::cases", "--test-threads=2"])
        .env(FILE, &file)
        .output()
        .expect("the tests start");
    let printed = String::from_utf8_lossy(&run.stdout);
    let failures = printed.split("failures:").nth(1).unwrap_or(&printed);
    assert!(run.status.success(), "the rules do not hold: {failures}");
    let text = std::fs::read_to_string(file).expect("written");
    let read = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let values = line["values"].as_array().expect("a list").iter().map(from_json).collect();
        Noted { sql: line["sql"].as_str().expect("a text").to_owned(), values }
    };
    // Statements that a rule runs to count for itself are not the store's.
    let is_ours = |noted: &Noted| noted.sql.contains("WHERE") || !noted.sql.contains("COUNT(*)");
    text.lines().map(read).filter(is_ours).collect()
}
