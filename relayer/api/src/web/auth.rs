//! Who is calling: each request's key is looked up once and rate-limited, and the handler gets its [`Principal`].

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::{Extensions, HeaderMap, header, request::Parts};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Span;
use tracing::field::display;

use super::HttpSettings;
use super::client_address::{ClientAddress, Peer, TrustedProxies};
use super::error::ApiError;
use super::rate_limit::RateLimit;
use super::stops::{self, TooSoon};
use super::strangers::Strangers;
use purser_model::{HashedKey, Operator, PlainKey, Principal};
use purser_service::{Forbidden, Inside, ServiceError, Unauthorized, keys};

/// Marks a request that came too soon: it is to be refused, not carried out, unless it stops something.
#[derive(Clone)]
pub struct OverRate {
    refusal: ApiError,
    stop_limit: RateLimit,
}

/// Guards every extension.
#[derive(Clone)]
pub struct Guard {
    inside: Arc<Inside>,
    proxies: TrustedProxies,
    strangers: Strangers,
    rate_limit: RateLimit,
    /// For halts and pauses beyond that rate.
    stop_limit: RateLimit,
}

/// Has the lines that are logged for the request name its caller.
pub fn log_caller(principal: &Principal) {
    Span::current()
        .record("key_id", display(principal.key_id()))
        .record("network", display(principal.operator().network));
}

/// Middleware of every route that needs a key: 401 without a valid one, 429 beyond its rate.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    guard.pass(request, next, true).await
}

/// The same for an extension that says by itself that a request came too soon: such a request gets through, with a mark.
pub(crate) async fn guard_and_mark(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    guard.pass(request, next, false).await
}

/// Middleware behind such an extension: refuses what came too soon there, unless it stops something.
pub(crate) async fn refuse_marked(mut request: Request, next: Next) -> Response {
    let Some(OverRate { refusal, stop_limit }) = request.extensions_mut().remove() else {
        return next.run(request).await;
    };
    let mut refused = Some(refusal);
    let principal = request.extensions().get::<Principal>().cloned();
    if let Some(principal) = principal.filter(Principal::may_stop) {
        let is_stop;
        (request, is_stop) = stops::is_stop(request).await;
        if is_stop {
            refused.iter().for_each(|refusal| mark_too_soon(&mut request, refusal));
            refused = stop_limit.check(&principal).refused();
        }
    }
    match refused {
        Some(error) => error.into_response(),
        None => next.run(request).await,
    }
}

fn mark_too_soon(request: &mut Request, refusal: &ApiError) {
    request.extensions_mut().insert(TooSoon::of(refusal));
}

impl Guard {
    /// One guard serves all extensions, so that its limits hold across them.
    pub fn new(inside: Arc<Inside>, settings: &HttpSettings) -> Self {
        Self {
            inside,
            proxies: settings.trusted_proxies.clone(),
            strangers: Strangers::new(settings.unknown_keys_per_second),
            rate_limit: RateLimit::new(settings.requests_per_second, settings.burst, settings.operator_times),
            stop_limit: RateLimit::new(settings.requests_per_second, settings.burst, settings.operator_times),
        }
    }

    async fn pass(&self, mut request: Request, next: Next, refuses: bool) -> Response {
        let principal = match self.authenticate(request.headers(), request.extensions()).await {
            Ok(principal) => principal,
            Err(error) => return error.into_response(),
        };
        log_caller(&principal);
        let mut verdict = self.rate_limit.check(&principal);
        // Whoever cannot stop anything does not use up the operator's limit for that.
        if let Some(refusal) = verdict.refused()
            && principal.may_stop()
        {
            let is_stop;
            (request, is_stop) = stops::is_stop(request).await;
            if is_stop {
                mark_too_soon(&mut request, &refusal);
                verdict = self.stop_limit.check(&principal);
            }
        }
        let mut response = match verdict.refused() {
            Some(error) if refuses => error.into_response(),
            refused => {
                if let Some(error) = refused {
                    let stop_limit = self.stop_limit.clone();
                    request.extensions_mut().insert(OverRate { refusal: error, stop_limit });
                }
                let address = self.client_of(request.headers(), request.extensions());
                request.extensions_mut().insert(ClientAddress(address));
                request.extensions_mut().insert(principal);
                next.run(request).await
            }
        };
        verdict.write(response.headers_mut());
        response
    }

