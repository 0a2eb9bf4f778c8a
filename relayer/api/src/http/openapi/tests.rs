//! Whether the document describes everything.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use super::errors::example_of;
use super::links::LINKS;
use crate::http::testing::Relayer;
use crate::web::error::Code;
use purser_model::{CheckedRule, EventType, Scope};

/// The document of a build with every extension: tests of `main` hold it to the code.
fn document() -> Value {
    serde_json::from_str(include_str!("../../../../../main/src/extensions/openapi.json")).expect("JSON")
}

fn without_extensions() -> Value {
    serde_json::to_value(crate::http::document(OpenApi::default())).expect("JSON")
}

/// Every operation with its path and method.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let all = paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().expect("operations");
        operations.iter().map(move |(method, operation)| (path.clone(), method.to_uppercase(), operation))
    });
    all.collect()
}

/// What a reference points to; any other value as it is.
fn meant<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("within the document");
            document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => value,
    }
}

#[test]
fn every_operation_says_what_it_is_and_has_a_name_of_its_own() {
    let document = document();
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap_or_default();
        assert!(name.contains('_') || ["halt", "mcp"].contains(&name), "{method} {path} is called {name:?}");
        assert!(names.insert(name), "{name} is there twice");
        assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{name} has no summary");
        let tags = operation["tags"].as_array().expect("tags");
        let known = document["tags"].as_array().expect("tags");
        assert!(tags.iter().all(|tag| known.iter().any(|known| known["name"] == *tag)), "{name}: {tags:?}");
        assert!(operation["security"].is_array(), "{name} does not say which key it needs");
    }
}

#[test]
fn every_operation_that_needs_a_key_names_scopes_that_there_are() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        let needs_key = operation["security"].as_array().expect("keys").iter().any(|key| *key != json!({}));
        let named = operation["x-scopes"].as_array();
        assert_eq!(named.is_some(), needs_key, "{method} {path}");
        let named: Vec<_> =
            named.into_iter().flatten().map(|scope| scope.as_str().expect("a word")).collect();
        let known = named.iter().filter(|scope| Scope::from_stored(scope).is_some()).count();
        assert!(known == named.len() && (known > 0 || !needs_key), "{method} {path}: {named:?}");
    }
}

#[test]
fn every_link_leads_from_an_id_that_is_answered_to_an_operation_that_takes_it() {
    let document = document();
    let operations = operations(&document);
    let found = |name: &str| {
        let found = operations.iter().find(|(.., operation)| operation["operationId"] == name);
        found.unwrap_or_else(|| panic!("no operation is called {name}")).2
    };
    for (from, field, nexts) in LINKS {
        let answers = found(from)["responses"].as_object().expect("responses");
        let answers: Vec<_> = answers.iter().filter(|(status, _)| status.starts_with('2')).collect();
        assert!(!answers.is_empty());
        for (status, answer) in answers {
            for next in nexts {
                let link = &answer["links"][*next];
                let id = format!("$response.body#/{field}");
                assert_eq!(
                    (&link["operationId"], &link["parameters"]["id"]),
                    (&json!(next), &json!(id)),
                    "{from} {status}"
                );
                let takes = found(next)["parameters"].as_array().expect("parameters");
                assert!(
                    takes.iter().any(|parameter| parameter["in"] == "path" && parameter["name"] == "id"),
                    "{next}"
                );
            }
        }
    }
}

#[test]
fn fields_refused_as_null_or_empty_are_described_so() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let webhook = &schemas["CreateWebhook"]["properties"];
    assert_eq!((&webhook["events"]["type"], &webhook["url"]["oneOf"]), (&json!("array"), &Value::Null));
    assert_eq!(webhook["url"]["$ref"], "#/components/schemas/WebhookUrl");
    assert_eq!(schemas["CreateKey"]["properties"]["allowed_cidrs"]["minItems"], 1);
    let halt = &document["paths"]["/v1/halt"]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(halt["$ref"], "#/components/schemas/Nothing");
    let first = &schemas["FirstPolicy"]["properties"];
    assert_eq!((&first["expected_version"], &first["reason"]), (&Value::Null, &Value::Null));
    assert_eq!(schemas["CreateTransfer"]["properties"]["to"]["$ref"], "#/components/schemas/Payee");
    assert_eq!(schemas["Payee"]["oneOf"][0]["$ref"], "#/components/schemas/RecipientText");
    assert_eq!(schemas["Payee"]["oneOf"][1]["required"], json!(["wallet"]));
}

