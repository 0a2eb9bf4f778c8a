//! REST's operations, as its OpenAPI document describes them.

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::schema::complete;

/// One operation.
pub(crate) struct Operation {
    pub method: Method,
    /// With `{id}` where an id belongs.
    pub path: String,
    /// The schema of its query or of its body, as an object.
    pub takes: Value,
    /// Fields of `takes` that may be `null`.
    pub nullable: Vec<String>,
    pub has_body: bool,
    /// The schema of what it answers.
    pub answers: Value,
}

impl Operation {
    /// `None`: the document has no such operation.
    pub fn named(document: &Value, id: &str) -> Option<Self> {
        let paths = document["paths"].as_object()?;
        let (path, method, described) = paths.iter().find_map(|(path, item)| {
            let (method, described) =
                item.as_object()?.iter().find(|(_, described)| described["operationId"] == id)?;
            Some((path, method, described))
        })?;
        let body = described.pointer("/requestBody/content/application~1json/schema");
        let mut answers = described["responses"].as_object()?.iter();
        let answers = answers.find_map(|(status, answer)| {
            let schema = answer.pointer("/content/application~1json/schema");
            schema.filter(|_| status.starts_with('2'))
        })?;
        let takes = body.cloned().unwrap_or_else(|| query_of(described));
        Some(Self {
            method: method.to_uppercase().parse().ok()?,
            path: path.clone(),
            nullable: nullable(document, &takes),
            takes,
            has_body: body.is_some(),
            answers: answers.clone(),
        })
    }

    /// Whether it takes anything besides its path.
    pub fn takes_something(&self) -> bool {
        self.has_body || self.takes["properties"].as_object().is_some_and(|all| !all.is_empty())
    }
}

/// Lists the properties that may be `null`.
fn nullable(document: &Value, schema: &Value) -> Vec<String> {
    let whole = complete(document, schema);
    let properties = whole.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.filter(|(_, schema)| may_be_null(schema)).map(|(name, _)| name.clone()).collect()
}

fn may_be_null(schema: &Value) -> bool {
    let among = |choices: &Value, is_null: fn(&Value) -> bool| {
        choices.as_array().is_some_and(|choices| choices.iter().any(is_null))
    };
    schema["type"] == "null"
        || among(&schema["type"], |one| one == "null")
        || among(&schema["oneOf"], may_be_null)
        || among(&schema["anyOf"], may_be_null)
}

/// The query parameters as the properties of an object.
fn query_of(described: &Value) -> Value {
    let parameters = described["parameters"].as_array().into_iter().flatten();
    let in_query = parameters.filter(|parameter| parameter["in"] == "query");
    let property = |parameter: &Value| {
        let mut schema = parameter["schema"].clone();
        if let (Some(schema), Some(said)) = (schema.as_object_mut(), parameter.get("description")) {
            schema.insert("description".to_owned(), said.clone());
        }
        Some((parameter["name"].as_str()?.to_owned(), schema))
    };
    let properties: Map<String, Value> = in_query.filter_map(property).collect();
    json!({ "type": "object", "properties": properties })
}
