//! The REST front door: bytes in, one call of a service, bytes out. Every route is in [`router`].

mod accept;
mod auth;
pub(crate) mod body;
mod client_address;
mod csv;
mod dress;
pub(crate) mod error;
mod health;
mod listener;
mod malformed;
mod once;
pub(crate) mod page;
mod patience;
mod rate_limit;
pub(crate) mod request_id;
mod serve;
mod strangers;
pub(crate) mod v1;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tower_http::catch_panic::CatchPanicLayer;

pub use client_address::TrustedProxies;
pub use listener::default_connections_max;
pub use serve::serve;

use self::auth::Guard;
use self::error::ApiError;
use self::rate_limit::RateLimit;
use self::strangers::Strangers;
use self::v1::{
    accounts, deliveries, events, halts, history, keys, limits, policies, policy_versions, transfer_list,
    transfers, webhooks,
};
use crate::service::Services;
use crate::tasks::panic_message;

/// Largest request body, in bytes.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// Largest head of a request: its line and headers, in bytes; and most headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;

/// How the front door is set.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// No answer takes longer than this.
    pub request_timeout: Duration,
    /// Requests a second that one key may make, steadily.
    pub requests_per_second: NonZeroU32,
    /// Requests that one key may make at once.
    pub burst: NonZeroU32,
    /// Keys a second that are looked up although they are not known to open anything.
    pub unknown_keys_per_second: NonZeroU32,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: TrustedProxies,
}

/// All routes. Those of `other_doors` are guarded as REST is: keys, rates and times.
pub fn router(services: &Services, settings: HttpSettings, other_doors: Router) -> Router {
    let accounts = Router::new()
        .route("/v1/accounts", post(accounts::create).get(accounts::list))
        .route("/v1/accounts/{id}", get(accounts::get).patch(accounts::patch))
        .route("/v1/accounts/{id}/balance", get(accounts::balance))
        .with_state(services.accounts.clone());
    let policies = Router::new()
        .route("/v1/accounts/{id}/policy", get(policies::get).put(policies::put).patch(policies::patch))
        .route("/v1/accounts/{id}/policy/pending", delete(policies::drop_pending))
        .route("/v1/accounts/{id}/policy/versions", get(policy_versions::list))
        .with_state(services.policies.clone());
    let halts = Router::new().route("/v1/halt", post(halts::create)).with_state(services.halts.clone());
    let transfers = Router::new()
        .route("/v1/transfers", post(transfers::create).get(transfer_list::list))
        .route("/v1/transfers/preview", post(transfers::preview))
        .route("/v1/transfers/{id}", get(transfers::get))
        .route("/v1/accounts/{id}/limits", get(limits::get))
        .with_state(services.transfers.clone());
    let history = Router::new()
        .route("/v1/accounts/{id}/transactions", get(history::list))
        .with_state(services.history.clone());
    let keys = Router::new()
        .route("/v1/accounts/{id}/keys", post(keys::create).get(keys::list))
        .route("/v1/keys/{id}", delete(keys::revoke))
        .with_state(services.keys.clone());

    let events = Router::new()
        .route("/v1/events", get(events::list))
        .route("/v1/events/{id}", get(events::get))
        .with_state(events::EventsState {
            events: services.events.clone(),
            streams: services.streams.clone(),
        });
    let webhooks = Router::new()
        .route("/v1/webhooks", post(webhooks::create).get(webhooks::list))
        .route("/v1/webhooks/{id}", get(webhooks::get).patch(webhooks::patch).delete(webhooks::remove))
        .route("/v1/webhooks/{id}/rotate_secret", post(webhooks::rotate_secret))
        .route("/v1/webhooks/{id}/test", post(deliveries::test))
        .route("/v1/webhooks/{id}/deliveries", get(deliveries::list))
        .route("/v1/webhooks/{id}/replay", post(deliveries::replay))
        .with_state(services.webhooks.clone());

    let guard = Guard {
        keys: services.keys.clone(),
        proxies: settings.trusted_proxies,
        strangers: Strangers::new(settings.unknown_keys_per_second),
        rate_limit: RateLimit::new(settings.requests_per_second, settings.burst),
    };
    let routes = Router::new()
        .merge(accounts)
        .merge(policies)
        .merge(halts)
        .merge(history)
        .merge(keys)
        .merge(events)
        .merge(webhooks)
        .route_layer(middleware::from_fn_with_state(services.requests.clone(), once::once))
        // These have names of their own.
        .merge(transfers)
        .merge(other_doors)
        .route_layer(middleware::from_fn_with_state(guard, auth::guard))
        .merge(Router::new().route("/healthz", get(health::get)).with_state(services.health.clone()));
    dress(routes, settings.request_timeout)
}

/// What every answer gets, those to unknown paths included.
fn dress(routes: Router, request_timeout: Duration) -> Router {
    routes
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .fallback(async || ApiError::RouteNotFound)
        .layer(middleware::from_fn_with_state(request_timeout, within))
        .layer(CatchPanicLayer::custom(after_panic))
        .layer(middleware::from_fn(dress::name_request))
}

/// Middleware: gives up on an answer that takes too long. Work that must go on does so in tasks of its own.
async fn within(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::Timeout.into_response(),
    }
}

fn after_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!(panic = panic_message(&*panic), "a request panicked");
    ApiError::Panic.into_response()
}
