//! What each route needs of a key. Its description says so in `x-scopes`: a key opens it with any one of them. What no description
//! names is closed.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa_axum::router::OpenApiRouter;

use crate::web::ApiError;
use purser_model::{Principal, Scopes};
use purser_service::{Forbidden, ServiceError, Unauthorized};

/// The extension in which a route names its scopes.
pub(super) const SCOPES: &str = "x-scopes";

/// Who may use a route.
#[derive(Debug, Clone, Copy)]
struct Needed {
    scopes: Scopes,
    by_agents: bool,
}

/// By path and method.
type Table = BTreeMap<String, BTreeMap<&'static str, Needed>>;

/// Puts the check around these routes. The guard stands before it.
pub(super) fn check_scopes<S: Clone + Send + Sync + 'static>(routes: OpenApiRouter<S>) -> OpenApiRouter<S> {
    let table = Arc::new(table_of(routes.get_openapi()));
    routes.route_layer(from_fn_with_state(table, check))
}

fn table_of(described: &OpenApi) -> Table {
    let of_item = |item: &PathItem| {
        let PathItem { get, put, post, delete, patch, .. } = item;
        let operations =
            [("GET", get), ("PUT", put), ("POST", post), ("DELETE", delete), ("PATCH", patch)].into_iter();
        operations.filter_map(|(method, operation)| Some((method, needed(operation.as_ref()?)))).collect()
    };
    described.paths.paths.iter().map(|(path, item)| (path.clone(), of_item(item))).collect()
}

/// Nothing opens it unless all that it names are scopes.
fn needed(operation: &Operation) -> Needed {
    let named = operation.extensions.as_ref().and_then(|extensions| extensions.get(SCOPES));
    let named = named.and_then(|named| serde_json::from_value::<Vec<String>>(named.clone()).ok());
    let scopes = named.and_then(|named| Scopes::parse(&named).ok()).unwrap_or(Scopes::of(&[]));
    let mut keys = operation.security.iter().flatten().filter_map(|key| serde_json::to_value(key).ok());
    Needed { scopes, by_agents: keys.any(|key| key.get("agent_key").is_some()) }
}

async fn check(State(table): State<Arc<Table>>, request: Request, next: Next) -> Response {
    match allow(&table, &request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn allow(table: &Table, request: &Request) -> Result<(), ApiError> {
    let principal = request.extensions().get::<Principal>();
    let principal =
        principal.ok_or(ApiError::Service(ServiceError::Unauthorized(Unauthorized::MissingKey)))?;
    let path = request.extensions().get::<MatchedPath>().and_then(|path| table.get(path.as_str()));
    let path = path.ok_or_else(|| closed(Scopes::of(&[])))?;
    // A GET answers it too.
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    let needed = path.get(method.as_str()).ok_or(ApiError::MethodNotAllowed)?;
    if matches!(principal, Principal::Agent { .. }) && !needed.by_agents {
        return Err(ApiError::Service(ServiceError::Forbidden(Forbidden::OperatorKeyNeeded)));
    }
    if principal.scopes().have_one_of(needed.scopes) { Ok(()) } else { Err(closed(needed.scopes)) }
}

fn closed(needed: Scopes) -> ApiError {
    ApiError::Service(ServiceError::Forbidden(Forbidden::ScopeNeeded(needed)))
}
