//! The front door for agents that speak MCP: the same verbs as REST, one tool each, for the account that the key names.
//! Nothing is remembered between two requests: each carries its key, as over REST, and any relayer can answer it.

mod refusal;
mod schema;
mod server;
mod session;
mod tools;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tracing::Span;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::server::AgentServer;
use crate::domain::{Invalid, Principal};
use crate::http::BODY_BYTES_MAX;
use crate::http::body::JsonText;
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::service::Services;

/// Names of this machine, under which the door can always be reached.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// From where the door may be used.
#[derive(Debug, Clone, Default)]
pub struct McpSettings {
    /// Names, with or without a port, that `Host` may have beside those of this machine.
    pub allowed_hosts: Vec<String>,
    /// What `Origin` may be where there is one. Without any, a browser's page is refused.
    pub allowed_origins: Vec<String>,
}

type Protocol = StreamableHttpService<AgentServer, NeverSessionManager>;

/// `POST /mcp`, to be guarded as REST is.
pub fn routes(services: &Services, settings: McpSettings) -> OpenApiRouter {
    let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(settings.allowed_hosts);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(settings.allowed_origins)
        .enforce_origin_validation();
    let server = AgentServer::new(services.clone());
    let protocol = Protocol::new(move || Ok(server.clone()), Arc::default(), config);
    door().with_state(protocol)
}

/// What is said of it where the interface is described.
pub fn described() -> OpenApi {
    door().into_openapi()
}

fn door() -> OpenApiRouter<Protocol> {
    OpenApiRouter::default().routes(routes!(answer))
}

/// Speak MCP
///
/// One JSON-RPC message of the Model Context Protocol and its answer, without streams: `initialize`, `tools/list` and
/// `tools/call` of seven tools, which do what REST does for the account that the key names. Agent keys alone.
#[utoipa::path(
    post, path = "/mcp", operation_id = "mcp", tag = "Agents",
    request_body(content = Object, content_type = "application/json", description = "A JSON-RPC 2.0 message."),
    responses(
        (status = 200, body = Object, content_type = "application/json", description = "Its answer."),
        (status = 202, description = "A notification was taken."),
    ),
    security(("agent_key" = [])),
    extensions(("x-errors" = json!([Code::NotFound]))),
)]
async fn answer(
    State(protocol): State<Protocol>,
    principal: Principal,
    request: Request,
) -> Result<Response, ApiError> {
    let Principal::Agent { key_id, .. } = principal else { return Err(ApiError::AgentKeyNeeded) };
    session::check(request.headers(), key_id)?;
    let (mut parts, body) = request.into_parts();
    // The protocol answers in a task of its own, which is to log as this request does.
    parts.extensions.insert(Span::current());
    let JsonText(text) = JsonText::from_request(Request::from_parts(parts.clone(), body), &()).await?;
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(Invalid::new("body", "must be one JSON-RPC message, as a JSON object").into());
    }
    let opens = opens_session(&text);
    let mut response = protocol.handle(Request::from_parts(parts, Body::from(text))).await.map(Body::new);
    if opens && response.status().is_success() {
        session::open(response.headers_mut(), key_id);
    }
    Ok(response)
}

fn opens_session(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message<'a> {
        method: Option<&'a str>,
    }
    serde_json::from_slice::<Message>(text).is_ok_and(|message| message.method == Some("initialize"))
}
