//! REST: bytes in, one call of a service, bytes out. Every route is described, in [`guarded`] or [`open`].

mod admin;
mod dress;
mod health;
mod listener;
mod openapi;
mod recorded;
mod scopes;
mod serve;
mod silence;
mod site;
mod unread;
mod v1;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use admin::router as admin_router;
pub use listener::default_connections_max;
pub use serve::serve;

use self::v1::{
    accounts, actions, budgets, deliveries, events, grants, halts, history, keys, limits, policies,
    policy_versions, transfer_list, transfers, webhooks,
};
use crate::web::error_body::after_panic;
use crate::web::page::refuse_query;
use crate::web::{ApiError, Guard, HttpSettings, auth, body, name_once, once};
use purser_base::metrics::Metrics;
use purser_service::{Inside, Services, Transfers, Webhooks};

/// The largest request head, line and headers together, in bytes; and how many headers it may have.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;

/// The services, as the state of the routes.
#[derive(Clone)]
struct Serving(Arc<Services>);

/// Hands a handler what it asks for.
macro_rules! parts {
    ($($part:ty: $field:ident),*) => {$(
        impl FromRef<Serving> for $part {
            fn from_ref(Serving(services): &Serving) -> Self {
                services.$field.clone()
            }
        }
    )*};
}

parts! { Arc<Inside>: inside, Transfers: transfers, Webhooks: webhooks }

/// The routes that need a key, each with its description: a route without one cannot be added here.
fn guarded() -> OpenApiRouter<Serving> {
    let routes = OpenApiRouter::default()
        .routes(routes!(accounts::create, accounts::list))
        .routes(routes!(accounts::get, accounts::patch))
        .routes(routes!(accounts::balance))
        .routes(routes!(policies::get, policies::put, policies::patch))
        .routes(routes!(policies::drop_pending))
        .routes(routes!(policy_versions::list))
        .routes(routes!(history::list))
        .routes(routes!(actions::list))
        .routes(routes!(grants::list, grants::void))
        .routes(routes!(grants::close))
        .routes(routes!(budgets::list))
        .routes(routes!(budgets::get, budgets::patch))
        .routes(routes!(keys::create, keys::list))
        .routes(routes!(keys::create_operators, keys::list_operators))
        .routes(routes!(keys::revoke))
        .routes(routes!(keys::revoke_own))
        .routes(routes!(halts::create))
        .routes(routes!(halts::create_for_account))
        .routes(routes!(events::list))
        .routes(routes!(events::get))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::get, webhooks::patch, webhooks::remove))
        .routes(routes!(webhooks::rotate_secret))
        .routes(routes!(deliveries::test))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::replay));
    name_once(routes)
}

/// The routes of transfers, which need a key too.
fn paying() -> OpenApiRouter<Serving> {
    OpenApiRouter::default()
        .routes(routes!(transfers::create, transfer_list::list))
        .routes(routes!(transfers::preview))
        .routes(routes!(transfers::get))
        .routes(routes!(limits::get))
}

/// The routes that are open to anyone.
fn open() -> OpenApiRouter<Serving> {
    OpenApiRouter::default().routes(routes!(health::get))
}

/// These routes, whose POSTs are carried out once per name, and whose changes are on record.
fn done_once(routes: OpenApiRouter, services: &Services) -> OpenApiRouter {
    let recorded = recorded::record(routes, services.inside.clone());
    recorded.route_layer(middleware::from_fn_with_state(services.inside.clone(), once::once))
}

/// The extensions of a build, with the routes that they have. A build without extensions has those of REST alone.
pub trait HttpExtensions {
    /// Routes that extensions add to REST: behind its guard, in its document, there for other extensions, each POST done once per name
    /// and each change on record.
    fn rest(&self) -> OpenApiRouter {
        OpenApiRouter::default()
    }

    /// Routes that pay, with idempotency keys of their own; otherwise as those of `rest`. A payment's record is its transfer.
    fn paying(&self) -> OpenApiRouter {
        OpenApiRouter::default()
    }

