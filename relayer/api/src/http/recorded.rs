//! Every request that changes something is on record under the id of its operation: a route cannot be added past it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::web::{Act, on_record, stops};
use purser_model::wire::Fields;
use purser_service::Inside;

/// Operations by method and path.
type Operations = BTreeMap<(&'static str, String), String>;

/// Puts the record around these routes, but for those that only read.
pub(super) fn record<S: Clone + Send + Sync + 'static>(
    routes: OpenApiRouter<S>,
    inside: Arc<Inside>,
) -> OpenApiRouter<S> {
    let table = Arc::new(table_of(routes.get_openapi()));
    routes.route_layer(from_fn_with_state((table, inside), carry_out))
}

fn table_of(described: &OpenApi) -> Operations {
    let mut table = Operations::new();
    for (path, item) in &described.paths.paths {
        let changing =
            [("PUT", &item.put), ("POST", &item.post), ("DELETE", &item.delete), ("PATCH", &item.patch)];
        for (method, operation) in changing {
            if let Some(id) = operation.as_ref().and_then(|operation| operation.operation_id.clone()) {
                table.insert((method, path.clone()), id);
            }
        }
    }
    table
}

async fn carry_out(
    State((table, inside)): State<(Arc<Operations>, Arc<Inside>)>,
    request: Request,
    next: Next,
) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let path = request.extensions().get::<MatchedPath>().map_or("", |path| path.as_str());
    let named = table.iter().find(|((method, of), _)| *method == request.method().as_str() && of == path);
    // A method that no route has is refused within.
    let Some(name) = named.map(|(_, name)| name.clone()) else { return next.run(request).await };
    let (request, is_stop) = stops::is_stop(request).await;
    let act = Act { name, session_id: None, is_stop, read: Fields::of_json };
    on_record(&inside, act, request, next).await.unwrap_or_else(IntoResponse::into_response)
}