    async fn authenticate(&self, headers: &HeaderMap, from: &Extensions) -> Result<Principal, ApiError> {
        let key =
            read_key(headers).map_err(|reason| ApiError::Service(ServiceError::Unauthorized(reason)))?;
        self.find_holder(&key, headers, from).await
    }

    /// The holder of this key. Errors as [`keys::authenticate`]; TooManyUnknownKeys: the key was not looked up.
    pub async fn find_holder(
        &self,
        key: &PlainKey,
        headers: &HeaderMap,
        from: &Extensions,
    ) -> Result<Principal, ApiError> {
        let client = || self.client_of(headers, from);
        let found = self.look_up(&key.hash(), keys::authenticate(&self.inside, key, client)).await;
        if let Err(ApiError::Service(ServiceError::Unauthorized(_))) = &found {
            tracing::info!(address = client().map(display), "refused a key");
        }
        found
    }

    /// Runs `look`, unless too many unknown keys, tokens and passkeys are being tried.
    pub async fn look_up<T>(
        &self,
        hash: &HashedKey,
        look: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ApiError> {
        if !self.strangers.may_be_looked_up(hash) {
            return Err(ApiError::TooManyUnknownKeys);
        }
        let found = look.await;
        match &found {
            Ok(_) => self.strangers.remember(hash),
            Err(ServiceError::Unauthorized(_)) => self.strangers.forget(hash),
            // The database did not answer, or the key is valid but not here.
            Err(_) => {}
        }
        Ok(found?)
    }

    /// Remembers a key that was just issued: a flood of unknown keys does not hold it up.
    pub fn remember(&self, hash: &HashedKey) {
        self.strangers.remember(hash);
    }

    /// The address that a request came from, if it is known.
    pub fn client_of(&self, headers: &HeaderMap, from: &Extensions) -> Option<IpAddr> {
        let peer = from.get::<ConnectInfo<Peer>>()?;
        self.proxies.client_of(peer.0.0, headers)
    }

    /// The scheme by which the client reached the service, if it is known.
    pub fn scheme_of<'a>(&self, headers: &'a HeaderMap, from: &Extensions) -> Option<&'a str> {
        self.proxies.scheme_of(from.get::<ConnectInfo<Peer>>()?.0.0, headers)
    }

    /// RateLimited: the key, or all keys of its operator, ask faster than they may.
    pub fn check_rate(&self, principal: &Principal) -> Result<(), ApiError> {
        self.rate_limit.check(principal).refused().map_or(Ok(()), Err)
    }

    /// The same for a request that halts or pauses, which passes beyond that rate too; then it may change nothing else.
    pub fn check_stop_rate(&self, principal: &Principal, request: &mut Request) -> Result<(), ApiError> {
        let Some(refusal) = self.rate_limit.check(principal).refused() else { return Ok(()) };
        mark_too_soon(request, &refusal);
        self.stop_limit.check(principal).refused().map_or(Ok(()), Err)
    }
}

/// The API key that a request came with.
pub(super) fn read_key(headers: &HeaderMap) -> Result<PlainKey, Unauthorized> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return Err(Unauthorized::MissingKey) };
    let value = value.to_str().map_err(|_| Unauthorized::UnknownKey)?;
    let (scheme, key) = value.split_once(' ').ok_or(Unauthorized::MissingKey)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Unauthorized::MissingKey);
    }
    PlainKey::parse(key.trim()).ok_or(Unauthorized::UnknownKey)
}

/// Who asks.
pub struct AnyKey(pub Principal);

impl<S: Send + Sync> FromRequestParts<S> for AnyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let unauthorized = ServiceError::Unauthorized(Unauthorized::MissingKey);
        parts.extensions.get::<Principal>().cloned().map(Self).ok_or(ApiError::Service(unauthorized))
    }
}

/// The operator itself: an agent key is answered with 403.
pub struct OperatorOnly(pub Operator);

impl<S: Send + Sync> FromRequestParts<S> for OperatorOnly {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match AnyKey::from_request_parts(parts, state).await?.0 {
            Principal::Operator { operator, .. } => Ok(Self(operator)),
            Principal::Agent { .. } => {
                Err(ApiError::Service(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded)))
            }
        }
    }
}
