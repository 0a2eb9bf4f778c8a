//! What is changed through the service goes on record here, on its way to whatever changes it: written before the change begins, so
//! that no change is without its record, whatever happens meanwhile.

use std::sync::Arc;

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
use super::error::ApiError;
use super::error_body::after_panic;
use super::once::{HasChanged, is_shown_once};
use super::request_id::RequestId;
use super::stops::TooSoon;
use purser_base::crash_point::crash_point;
use purser_model::wire::Fields;
use purser_model::{AccountId, Action, ActionOutcome, ActionWord, KeyId, Operator, Principal, SessionId};
use purser_service::audit_scope::AuditScope;
use purser_service::{Inside, ServiceError, Unauthorized, actions, finish};

/// How a request that changes something is recorded.
#[derive(Debug, Clone)]
pub struct Act {
    /// The operation of REST that it is, or one of the dashboard alone.
    pub name: String,
    /// The session that it came from.
    pub session_id: Option<SessionId>,
    /// It halts or pauses: that part needs no record, whatever stands beside it does.
    pub is_stop: bool,
    /// Reads what was asked for in its body.
    pub read: fn(&[u8]) -> Option<Fields>,
}

/// The record of a request that changes something, which its handler finds among the request's extensions.
#[derive(Clone)]
pub struct OnRecord {
    /// For what it changes.
    pub scope: AuditScope,
    action: Action,
    /// The key of the request, or of the session.
    pub key_id: KeyId,
}

impl<S: Send + Sync> FromRequestParts<S> for OnRecord {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get().cloned().ok_or(ApiError::Service(ServiceError::Internal))
    }
}

/// Carries out a request that changes something, on record. It runs to its end even if the client is gone.
pub async fn on_record(
    inside: &Arc<Inside>,
    act: Act,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let (request, on_record) = begin(inside, &act, request).await?;
    let (this, is_of_form) = (inside.clone(), act.session_id.is_some());
    let work = async move { Ok(carry_out(&this, on_record, is_of_form, request, next).await) };
    Ok(finish(&inside.tasks, work).await?)
}

/// Carries out one part of a request on a record of its own, which has the request's id, key and address.
pub async fn part_on_record<T>(
    inside: &Arc<Inside>,
    (operator, OnRecord { action: of, scope: of_request, .. }): (&Operator, &OnRecord),
    (name, object, asked, is_stop): (&str, AccountId, Option<&Fields>, bool),
    work: impl AsyncFnOnce(&AuditScope) -> Result<T, ServiceError>,
) -> Result<T, ServiceError> {
    let drawn = actions::draw(inside, operator, name)?;
    let action = Action {
        object_id: object.to_string().parse().ok(),
        after: asked.and_then(Fields::json),
        key_id: of.key_id,
        session_id: of.session_id,
        address: of.address,
        request_id: of.request_id.clone(),
        ..drawn
    };
    // What restricts the request restricts its parts.
    let scope = actions::begin(inside, &action, is_stop).await?.restricted(of_request.stops_only);
    let done = work(&scope).await;
    let end = match &done {
        Ok(_) => ActionOutcome::Done,
        Err(error) if ApiError::from(error.clone()).in_words().0.is_client_error() => {
            ActionOutcome::Unchanged
        }
        Err(_) => ActionOutcome::Unknown,
    };
    actions::end(inside, action, end, &scope).await;
    done
}

async fn begin(inside: &Arc<Inside>, act: &Act, request: Request) -> Result<(Request, OnRecord), ApiError> {
    let (mut parts, body) = request.into_parts();
    let principal = parts.extensions.get::<Principal>().cloned();
    let principal =
        principal.ok_or(ApiError::Service(ServiceError::Unauthorized(Unauthorized::MissingKey)))?;
    let body = receive(body).await?;
    let mut action = actions::draw(inside, principal.operator(), &act.name)?;
    let key_id = principal.key_id();
    action.key_id = Some(key_id);
    action.session_id = act.session_id;
    action.address = parts.extensions.get::<ClientAddress>().and_then(|address| address.0);
    action.object_id = object_of(&mut parts).await;
    action.after = (act.read)(&body).as_ref().and_then(Fields::json);
    action.request_id = request_name(&parts.extensions);
    let too_soon = parts.extensions.get::<TooSoon>().map(|too_soon| too_soon.0);
    let scope = actions::begin(inside, &action, act.is_stop).await?.restricted(too_soon);
    Ok((Request::from_parts(parts, Body::from(body)), OnRecord { scope, action, key_id }))
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

async fn carry_out(
    inside: &Arc<Inside>,
    on_record: OnRecord,
    is_of_form: bool,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(on_record.clone());
    crash_point!("action.begun");
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    crash_point!("action.carried_out");
    let mut response = answered.unwrap_or_else(after_panic);
    let end = end_of(&response, is_of_form);
    if end == ActionOutcome::Unchanged && !on_record.scope.facts().is_done() {
        response.extensions_mut().insert(HasChanged(false));
    }
    actions::end(inside, on_record.action, end, &on_record.scope).await;
    response
}

/// A form that changed something leads elsewhere or shows a secret; one that only compares, or complains, is shown again.
fn end_of(response: &Response, is_of_form: bool) -> ActionOutcome {
    let status = response.status();
    let said = response.extensions().get::<HasChanged>().filter(|_| status.is_success());
    if let Some(HasChanged(has_changed)) = said {
        return if *has_changed { ActionOutcome::Done } else { ActionOutcome::Unchanged };
    }
    if status == StatusCode::SEE_OTHER || is_shown_once(response) {
        ActionOutcome::Done
    } else if status.is_success() {
        if is_of_form { ActionOutcome::Unchanged } else { ActionOutcome::Done }
    } else if status.is_client_error() {
        ActionOutcome::Unchanged
    } else {
        ActionOutcome::Unknown
    }
}
