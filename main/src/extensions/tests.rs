//! What all extensions together are.

mod hostile;
mod hostile_bodies;

use std::collections::BTreeSet;
use std::path::Path;

use config::{File, FileFormat};
use purser_api::http;
use purser_api::http::testing::is_as_committed;
use purser_api::web::Code;
use purser_cli::Extensions as _;
use purser_relayer::config::Config;
use serde_json::Value;

use super::{Extensions, Sections};

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_tool_has_its_operation_and_schemas_hold_all_that_they_refer_to() {
    let rest = http::keyed_described().merge_from(Extensions.described());
    let tools = purser_mcp::listed(&rest);
    assert_eq!(tools.len(), 13, "REST has the operations of all tools");
    let without_extensions = purser_mcp::listed(&http::keyed_described());
    assert_eq!(without_extensions.len(), 12, "nothing is bought where no extension of REST does it");
    for tool in tools {
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            let mut found = Vec::new();
            references(schema, &mut found);
            for reference in found {
                let pointer = reference.strip_prefix('#').expect("within the schema");
                assert!(
                    schema.pointer(pointer).is_some_and(Value::is_object),
                    "{}: {reference}",
                    tool["name"]
                );
            }
        }
    }
}

/// A change of this file is a change of the interface: `PURSER_TEST_REWRITE=1` writes it anew.
#[test]
fn document_is_as_committed() {
    let now = http::document(Extensions.described()).to_pretty_json().expect("JSON");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/extensions/openapi.json");
    is_as_committed(&file, &format!("{now}\n"));
}

#[test]
fn every_error_code_but_that_of_no_route_is_an_answer_of_some_route() {
    let document = serde_json::to_value(http::document(Extensions.described())).expect("JSON");
    let responses = document["components"]["responses"].as_object().expect("responses");
    let answered: BTreeSet<&str> = responses
        .iter()
        .filter(|(name, _)| *name != Code::MethodNotAllowed.as_str())
        .flat_map(|(name, _)| name.split('.'))
        .collect();
    let none: Vec<&str> =
        Code::ALL.iter().map(|code| code.as_str()).filter(|code| !answered.contains(code)).collect();
    assert_eq!(none, ["method_not_allowed"]);
}

#[test]
fn document_of_all_extensions_leads_nowhere_wrong_and_says_which_bodies_need_a_key() {
    let document = serde_json::to_value(http::document(Extensions.described())).expect("JSON");
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for body in ["CreateTransfer", "CreateX402Payment"] {
        let required = document["components"]["schemas"][body]["required"].as_array().expect("fields");
        assert!(required.iter().any(|field| field == "idempotency_key"), "{body}");
    }
}

/// Checks the page of all settings: each stands there once for the file and once for the environment.
#[test]
fn every_setting_of_the_page_can_be_said_by_the_environment_alone() {
    const PAGE: &str = include_str!("../../../docs/run/configuration.md");
    let text = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("settings");
    let values = ::config::Config::builder().add_source(File::from_str(text, FileFormat::Toml)).build();
    let values: serde_json::Value = values.expect("TOML").try_deserialize().expect("values");
    let mut environment = Vec::new();
    flatten("PURSER", &values, &mut environment);
    assert!(environment.len() > 35, "{environment:?}");
    let named: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let by_file = Config::parse::<Sections>(text).expect("the page is valid");
    let read = |environment| Config::read_with::<Sections>(None, environment);
    let map = |named: &[(&str, &str)]| {
        named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let by_environment = read(map(&named)).expect("the same");
    assert_eq!(format!("{by_environment:?}"), format!("{by_file:?}"));
    let (url, others): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(name, _)| *name == "PURSER__DATABASE__URL");
    let missing = read(map(&others)).expect_err("a setting is missing").to_string();
    assert!(!url.is_empty() && missing.contains("database"), "{missing}");
    let wrong =
        [others, vec![("PURSER__DATABASE__URL", "x"), ("PURSER__WEBHOOKS__PORTS", "443,http")]].concat();
    let wrong = read(map(&wrong)).expect_err("no port").to_string();
    assert!(wrong.contains("`http` is not a port") && wrong.contains("PURSER__WEBHOOKS__PORTS"), "{wrong}");
    let nothing = read(Default::default()).expect_err("nothing").to_string();
    assert!(nothing.contains("purser init") && nothing.contains("--config"), "{nothing}");
}

fn flatten(name: &str, value: &serde_json::Value, into: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let text = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{name}__{}", key.to_uppercase()), value, into);
            }
            return;
        }
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text_of(value),
    };
    into.push((name.to_owned(), text));
}

fn text_of(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
