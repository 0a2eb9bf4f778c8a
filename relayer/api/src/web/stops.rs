//! Halts and pauses have a rate of their own: a flood under the same key must not hold up who stops it. A request that is let through
//! for its halt or pause alone changes nothing else: `audit_scope::StopsOnly`, which `Policies::change` obeys.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Method;
use axum::http::header::CONTENT_LENGTH;

use serde::Deserialize;

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

/// Returns whether a request halts or pauses, maybe among other changes. The last word of its path tells, and the body of a policy.
/// Returns the request too, since its body may have been read.
pub(crate) async fn is_stop(request: Request) -> (Request, bool) {
    let changes = [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
    match request.uri().path().rsplit('/').next() {
        Some("halt") => {
            let halts = request.method() == Method::POST;
            (request, halts)
        }
        Some("policy") if changes => look(request).await,
        _ => (request, false),
    }
}

/// Looks into a body, if it is short.
async fn look(request: Request) -> (Request, bool) {
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
    let is_pause = pauses(&body);
    (Request::from_parts(head, Body::from(body)), is_pause)
}

/// Returns whether a change of one policy or of many has `paused: true`, among whatever else.
fn pauses(body: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct One {
        paused: bool,
    }
    #[derive(Deserialize)]
    struct Asked {
        #[serde(default)]
        paused: bool,
        #[serde(default)]
        policy: One,
    }
    serde_json::from_slice(body).is_ok_and(|Asked { paused, policy }| paused || policy.paused)
}
