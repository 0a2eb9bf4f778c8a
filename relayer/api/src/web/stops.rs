//! Halts and pauses have a rate of their own: a flood under the same key must not hold up who stops it. A request that is let through
//! for its halt or pause alone changes nothing else: `audit_scope::StopsOnly`, which `Policies::change` obeys.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_LENGTH;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::BODY_BYTES_MAX;
use super::error::ApiError;
use purser_service::audit_scope::StopsOnly;

/// Marks a request that came too soon and passed as a halt or a pause: it may change nothing else.
#[derive(Debug, Clone, Copy)]
pub struct TooSoon(pub(super) StopsOnly);

impl TooSoon {
    /// For what the rate limit answered.
    pub(super) fn of(refusal: &ApiError) -> Self {
        let retry_after_seconds = match refusal {
            ApiError::RateLimited { retry_after_seconds } => *retry_after_seconds,
            _ => 1,
        };
        Self(StopsOnly::TooSoon { retry_after_seconds })
    }
}

/// Whether a request halts or pauses, maybe among other changes. Hands it back, since its body may have been read for that.
pub(crate) async fn is_stop(request: Request) -> (Request, bool) {
    let of_account = request.uri().path().strip_prefix("/v1/accounts/");
    match (request.method(), request.uri().path()) {
        (&Method::POST, "/v1/halt" | "/v1/bulk/halt") => (request, true),
        (&Method::POST, "/v1/bulk/policy") => look(request, pauses_many).await,
        (&Method::POST, _) => {
            let halts = of_account.is_some_and(|rest| rest.ends_with("/halt"));
            (request, halts)
        }
        (&Method::PUT | &Method::PATCH, _) if of_account.is_some_and(|rest| rest.ends_with("/policy")) => {
            look(request, pauses).await
        }
        _ => (request, false),
    }
}

/// Looks into a body, if it is short.
async fn look(request: Request, pauses: fn(&[u8]) -> bool) -> (Request, bool) {
    // A body of unknown length cannot be handed back if it turns out to be long.
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let is_short =
        length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|bytes| bytes <= BODY_BYTES_MAX);
    if !is_short {
        return (request, false);
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES_MAX).await else {
        return (Request::from_parts(head, Body::empty()), false);
    };
    let pauses = pauses(&body);
    (Request::from_parts(head, Body::from(body)), pauses)
}

/// Whether a change of a policy has `paused: true`, whatever stands beside it.
#[derive(Deserialize)]
struct Pause {
    paused: bool,
}

fn pauses(body: &[u8]) -> bool {
    serde_json::from_slice(body).is_ok_and(|Pause { paused }| paused)
}

fn pauses_many(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Asked<'a> {
        #[serde(borrow)]
        policy: &'a RawValue,
    }
    serde_json::from_slice(body).is_ok_and(|Asked { policy }| pauses(policy.get().as_bytes()))
}
