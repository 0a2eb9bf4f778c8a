//! `Idempotency-Key` on every POST but those of transfers: two requests under one key are carried out once, and get the same
//! answer. One layer around the routes. A handler takes [`RequestRandom`] for what it makes, and [`ShownOnce`] for a secret.

use std::sync::Arc;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use serde::Serialize;

use super::auth::read_key;
use super::body::receive;
use super::error::ApiError;
use super::error_body::after_panic;
use purser_base::crash_point::crash_point;
use purser_model::{
    AnswerKey, IdempotencyKey, Invalid, Operator, Principal, SeededRandom, request_fingerprint,
};
use purser_service::{
    Inside, NamedRequest, RequestOutcome, RequestStart, Run, ServiceError, finish, requests,
};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The largest answer that is kept, in bytes: no POST has a larger one. A change of many accounts has the largest.
pub const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The header's value. Invalid: not UTF-8, or given twice.
pub fn idempotency_header(headers: &HeaderMap) -> Result<Option<String>, Invalid> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|_| Invalid::new("idempotency_key", "is not UTF-8 in the header `Idempotency-Key`"))?;
    if values.next().is_some() {
        return Err(Invalid::new("idempotency_key", "is given twice in the header `Idempotency-Key`"));
    }
    Ok(Some(text.to_owned()))
}

/// Marks an answer as a replay.
pub fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
}

/// The random bits from which a handler makes ids and secrets: drawn for the request's name, or `None` without a name.
pub struct RequestRandom(pub Option<SeededRandom>);

impl<S: Send + Sync> FromRequestParts<S> for RequestRandom {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get::<SeededRandom>().cloned()))
    }
}

/// Goes with an answer whose status does not say whether anything was changed, and with each that changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HasChanged(pub bool);

/// An answer that shows a secret.
pub(crate) struct ShownOnce<T>(pub StatusCode, pub T);

#[derive(Debug, Clone, Copy)]
struct ShowsSecret;

impl<T: Serialize> IntoResponse for ShownOnce<T> {
    fn into_response(self) -> Response {
        shown_once((self.0, Json(self.1)).into_response())
    }
}

/// Marks an answer as one that shows a secret.
pub fn shown_once(mut response: Response) -> Response {
    response.extensions_mut().insert(ShowsSecret);
    response
}

/// Whether an answer shows a secret.
pub(super) fn is_shown_once(response: &Response) -> bool {
    response.extensions().get::<ShowsSecret>().is_some()
}

/// Middleware: see the module. Every route within it refuses agents.
pub(crate) async fn once(State(inside): State<Arc<Inside>>, request: Request, next: Next) -> Response {
    let Some(Principal::Operator { operator, .. }) = request.extensions().get::<Principal>().cloned() else {
        return next.run(request).await;
    };
    if request.method() != Method::POST || !request.headers().contains_key(IDEMPOTENCY_KEY) {
        return next.run(request).await;
    }
    match answer(&inside, operator, request, next).await {
        Ok(response) => response,
        Err(error) => error.into_response(),
    }
}

async fn answer(
    inside: &Arc<Inside>,
    operator: Operator,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (named, request) = read(request).await?;
    match requests::begin(inside, &operator, named).await? {
        RequestStart::Answered(status, body) => Ok(again(status, body)),
        RequestStart::Run(run) => Ok(carry_out(inside, run, request, next).await?),
    }
}

/// Carries out a request under its name, and keeps its answer.
pub async fn carry_out(
    inside: &Arc<Inside>,
    run: Box<Run>,
    mut request: Request,
    next: Next,
) -> Result<Response, ServiceError> {
    request.extensions_mut().insert(run.drawn.clone());
    let this = inside.clone();
    // It runs to its end even if the client is gone, because its answer is kept.
    let work = async move {
        let answered = requests::hold(&this, &run, AssertUnwindSafe(next.run(request)).catch_unwind()).await;
        let answered = answered.unwrap_or_else(after_panic);
        let (ending, response) = look_at(answered).await;
        crash_point!("request.done");
        requests::end(&this, run, ending).await;
        Ok(response)
    };
    finish(&inside.tasks, work).await
}

/// The request with its name, and with its body in memory.
async fn read(request: Request) -> Result<(NamedRequest, Request), ApiError> {
    let principal = request.extensions().get::<Principal>().ok_or(ServiceError::Internal)?;
    let key_id = principal.key_id();
    let header = idempotency_header(request.headers())?.unwrap_or_default();
    let idempotency_key = IdempotencyKey::parse(header)?;
    let api_key = read_key(request.headers()).map_err(ServiceError::Unauthorized)?;
    let answer_key = AnswerKey::of(&api_key);
    let (parts, body) = request.into_parts();
    let body = receive(body).await?;
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let fingerprint = request_fingerprint(parts.method.as_str(), path, &body);
    let named = NamedRequest { idempotency_key, fingerprint, key_id, answer_key };
    Ok((named, Request::from_parts(parts, Body::from(body))))
}

/// How the request ended, and its answer again. For a redirect, the location is kept.
async fn look_at(response: Response) -> (RequestOutcome, Response) {
    let status = response.status();
    // An answer that changed nothing, such as a dry run's, is not kept: thousands of them would fill the disk.
    let has_changed = response.extensions().get::<HasChanged>() != Some(&HasChanged(false));
    if status.is_client_error() || (status.is_success() && !has_changed) {
        return (RequestOutcome::Refused, response);
    }
    if status == StatusCode::SEE_OTHER {
        let place = response.headers().get(header::LOCATION).and_then(|place| place.to_str().ok());
        let body = place.unwrap_or_default().to_owned();
        return (RequestOutcome::Answered { status: status.as_u16(), body, shows_secret: false }, response);
    }
    if !status.is_success() {
        return (RequestOutcome::Unknown, response);
    }
    let (parts, body) = response.into_parts();
    let text =
        to_bytes(body, ANSWER_BYTES_MAX).await.ok().and_then(|bytes| String::from_utf8(bytes.into()).ok());
    let Some(body) = text else {
        tracing::error!("cannot store an answer");
        return (RequestOutcome::Unknown, ApiError::Service(ServiceError::Internal).into_response());
    };
    let shows_secret = parts.extensions.get::<ShowsSecret>().is_some();
    let answered = RequestOutcome::Answered { status: status.as_u16(), body: body.clone(), shows_secret };
    (answered, Response::from_parts(parts, Body::from(body)))
}

fn again(status: u16, body: String) -> Response {
    // It was a valid status when it was kept.
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    mark_replayed(&mut response);
    response
}
