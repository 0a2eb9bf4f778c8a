//! MCP: each tool is an operation of REST, and advice where it is refused. This crate takes REST as a router and its OpenAPI
//! document, and knows nothing else of the service: what REST checks, answers and keeps under an idempotency key holds here too.
//! It keeps nothing between two requests: each carries its key, and any relayer can answer it. Start at `tools.rs`.

pub mod bridge;
mod call;
mod document;
mod message;
mod refusal;
mod schema;
mod server;
mod session;
mod strangers;
mod tools;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::{Extension, Json, Router};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::Span;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::message::{RpcAnswer, RpcMessage, RpcRefusal};
use self::server::Server;

/// Names of this machine, which `Host` may always have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The `Accept` that the protocol requires of clients.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

const NOT_FOR_OPERATORS: &str = "\
`/mcp` needs an agent key, which names the account that pays. Make one with `POST /v1/accounts/:id/keys`; an operator key is for \
REST.";
const FOREIGN_PLACE: &str = "\
This `Host` or `Origin` is not allowed: whoever operates the service lists the allowed ones in `allowed_hosts` and \
`allowed_origins` of `[mcp]`.";
const UNKNOWN_SESSION: &str =
    "This key has opened no such session. Send `initialize` again, and go on with what its answer names.";

const NO_OAUTH: &str = "\
The API key is missing or not valid, and Purser does not use OAuth. Configure the header `Authorization: Bearer AGENT_KEY` in your \
MCP host, with an agent key from your operator.";

/// Who may reach the extension, and for what.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Names, with or without a port, that `Host` may have besides those of this machine.
    pub allowed_hosts: Vec<String>,
    /// The `Origin` values that are allowed. Without any, web pages are refused.
    pub allowed_origins: Vec<String>,
    /// Whether operator keys have tools too.
    pub operator_tools: bool,
    /// The largest message, in bytes.
    pub body_bytes_max: usize,
}

/// Who asks, as the service's guard found out: an extension of each request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The API key's id, which is no secret.
    pub key_id: String,
    /// The account of an agent's key; `None` for an operator's.
    pub account_id: Option<String>,
    pub request_id: String,
    /// The key asks faster than it may. REST refuses its calls, unless they stop something.
    pub is_over_rate: bool,
}

