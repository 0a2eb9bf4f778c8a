//! MCP for agents: the same verbs as REST, one tool each, for the account that the key names. Operators
//! have tools of their own if the configuration allows them.
//! The server keeps nothing between two requests: each carries its key, as over REST, and any relayer can answer it.

mod message;
mod operators;
mod refusal;
mod schema;
mod server;
mod session;
mod tools;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use tracing::Span;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::message::{RpcAnswer, RpcMessage, RpcRefusal};
use self::operators::OperatorServer;
use self::server::AgentServer;
use crate::domain::{Invalid, Principal};
use crate::http::body::{JsonText, is_json};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::{BODY_BYTES_MAX, operator_routes};
use crate::service::Services;

/// Names of this machine, which `Host` may always have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The `Accept` that the protocol requires of clients.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Who may reach the door, and for what.
#[derive(Debug, Clone, Default)]
pub struct McpSettings {
    /// Names, with or without a port, that `Host` may have besides those of this machine.
    pub allowed_hosts: Vec<String>,
    /// The `Origin` values that are allowed. Without any, web pages are refused.
    pub allowed_origins: Vec<String>,
    /// Whether operator keys have tools too.
    pub operator_tools: bool,
}

type Protocol<Server> = StreamableHttpService<Server, NeverSessionManager>;

/// The server for each kind of key.
#[derive(Clone)]
struct Servers {
    agents: Protocol<AgentServer>,
    operators: Option<Protocol<OperatorServer>>,
}

/// `POST /mcp`; the caller puts REST's guard around it.
pub fn routes(services: &Services, settings: McpSettings) -> OpenApiRouter {
    let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(settings.allowed_hosts);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(settings.allowed_origins)
        .enforce_origin_validation();
    let agents = AgentServer::new(services.clone());
    let operators = settings.operator_tools.then(|| {
        let server = OperatorServer::new(operator_routes(services));
        Protocol::new(move || Ok(server.clone()), Arc::default(), config.clone())
    });
    let agents = Protocol::new(move || Ok(agents.clone()), Arc::default(), config);
    door().with_state(Servers { agents, operators })
}

/// The description of this door, for the OpenAPI document.
pub fn described() -> OpenApi {
    door().into_openapi()
}

fn door() -> OpenApiRouter<Servers> {
    OpenApiRouter::default().routes(routes!(answer))
}

/// Speak MCP
///
/// One JSON-RPC message of the Model Context Protocol and its answer, without streams: `initialize`, `tools/list` and
/// `tools/call` of eight tools, which do what REST does for the account that the key names. For agent keys; where the service lets
/// operators in, an operator key has tools for accounts and policies.
#[utoipa::path(
    post, path = "/mcp", operation_id = "mcp", tag = "Agents",
    request_body(content = RpcMessage, content_type = "application/json", description = "A JSON-RPC 2.0 message."),
    responses(
        (status = 200, body = RpcAnswer, content_type = "application/json", description = "Its answer."),
        (status = 202, description = "A notification was taken."),
        (status = 400, body = RpcRefusal, content_type = "application/json", description =
            "Not a message of the protocol, or in the revision of 2026-07-28 an incomplete one."),
        (status = 404, body = RpcRefusal, content_type = "application/json", description =
            "A session that this key did not open, or in the revision of 2026-07-28 an unknown method."),
    ),
    security(("agent_key" = [])),
    extensions(("x-errors" = json!([Code::NotFound]))),
)]
async fn answer(
    State(servers): State<Servers>,
    principal: Principal,
    request: Request,
) -> Result<Response, ApiError> {
    let key_id = principal.key_id();
    let operators = match &principal {
        Principal::Agent { .. } => None,
        Principal::Operator { .. } => Some(servers.operators.ok_or(ApiError::AgentKeyNeeded)?),
    };
    session::check(request.headers(), key_id)?;
    let (mut parts, body) = request.into_parts();
    // As over REST, there is one form of answer, whatever the client accepts.
    parts.headers.insert(header::ACCEPT, ACCEPTED);
    if is_own_page(&parts.headers) {
        parts.headers.remove(header::ORIGIN);
    }
    // The protocol answers in a task of its own, which has to log on behalf of this request.
    parts.extensions.insert(Span::current());
    let JsonText(text) = JsonText::from_request(Request::from_parts(parts.clone(), body), &()).await?;
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(Invalid::new("body", "must be one JSON-RPC message, as a JSON object").into());
    }
    let opens = opens_session(&text);
    let message = Request::from_parts(parts, Body::from(text));
    let mut response = match operators {
        None => servers.agents.handle(message).await.map(Body::new),
        Some(operators) => operators.handle(message).await.map(Body::new),
    };
    if response.status().is_client_error() && !is_json(response.headers()) {
        return Err(refused(response.status()));
    }
    if opens && response.status().is_success() {
        session::open(response.headers_mut(), key_id);
    }
    Ok(response)
}

/// A plain-text refusal of the protocol, in the form of REST.
fn refused(status: StatusCode) -> ApiError {
    match status {
        StatusCode::FORBIDDEN => ApiError::PlaceNotAllowed,
        _ => Invalid::new("body", "must be a message of MCP, as JSON-RPC 2.0 has it").into(),
    }
}

/// Whether the request comes from a page of this service. The protocol checks that `Host` is one of our names.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
    let is_one = headers.get_all(header::ORIGIN).iter().count() == 1;
    is_one && origin.split_once("://").is_some_and(|(scheme, of)| scheme.starts_with("http") && of == host)
}

fn opens_session(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct FirstMessage<'a> {
        method: Option<&'a str>,
    }
    serde_json::from_slice::<FirstMessage>(text).is_ok_and(|message| message.method == Some("initialize"))
}