#[test]
fn generators_of_other_people_get_names_that_they_can_use() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    assert!(!schemas.contains_key("Error"), "TypeScript has an `Error` of its own");
    let pages: Vec<&str> = schemas.keys().filter_map(|name| name.strip_prefix("Page_")).collect();
    assert_eq!(pages.len(), 13, "{pages:?}");
    for item in pages {
        let listed = &schemas[&format!("Page_{item}")]["properties"]["data"]["items"];
        assert_eq!(listed["$ref"], format!("#/components/schemas/{item}"), "one type, listed or alone");
        assert!(schemas.contains_key(item), "{item}");
    }
    let is_required = |body: &str| {
        let required = schemas[body]["required"].as_array().expect("required fields");
        required.iter().any(|field| field == "idempotency_key")
    };
    assert!(is_required("CreateTransfer"));
    assert!(!is_required("PreviewTransfer"));
    for (event_type, sent) in document["webhooks"].as_object().expect("webhooks") {
        // They would become methods that nobody can call.
        assert_eq!(sent["post"]["x-internal"], true, "{event_type}");
    }
}

#[test]
fn every_error_code_is_described_with_an_example_that_the_service_made() {
    let document = document();
    for code in Code::ALL {
        let example = example_of(*code);
        assert_eq!(example["error"], code.as_str());
        assert_eq!(document["components"]["examples"][code.as_str()]["value"], example);
        for required in ["message", "request_id"] {
            assert!(example[required].is_string(), "{example}");
        }
    }
    let listed = &document["components"]["schemas"]["ErrorCode"]["anyOf"][0]["enum"];
    assert_eq!(listed.as_array().map(Vec::len), Some(Code::ALL.len()));
}

