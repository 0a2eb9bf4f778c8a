//! What MCP's extension learns of the service: what the configuration says of it, who asks, and how a refusal is answered.

use axum::Extension;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use purser_api::http::BesideRest;
use purser_api::web::{AnyKey, ApiError, BODY_BYTES_MAX, Code, OverRate, RequestId, check_json};
use purser_mcp::{Caller, Refusal, Settings};
use purser_model::{Invalid, Principal};
use purser_relayer::config::texts;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;

/// `[mcp]`: from where `/mcp` may be used, each a list or text with commas, and by whom.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Section {
    /// Names, with or without a port, that clients may send as `Host` to reach the service, besides `localhost`, `127.0.0.1`
    /// and `::1`.
    #[serde(deserialize_with = "texts")]
    allowed_hosts: Vec<String>,
    /// Web pages that may use it, such as `https://app.example.com:443`: what browsers send as `Origin`. None by default.
    #[serde(deserialize_with = "texts")]
    allowed_origins: Vec<String>,
    /// Operator keys get tools for accounts and policies. When off, they are refused, because whoever gets an agent to use such
    /// a key sets policies.
    operator_tools: bool,
}

pub fn open(section: &Section, with: BesideRest<'_>) -> OpenApiRouter {
    let Section { allowed_hosts, allowed_origins, operator_tools } = section.clone();
    let settings =
        Settings { allowed_hosts, allowed_origins, operator_tools, body_bytes_max: BODY_BYTES_MAX };
    let extension = purser_mcp::routes(with.rest, &with.described, settings, refuse);
    extension.route_layer(from_fn(check_json)).route_layer(from_fn(name_caller))
}

/// Middleware: says who asks.
async fn name_caller(
    AnyKey(principal): AnyKey,
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
        Refusal::Forbidden(message) => ApiError::OfExtension(Code::Forbidden, message.into()),
        Refusal::UnknownSession(message) => ApiError::OfExtension(Code::NotFound, message.into()),
        Refusal::NoMessage(problem) => Invalid::new("body", problem).into(),
    };
    error.into_response()
}
