//! Descriptions of the service, open without a key: the OpenAPI document, the same as a page, and notes for agents.
//! Nothing here loads anything from elsewhere.

mod page;

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::openapi;

const LLMS: &str = include_str!("llms.txt");
const SKILL: &str = include_str!("SKILL.md");

/// The document, and the forms made from it on first use.
struct Site {
    document: OpenApi,
    json: OnceLock<Arc<str>>,
    page: OnceLock<Arc<str>>,
}

fn routes() -> OpenApiRouter<Arc<Site>> {
    OpenApiRouter::default()
        .routes(routes!(index))
        .routes(routes!(openapi_json))
        .routes(routes!(docs))
        .routes(routes!(llms))
        .routes(routes!(skill))
}

/// The routes that serve these descriptions, and describe themselves.
pub(super) fn router(described: OpenApi) -> Router {
    let (routes, own) = routes().split_for_parts();
    let document = document_of(described, own);
    routes.with_state(Arc::new(Site { document, json: OnceLock::new(), page: OnceLock::new() }))
}

/// The document of these routes and of those that serve the descriptions.
pub(super) fn document(described: OpenApi) -> OpenApi {
    document_of(described, routes().into_openapi())
}

fn document_of(mut described: OpenApi, own: OpenApi) -> OpenApi {
    described.merge(own);
    openapi::finish(described)
}

/// An index of what is served here.
#[derive(Serialize, ToSchema)]
#[schema(as = Index)]
struct IndexResponse {
    /// Always `purser`.
    #[schema(max_length = 6)]
    name: &'static str,
    /// Of the service.
    #[schema(max_length = 64)]
    version: &'static str,
    /// The reference, to read.
    #[schema(max_length = 64)]
    docs: &'static str,
    /// The same as a document for programs.
    #[schema(max_length = 64)]
    openapi: &'static str,
    /// Where agents speak MCP.
    #[schema(max_length = 64)]
    mcp: &'static str,
    /// How the service is.
    #[schema(max_length = 64)]
    health: &'static str,
    /// For language models: an index.
    #[schema(max_length = 64)]
    llms: &'static str,
    /// For agents: what they may do and how to retry.
    #[schema(max_length = 64)]
    skill: &'static str,
}

/// Get the index
#[utoipa::path(
    get, path = "/", operation_id = "get_index", tag = "Service",
    responses((status = 200, body = IndexResponse, description = "An index of what is served here.")),
    security(()),
)]
async fn index() -> Json<IndexResponse> {
    Json(IndexResponse {
        name: "purser",
        version: env!("CARGO_PKG_VERSION"),
        docs: "/docs",
        openapi: "/openapi.json",
        mcp: "/mcp",
        health: "/healthz",
        llms: "/llms.txt",
        skill: "/SKILL.md",
    })
}

/// Get this document
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "get_openapi", tag = "Service",
    responses((status = 200, body = Object, description = "OpenAPI 3.1.", content_type = "application/json")),
    security(()),
)]
async fn openapi_json(State(site): State<Arc<Site>>) -> Response {
    let json = site.json.get_or_init(|| site.document.to_json().unwrap_or_default().into());
    written("application/json", json.to_string())
}

/// Read this document as a page
#[utoipa::path(
    get, path = "/docs", operation_id = "get_docs", tag = "Service",
    responses((status = 200, body = String, description = "A page without scripts.", content_type = "text/html")),
    security(()),
)]
async fn docs(State(site): State<Arc<Site>>) -> Response {
    let html = site.page.get_or_init(|| {
        let document = serde_json::to_value(&site.document).unwrap_or_default();
        page::of(&document).into()
    });
    let mut answer = written("text/html; charset=utf-8", html.to_string());
    if let Ok(policy) = HeaderValue::from_str(&page::security_policy()) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// For language models: what there is
#[utoipa::path(
    get, path = "/llms.txt", operation_id = "get_llms", tag = "Service",
    responses((status = 200, body = String, description = "Markdown.", content_type = "text/plain")),
    security(()),
)]
async fn llms() -> Response {
    written("text/plain; charset=utf-8", LLMS.to_owned())
}

/// For agents: what they may do, and how to retry
#[utoipa::path(
    get, path = "/SKILL.md", operation_id = "get_skill", tag = "Service",
    responses((status = 200, body = String, description = "Markdown.", content_type = "text/markdown")),
    security(()),
)]
async fn skill() -> Response {
    written("text/markdown; charset=utf-8", SKILL.to_owned())
}

fn written(content_type: &'static str, text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(content_type))], text).into_response()
}