/// Why a message was not read.
#[derive(Debug, Clone, Copy)]
pub enum Refusal {
    /// Not for this key, or not from this place.
    Forbidden(&'static str),
    UnknownSession(&'static str),
    /// What the body must be instead.
    NoMessage(&'static str),
}

type Protocol = StreamableHttpService<Server, NeverSessionManager>;

/// The server for each kind of key, and how a refusal is answered.
#[derive(Clone)]
struct Endpoint {
    agents: Protocol,
    operators: Option<Protocol>,
    refuse: fn(Refusal) -> Response,
    body_bytes_max: usize,
}

/// `POST /mcp`. Whoever composes it puts REST's guard around it, which inserts a [`Caller`], and has bodies checked to be
/// JSON in UTF-8 without duplicate fields. `rest` gets each request's extensions and its `Authorization`; a tool whose
/// operation `document` does not have is not offered.
pub fn routes(
    rest: Router,
    document: &OpenApi,
    settings: Settings,
    refuse: fn(Refusal) -> Response,
) -> OpenApiRouter {
    let Settings { allowed_hosts, allowed_origins, operator_tools, body_bytes_max } = settings;
    let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(allowed_hosts);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body_bytes_max)
        .with_allowed_hosts(hosts)
        .with_allowed_origins(allowed_origins)
        .enforce_origin_validation();
    let document = serde_json::to_value(document).unwrap_or_default();
    let speak = |server: Server| Protocol::new(move || Ok(server.clone()), Arc::default(), config.clone());
    let operators = operator_tools.then(|| speak(Server::for_operators(rest.clone(), &document)));
    let agents = speak(Server::for_agents(rest, &document));
    endpoint().with_state(Endpoint { agents, operators, refuse, body_bytes_max })
}

/// Answers `POST /register`. A host that expects OAuth registers there once a key is refused, and shows its user the answer. There is
/// no OAuth: the answer, in the form of RFC 7591, says what to do instead.
pub async fn refuse_registration() -> (StatusCode, Json<Value>) {
    let refused = json!({ "error": "invalid_client_metadata", "error_description": NO_OAUTH });
    (StatusCode::BAD_REQUEST, Json(refused))
}

/// The description of this extension, for the OpenAPI document.
pub fn described() -> OpenApi {
    endpoint().into_openapi()
}

/// The entries of `tools/list` over this document: those of agents, then those of operators.
pub fn listed(document: &OpenApi) -> Vec<Value> {
    let document = serde_json::to_value(document).unwrap_or_default();
    let servers = [Server::for_agents, Server::for_operators].map(|of| of(Router::new(), &document));
    servers
        .iter()
        .flat_map(|server| server.listed())
        .filter_map(|tool| serde_json::to_value(tool).ok())
        .collect()
}

fn endpoint() -> OpenApiRouter<Endpoint> {
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
    extensions(
        ("x-scopes" = json!(["read", "pay", "policy", "halt", "reject-approvals"])),
        ("x-errors" = json!(["not_found"])),
    ),
)]
async fn answer(
    State(endpoint): State<Endpoint>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let refuse = endpoint.refuse;
    speak(endpoint, &caller, request).await.unwrap_or_else(refuse)
}

async fn speak(endpoint: Endpoint, caller: &Caller, request: Request) -> Result<Response, Refusal> {
    let protocol = match caller.account_id {
        Some(_) => endpoint.agents,
        None => endpoint.operators.ok_or(Refusal::Forbidden(NOT_FOR_OPERATORS))?,
    };
    if !session::is_own(request.headers(), &caller.key_id) {
        return Err(Refusal::UnknownSession(UNKNOWN_SESSION));
    }
    let (mut parts, body) = request.into_parts();
    // As over REST, there is one form of answer, whatever the client accepts.
    parts.headers.insert(header::ACCEPT, ACCEPTED);
    if is_own_page(&parts.headers) {
        parts.headers.remove(header::ORIGIN);
    }
    // The protocol answers in a task of its own, which has to log on behalf of this request.
    parts.extensions.insert(Span::current());
    let no_message = Refusal::NoMessage("must be one JSON-RPC message, as a JSON object");
    let text = to_bytes(body, endpoint.body_bytes_max).await.map_err(|_| no_message)?;
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(no_message);
    }
    let opens = opens_session(&text);
    let message = Request::from_parts(parts, Body::from(text));
    let mut response = protocol.handle(message).await.map(Body::new);
    if response.status().is_client_error() && !is_json(response.headers()) {
        // In plain text.
        return Err(match response.status() {
            StatusCode::FORBIDDEN => Refusal::Forbidden(FOREIGN_PLACE),
            _ => Refusal::NoMessage("must be a message of MCP, as JSON-RPC 2.0 has it"),
        });
    }
    if opens && response.status().is_success() {
        session::open(response.headers_mut(), &caller.key_id);
    }
    Ok(response)
}

/// Whether the request comes from a page of this service. The protocol checks that `Host` is one of our names.
fn is_own_page(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(header::ORIGIN), text(header::HOST)) else { return false };
    let is_one = headers.get_all(header::ORIGIN).iter().count() == 1;
    is_one && origin.split_once("://").is_some_and(|(scheme, of)| scheme.starts_with("http") && of == host)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.starts_with("application/json"))
}

fn opens_session(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct FirstMessage<'a> {
        method: Option<&'a str>,
    }
    serde_json::from_slice::<FirstMessage>(text).is_ok_and(|message| message.method == Some("initialize"))
}
