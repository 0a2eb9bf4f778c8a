//! What MCP's door learns of the service: who asks, and how a refusal is answered.

use axum::Extension;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use purser_mcp::{Caller, Refusal, Settings};
use purser_relayer::config::Config;
use purser_relayer::domain::{Invalid, Principal};
use purser_relayer::http::{ApiError, BODY_BYTES_MAX, Code, Inside, OverRate, RequestId, check_json};
use utoipa_axum::router::OpenApiRouter;

pub fn open(config: &Config, inside: Inside<'_>) -> OpenApiRouter {
    let settings = Settings {
        allowed_hosts: config.mcp.allowed_hosts.clone(),
        allowed_origins: config.mcp.allowed_origins.clone(),
        operator_tools: config.mcp.operator_tools,
        body_bytes_max: BODY_BYTES_MAX,
    };
    let door = purser_mcp::routes(inside.rest, &inside.described, settings, refuse);
    door.route_layer(from_fn(check_json)).route_layer(from_fn(name_caller))
}

/// Middleware: says who asks.
async fn name_caller(
    principal: Principal,
    Extension(request_id): Extension<RequestId>,
    mut request: Request,
    next: Next,
) -> Response {
    let account_id = match &principal {
        Principal::Agent { account_id, .. } => Some(account_id.to_string()),
        Principal::Operator { .. } => None,
    };
    let caller = Caller {
        key_id: principal.key_id().to_string(),
        account_id,
        request_id: request_id.to_string(),
        is_over_rate: request.extensions().get::<OverRate>().is_some(),
    };
    request.extensions_mut().insert(caller);
    next.run(request).await
}

fn refuse(refusal: Refusal) -> Response {
    let error = match refusal {
        Refusal::Forbidden(message) => ApiError::AtDoor(Code::Forbidden, message),
        Refusal::UnknownSession(message) => ApiError::AtDoor(Code::NotFound, message),
        Refusal::NoMessage(problem) => Invalid::new("body", problem).into(),
    };
    error.into_response()
}

#[cfg(test)]
mod tests {
    use purser_relayer::http;
    use serde_json::Value;

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
        let tools = purser_mcp::listed(&http::keyed_described());
        assert_eq!(tools.len(), 13, "REST has the operations of all tools");
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
}
