//! Who is signed in: shown on the page of keys, and ended here.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use purser_api::web::OnRecord;
use purser_model::SessionId;
use purser_service::{Resource, ServiceError};

use super::form::Form;
use super::page::{PageError, see, unauthorized};
use super::session::{Signed, token_of};
use super::signed_in::Sessions;

/// Where it leads afterwards: whoever ended the own session signs in anew.
const KEYS: &str = "/dashboard/keys?ended=1#sessions";

/// Ends one session.
pub async fn end(
    State(sessions): State<Sessions>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    form: Form,
) -> Result<Response, PageError> {
    let id: SessionId =
        form.text("session").parse().map_err(|_| ServiceError::NotFound(Resource::Session))?;
    sessions.end_of(&signed.principal, id, &scope).await?;
    Ok(see(KEYS))
}

/// Ends every session of this key but the one that asks.
pub async fn end_others(
    State(sessions): State<Sessions>,
    signed: Signed,
    OnRecord { scope, .. }: OnRecord,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let own = token_of(&headers).ok_or_else(unauthorized)?;
    sessions.end_others(&signed.principal, &own, &scope).await?;
    Ok(see(KEYS))
}
