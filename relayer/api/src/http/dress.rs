//! The outermost layer: names the request, gives every answer its headers and every error its body, and logs one line.
//! Every log line of a request and of its tasks carries the request's id, its key's id and its transfer's id.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;
use tracing::field::Empty;

use super::unread;
use crate::web::error_body::ErrorAnswer;
use crate::web::request_id::RequestId;
use purser_base::metrics::{Metrics, known_method};
use purser_base::traces;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Middleware: see the module.
pub async fn name_request(State(metrics): State<Metrics>, mut request: Request, next: Next) -> Response {
    let id = RequestId::generate();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    // At the highest level, so that no filter strips the span from the lines logged within it.
    let span = tracing::error_span!(
        traces::REQUEST,
        request_id = %id,
        trace_id = Empty,
        key_id = Empty,
        network = Empty,
        transfer_id = Empty
    );
    traces::begin(&span, request.headers());
    let started = Instant::now();
    request.extensions_mut().insert(id);
    let (request, unread) = unread::watch(request);

    let mut response = with_error_body(next.run(request).instrument(span.clone()).await, id);
    let elapsed = started.elapsed();
    let headers = response.headers_mut();
    every_answers_headers(headers, id);
    if !unread.read_rest().await {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    metrics.answered(method.as_str(), route.as_deref(), response.status().as_u16(), elapsed.as_secs_f64());
    tracing::info!(
        parent: &span,
        %method,
        route = route.as_deref().unwrap_or("none"),
        status = response.status().as_u16(),
        elapsed_ms = elapsed.as_millis() as u64,
        "answered"
    );
    let method = known_method(method.as_str());
    traces::answered(&span, method, route.as_deref(), response.status().as_u16());
    response
}

/// Middleware of routes behind an extension: their errors have bodies already there.
pub(super) async fn name_errors(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().copied();
    let response = next.run(request).await;
    match id {
        Some(id) => with_error_body(response, id),
        None => response,
    }
}

/// Gives an error its body, which names the request.
fn with_error_body(mut response: Response, id: RequestId) -> Response {
    match response.extensions_mut().remove::<ErrorAnswer>() {
        Some(answer) => answer.into_response(id, response),
        None => response,
    }
}

/// The headers of every answer.
fn every_answers_headers(headers: &mut HeaderMap, id: RequestId) {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(X_REQUEST_ID, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    // A page sets its own.
    headers.entry(header::REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