/// The lists of words that a part of the document holds and that are not open, by the names of their components.
fn closed(document: &Value, part: &Value, seen: &mut BTreeSet<String>, found: &mut BTreeSet<String>) {
    let is_open = |part: &Value| {
        part["anyOf"]
            .as_array()
            .is_some_and(|choice| choice.iter().any(|one| one["type"] == "string" && one["enum"].is_null()))
    };
    if is_open(part) {
        return;
    }
    if let Some(name) = part["$ref"].as_str().filter(|name| seen.insert((*name).to_owned())) {
        let meant = meant(document, part);
        if meant["enum"].is_array() {
            found.insert(name.rsplit('/').next().unwrap_or_default().to_owned());
        }
        closed(document, meant, seen, found);
    }
    match part {
        Value::Object(fields) => fields.values().for_each(|part| closed(document, part, seen, found)),
        Value::Array(parts) => parts.iter().for_each(|part| closed(document, part, seen, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn lists_of_words_are_open_in_answers_and_closed_in_requests() {
    let document = document();
    let (mut asked, mut answered) = (BTreeSet::new(), BTreeSet::new());
    let (mut seen_asked, mut seen_answered) = (BTreeSet::new(), BTreeSet::new());
    for (_, _, operation) in operations(&document) {
        for part in [&operation["parameters"], &operation["requestBody"]] {
            closed(&document, part, &mut seen_asked, &mut asked);
        }
        closed(&document, &operation["responses"], &mut seen_answered, &mut answered);
    }
    closed(&document, &document["webhooks"], &mut seen_answered, &mut answered);
    assert_eq!(answered, BTreeSet::new());
    for name in ["CounterpartyKind", "EventType", "WebhookStatus"] {
        assert!(asked.contains(name), "{name} among {asked:?}");
        let open = &document["components"]["schemas"][format!("{name}OrOther")];
        assert_eq!(open["anyOf"][0]["$ref"], format!("#/components/schemas/{name}"));
    }
}

#[test]
fn checks_may_be_as_many_as_there_are_rules() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let bounds =
        schemas.values().map(|schema| &schema["properties"]["checks"]).filter(|checks| !checks.is_null());
    let bounds: Vec<u64> = bounds.filter_map(|checks| checks["maxItems"].as_u64()).collect();
    assert!(
        !bounds.is_empty() && bounds.iter().all(|most| *most >= CheckedRule::ALL.len() as u64),
        "{bounds:?}"
    );
}

#[test]
fn every_field_has_words_and_a_bound() {
    let document = document();
    let mut wanting = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        look(&document, name, schema, &mut wanting);
    }
    for (path, method, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let at = format!("{method} {path} {}", parameter["name"]);
            look(&document, &at, &parameter["schema"], &mut wanting);
            let descriptions = [&parameter["description"], &parameter["schema"]["description"]];
            if descriptions.iter().all(|text| text.is_null()) {
                wanting.push(format!("{at}: no words"));
            }
        }
    }
    assert!(wanting.is_empty(), "{wanting:#?}");
}

/// Collects what a schema leaves without words or bounds.
fn look(document: &Value, at: &str, schema: &Value, wanting: &mut Vec<String>) {
    let has = |names: &[&str]| names.iter().any(|name| !schema[*name].is_null());
    let is = |kind: &str| schema["type"] == kind || schema["type"] == json!([kind, "null"]);
    if is("string") && !has(&["pattern", "format", "enum", "const", "maxLength"]) {
        wanting.push(format!("{at}: a text without a form"));
    }
    if (is("integer") || is("number")) && !has(&["minimum"]) {
        wanting.push(format!("{at}: a number without a bound"));
    }
    if is("array")
        && !has(&["maxItems", "uniqueItems"])
        && schema["items"]["$ref"] != "#/components/schemas/EventType"
    {
        wanting.push(format!("{at}: a list without a bound"));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        let parts = property["oneOf"].as_array().into_iter().flatten().chain([property]);
        let described = parts.flat_map(|part| [part, meant(document, part)]);
        if described.into_iter().all(|part| part["description"].is_null()) && name != "type" {
            wanting.push(format!("{at}: no words"));
        }
        look(document, &at, property, wanting);
    }
    for many in ["oneOf", "anyOf", "allOf"] {
        for part in schema[many].as_array().into_iter().flatten() {
            look(document, at, part, wanting);
        }
    }
    if schema["items"].is_object() {
        look(document, &format!("{at}[]"), &schema["items"], wanting);
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                meant(document, value);
                fields.values().for_each(|value| walk(document, value));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(document, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = document();
    walk(&document, &document);
}

#[test]
fn every_type_of_event_is_a_webhook_with_its_schema() {
    let document = document();
    for event_type in EventType::ALL {
        let sent = &document["webhooks"][event_type.as_str()]["post"];
        let schema = meant(&document, &sent["requestBody"]["content"]["application/json"]["schema"]);
        assert_eq!(schema["properties"]["type"]["enum"], json!([event_type.as_str()]));
        assert!(meant(&document, &schema["properties"]["data"])["properties"].is_object(), "{event_type}");
    }
}

/// A list that gets an unknown parameter answers with the parameters that it takes.
#[tokio::test]
async fn every_parameter_of_a_list_is_described_and_every_described_one_is_taken() {
    let document = without_extensions();
    let relayer = Relayer::start().await;
    let account = relayer.account().await;
    let mut asked = 0;
    for (path, method, operation) in operations(&document) {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let described: BTreeSet<&str> = parameters
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().expect("a name"))
            .collect();
        // Webhooks are not configured here, and their lists need an existing webhook.
        if method != "GET" || described.is_empty() || path.contains("webhooks/{id}") {
            continue;
        }
        let refused = relayer.get(&format!("{}?none-such=1", path.replace("{id}", &account))).await;
        assert_eq!(refused.error(), (400, "invalid_request"), "{path}: {}", refused.text);
        let message = refused.body["message"].as_str().expect("a message");
        let taken: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        assert_eq!(taken, described, "{path}: {message}");
        asked += 1;
    }
    assert!(asked >= 6, "{asked} lists");
}

#[tokio::test]
async fn service_shows_the_document_to_whoever_asks() {
    let relayer = Relayer::start().await;
    let shown = relayer.send("GET", "/openapi.json", "", None).await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.body, without_extensions());
    assert_eq!(shown.body["openapi"], "3.1.0");
}
