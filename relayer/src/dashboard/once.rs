//! A form that is sent twice, by a double click or by going back, is carried out once. Each page that makes something names its
//! forms, and a form sent under a name is treated like a request with an `Idempotency-Key`.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use tokio::time::{Instant, sleep};

use super::Desk;
use super::form::Form;
use super::page::{PageError, see, unauthorized};
use super::session::{Signed, token_of};
use crate::domain::{AnswerKey, IdempotencyKey, RequestFingerprint};
use crate::http::body::receive;
use crate::http::once::{carry_out, mark_replayed};
use crate::service::{Begun, NamedRequest, ServiceError};

/// The hidden field that names a form.
const FIELD: &str = "once";
/// A browser shows the answer to the second click, which waits for that to the first.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Middleware of the pages behind the sign-in: see the module. A form without a name is carried out each time it is sent.
pub async fn once(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    answer(&desk, request, next).await.unwrap_or_else(PageError::into_response)
}

async fn answer(desk: &Desk, request: Request, next: Next) -> Result<Response, PageError> {
    let signed = request.extensions().get::<Signed>().cloned().ok_or_else(unauthorized)?;
    let token = token_of(request.headers()).ok_or_else(unauthorized)?;
    let (parts, body) = request.into_parts();
    let body = receive(body).await?;
    let is_named = Form::parse(&body).is_ok_and(|form| form.given(FIELD).is_some());
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let fingerprint = RequestFingerprint::of(parts.method.as_str(), path, &body);
    // Bound to this session, because what it makes is derived from the session's token.
    let of_session = RequestFingerprint::of(&token.hash().to_hex(), path, &body);
    let named = NamedRequest {
        idempotency_key: IdempotencyKey::parse(format!("form:{}", of_session.to_hex()))?,
        fingerprint,
        key_id: signed.principal.key_id(),
        answer_key: AnswerKey::of_session(&token),
    };
    let request = Request::from_parts(parts, Body::from(body));
    if !is_named {
        return Ok(next.run(request).await);
    }
    let requests = &desk.services.requests;
    let deadline = Instant::now() + PATIENCE;
    let begun = loop {
        match requests.begin(&signed.operator, named.clone()).await {
            Err(ServiceError::RequestRunning) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
            begun => break begun?,
        }
    };
    match begun {
        Begun::Answered(status, body) => Ok(again(status, body)),
        Begun::Run(run) => Ok(carry_out(requests, run, request, next).await?),
    }
}

fn again(status: u16, body: String) -> Response {
    let mut response = match StatusCode::from_u16(status) {
        Ok(StatusCode::SEE_OTHER) => see(&body),
        Ok(status) => (status, Html(body)).into_response(),
        Err(_) => Html(body).into_response(),
    };
    mark_replayed(&mut response);
    response
}
