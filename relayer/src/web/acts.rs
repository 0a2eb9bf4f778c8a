//! What is changed through the service goes on record here, on its way to whatever changes it: written before the change begins, so
//! that no change is without its record, whatever happens meanwhile.

use std::panic::AssertUnwindSafe;

use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt;

use super::body::receive;
use super::client_address::ClientAddress;
use super::error::{ApiError, after_panic};
use super::once::is_shown_once;
use super::request_id::RequestId;
use crate::acting::Acting;
use crate::crash_point::crash_point;
use crate::domain::{Action, ActionWord, Principal, SessionId};
use crate::service::{ActionEnd, Actions, ServiceError, Unauthorized};
use crate::wire::Fields;

/// How a request that changes something is recorded.
#[derive(Debug, Clone)]
pub struct Act {
    /// The operation of REST that it is, or one of the dashboard alone.
    pub name: String,
    /// The session that it came from.
    pub session_id: Option<SessionId>,
    /// It halts or pauses: that waits for no record.
    pub is_stop: bool,
    /// Reads what was asked for in its body.
    pub read: fn(&[u8]) -> Option<Fields>,
}

/// Carries out a request that changes something, on record. It runs to its end even if the client is gone.
pub async fn on_record(
    actions: &Actions,
    act: Act,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (request, begun) = begin(actions, act, request).await?;
    let this = actions.clone();
    let work = async move { carry_out(&this, begun, request, next).await };
    Ok(actions.finish(work).await?)
}

struct Begun {
    action: Action,
    asked: Option<Fields>,
    is_of_form: bool,
}

async fn begin(actions: &Actions, act: Act, request: Request) -> Result<(Request, Begun), ApiError> {
    let (mut parts, body) = request.into_parts();
    let principal = parts.extensions.get::<Principal>().cloned();
    let principal =
        principal.ok_or(ApiError::Service(ServiceError::Unauthorized(Unauthorized::MissingKey)))?;
    let body = receive(body).await?;
    let asked = (act.read)(&body);
    let mut action = actions.draw(principal.operator(), &act.name)?;
    action.key_id = Some(principal.key_id());
    action.session_id = act.session_id;
    action.address = parts.extensions.get::<ClientAddress>().and_then(|address| address.0);
    action.object_id = object_of(&mut parts).await;
    action.after = asked.as_ref().and_then(Fields::json);
    action.request_id = request_name(&parts.extensions);
    match actions.begin(&action).await {
        Err(error) if act.is_stop => {
            tracing::error!(?error, action = %act.name, "a halt or a pause goes without its record");
        }
        begun => begun?,
    }
    let is_of_form = act.session_id.is_some();
    Ok((Request::from_parts(parts, Body::from(body)), Begun { action, asked, is_of_form }))
}

/// The request's id, for the record.
pub fn request_name(extensions: &Extensions) -> Option<ActionWord> {
    extensions.get::<RequestId>().and_then(|id| id.to_string().parse().ok())
}

/// The id in the path, if it could be one.
async fn object_of(parts: &mut Parts) -> Option<ActionWord> {
    let named = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    named.iter().find(|(name, _)| *name == "id").and_then(|(_, id)| id.parse().ok())
}

async fn carry_out(actions: &Actions, begun: Begun, request: Request, next: Next) -> Response {
    let Begun { mut action, asked, is_of_form } = begun;
    let acting = Acting::default();
    crash_point!("action.begun");
    let answered = acting.hear(AssertUnwindSafe(next.run(request)).catch_unwind()).await;
    crash_point!("action.carried_out");
    let response = answered.unwrap_or_else(after_panic);
    let before = acting.told().before;
    action.before = asked.zip(before).and_then(|(asked, before)| asked.of_before(&before).json());
    actions.end(action, end_of(&response, is_of_form), &acting).await;
    response
}

/// A form that changed something leads elsewhere or shows a secret; one that only compares, or complains, is shown again.
fn end_of(response: &Response, is_of_form: bool) -> ActionEnd {
    let status = response.status();
    if status == StatusCode::SEE_OTHER || is_shown_once(response) {
        ActionEnd::Done
    } else if status.is_success() {
        if is_of_form { ActionEnd::NothingChanged } else { ActionEnd::Done }
    } else if status.is_client_error() {
        ActionEnd::NothingChanged
    } else {
        ActionEnd::Unknown
    }
}
