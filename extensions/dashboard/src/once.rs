//! A form that is sent twice, by a double click or by going back, is carried out once. Each page that makes something names its
//! forms, and a form sent under a name is treated like a request with an `Idempotency-Key`. Under the same name, a page says how
//! far long work is, in whichever process that runs.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use purser_api::web::{carry_out, mark_replayed, receive};
use purser_model::{AnswerKey, IdempotencyKey, StoredAnswer, StoredBody, request_fingerprint};
use purser_service::{NamedRequest, RequestStart, RequestState, ServiceError, Services, requests};
use tokio::time::{Instant, sleep, timeout};

use super::Desk;
use super::form::Form;
use super::page::{PageError, see, unauthorized};
use super::session::{Signed, token_of};

/// The hidden field that names a form.
const FIELD: &str = "once";
/// What the names of forms begin with among those of all requests.
const NAMES: &str = "form:";
/// A browser shows the answer to the second click, which waits for that to the first.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What takes longer than this leads to a page that says how far it is, if there is one.
const DONE_WITHIN: Duration = Duration::from_secs(1);

/// Where the work of a form stands that led to such a page.
pub enum FormWork {
    Running,
    /// It is done, and leads there, or is answered by this page.
    Done(Response),
    /// It ended without an answer that is kept, or its process is gone.
    Left,
}

/// Where the work stands that such a page was told of, by the name in its address.
pub async fn work(services: &Services, signed: &Signed, name: &str) -> Result<FormWork, PageError> {
    let key = IdempotencyKey::parse(format!("{NAMES}{name}"))?;
    Ok(match requests::state(&services.inside, &signed.operator, &key).await? {
        RequestState::Running => FormWork::Running,
        RequestState::Answered(StoredAnswer { status: 303, body: StoredBody::Plain(place) }) => {
            FormWork::Done(see(&place))
        }
        RequestState::Answered(StoredAnswer { status: 200, body: StoredBody::Plain(page) }) => {
            FormWork::Done(Html(page).into_response())
        }
        RequestState::Answered(_) | RequestState::Left => FormWork::Left,
    })
}

/// Whether a form's own address has a page that says how far the work is.
fn has_progress(path: &str) -> bool {
    path == "/dashboard/stop-all"
        || path.starts_with("/dashboard/accounts/change/")
        || path.starts_with("/dashboard/webhooks/") && path.ends_with("/replay")
}

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
    let fingerprint = request_fingerprint(parts.method.as_str(), path, &body);
    // Bound to this session, because what it makes is derived from the session's token.
    let name = request_fingerprint(&token.hash().to_hex(), path, &body).to_hex();
    let named = NamedRequest {
        idempotency_key: IdempotencyKey::parse(format!("{NAMES}{name}"))?,
        fingerprint,
        key_id: signed.principal.key_id(),
        answer_key: AnswerKey::of_session(&token),
    };
    let progress =
        has_progress(parts.uri.path()).then(|| see(&format!("{}?working={name}", parts.uri.path())));
    let request = Request::from_parts(parts, Body::from(body));
    if !is_named {
        return Ok(next.run(request).await);
    }
    let inside = &desk.services.inside;
    let deadline = Instant::now() + if progress.is_some() { DONE_WITHIN } else { PATIENCE };
    let begun = loop {
        match requests::begin(inside, &signed.operator, named.clone()).await {
            Err(ServiceError::RequestRunning) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
            Err(ServiceError::RequestRunning) => {
                return progress.ok_or_else(|| ServiceError::RequestRunning.into());
            }
            begun => break begun?,
        }
    };
    match (begun, progress) {
        (RequestStart::Answered(status, body), _) => Ok(again(status, body)),
        (RequestStart::Run(run), None) => Ok(carry_out(inside, run, request, next).await?),
        (RequestStart::Run(run), Some(progress)) => {
            // It goes on when nobody waits for it any longer.
            let carried = timeout(DONE_WITHIN, carry_out(inside, run, request, next)).await;
            Ok(carried.unwrap_or(Ok(progress))?)
        }
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
