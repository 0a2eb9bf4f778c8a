//! A second extension, for whoever runs the service: `/metrics`, `/readyz` and `/healthz`, on an address of its own. It needs no
//! key. It shows nothing about a single operator, but the figures of all operators together are still not for everyone.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRef, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde::Serialize;

use super::{dress, health};
use crate::Version;
use purser_base::metrics::{Labels, Metrics};
use purser_service::{Inside, Part, Services, health as parts};

/// OpenMetrics, as Prometheus asks for it.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Longer than checking all parts takes.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Admin {
    inside: Arc<Inside>,
    registry: Arc<Registry>,
    version: Version,
}

impl FromRef<Admin> for Arc<Inside> {
    fn from_ref(admin: &Admin) -> Self {
        admin.inside.clone()
    }
}

/// Its routes. Requests to them are not counted.
pub fn router(services: &Services, version: Version) -> Router {
    let mut registry = services.registry();
    // A gauge, since the older text format knows no `info`.
    let build = Family::<Labels<2>, Gauge>::default();
    build.get_or_create(&[("version", version.number), ("commit", version.commit)]).set(1);
    registry.register("purser_build_info", "Which build this is", build);
    let admin = Admin { inside: services.inside.clone(), registry: Arc::new(registry), version };
    let routes = Router::new()
        .route("/healthz", get(health::get))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin);
    dress(routes, PATIENCE, Metrics::default())
}

#[derive(Serialize)]
struct ReadyResponse {
    ready: bool,
    version: &'static str,
    commit: &'static str,
    parts: Vec<Part>,
}

/// Whether a transfer can be paid here now: 503 when none can.
async fn ready(State(admin): State<Admin>) -> Response {
    let report = parts::report(&admin.inside).await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let Version { number: version, commit, .. } = admin.version;
    let ready = ReadyResponse { ready: report.ready, version, commit, parts: report.parts };
    (status, Json(ready)).into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &admin.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, TEXT)], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "cannot encode the metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