    /// Routes beside REST.
    fn beside(&self, with: BesideRest<'_>) -> ExtensionRoutes {
        let _ = with;
        ExtensionRoutes::default()
    }
}

/// What an extension beside REST is made of.
pub struct BesideRest<'a> {
    pub services: &'a Services,
    /// REST's guard, for an extension that asks it by itself.
    pub guard: Guard,
    /// Where browsers reach the service.
    pub public_url: &'a str,
    /// REST's routes, for requests that have passed the guard: with its extensions, and with their `Authorization`.
    pub rest: Router,
    /// What they do.
    pub described: OpenApi,
}

/// The routes of the extensions beside REST.
#[derive(Default)]
pub struct ExtensionRoutes {
    /// Behind REST's guard, with scopes of their own. What came too soon gets through with the mark [`OverRate`].
    pub guarded: Option<OpenApiRouter>,
    /// Guarded by themselves.
    pub pages: Router,
}

/// All routes: REST's, and those of the extensions.
pub fn router(services: &Services, settings: HttpSettings, extensions: &impl HttpExtensions) -> Router {
    let guard = Guard::new(services.inside.clone(), &settings);
    let keyed = keyed(services, extensions);
    let (rest, described) = for_extensions(keyed.clone());
    let extensions_beside = extensions.beside(BesideRest {
        services,
        guard: guard.clone(),
        public_url: &settings.public_url,
        rest,
        described,
    });
    let mut routes = keyed
        .route_layer(middleware::from_fn_with_state(guard.clone(), auth::guard))
        .merge(open().with_state(Serving(Arc::new(services.clone()))));
    if let Some(guarded) = extensions_beside.guarded {
        let guarded = scopes::check_scopes(guarded);
        routes =
            routes.merge(guarded.route_layer(middleware::from_fn_with_state(guard, auth::guard_and_mark)));
    }
    let (routes, described) = routes.split_for_parts();
    let routes = routes.merge(site::router(described)).merge(extensions_beside.pages);
    dress(routes, settings.request_timeout, settings.metrics)
}

/// The routes that need a key and its scopes, each done once per name.
fn keyed(services: &Services, extensions: &impl HttpExtensions) -> OpenApiRouter {
    let serving = Serving(Arc::new(services.clone()));
    let named = guarded().with_state(serving.clone()).merge(extensions.rest());
    let paying = paying().with_state(serving).merge(extensions.paying());
    let routes = done_once(named, services).merge(paying);
    scopes::check_scopes(routes).route_layer(middleware::from_fn(refuse_query))
}

/// What they do, but for those of extensions.
pub fn keyed_described() -> OpenApi {
    guarded().merge(paying()).into_openapi()
}

/// The same routes for extensions, which the guard stands before.
fn for_extensions(keyed: OpenApiRouter) -> (Router, OpenApi) {
    let (routes, described) = keyed.split_for_parts();
    let routes = routes
        .fallback(async || ApiError::RouteNotFound)
        .layer(middleware::from_fn(auth::refuse_marked))
        .layer(CatchPanicLayer::custom(after_panic))
        .layer(middleware::from_fn(dress::name_errors));
    (routes, described)
}

/// The document of all routes, including those of extensions.
pub fn document(of_extensions: OpenApi) -> OpenApi {
    let mut described = keyed_described();
    described.merge(of_extensions);
    described.merge(open().into_openapi());
    site::document(described)
}

/// The layers around every answer, those to unknown paths included.
fn dress(routes: Router, request_timeout: Duration, metrics: Metrics) -> Router {
    routes
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .fallback(async || ApiError::RouteNotFound)
        .layer(middleware::from_fn_with_state(request_timeout, within))
        .layer(CatchPanicLayer::custom(after_panic))
        .layer(middleware::from_fn_with_state(metrics, dress::name_request))
}

/// Middleware: refuses a body that it cannot read, and gives up on an answer that takes too long. Work that must go on runs in tasks of its own.
async fn within(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    if body::is_encoded(request.headers()) {
        return ApiError::EncodedBody.into_response();
    }
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::Timeout.into_response(),
    }
}
